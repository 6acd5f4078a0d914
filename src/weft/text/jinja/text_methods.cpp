#include "weft/text/jinja/text_methods.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "weft/text/characters.h"
#include "weft/text/code_points.h"
#include "weft/text/jinja/operators.h"
#include "weft/text/jinja/parameters.h"
#include "weft/text/jinja/python_format.h"
#include "weft/text/jinja/value_text.h"

namespace weft::jinja {
namespace {

using Method = Value (*)(Run&, const Value& self, const Arguments&);

const std::string& own(const Value& self) { return *self.text(); }

template <bool left, bool right>
Value strip_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "strip", arguments, {"chars"});
  if (p.given(0)) p.exact_text(0);
  return run.text(strip(own(self), p.get(0), left, right));
}

Value list_of(Run& run, const std::vector<std::string>& parts) {
  std::vector<Value> items;
  for (const std::string& part : parts) items.push_back(run.text(part));
  return run.sequence(std::move(items));
}

std::vector<std::string> split_words(const std::string& text, std::int64_t most, bool from_right) {
  std::vector<std::u32string> words;
  std::u32string all = text::to_code_points(text);
  if (from_right) std::reverse(all.begin(), all.end());
  std::size_t at = 0;
  const auto skip = [&] {
    while (at < all.size() && text::is_white_space(all[at])) ++at;
  };
  for (skip(); at < all.size(); skip()) {
    if (most >= 0 && static_cast<std::int64_t>(words.size()) == most) {
      words.push_back(all.substr(at));
      break;
    }
    const std::size_t begin = at;
    while (at < all.size() && !text::is_white_space(all[at])) ++at;
    words.push_back(all.substr(begin, at - begin));
  }
  std::vector<std::string> parts;
  for (std::u32string& word : words) {
    if (from_right) std::reverse(word.begin(), word.end());
    parts.push_back(text::to_utf8(word));
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string> split_at(std::string_view text, std::string_view separator, std::int64_t most,
                                  bool from_right) {
  std::vector<std::string> parts;
  while (most < 0 || static_cast<std::int64_t>(parts.size()) < most) {
    const std::size_t found = from_right ? rfind(text, separator) : find(text, separator);
    if (found == std::string_view::npos) break;
    parts.emplace_back(from_right ? text.substr(found + separator.size()) : text.substr(0, found));
    text = from_right ? text.substr(0, found) : text.substr(found + separator.size());
  }
  parts.emplace_back(text);
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

template <bool from_right>
Value split_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "split", arguments, {"sep", "maxsplit"});
  const std::int64_t most = p.integer(1, -1);
  run.charge(own(self).size() * sizeof(char32_t));
  if (!p.given(0)) return list_of(run, split_words(own(self), most, from_right));
  if (p.exact_text(0).empty()) run.fail("split needs a separator that is not empty");
  run.charge_items(own(self).size() / p.exact_text(0).size());
  return list_of(run, split_at(own(self), p.exact_text(0), most, from_right));
}

Value split_lines_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "splitlines", arguments, {"keepends"});
  if (p.flag(0, false)) run.fail("splitlines with keepends is not supported");
  return list_of(run, split_lines(own(self)));
}

template <bool from_right>
Value partition_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "partition", arguments, {"sep"}, 1);
  const std::string &text = own(self), &separator = p.exact_text(0);
  if (separator.empty()) run.fail("partition needs a separator that is not empty");
  const std::size_t found = from_right ? rfind(text, separator) : find(text, separator);
  run.charge(text.size());
  if (found == std::string::npos)
    return from_right ? run.tuple({Value(""), Value(""), self}) : run.tuple({self, Value(""), Value("")});
  return run.tuple({Value(text.substr(0, found)), Value(separator), Value(text.substr(found + separator.size()))});
}

// The part of the text that the arguments from `first` on name.
std::string_view window(const Parameters& p, std::size_t first, std::string_view text, std::int64_t& offset) {
  offset = 0;
  if (!p.given(first) && !p.given(first + 1)) return text;
  const auto size = static_cast<std::int64_t>(text::count_code_points(text));
  const auto clamp = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t begin = p.given(first) ? clamp(p.integer(first, 0)) : 0;
  const std::int64_t end = p.given(first + 1) ? clamp(p.integer(first + 1, size)) : size;
  offset = begin;
  std::size_t byte = 0, from = text.size();
  for (std::int64_t i = 0; i < end && byte < text.size(); ++i) {
    if (i == begin) from = byte;
    byte += text::character_length(text[byte]);
  }
  from = begin == end ? byte : from;
  return begin > end ? std::string_view() : text.substr(std::min(from, byte), byte - std::min(from, byte));
}

template <bool at_end>
Value affix_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, at_end ? "endswith" : "startswith", arguments, {"prefix", "start", "end"}, 1);
  std::int64_t offset = 0;
  const std::string_view text = window(p, 1, own(self), offset);
  const auto matches = [&](const Value& affix) {
    if (affix.text() == nullptr) {
      run.expect_defined(affix);
      run.fail("startswith and endswith need a string, not a {}", affix.type_name());
    }
    return at_end ? text.ends_with(*affix.text()) : text.starts_with(*affix.text());
  };
  const Sequence* several = p.get(0).sequence();
  if (several == nullptr || several->kind != Sequence::Kind::tuple) return matches(p.get(0));
  return std::any_of(several->items.begin(), several->items.end(), matches);
}

