// The two 16-bit floats, exactly and in loops that a compiler can vectorize. Widening is exact (NaN payloads
// included); narrowing rounds to nearest, ties to even, with overflow to infinity. Pure functions.
#pragma once

#include <bit>
#include <cstdint>

namespace weft {

// Signed integers throughout, and masks in place of choices: what SSE2 compares and blends.
inline float f16_to_f32(std::uint16_t half) {
  const std::int32_t magnitude = (half & 0x7FFF) << 13;
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  // Exponent bias: 127 - 15 = 112. Infinities and NaN move on to exponent 255; subnormals are m * 2^-24, which is
  // (1 + m * 2^-10) * 2^-14 - 2^-14 without touching an f32 subnormal.
  const std::int32_t special = -static_cast<std::int32_t>(magnitude >= 0x0F800000) & (112 << 23);
  const std::int32_t rebased = magnitude + (112 << 23) + special;
  const auto small = std::bit_cast<std::int32_t>(std::bit_cast<float>(magnitude + (113 << 23)) - 0x1p-14f);
  const std::int32_t is_small = -static_cast<std::int32_t>(magnitude < 0x00800000);
  return std::bit_cast<float>(static_cast<std::uint32_t>((rebased & ~is_small) | (small & is_small)) | sign);
}

inline std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7FFFFFFFu);
  // 0.5 has units of 2^-24 in its last place, those of an f16 subnormal: the addition does the rounding.
  const std::int32_t subnormal = std::bit_cast<std::int32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000;
  const std::int32_t normal = (magnitude - (112 << 23) + 0xFFF + ((magnitude >> 13) & 1)) >> 13;
  const std::int32_t nan = -static_cast<std::int32_t>(magnitude > 0x7F800000) & (0x200 | ((magnitude >> 13) & 0x3FF));
  const std::int32_t is_small = -static_cast<std::int32_t>(magnitude < 0x38800000);
  const std::int32_t is_large = -static_cast<std::int32_t>(magnitude >= 0x477FF000);
  const std::int32_t finite = (subnormal & is_small) | (normal & ~is_small);
  const std::int32_t rounded = (finite & ~is_large) | ((0x7C00 | nan) & is_large);
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | static_cast<std::uint32_t>(rounded));
}

inline float bf16_to_f32(std::uint16_t half) { return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16); }

inline std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  return static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40u : rounded);
}

}  // namespace weft
