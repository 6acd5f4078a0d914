// UTF-8 text as Unicode code points, and what the Unicode database says of each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::text {

// `text` is well-formed UTF-8; a broken byte becomes U+FFFD.
std::u32string to_code_points(std::string_view text);
std::size_t count_code_points(std::string_view text);
void append_utf8(std::string& out, char32_t c);
std::string to_utf8(std::u32string_view text);

constexpr bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
bool is_white_space(char32_t c);  // the characters that Python's str.strip() removes
bool is_letter(char32_t c);       // categories L*
bool is_number(char32_t c);       // categories N*
bool is_decimal(char32_t c);      // category Nd
bool is_upper(char32_t c);        // category Lu
bool is_lower(char32_t c);        // category Ll
bool is_title(char32_t c);        // category Lt
bool is_space_separator(char32_t c);
bool is_nonspacing_mark(char32_t c);
bool is_punctuation(char32_t c);  // categories P*
bool is_printable(char32_t c);    // everything but categories C* and Z*, and the space
bool is_other(char32_t c);        // categories C*: control, format, surrogate, private, unassigned

// Full mappings where one character becomes several ("ß" is "SS").
std::u32string upper(std::u32string_view text);
std::u32string lower(std::u32string_view text);
void append_upper(std::u32string& out, char32_t c);
void append_title(std::u32string& out, char32_t c);
char32_t lower(char32_t c);
void append_decomposed(std::u32string& out, char32_t c);  // its canonical decomposition

std::u32string strip(std::u32string_view text);
std::string_view strip(std::string_view text);  // white space off both ends

}  // namespace weft::text
