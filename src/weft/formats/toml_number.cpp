#include "weft/formats/toml_number.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

namespace weft {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

// The token without its underscores, each of which must stand between two digits; empty when one does not.
std::string without_underscores(std::string_view token, bool hexadecimal) {
  const auto digit = [&](std::size_t i) {
    return i < token.size() && (is_digit(token[i]) || (hexadecimal && is_letter(token[i])));
  };
  std::string plain;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '_')
      plain += token[i];
    else if (i == 0 || !digit(i - 1) || !digit(i + 1))
      return "";
  }
  return plain;
}

std::optional<TomlValue> parse_integer(std::string_view digits, int base) {
  if (digits.empty()) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return TomlValue{value};
}

std::optional<TomlValue> parse_radix(std::string_view token) {
  const int base = token[1] == 'x' ? 16 : token[1] == 'o' ? 8 : 2;
  const std::string_view digits = token.substr(2);
  const std::string plain = without_underscores(digits, base == 16);
  if (plain.empty() || plain[0] == '-') return std::nullopt;
  return parse_integer(plain, base);
}

// [+-] whole [. digits] [e [+-] digits], the whole part without leading zeros.
std::optional<TomlValue> parse_decimal(std::string_view token) {
  const std::string plain = without_underscores(token, false);
  std::string_view rest = plain;
  if (rest.empty()) return std::nullopt;
  const bool negative = rest[0] == '-';
  if (negative || rest[0] == '+') rest.remove_prefix(1);
  const std::string_view number = rest;
  const auto take_digits = [&] {
    const std::size_t count = std::min(rest.find_first_not_of("0123456789"), rest.size());
    rest.remove_prefix(count);
    return count;
  };
  const std::size_t whole = take_digits();
  if (whole == 0 || (whole > 1 && number[0] == '0')) return std::nullopt;
  bool floating = false;
  if (!rest.empty() && rest[0] == '.') {
    floating = true;
    rest.remove_prefix(1);
    if (take_digits() == 0) return std::nullopt;
  }
  if (!rest.empty() && (rest[0] == 'e' || rest[0] == 'E')) {
    floating = true;
    rest.remove_prefix(1);
    if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) rest.remove_prefix(1);
    if (take_digits() == 0) return std::nullopt;
  }
  if (!rest.empty()) return std::nullopt;
  if (!floating) return parse_integer(negative ? std::string_view(plain) : number, 10);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  return TomlValue{negative ? -value : value};
}

// A number of exactly `width` digits within [low, high], taken off the front.
bool take_field(std::string_view& text, std::size_t width, int low, int high) {
  if (text.size() < width || !all_digits(text.substr(0, width))) return false;
  int value = 0;
  std::from_chars(text.data(), text.data() + width, value);
  text.remove_prefix(width);
  return value >= low && value <= high;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

int days_in(int year, int month) {
  if (month == 2) return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

bool take_date(std::string_view& text) {
  const std::string_view start = text;
  if (!take_field(text, 4, 0, 9999) || !take(text, '-') || !take_field(text, 2, 1, 12) || !take(text, '-') ||
      !take_field(text, 2, 1, 31))
    return false;
  int year = 0, month = 0, day = 0;
  std::from_chars(start.data(), start.data() + 4, year);
  std::from_chars(start.data() + 5, start.data() + 7, month);
  std::from_chars(start.data() + 8, start.data() + 10, day);
  return day <= days_in(year, month);
}

bool take_time(std::string_view& text) {
  if (!take_field(text, 2, 0, 23) || !take(text, ':') || !take_field(text, 2, 0, 59) || !take(text, ':') ||
      !take_field(text, 2, 0, 59))
    return false;
  if (!take(text, '.')) return true;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits > 0;
}

bool take_zone(std::string_view& text) {
  if (take(text, 'Z') || take(text, 'z')) return true;
  if (!take(text, '+') && !take(text, '-')) return false;
  return take_field(text, 2, 0, 23) && take(text, ':') && take_field(text, 2, 0, 59);
}

bool is_date_or_time(std::string_view text) {
  if (text.size() > 2 && text[2] == ':') return take_time(text) && text.empty();
  if (!take_date(text)) return false;
  if (text.empty()) return true;
  if (!take(text, 'T') && !take(text, 't') && !take(text, ' ')) return false;
  return take_time(text) && (text.empty() || (take_zone(text) && text.empty()));
}

}  // namespace

std::size_t toml_bare_length(std::string_view text) {
  const auto token_end = [&](std::size_t from) {
    while (from < text.size() && (is_digit(text[from]) || is_letter(text[from]) || text[from] == '_' ||
                                  text[from] == '+' || text[from] == '-' || text[from] == '.' || text[from] == ':'))
      ++from;
    return from;
  };
  const std::size_t end = token_end(0);
  // "1979-05-27 07:32:00" is one value.
  if (end == 10 && text[4] == '-' && text.size() > 13 && text[10] == ' ' && is_digit(text[11]) && text[13] == ':')
    return token_end(11);
  return end;
}

std::optional<TomlValue> parse_toml_bare(std::string_view token) {
  if (token == "true") return TomlValue{true};
  if (token == "false") return TomlValue{false};
  const bool negative = token.starts_with('-');
  const std::string_view unsigned_part = negative || token.starts_with('+') ? token.substr(1) : token;
  if (unsigned_part == "inf")
    return TomlValue{negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()};
  if (unsigned_part == "nan") return TomlValue{std::numeric_limits<double>::quiet_NaN()};
  if (token.size() > 2 && token[0] == '0' && (token[1] == 'x' || token[1] == 'o' || token[1] == 'b'))
    return parse_radix(token);
  if ((token.size() > 4 && token[4] == '-' && all_digits(token.substr(0, 4))) || (token.size() > 2 && token[2] == ':'))
    return is_date_or_time(token) ? std::optional(TomlValue{TomlDateTime{std::string(token)}}) : std::nullopt;
  return parse_decimal(token);
}

}  // namespace weft
