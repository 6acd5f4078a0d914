#include "weft/ir/attribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace weft {

std::string_view to_string(AttributeType type) {
  constexpr std::string_view names[] = {"bool",     "int",   "real",  "text",  "choice",
                                        "int list", "reals", "dtype", "shape", "tensor"};
  return names[static_cast<std::size_t>(type)];
}

bool holds(const AttributeValue& value, AttributeType type) {
  switch (type) {
    case AttributeType::boolean: return std::holds_alternative<bool>(value);
    case AttributeType::integer: return std::holds_alternative<std::int64_t>(value);
    case AttributeType::real: return std::holds_alternative<double>(value);
    case AttributeType::text:
    case AttributeType::choice: return std::holds_alternative<std::string>(value);
    case AttributeType::integers: return std::holds_alternative<std::vector<std::int64_t>>(value);
    case AttributeType::reals: return std::holds_alternative<std::vector<double>>(value);
    case AttributeType::dtype: return std::holds_alternative<DType>(value);
    case AttributeType::shape: return std::holds_alternative<Shape>(value);
    case AttributeType::tensor: return std::holds_alternative<Tensor>(value);
  }
  return false;
}

namespace {

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

bool same_tensor(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() && a.byte_size() == b.byte_size() &&
         (a.byte_size() == 0 || std::memcmp(a.bytes().data(), b.bytes().data(), a.byte_size()) == 0);
}

}  // namespace

bool same_value(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<class T>(const T& x) {
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, double>)
          return same_bits(x, y);
        else if constexpr (std::is_same_v<T, std::vector<double>>)
          return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_bits);
        else if constexpr (std::is_same_v<T, Tensor>)
          return same_tensor(x, y);
        else
          return x == y;
      },
      a);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
          out += c;
    }
  }
  return out + "\"";
}

std::string real_text(double value) {
  if (std::isnan(value)) {
    // The quiet NaNs by name, others by their bits.
    const auto bits = std::bit_cast<std::uint64_t>(value);
    if (bits << 1 == std::uint64_t{0xFFF} << 52) return std::signbit(value) ? "-nan" : "nan";
    return fmt::format("{:#018x}", bits);
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  // A real always looks like one: "1.0", "1e+20".
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string attribute_text(const AttributeValue& value, AttributeType type) {
  if (std::holds_alternative<std::monostate>(value)) return "_";
  switch (type) {
    case AttributeType::boolean: return std::get<bool>(value) ? "true" : "false";
    case AttributeType::integer: return std::to_string(std::get<std::int64_t>(value));
    case AttributeType::real: return real_text(std::get<double>(value));
    case AttributeType::text: return weft::quoted(std::get<std::string>(value));
    case AttributeType::choice: return std::get<std::string>(value);
    case AttributeType::integers:
      return fmt::format("[{}]", fmt::join(std::get<std::vector<std::int64_t>>(value), ", "));
    case AttributeType::reals: {
      std::string text;
      for (const double x : std::get<std::vector<double>>(value)) text += (text.empty() ? "" : ", ") + real_text(x);
      return "[" + text + "]";
    }
    case AttributeType::dtype: return std::string(to_string(std::get<DType>(value)));
    case AttributeType::shape: return std::get<Shape>(value).text();
    case AttributeType::tensor: {
      const Tensor& tensor = std::get<Tensor>(value);
      return fmt::format("{} {} {}B", dims_text(tensor.dims()), to_string(tensor.dtype()), tensor.byte_size());
    }
  }
  return "";
}

}  // namespace weft