template <bool from_right, bool must>
Value find_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "find", arguments, {"sub", "start", "end"}, 1);
  std::int64_t offset = 0;
  const std::string_view text = window(p, 1, own(self), offset);
  const std::size_t found = from_right ? rfind(text, p.exact_text(0)) : find(text, p.exact_text(0));
  if (found != std::string_view::npos)
    return offset + static_cast<std::int64_t>(text::count_code_points(text.substr(0, found)));
  if (must) run.fail("the text to find is not there");
  return -1;
}

Value count_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "count", arguments, {"sub", "start", "end"}, 1);
  std::int64_t offset = 0, count = 0;
  const std::string_view text = window(p, 1, own(self), offset);
  const std::string& wanted = p.exact_text(0);
  if (wanted.empty()) return static_cast<std::int64_t>(text::count_code_points(text)) + 1;
  for (std::size_t at = find(text, wanted); at != std::string_view::npos; at = find(text, wanted, at + wanted.size()))
    ++count;
  return count;
}

Value replace_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "replace", arguments, {"old", "new", "count"}, 2);
  return run.text(replace(run, own(self), p.exact_text(0), p.exact_text(1), p.integer(2, -1)));
}

template <std::u32string (*map)(std::u32string_view)>
Value map_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters none(run, "the method", arguments, {});
  run.charge(own(self).size() * sizeof(char32_t));
  return run.text(text::to_utf8(map(text::to_code_points(own(self)))));
}

bool is_cased(char32_t c) { return text::is_upper(c) || text::is_lower(c) || text::is_title(c); }

std::u32string title(std::u32string_view text) {
  std::u32string out;
  bool inside = false;
  for (const char32_t c : text) {
    if (inside)
      out += text::lower(c);
    else
      text::append_title(out, c);
    inside = is_cased(c);
  }
  return out;
}

std::u32string swap_case(std::u32string_view text) {
  std::u32string out;
  for (const char32_t c : text) {
    if (text::is_lower(c))
      text::append_upper(out, c);
    else
      out += text::is_upper(c) ? text::lower(c) : c;
  }
  return out;
}

Value capitalize_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters none(run, "capitalize", arguments, {});
  run.charge(own(self).size() * sizeof(char32_t));
  return run.text(capitalize(own(self)));
}

// Whether the text has characters and all of them pass.
template <bool (*test)(char32_t)>
Value all_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters none(run, "the method", arguments, {});
  run.charge(own(self).size() * sizeof(char32_t));
  const std::u32string characters = text::to_code_points(own(self));
  return !characters.empty() && std::all_of(characters.begin(), characters.end(), test);
}

// Whether the text has letters with a case, and none of the other one.
template <bool (*right)(char32_t), bool (*wrong)(char32_t)>
Value case_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters none(run, "the method", arguments, {});
  run.charge(own(self).size() * sizeof(char32_t));
  const std::u32string characters = text::to_code_points(own(self));
  return std::any_of(characters.begin(), characters.end(), right) &&
         std::none_of(characters.begin(), characters.end(), wrong);
}

bool is_letter_or_number(char32_t c) { return text::is_letter(c) || text::is_number(c); }

Value join_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "join", arguments, {"iterable"}, 1);
  std::string out;
  bool first = true;
  for (const Value& part : items_of(run, p.get(0))) {
    if (part.text() == nullptr) run.fail("join needs strings, not a {}", part.type_name());
    if (!std::exchange(first, false)) out += own(self);
    out += *part.text();
    if (out.size() > run.limits().output_bytes) run.charge(out.size());
  }
  return run.text(std::move(out));
}

Value format_method(Run& run, const Value& self, const Arguments& arguments) {
  return run.text(format_braces(run, own(self), arguments));
}

template <char side>
Value pad_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "the method", arguments, {"width", "fillchar"}, 1);
  const std::string fill = p.has(1) ? p.exact_text(1) : " ";
  if (text::count_code_points(fill) != 1) run.fail("the fill must be one character");
  return run.text(pad(run, own(self), p.integer(0, 0), fill, side));
}

Value zero_fill_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "zfill", arguments, {"width"}, 1);
  const std::string& text = own(self);
  const std::size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  return run.text(text.substr(0, sign) + pad(run, std::string_view(text).substr(sign),
                                             p.integer(0, 0) - static_cast<std::int64_t>(sign), "0", '>'));
}

template <bool at_end>
Value remove_affix_method(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, at_end ? "removesuffix" : "removeprefix", arguments, {"affix"}, 1);
  const std::string &text = own(self), &affix = p.exact_text(0);
  if (at_end ? !text.ends_with(affix) : !text.starts_with(affix)) return self;
  return run.text(at_end ? text.substr(0, text.size() - affix.size()) : text.substr(affix.size()));
}

