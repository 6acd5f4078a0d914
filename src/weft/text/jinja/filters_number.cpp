// Filters that give numbers.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "weft/text/code_points.h"
#include "weft/text/jinja/filters.h"
#include "weft/text/jinja/operators.h"
#include "weft/text/jinja/parameters.h"

namespace weft::jinja {
namespace {

// Python's int(text, base): white space around, a sign, single underscores, a prefix that names the base.
std::optional<std::int64_t> parse_integer(std::string_view text, int base) {
  std::string digits;
  text = text::strip(text);
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    if (text[0] == '-') digits = "-";
    text.remove_prefix(1);
  }
  const char prefix = text.size() > 2 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
  if ((base == 16 && prefix == 'x') || (base == 8 && prefix == 'o') || (base == 2 && prefix == 'b'))
    text.remove_prefix(2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && i > 0 && text[i - 1] != '_' && i + 1 < text.size()) continue;
    if (text[i] == '-' || text[i] == '_') return std::nullopt;
    digits += text[i];
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (text.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  const std::string stripped(text::strip(text));
  // strtod also reads hexadecimal numbers and "nan(...)".
  if (stripped.empty() || stripped.find_first_of("xX(") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(stripped.c_str(), &end);
  if (end != stripped.c_str() + stripped.size()) return std::nullopt;
  return value;
}

std::optional<double> to_real(const Value& value) {
  return value.text() != nullptr ? parse_real(*value.text()) : value.number();
}

Value to_integer(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "int", arguments, {"default", "base"});
  run.expect_defined(subject);
  const auto base = p.integer(1, 10);
  if (base < 2 || base > 36) run.fail("int needs a base from 2 to 36");
  if (const auto whole = subject.integer()) return *whole;
  if (subject.text() != nullptr)
    if (const auto whole = parse_integer(*subject.text(), static_cast<int>(base))) return *whole;
  if (const auto real = to_real(subject); real && std::abs(*real) < 9.2e18) return static_cast<std::int64_t>(*real);
  return p.has(0) ? p.get(0) : Value(0);
}

Value to_float(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "float", arguments, {"default"});
  run.expect_defined(subject);
  if (const auto real = to_real(subject)) return *real;
  return p.has(0) ? p.get(0) : Value(0.0);
}

Value absolute(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "abs", arguments, {});
  if (const auto whole = subject.integer()) return *whole < 0 ? negate(run, *whole) : Value(*whole);
  if (const double* real = subject.real()) return std::abs(*real);
  run.expect_defined(subject);
  run.fail("abs needs a number, not a {}", subject.type_name());
}

// Half to even on the exact binary value, as Python's round().
double rounded(double value, std::int64_t precision) {
  if (!std::isfinite(value) || precision > 330) return value;
  if (precision >= 0) {
    char buffer[768];
    std::snprintf(buffer, sizeof(buffer), "%.*f", static_cast<int>(precision), value);
    return std::strtod(buffer, nullptr);
  }
  if (precision < -308) return 0;
  const double unit = std::pow(10.0, static_cast<double>(-precision));
  return std::nearbyint(value / unit) * unit;
}

Value round(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "round", arguments, {"precision", "method"});
  const std::int64_t precision = p.integer(0, 0);
  const std::string method = p.text(1, "common");
  if (!subject.number()) {
    run.expect_defined(subject);
    run.fail("round needs a number, not a {}", subject.type_name());
  }
  if (method == "common") {
    if (subject.real() != nullptr) return rounded(*subject.real(), precision);
    if (precision >= 0) return *subject.integer();
    return static_cast<std::int64_t>(rounded(static_cast<double>(*subject.integer()), precision));
  }
  const double unit = std::pow(10.0, static_cast<double>(precision));
  if (method == "ceil") return std::ceil(*subject.number() * unit) / unit;
  if (method == "floor") return std::floor(*subject.number() * unit) / unit;
  run.fail("round knows the methods common, ceil and floor, not \"{}\"", method);
}

Value sum(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "sum", arguments, {"attribute", "start"});
  Value total = p.has(1) ? p.get(1) : Value(0);
  for (const Value& each : items_of(run, subject)) {
    run.step();
    total = binary(run, "+", total, p.given(0) ? path(run, each, p.get(0)) : each);
  }
  return total;
}

Value count(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "length", arguments, {});
  return static_cast<std::int64_t>(length(run, subject));
}

}  // namespace

std::span<const FilterEntry> number_filters() {
  static constexpr std::array<FilterEntry, 7> table{{
      {"int", to_integer},
      {"float", to_float},
      {"abs", absolute},
      {"round", round},
      {"sum", sum},
      {"length", count},
      {"count", count},
  }};
  return table;
}

}  // namespace weft::jinja
