#include "weft/ir/text_values.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "weft/base/half.h"
#include "weft/ir/attribute.h"

namespace weft {
namespace {

// Decimal, "inf", "nan", or the bits of a NaN.
template <class Real, class Bits>
std::optional<Real> read_float(std::string_view token) {
  static_assert(sizeof(Real) == sizeof(Bits));
  if (token.starts_with("0x")) {
    Bits bits = 0;
    const auto [end, error] = std::from_chars(token.data() + 2, token.data() + token.size(), bits, 16);
    if (error != std::errc() || end != token.data() + token.size() || token.size() != 2 + 2 * sizeof(Bits))
      return std::nullopt;
    return std::bit_cast<Real>(bits);
  }
  const bool negative = token.starts_with('-');
  const std::string_view magnitude = token.substr(negative ? 1 : 0);
  const Real sign = negative ? Real{-1} : Real{1};
  if (magnitude == "inf") return sign * std::numeric_limits<Real>::infinity();
  if (magnitude == "nan") return std::copysign(std::numeric_limits<Real>::quiet_NaN(), sign);
  // from_chars knows more spellings of these than one.
  if (magnitude.empty() || magnitude[0] < '0' || magnitude[0] > '9') return std::nullopt;
  Real value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return value;
}

// A 16-bit float by way of f32; its own NaN bits have four digits.
template <class Narrow>
std::optional<std::uint16_t> read_half(std::string_view token, Narrow narrow) {
  if (token.starts_with("0x")) {
    std::uint16_t bits = 0;
    const auto [end, error] = std::from_chars(token.data() + 2, token.data() + token.size(), bits, 16);
    if (error != std::errc() || end != token.data() + token.size() || token.size() != 6) return std::nullopt;
    return bits;
  }
  const auto value = read_float<float, std::uint32_t>(token);
  if (!value) return std::nullopt;
  return narrow(*value);
}

template <class T>
std::optional<T> read_integer(std::string_view token) {
  T value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return value;
}

template <class T>
bool append(std::vector<std::byte>& bytes, const std::optional<T>& value) {
  if (!value) return false;
  const auto* raw = reinterpret_cast<const std::byte*>(&*value);
  bytes.insert(bytes.end(), raw, raw + sizeof(T));
  return true;
}

template <class T>
T element(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

std::string float_text(float value, std::uint32_t own_bits, int digits) {
  if (std::isnan(value)) {
    // A NaN's name stands for the quiet one without payload.
    const std::uint32_t quiet = std::bit_cast<std::uint32_t>(value) << 1;
    if (quiet == 0xFF800000u) return std::signbit(value) ? "-nan" : "nan";
    return fmt::format("0x{:0{}x}", own_bits, digits);
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string element_text(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::f32: return float_text(element<float>(at), element<std::uint32_t>(at), 8);
    case DType::f16: {
      const auto bits = element<std::uint16_t>(at);
      return float_text(f16_to_f32(bits), bits, 4);
    }
    case DType::bf16: {
      const auto bits = element<std::uint16_t>(at);
      return float_text(bf16_to_f32(bits), bits, 4);
    }
    case DType::f64: return real_text(element<double>(at));
    case DType::i8: return fmt::format("{}", element<std::int8_t>(at));
    case DType::i16: return fmt::format("{}", element<std::int16_t>(at));
    case DType::i32: return fmt::format("{}", element<std::int32_t>(at));
    case DType::i64: return fmt::format("{}", element<std::int64_t>(at));
    case DType::u8: return fmt::format("{}", element<std::uint8_t>(at));
    case DType::u16: return fmt::format("{}", element<std::uint16_t>(at));
    case DType::u32: return fmt::format("{}", element<std::uint32_t>(at));
    case DType::u64: return fmt::format("{}", element<std::uint64_t>(at));
    case DType::boolean: return element<std::uint8_t>(at) == 0 ? "false" : "true";
    default: return "";
  }
}

}  // namespace

std::optional<double> read_real(std::string_view token) { return read_float<double, std::uint64_t>(token); }

bool append_value(DType dtype, std::string_view token, std::vector<std::byte>& bytes) {
  switch (dtype) {
    case DType::f32: return append(bytes, read_float<float, std::uint32_t>(token));
    case DType::f64: return append(bytes, read_real(token));
    case DType::f16: return append(bytes, read_half(token, f32_to_f16));
    case DType::bf16: return append(bytes, read_half(token, f32_to_bf16));
    case DType::i8: return append(bytes, read_integer<std::int8_t>(token));
    case DType::i16: return append(bytes, read_integer<std::int16_t>(token));
    case DType::i32: return append(bytes, read_integer<std::int32_t>(token));
    case DType::i64: return append(bytes, read_integer<std::int64_t>(token));
    case DType::u8: return append(bytes, read_integer<std::uint8_t>(token));
    case DType::u16: return append(bytes, read_integer<std::uint16_t>(token));
    case DType::u32: return append(bytes, read_integer<std::uint32_t>(token));
    case DType::u64: return append(bytes, read_integer<std::uint64_t>(token));
    case DType::boolean: {
      if (token != "true" && token != "false") return false;
      return append(bytes, std::optional(static_cast<std::uint8_t>(token == "true")));
    }
    default: return false;
  }
}

std::optional<std::string> values_text(const Tensor& tensor) {
  const std::size_t size = dtype_info(tensor.dtype()).block_bytes;
  std::string text;
  std::vector<std::byte> read_back;
  for (std::size_t at = 0; at < tensor.byte_size(); at += size) {
    const std::string token = element_text(tensor.dtype(), tensor.bytes().data() + at);
    if (token.empty() || !append_value(tensor.dtype(), token, read_back)) return std::nullopt;
    text += (text.empty() ? "" : ", ") + token;
  }
  if (read_back.size() != tensor.byte_size() || !std::equal(read_back.begin(), read_back.end(), tensor.bytes().begin()))
    return std::nullopt;
  return text;
}

}  // namespace weft
