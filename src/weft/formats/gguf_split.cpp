#include "weft/formats/gguf_split.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/base/fail.h"

namespace weft {
namespace {

struct SplitName {
  std::string stem;  // all before "-00001-of-00003.gguf"
  std::int64_t number = 0, count = 0;
};

std::optional<std::int64_t> five_digits(std::string_view text) {
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return value;
}

std::optional<SplitName> parse_split_name(const std::string& name) {
  constexpr std::string_view shape = "-00001-of-00001.gguf";
  if (name.size() < shape.size()) return std::nullopt;
  const std::string_view tail = std::string_view(name).substr(name.size() - shape.size());
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || tail.substr(15) != ".gguf") return std::nullopt;
  const auto number = five_digits(tail.substr(1, 5)), count = five_digits(tail.substr(10, 5));
  if (!number || !count) return std::nullopt;
  return SplitName{name.substr(0, name.size() - shape.size()), *number, *count};
}

std::optional<std::int64_t> integer(const GgufPart& part, std::string_view key) {
  for (const GgufEntry& entry : part.metadata) {
    if (entry.key != key) continue;
    if (const auto* value = std::get_if<std::uint64_t>(&entry.value.value))
      if (*value <= static_cast<std::uint64_t>(INT64_MAX)) return static_cast<std::int64_t>(*value);
    if (const auto* value = std::get_if<std::int64_t>(&entry.value.value)) return *value;
    fail(ErrorKind::bad_file, "InvalidField", fmt::format("{}@{:#x}", part.file->path().string(), entry.offset),
         "metadata key \"{}\" must be an integer, found {}", key, gguf_type_text(entry.value));
  }
  return std::nullopt;
}

void expect(const GgufPart& part, std::string_view key, std::int64_t expected) {
  const auto found = integer(part, key);
  if (found != expected)
    fail(ErrorKind::bad_file, "BadSplit", part.file->path().string(),
         "metadata key \"{}\" of this part must be {}, {} {}", key, expected, found ? "found" : "it is absent",
         found ? std::to_string(*found) : "");
}

GgufPart read_part(const std::filesystem::path& path, const GgufLimits& limits) {
  return read_gguf_part(MappedFile::open(path), limits);
}

}  // namespace

std::vector<GgufPart> read_gguf_parts(const std::filesystem::path& path, const GgufLimits& limits) {
  std::vector<GgufPart> parts;
  parts.push_back(read_part(path, limits));
  const std::int64_t count = integer(parts[0], "split.count").value_or(0);
  if (count <= 1) return parts;

  const auto name = parse_split_name(path.filename().string());
  if (!name || name->count != count || name->number < 1 || name->number > count)
    fail(
        ErrorKind::bad_file, "BadSplit", path.string(),
        "the file is one of {} parts, but its name does not end in -NNNNN-of-{:05}.gguf, by which the others are found",
        count, count);
  GgufPart given = std::move(parts[0]);
  parts.clear();
  std::int64_t tensors = 0;
  for (std::int64_t number = 1; number <= count; ++number) {
    if (number == name->number) {
      parts.push_back(std::move(given));
    } else {
      const auto sibling = path.parent_path() / fmt::format("{}-{:05}-of-{:05}.gguf", name->stem, number, count);
      if (!std::filesystem::exists(sibling))
        fail(ErrorKind::io, "MissingPart", sibling.string(), "part {} of the {} that {} belongs to is missing", number,
             count, path.filename().string());
      parts.push_back(read_part(sibling, limits));
    }
    expect(parts.back(), "split.no", number - 1);
    expect(parts.back(), "split.count", count);
    tensors += static_cast<std::int64_t>(parts.back().tensors.size());
  }
  const auto expected = integer(parts[0], "split.tensors.count");
  if (expected && *expected != tensors)
    fail(ErrorKind::bad_file, "BadSplit", parts[0].file->path().string(),
         "the parts hold {} tensors together, but metadata key \"split.tensors.count\" says {}", tensors, *expected);
  return parts;
}

}  // namespace weft
