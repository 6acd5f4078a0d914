#include "weft/text/code_points.h"

#include <utf8proc.h>

#include <array>
#include <utility>

namespace weft::text {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }
bool between(char32_t c, utf8proc_category_t first, utf8proc_category_t last) {
  const auto of = category(c);
  return of >= first && of <= last;
}

// The characters of Latin script and its ligatures whose upper case is more than one character.
constexpr std::array<std::pair<char32_t, std::u32string_view>, 13> long_upper{{{0xDF, U"SS"},
                                                                               {0x149, U"\u02BCN"},
                                                                               {0x1F0, U"J\u030C"},
                                                                               {0x1E96, U"H\u0331"},
                                                                               {0x1E97, U"T\u0308"},
                                                                               {0x1E98, U"W\u030A"},
                                                                               {0xFB00, U"FF"},
                                                                               {0xFB01, U"FI"},
                                                                               {0xFB02, U"FL"},
                                                                               {0xFB03, U"FFI"},
                                                                               {0xFB04, U"FFL"},
                                                                               {0xFB05, U"ST"},
                                                                               {0xFB06, U"ST"}}};

// Bytes of the character at the start of `text`.
std::size_t read(std::string_view text, char32_t& c) {
  utf8proc_int32_t code_point = -1;
  const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                   static_cast<utf8proc_ssize_t>(text.size()), &code_point);
  c = length > 0 ? static_cast<char32_t>(code_point) : U'\uFFFD';
  return length > 0 ? static_cast<std::size_t>(length) : 1;
}

}  // namespace

std::u32string to_code_points(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    char32_t c = 0;
    at += read(text.substr(at), c);
    out += c;
  }
  return out;
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  return count;
}

void append_utf8(std::string& out, char32_t c) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80)
    out += static_cast<char>(c);
  else if (c < 0x800)
    out += {static_cast<char>(0xC0 | c >> 6), tail(0)};
  else if (c < 0x10000)
    out += {static_cast<char>(0xE0 | c >> 12), tail(6), tail(0)};
  else
    out += {static_cast<char>(0xF0 | c >> 18), tail(12), tail(6), tail(0)};
}

std::string to_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

bool is_white_space(char32_t c) {
  return (c >= 0x9 && c <= 0xD) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0x2028 || c == 0x2029 ||
         (c >= 0xA0 && is_space_separator(c));
}
bool is_letter(char32_t c) { return between(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO); }
bool is_number(char32_t c) { return between(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }
bool is_decimal(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }
bool is_upper(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LL; }
bool is_title(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LT; }
bool is_space_separator(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ZS; }
bool is_nonspacing_mark(char32_t c) { return category(c) == UTF8PROC_CATEGORY_MN; }
bool is_punctuation(char32_t c) { return between(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO); }
bool is_other(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_CN || between(c, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO);
}
bool is_printable(char32_t c) {
  return c == ' ' || !(is_other(c) || between(c, UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP));
}

void append_upper(std::u32string& out, char32_t c) {
  for (const auto& [from, to] : long_upper)
    if (from == c) {
      out += to;
      return;
    }
  out += static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
}

void append_title(std::u32string& out, char32_t c) {
  std::u32string upper;
  append_upper(upper, c);
  if (upper.size() == 1) {
    out += static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c)));
    return;
  }
  out += upper[0];
  for (const char32_t rest : std::u32string_view(upper).substr(1)) out += lower(rest);
}

char32_t lower(char32_t c) { return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))); }

void append_decomposed(std::u32string& out, char32_t c) {
  std::array<utf8proc_int32_t, 8> parts{};
  int boundary = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(), parts.size(),
                                                         UTF8PROC_DECOMPOSE, &boundary);
  for (utf8proc_ssize_t i = 0; i < count && i < static_cast<utf8proc_ssize_t>(parts.size()); ++i)
    out += static_cast<char32_t>(parts[static_cast<std::size_t>(i)]);
}

std::u32string upper(std::u32string_view text) {
  std::u32string out;
  for (const char32_t c : text) append_upper(out, c);
  return out;
}

std::u32string lower(std::u32string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == 0x130) {
      out += U"i\u0307";
    } else if (text[i] == 0x3A3) {
      // A sigma at the end of a word has a form of its own.
      const bool after = i > 0 && is_letter(text[i - 1]);
      const bool before = i + 1 < text.size() && is_letter(text[i + 1]);
      out += after && !before ? U'\u03C2' : U'\u03C3';
    } else {
      out += lower(text[i]);
    }
  }
  return out;
}

std::u32string strip(std::u32string_view text) {
  std::size_t begin = 0, end = text.size();
  while (begin < end && is_white_space(text[begin])) ++begin;
  while (end > begin && is_white_space(text[end - 1])) --end;
  return std::u32string(text.substr(begin, end - begin));
}

std::string_view strip(std::string_view text) {
  while (!text.empty()) {
    char32_t c = 0;
    const std::size_t length = read(text, c);
    if (!is_white_space(c)) break;
    text.remove_prefix(length);
  }
  while (!text.empty()) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    char32_t c = 0;
    read(text.substr(begin), c);
    if (!is_white_space(c)) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

}  // namespace weft::text
