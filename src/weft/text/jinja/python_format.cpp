#include "weft/text/jinja/python_format.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "weft/text/code_points.h"
#include "weft/text/jinja/operators.h"
#include "weft/text/jinja/text_methods.h"
#include "weft/text/jinja/value_text.h"

namespace weft::jinja {
namespace {

struct Spec {
  std::string fill = " ";
  char align = 0;  // < > ^ = or 0
  char sign = '-';
  bool alternate = false, grouped = false;
  std::int64_t width = 0;
  std::optional<std::int64_t> precision;
  char type = 0;
};

constexpr std::int64_t most_digits = 1000;

std::int64_t read_number(Run& run, std::string_view text, std::size_t& at) {
  std::int64_t number = 0;
  for (; at < text.size() && text::is_ascii_digit(text[at]); ++at) {
    number = number * 10 + (text[at] - '0');
    if (number > 1 << 24) run.fail("the width or precision in a format is too large");
  }
  return number;
}

std::string grouped(const std::string& digits) {
  const std::size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  std::string out;
  for (std::size_t i = 0; i < end; ++i) {
    if (i > 0 && (end - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out + digits.substr(end);
}

// Digits without a sign.
std::string integer_digits(std::int64_t value, const Spec& spec) {
  const std::uint64_t size = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  switch (spec.type) {
    case 'x': return (spec.alternate ? "0x" : "") + fmt::format("{:x}", size);
    case 'X': return (spec.alternate ? "0X" : "") + fmt::format("{:X}", size);
    case 'o': return (spec.alternate ? "0o" : "") + fmt::format("{:o}", size);
    case 'b': return (spec.alternate ? "0b" : "") + fmt::format("{:b}", size);
    default: return spec.grouped ? grouped(std::to_string(size)) : std::to_string(size);
  }
}

std::string real_digits(Run& run, double value, const Spec& spec) {
  const double size = std::abs(value);
  if (!std::isfinite(size)) return std::isnan(size) ? "nan" : "inf";
  const std::int64_t precision = spec.precision.value_or(6);
  if (precision > most_digits) run.fail("a format has at most {} digits", most_digits);
  std::string digits;
  switch (spec.type) {
    case 'e': digits = fmt::format("{:.{}e}", size, precision); break;
    case 'E': digits = fmt::format("{:.{}E}", size, precision); break;
    case 'g': digits = fmt::format("{:.{}g}", size, precision); break;
    case 'G': digits = fmt::format("{:.{}G}", size, precision); break;
    case '%': digits = fmt::format("{:.{}f}%", size * 100, precision); break;
    case 0: digits = spec.precision ? fmt::format("{:.{}g}", size, precision) : real_text(size); break;
    default: digits = fmt::format("{:.{}f}", size, precision);
  }
  return spec.grouped ? grouped(digits) : digits;
}

std::string with_sign(Run& run, std::string digits, bool negative, const Spec& spec) {
  const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (spec.align == '=')
    return sign + pad(run, digits, spec.width - static_cast<std::int64_t>(sign.size()), spec.fill, '>');
  return pad(run, sign + digits, spec.width, spec.fill, spec.align == 0 ? '>' : spec.align);
}

std::string format_number(Run& run, const Value& value, const Spec& spec) {
  constexpr std::string_view real_types = "eEfFgG%";
  const bool as_real = value.real() != nullptr || real_types.find(spec.type) != std::string_view::npos;
  if (spec.type != 0 && as_real && real_types.find(spec.type) == std::string_view::npos && spec.type != 'n')
    run.fail("the format \"{}\" needs an integer, not a {}", spec.type, value.type_name());
  if (as_real) return with_sign(run, real_digits(run, *value.number(), spec), std::signbit(*value.number()), spec);
  return with_sign(run, integer_digits(*value.integer(), spec), *value.integer() < 0, spec);
}

std::string format_text(Run& run, std::string_view text, const Spec& spec) {
  std::string cut(text);
  if (spec.precision) {
    const std::u32string all = text::to_code_points(text);
    cut = text::to_utf8(std::u32string_view(all).substr(0, static_cast<std::size_t>(*spec.precision)));
  }
  return pad(run, cut, spec.width, spec.fill, spec.align == 0 ? '<' : spec.align);
}

class PercentFormatter {
 public:
  PercentFormatter(Run& run, std::string_view format, const Value& values)
      : run_(run), format_(format), values_(values) {}

  std::string run() {
    for (std::size_t at = 0; at < format_.size();) {
      if (format_[at] != '%') {
        out_ += format_[at++];
        continue;
      }
      ++at;
      read_conversion(at);
      if (out_.size() > run_.limits().output_bytes) run_.charge(out_.size());
    }
    const Sequence* tuple = as_tuple();
    const std::size_t given = tuple != nullptr ? tuple->items.size() : 1;
    if (used_ < given && values_.mapping() == nullptr && !(tuple == nullptr && used_named_))
      run_.fail("the format takes {} values, {} are given", used_, given);
    return std::move(out_);
  }

 private:
  const Sequence* as_tuple() const {
    const Sequence* list = values_.sequence();
    return list != nullptr && list->kind == Sequence::Kind::tuple ? list : nullptr;
  }

  Value next() {
    const Sequence* tuple = as_tuple();
    const std::size_t index = used_++;
    if (tuple == nullptr && index == 0) return values_;
    if (tuple == nullptr || index >= tuple->items.size()) run_.fail("the format needs more values than are given");
    return tuple->items[index];
  }

  std::int64_t number_or_star(std::size_t& at) {
    if (at >= format_.size() || format_[at] != '*') return read_number(run_, format_, at);
    ++at;
    const auto given = next().integer();
    if (!given || *given > 1 << 24 || *given < -(1 << 24)) run_.fail("\"*\" in a format needs a small integer");
    return *given;
  }

  void read_conversion(std::size_t& at) {
    std::optional<Value> named;
    if (at < format_.size() && format_[at] == '(') {
      const std::size_t close = format_.find(')', at);
      if (close == std::string_view::npos || values_.mapping() == nullptr)
        run_.fail("\"%(name)\" in a format needs a mapping");
      const Value* found = values_.mapping()->find(format_.substr(at + 1, close - at - 1));
      if (found == nullptr) run_.fail("the mapping has no \"{}\"", format_.substr(at + 1, close - at - 1));
      named = *found;
      used_named_ = true;
      at = close + 1;
    }
    Spec spec;
    bool zero = false;
    for (; at < format_.size() && std::string_view("-+ #0").find(format_[at]) != std::string_view::npos; ++at) {
      if (format_[at] == '-') spec.align = '<';
      if (format_[at] == '+' || (format_[at] == ' ' && spec.sign != '+')) spec.sign = format_[at];
      if (format_[at] == '#') spec.alternate = true;
      if (format_[at] == '0') zero = true;
    }
    spec.width = number_or_star(at);
    if (at < format_.size() && format_[at] == '.') spec.precision = number_or_star(++at);
    if (at >= format_.size()) run_.fail("the format ends after \"%\"");
    spec.type = format_[at++];
    if (spec.type == '%') {
      out_ += '%';
      return;
    }
    append(named ? *named : next(), spec, zero);
  }

  void append(const Value& value, Spec spec, bool zero) {
    switch (spec.type) {
      case 's':
      case 'r':
        if (spec.align == 0) spec.align = '>';
        out_ += format_text(run_, spec.type == 's' ? str(run_, value) : repr(run_, value), spec);
        return;
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': break;
      default: run_.fail("\"%{}\" is no format that weft knows", spec.type);
    }
    if (!value.number()) {
      run_.expect_defined(value);
      run_.fail("\"%{}\" needs a number, not a {}", spec.type, value.type_name());
    }
    if (zero && spec.align == 0) {
      spec.fill = "0";
      spec.align = '=';
    }
    const bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (decimal && value.real() != nullptr) {
      const double whole = std::trunc(*value.real());
      if (!(std::abs(whole) < 9e18)) run_.fail("the number is no integer of 64 bits");
      out_ += format_number(run_, static_cast<std::int64_t>(whole), spec);
    } else {
      out_ += format_number(run_, value, spec);
    }
  }

  Run& run_;
  std::string_view format_;
  const Value& values_;
  std::string out_;
  std::size_t used_ = 0;
  bool used_named_ = false;
};

class BraceFormatter {
 public:
  BraceFormatter(Run& run, std::string_view format, const Arguments& values)
      : run_(run), format_(format), values_(values) {}

  std::string run() {
    for (std::size_t at = 0; at < format_.size();) {
      const char c = format_[at++];
      const bool twice = at < format_.size() && format_[at] == c;
      if (c == '}' && !twice) run_.fail("a single \"}}\" in a format");
      if (c == '{' && !twice) {
        const std::size_t close = format_.find('}', at);
        if (close == std::string_view::npos) run_.fail("a \"{{\" in a format has no end");
        append_field(format_.substr(at, close - at));
        at = close + 1;
      } else {
        out_ += c;
        if (c == '{' || c == '}') ++at;
      }
      if (out_.size() > run_.limits().output_bytes) run_.charge(out_.size());
    }
    return std::move(out_);
  }

 private:
  Value lookup(std::string_view name) {
    std::size_t end = std::min(name.find_first_of(".["), name.size());
    const std::string_view first = name.substr(0, end);
    Value value = first_value(first);
    while (end < name.size()) {
      if (name[end] == '.') {
        const std::size_t next = std::min(name.find_first_of(".[", end + 1), name.size());
        value = attribute(run_, value, name.substr(end + 1, next - end - 1));
        end = next;
      } else {
        const std::size_t close = name.find(']', end);
        if (close == std::string_view::npos) run_.fail("a \"[\" in a format has no end");
        std::size_t at = end + 1;
        const std::string_view key = name.substr(at, close - at);
        const bool number = !key.empty() && std::all_of(key.begin(), key.end(), text::is_ascii_digit);
        value = item(run_, value, number ? Value(read_number(run_, name, at)) : Value(key));
        end = close + 1;
      }
      run_.expect_defined(value);
    }
    return value;
  }

  Value first_value(std::string_view name) {
    std::size_t at = 0;
    const bool number = std::all_of(name.begin(), name.end(), text::is_ascii_digit);
    if (number) {
      const auto index = name.empty() ? automatic_++ : static_cast<std::size_t>(read_number(run_, name, at));
      if (index >= values_.positional.size()) run_.fail("the format needs more values than are given");
      return values_.positional[index];
    }
    for (const auto& [key, value] : values_.named)
      if (key == name) return value;
    run_.fail("the format names \"{}\", which is not given", name);
  }

  Spec read_spec(std::string_view text) {
    Spec spec;
    std::size_t at = 0;
    constexpr std::string_view aligns = "<>^=";
    const std::u32string characters = text::to_code_points(text);
    if (characters.size() > 1 && characters[1] < 0x80 &&
        aligns.find(static_cast<char>(characters[1])) != std::string_view::npos) {
      spec.fill = text::to_utf8(std::u32string_view(characters).substr(0, 1));
      spec.align = static_cast<char>(characters[1]);
      at = spec.fill.size() + 1;
    } else if (!text.empty() && aligns.find(text[0]) != std::string_view::npos) {
      spec.align = text[at++];
    }
    const auto skip = [&](char c) { return at < text.size() && text[at] == c && (++at, true); };
    if (at < text.size() && std::string_view("+- ").find(text[at]) != std::string_view::npos) spec.sign = text[at++];
    spec.alternate = skip('#');
    if (skip('0') && spec.align == 0) {
      spec.fill = "0";
      spec.align = '=';
    }
    spec.width = read_number(run_, text, at);
    spec.grouped = skip(',');
    if (skip('.')) spec.precision = read_number(run_, text, at);
    if (at < text.size()) spec.type = text[at++];
    if (at < text.size()) run_.fail("\"{}\" is no format that weft knows", text);
    return spec;
  }

  void append_field(std::string_view field) {
    const std::size_t colon = field.find(':');
    std::string_view name = field.substr(0, colon);
    char conversion = 0;
    if (const std::size_t mark = name.find('!'); mark != std::string_view::npos && mark + 2 == name.size()) {
      conversion = name[mark + 1];
      name = name.substr(0, mark);
    }
    Value value = lookup(name);
    if (conversion == 'r') value = Value(repr(run_, value));
    if (conversion == 's') value = Value(str(run_, value));
    const std::string_view text = colon == std::string_view::npos ? std::string_view() : field.substr(colon + 1);
    const Spec spec = read_spec(text);
    constexpr std::string_view number_types = "bdnoxXeEfFgG%";
    if (value.number() && (value.boolean() == nullptr || spec.type != 0) &&
        (spec.type == 0 || number_types.find(spec.type) != std::string_view::npos)) {
      out_ += format_number(run_, value, spec);
    } else if (spec.type == 0 || spec.type == 's') {
      if (!text.empty() && value.text() == nullptr) run_.fail("a {} takes no format \"{}\"", value.type_name(), text);
      out_ += format_text(run_, str(run_, value), spec);
    } else {
      run_.fail("a {} takes no format \"{}\"", value.type_name(), text);
    }
  }

  Run& run_;
  std::string_view format_;
  const Arguments& values_;
  std::string out_;
  std::size_t automatic_ = 0;
};

}  // namespace

std::string format_percent(Run& run, std::string_view format, const Value& values) {
  return PercentFormatter(run, format, values).run();
}

std::string format_braces(Run& run, std::string_view format, const Arguments& values) {
  return BraceFormatter(run, format, values).run();
}

}  // namespace weft::jinja
