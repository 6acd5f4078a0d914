#include "weft/base/compiled_dim.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/base/error.h"

namespace weft {
namespace {

struct Compiled {
  explicit Compiled(const Dim& dim) : code(dim, [this](std::string_view name) { return index(name); }) {}
  std::int32_t index(std::string_view name) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return static_cast<std::int32_t>(i);
    names.emplace_back(name);
    return static_cast<std::int32_t>(names.size() - 1);
  }
  std::int64_t eval(const DimBinding& binding) const {
    std::vector<std::int64_t> values;
    for (const std::string& name : names) values.push_back(binding.at(name));
    return code.eval(values);
  }
  std::vector<std::string> names;
  CompiledDim code;
};

TEST(CompiledDim, GivesWhatEvalGives) {
  for (const char* text :
       {"7", "0", "n", "past + n", "3*n*past - 2*n + 5", "floor_div(n + 3, 4)", "ceil_div(n*past, 16)*n",
        "pow2_ceil(n + past)", "max(n, past + 2)", "broadcast(n, m)", "2*floor_div(max(n, past) + 1, 2) - n*n"}) {
    const Dim dim = Dim::parse(text);
    const Compiled compiled(dim);
    for (std::int64_t n = 0; n < 6; ++n)
      for (const std::int64_t past : {0, 1, 17, 4000}) {
        const DimBinding binding = {{"n", n}, {"past", past}, {"m", 1}};
        EXPECT_EQ(compiled.eval(binding), dim.eval(binding)) << text << " n=" << n << " past=" << past;
      }
  }
}

TEST(CompiledDim, BoundsAreAboveEverySmallerRun) {
  for (const char* text : {"broadcast(n, past)", "n - past + 3", "max(n, 2*past) - n", "pow2_ceil(n*past)"}) {
    const Compiled compiled(Dim::parse(text));
    std::vector<std::int64_t> bounds;
    for (const std::string& name : compiled.names) bounds.push_back(name == "n" ? 7 : 5);
    const std::int64_t upper = compiled.code.upper_bound(bounds);
    for (std::int64_t n = 0; n <= 7; ++n)
      for (std::int64_t past = 0; past <= 5; ++past) {
        const bool refused = std::string(text).front() == 'b' && n != past && n != 1 && past != 1;
        if (refused) continue;
        EXPECT_LE(compiled.eval({{"n", n}, {"past", past}}), upper) << text << " " << n << " " << past;
      }
  }
}

TEST(CompiledDim, RefusesWhatEvalRefuses) {
  const Compiled sizes(Dim::parse("broadcast(n, m)"));
  EXPECT_THROW(sizes.eval({{"n", 2}, {"m", 3}}), Error);
  const Compiled large(Dim::parse("n*n"));
  EXPECT_THROW(large.eval({{"n", std::int64_t{1} << 40}}), Error);
}

}  // namespace
}  // namespace weft
