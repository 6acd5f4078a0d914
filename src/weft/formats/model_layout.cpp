#include "weft/formats/model_layout.h"

#include <algorithm>
#include <array>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"

namespace weft {
namespace {

constexpr std::string_view marker = "~~~weights", mark = "~~~";

std::string at(const std::string& source, std::size_t offset) { return fmt::format("{}@{:#x}", source, offset); }

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// Offset of the first line that is exactly "~~~weights"; npos when there is none.
std::size_t find_marker(std::string_view text) {
  for (std::size_t from = 0;;) {
    const std::size_t found = text.find(marker, from);
    if (found == std::string_view::npos) return found;
    const std::size_t end = found + marker.size();
    if ((found == 0 || text[found - 1] == '\n') && end < text.size() && text[end] == '\n') return found;
    from = found + 1;
  }
}

[[noreturn]] void refuse_without_marker(std::string_view text, std::uint64_t file_size, const std::string& source) {
  const std::size_t with_cr = text.find("\n~~~weights\r\n");
  if (with_cr != std::string_view::npos)
    fail(ErrorKind::bad_file, "CrlfDelimiter", at(source, with_cr + 1),
         "the line \"~~~weights\" ends in CR LF; a .model file has LF alone. Was it converted?");
  if (file_size > text.size())
    fail(ErrorKind::bad_file, "HeaderTooLarge", source, "no line \"~~~weights\" in the first {} bytes", text.size());
  fail(ErrorKind::bad_file, "NoWeightsMarker", source,
       "no line \"~~~weights\" ends the text; the file is incomplete or no .model file");
}

}  // namespace

bool is_section_name(std::string_view name) {
  return !name.empty() && name.size() <= 32 && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

bool is_known_section(std::string_view name) {
  constexpr std::array<std::string_view, 10> known{"card",  "config", "program", "graph", "tensors",
                                                   "vocab", "chat",   "eval",    "mir",   "weights"};
  return std::find(known.begin(), known.end(), name) != known.end();
}

ModelText find_model_text(std::span<const std::byte> file, const std::string& source, const ModelLimits& limits) {
  // The least that could be a model: a table, a delimiter, the marker.
  if (file.size() < 32) fail(ErrorKind::bad_file, "TooSmall", source, "{} bytes are no .model file", file.size());
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()),
                               std::min<std::uint64_t>(file.size(), limits.text_bytes));
  // Binary files are told at once instead of being searched.
  if (bytes.starts_with("GGUF") || bytes.substr(0, 32).find('\0') != std::string_view::npos)
    fail(ErrorKind::bad_file, "NotAModel", at(source, 0), "not a .model file: it does not begin with text{}",
         bytes.starts_with("GGUF") ? ", it is a GGUF file" : "");
  const std::size_t end = find_marker(bytes);
  if (end == std::string_view::npos) refuse_without_marker(bytes, file.size(), source);
  ModelText text;
  text.all = bytes.substr(0, end);
  text.weights_offset = end + marker.size() + 1;
  if (const auto invalid = find_invalid_utf8(text.all))
    fail(ErrorKind::bad_file, "NotUtf8", at(source, *invalid), "the text part is not valid UTF-8 here");
  const std::size_t first = text.all.starts_with(mark) ? 0 : text.all.find("\n~~~") + 1;
  text.frontmatter = text.all.substr(0, first == 0 && !text.all.starts_with(mark) ? end : first);
  if (text.frontmatter.size() > limits.frontmatter_bytes)
    fail(ErrorKind::bad_file, "LimitExceeded", source, "a frontmatter of {} bytes, more than the limit of {}",
         text.frontmatter.size(), limits.frontmatter_bytes);
  return text;
}

std::vector<ModelSection> split_model_text(const ModelText& text, const std::vector<std::string>& declared,
                                           const std::string& source, const ModelLimits& limits) {
  std::vector<ModelSection> sections;
  const auto is_declared = [&](std::string_view name) {
    return std::find(declared.begin(), declared.end(), name) != declared.end();
  };
  const auto seen = [&](std::string_view name) {
    return std::any_of(sections.begin(), sections.end(), [&](const ModelSection& s) { return s.name == name; });
  };
  const auto close = [&](std::size_t end) {
    if (!sections.empty()) sections.back().text = text.all.substr(sections.back().offset, end - sections.back().offset);
  };
  std::size_t line = static_cast<std::size_t>(std::count(text.frontmatter.begin(), text.frontmatter.end(), '\n'));
  for (std::size_t start = text.frontmatter.size(); start < text.all.size();) {
    const std::size_t end = std::min(text.all.find('\n', start), text.all.size() - 1);
    std::string_view content = text.all.substr(start, end - start);
    ++line;
    const std::size_t line_start = start;
    start = end + 1;
    if (!content.starts_with(mark)) continue;
    content.remove_prefix(mark.size());
    const bool with_cr = content.ends_with('\r');
    const std::string_view name = with_cr ? content.substr(0, content.size() - 1) : content;
    // A card is Markdown and may use ~~~ as a fence: there only a declared section that has not come yet ends it.
    const bool in_card = !sections.empty() && sections.back().name == "card";
    if (in_card && (!is_declared(name) || seen(name))) continue;
    if (!is_declared(name) && !is_known_section(name))
      fail(ErrorKind::bad_file, "UnknownSection", at(source, line_start),
           "line {} begins a section \"{}\" that is not declared", line, name.substr(0, 60));
    if (with_cr)
      fail(ErrorKind::bad_file, "CrlfDelimiter", at(source, line_start),
           "the delimiter of section \"{}\" ends in CR LF; a .model file has LF alone", name);
    if (seen(name) || name == marker.substr(mark.size()))
      fail(ErrorKind::bad_file, "DuplicateSection", at(source, line_start), "section \"{}\" occurs twice", name);
    if (sections.size() == limits.sections)
      fail(ErrorKind::bad_file, "LimitExceeded", at(source, line_start), "more than {} sections", limits.sections);
    close(line_start);
    sections.push_back({std::string(name), {}, line + 1, start});
  }
  close(text.all.size());
  return sections;
}

}  // namespace weft