constexpr std::array<std::pair<std::string_view, Method>, 38> methods{{
    {"strip", strip_method<true, true>},
    {"lstrip", strip_method<true, false>},
    {"rstrip", strip_method<false, true>},
    {"split", split_method<false>},
    {"rsplit", split_method<true>},
    {"splitlines", split_lines_method},
    {"partition", partition_method<false>},
    {"rpartition", partition_method<true>},
    {"startswith", affix_method<false>},
    {"endswith", affix_method<true>},
    {"find", find_method<false, false>},
    {"rfind", find_method<true, false>},
    {"index", find_method<false, true>},
    {"rindex", find_method<true, true>},
    {"count", count_method},
    {"replace", replace_method},
    {"upper", map_method<text::upper>},
    {"lower", map_method<text::lower>},
    {"casefold", map_method<text::lower>},
    {"title", map_method<title>},
    {"swapcase", map_method<swap_case>},
    {"capitalize", capitalize_method},
    {"isalpha", all_method<text::is_letter>},
    {"isdigit", all_method<text::is_decimal>},
    {"isdecimal", all_method<text::is_decimal>},
    {"isnumeric", all_method<text::is_number>},
    {"isalnum", all_method<is_letter_or_number>},
    {"isspace", all_method<text::is_white_space>},
    {"isupper", case_method<text::is_upper, text::is_lower>},
    {"islower", case_method<text::is_lower, text::is_upper>},
    {"join", join_method},
    {"format", format_method},
    {"ljust", pad_method<'<'>},
    {"rjust", pad_method<'>'>},
    {"center", pad_method<'^'>},
    {"zfill", zero_fill_method},
    {"removeprefix", remove_affix_method<false>},
    {"removesuffix", remove_affix_method<true>},
}};

}  // namespace

Value (*text_method(std::string_view name))(Run&, const Value& self, const Arguments&) {
  const auto found =
      std::find_if(methods.begin(), methods.end(), [&](const auto& entry) { return entry.first == name; });
  return found == methods.end() ? nullptr : found->second;
}

std::size_t find(std::string_view text, std::string_view wanted, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const void* found = ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t rfind(std::string_view text, std::string_view wanted) {
  const std::string backwards(text.rbegin(), text.rend()), reversed(wanted.rbegin(), wanted.rend());
  const std::size_t found = find(backwards, reversed);
  return found == std::string::npos ? found : text.size() - found - wanted.size();
}

std::string replace(Run& run, std::string_view text, std::string_view from, std::string_view to, std::int64_t most) {
  std::string out;
  std::int64_t done = 0;
  for (std::size_t at = 0;;) {
    const std::size_t found = done == most ? std::string_view::npos : find(text, from, at);
    if (found == std::string_view::npos || (from.empty() && at >= text.size())) {
      if (from.empty() && done != most) out += to;
      return out += text.substr(std::min(at, text.size()));
    }
    out += text.substr(at, found - at);
    out += to;
    at = found + from.size();
    if (from.empty()) {
      const std::size_t length = text::character_length(text[at]);
      out += text.substr(at, length);
      at += length;
    }
    ++done;
    if (out.size() > run.limits().output_bytes) run.charge(out.size());
  }
}

std::string strip(std::string_view text, const Value& characters, bool left, bool right) {
  std::u32string all = text::to_code_points(text);
  std::u32string set;
  if (characters.text() != nullptr) set = text::to_code_points(*characters.text());
  const auto goes = [&](char32_t c) {
    return characters.text() == nullptr ? text::is_white_space(c) : set.find(c) != std::u32string::npos;
  };
  std::size_t begin = 0, end = all.size();
  while (left && begin < end && goes(all[begin])) ++begin;
  while (right && end > begin && goes(all[end - 1])) --end;
  return text::to_utf8(std::u32string_view(all).substr(begin, end - begin));
}

std::string capitalize(std::string_view text) {
  const std::u32string all = text::to_code_points(text);
  std::u32string out;
  if (!all.empty()) {
    text::append_title(out, all[0]);
    out += text::lower(std::u32string_view(all).substr(1));
  }
  return text::to_utf8(out);
}

std::string pad(Run& run, std::string_view text, std::int64_t width, std::string_view fill, char side) {
  const std::int64_t missing = width - static_cast<std::int64_t>(text::count_code_points(text));
  if (missing <= 0) return std::string(text);
  if (static_cast<std::uint64_t>(missing) > run.limits().output_bytes / 4) run.charge(run.limits().output_bytes + 1);
  // Python centers with the odd space on the left where the width is odd.
  const std::int64_t left = side == '>' ? missing : side == '<' ? 0 : missing / 2 + (missing & width & 1);
  std::string out;
  for (std::int64_t i = 0; i < left; ++i) out += fill;
  out += text;
  for (std::int64_t i = left; i < missing; ++i) out += fill;
  return out;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::string line;
  const std::u32string all = text::to_code_points(text);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const char32_t c = all[i];
    if ((c >= 0xA && c <= 0xD) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029) {
      if (c == '\r' && i + 1 < all.size() && all[i + 1] == '\n') ++i;
      lines.push_back(std::exchange(line, {}));
    } else {
      text::append_utf8(line, c);
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace weft::jinja
