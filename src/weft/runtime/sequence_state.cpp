#include "weft/runtime/sequence_state.h"

#include <cstring>
#include <string_view>

#include "weft/base/byte_reader.h"
#include "weft/base/fail.h"

namespace weft {
namespace {

// "WFS1", past, runs, generators {node, state}, slots {name, layout, rows, planes {bytes}}; counts and lengths are u64.
constexpr std::string_view magic = "WFS1";

class Writer {
 public:
  void number(std::uint64_t value) { raw(&value, sizeof value); }
  void bytes(std::span<const std::byte> value) {
    number(value.size());
    raw(value.data(), value.size());
  }
  void text(std::string_view value) { bytes(std::as_bytes(std::span(value.data(), value.size()))); }
  void raw(const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    out.insert(out.end(), from, from + size);
  }
  std::vector<std::byte> out;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : in_(bytes, "state") {}

  std::int64_t count(std::string_view what, std::uint64_t item_bytes) {
    const auto value = in_.read<std::uint64_t>(what);
    in_.expect_items(value, item_bytes, what);
    return static_cast<std::int64_t>(value);
  }
  std::int64_t not_negative(std::string_view what) {
    const auto value = in_.read<std::int64_t>(what);
    if (value < 0) refuse(fmt::format("{} is {}", what, value));
    return value;
  }
  std::string text(std::string_view what) {
    return std::string(in_.text(static_cast<std::uint64_t>(count(what, 1)), what));
  }
  std::vector<std::byte> bytes(std::string_view what) {
    const auto length = static_cast<std::uint64_t>(count(what, 1));
    const std::string_view view = in_.text(length, what);
    const auto raw = std::as_bytes(std::span(view.data(), view.size()));
    return {raw.begin(), raw.end()};
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    fail(ErrorKind::bad_file, "BadState", in_.where(), "{}", reason);
  }
  ByteReader& in() { return in_; }

 private:
  ByteReader in_;
};

SequenceState read(Reader& reader) {
  if (reader.in().text(magic.size(), "the magic number") != magic) reader.refuse("these bytes hold no saved state");
  SequenceState state;
  state.past = reader.not_negative("the position");
  state.runs = reader.not_negative("the number of runs");
  for (std::int64_t left = reader.count("generators", 16); left > 0; --left) {
    const auto node = static_cast<std::int32_t>(reader.not_negative("a node"));
    state.generators.insert_or_assign(node, Pcg32::from_state(reader.in().read<std::uint64_t>("a generator")));
  }
  for (std::int64_t left = reader.count("slots", 32); left > 0; --left) {
    SequenceState::Slot& slot = state.slots.emplace_back();
    slot.name = reader.text("the name of a slot");
    slot.layout = reader.text("the layout of a slot");
    slot.rows = reader.not_negative("rows");
    for (std::int64_t planes = reader.count("planes", 8); planes > 0; --planes)
      slot.planes.push_back(reader.bytes("a plane"));
    std::uint64_t held = 0;
    for (const std::vector<std::byte>& plane : slot.planes) held += plane.size();
    if (static_cast<std::uint64_t>(slot.rows) > held)
      reader.refuse(fmt::format("{} rows of @{} cannot lie in {} bytes", slot.rows, slot.name, held));
  }
  if (!reader.in().done()) reader.refuse(fmt::format("{} bytes follow the state", reader.in().remaining()));
  return state;
}

}  // namespace

std::vector<std::byte> to_bytes(const SequenceState& state) {
  Writer writer;
  writer.raw(magic.data(), magic.size());
  writer.number(static_cast<std::uint64_t>(state.past));
  writer.number(static_cast<std::uint64_t>(state.runs));
  writer.number(state.generators.size());
  for (const auto& [node, generator] : state.generators) {
    writer.number(static_cast<std::uint64_t>(node));
    writer.number(generator.state());
  }
  writer.number(state.slots.size());
  for (const SequenceState::Slot& slot : state.slots) {
    writer.text(slot.name);
    writer.text(slot.layout);
    writer.number(static_cast<std::uint64_t>(slot.rows));
    writer.number(slot.planes.size());
    for (const std::vector<std::byte>& plane : slot.planes) writer.bytes(plane);
  }
  return std::move(writer.out);
}

SequenceState state_from_bytes(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  try {
    return read(reader);
  } catch (const Error& error) {
    throw Error(ErrorKind::bad_file, "BadState", error.where(), error.message());
  }
}

void require_slots(const SequenceState& state, std::span<const ExpectedSlot> expected) {
  const auto refuse = [](std::string where, std::string reason) {
    fail(ErrorKind::invalid_argument, "StateMismatch", std::move(where), "{}", reason);
  };
  if (state.slots.size() != expected.size())
    refuse("state", fmt::format("it has {} slots, the graph has {}", state.slots.size(), expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const SequenceState::Slot& slot = state.slots[i];
    const ExpectedSlot& wanted = expected[i];
    if (slot.name != wanted.name)
      refuse("state", fmt::format("slot {} is @{}, the graph has @{} there", i, slot.name, wanted.name));
    if (slot.layout != wanted.layout)
      refuse("@" + slot.name, fmt::format("its rows are kept as {}, here they are {}", slot.layout, wanted.layout));
    bool fits = slot.planes.size() == wanted.plane_bytes.size();
    for (std::size_t plane = 0; fits && plane < slot.planes.size(); ++plane)
      fits = slot.planes[plane].size() == wanted.plane_bytes[plane];
    if (!fits) refuse("@" + slot.name, fmt::format("its planes have other sizes than {} rows take", slot.rows));
  }
}

}  // namespace weft
