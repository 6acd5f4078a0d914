// Graph IR blobs that are cut at every byte, and with every bit changed, for every op: each is refused with an Error,
// or read as what it says, which shows in its being written to the same bytes again. Only a trailer has more than one
// spelling: the order of its attributes, and chunks that a reader may skip.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "allocation_count.h"
#include "weft/base/error.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/test_graphs.h"
#include "weft/formats/graph_ir/to_mir.h"
#include "weft/formats/graph_ir/toml_form.h"
#include "weft/formats/graph_ir/validate.h"

namespace weft::graph_ir {
namespace {

using Blob = std::vector<std::byte>;

constexpr std::array trailer_magic{std::byte{'W'}, std::byte{'F'}, std::byte{'X'}, std::byte{'1'}};
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

// What may be done with a graph once it is read; whatever it says, none of it may do more than throw an Error.
void use(const Graph& graph) {
  try {
    validate(graph);
    to_mir(graph);
  } catch (const Error& error) {
    EXPECT_FALSE(error.code().empty());
  }
  try {
    to_toml(graph);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_representable);
  }
}

enum class Outcome { refused, faithful, other };

Outcome outcome_of(const Blob& blob, const std::string& what) {
  const std::uint64_t before = test::allocations().bytes;
  Outcome outcome = Outcome::refused;
  try {
    const Decoded decoded = decode(blob, {.dialect = Dialect::seed});
    const Blob written = encode(decoded.graph, {.weights = decoded.weights_in_blob});
    const auto trailer = std::search(blob.begin(), blob.end(), trailer_magic.begin(), trailer_magic.end());
    const bool same_until_trailer = written.size() >= static_cast<std::size_t>(trailer - blob.begin()) &&
                                    std::equal(blob.begin(), trailer, written.begin()) &&
                                    decode(written).graph == decoded.graph;
    outcome = written == blob || (trailer != blob.end() && same_until_trailer) ? Outcome::faithful : Outcome::other;
    use(decoded.graph);
  } catch (const Error& error) {
    EXPECT_FALSE(error.code().empty() || error.message().empty());
  }
  EXPECT_LT(test::allocations().bytes - before, most_bytes) << what;
  return outcome;
}

TEST(HostileGraphs, CutAnywhere) {
  for (const GoodCase& good : good_cases()) {
    const Blob whole = encode(good.graph());
    ASSERT_EQ(outcome_of(whole, "whole"), Outcome::faithful) << static_cast<int>(good.op.tag);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::string what = fmt::format("tag {}, cut to {} bytes", static_cast<int>(good.op.tag), size);
      // A graph ends where its trailer would begin.
      EXPECT_NE(outcome_of(Blob(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), what),
                Outcome::other)
          << what;
    }
  }
}

TEST(HostileGraphs, AnyBitChanged) {
  std::uint64_t refused = 0, faithful = 0, other = 0;
  std::string first_other;
  for (const GoodCase& good : good_cases()) {
    const Blob whole = encode(good.graph());
    Blob changed = whole;
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (unsigned bit = 0; bit < 8; ++bit) {
        changed[at] = whole[at] ^ static_cast<std::byte>(1u << bit);
        const std::string what = fmt::format("tag {}, byte {}, bit {}", static_cast<int>(good.op.tag), at, bit);
        const Outcome outcome = outcome_of(changed, what);
        refused += outcome == Outcome::refused ? 1 : 0;
        faithful += outcome == Outcome::faithful ? 1 : 0;
        if (outcome == Outcome::other && other++ == 0) first_other = what;
        changed[at] = whole[at];
      }
  }
  EXPECT_GT(refused, faithful);
  EXPECT_GT(faithful, 0u);
  EXPECT_EQ(other, 0u) << first_other;
}

}  // namespace
}  // namespace weft::graph_ir
