// The loops behind block_codec.h, one pair a block format. Internal. Each handles `blocks` whole blocks and trusts
// its caller for sizes and, when encoding, for values that are finite.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/base/half.h"

namespace weft::codec {

// Values in a block of the 32-value formats and of the K formats.
inline constexpr int block_size = 32, super_block_size = 256;

using DecodeBlocks = void (*)(const std::uint8_t* in, std::int64_t blocks, float* out);
// Returns the index of the first block whose scale does not fit the format, or -1.
using EncodeBlocks = std::int64_t (*)(const float* in, std::int64_t blocks, std::uint8_t* out);

void decode_q8_0(const std::uint8_t* in, std::int64_t blocks, float* out);
void decode_q4_0(const std::uint8_t* in, std::int64_t blocks, float* out);
void decode_q4_1(const std::uint8_t* in, std::int64_t blocks, float* out);
void decode_q5_0(const std::uint8_t* in, std::int64_t blocks, float* out);
void decode_q5_1(const std::uint8_t* in, std::int64_t blocks, float* out);
void decode_q8(const std::uint8_t* in, std::int64_t blocks, float* out);
void decode_q4(const std::uint8_t* in, std::int64_t blocks, float* out);
void decode_ternary(const std::uint8_t* in, std::int64_t blocks, float* out);
void decode_q2_k(const std::uint8_t* in, std::int64_t blocks, float* out);
void decode_q3_k(const std::uint8_t* in, std::int64_t blocks, float* out);
void decode_q4_k(const std::uint8_t* in, std::int64_t blocks, float* out);
void decode_q5_k(const std::uint8_t* in, std::int64_t blocks, float* out);
void decode_q6_k(const std::uint8_t* in, std::int64_t blocks, float* out);

std::int64_t encode_q8_0(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t encode_q4_0(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t encode_q4_1(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t encode_q5_0(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t encode_q5_1(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t encode_q8(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t encode_q4(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t encode_ternary(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t encode_q2_k(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t encode_q3_k(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t encode_q4_k(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t encode_q5_k(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t encode_q6_k(const float* in, std::int64_t blocks, std::uint8_t* out);

// The searched encoders: scales, and minimums, of least squared error. q8_0 has its rule alone: nothing beats it by
// much.
std::int64_t search_q4_0(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t search_q4_1(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t search_q5_0(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t search_q5_1(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t search_q2_k(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t search_q3_k(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t search_q4_k(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t search_q5_k(const float* in, std::int64_t blocks, std::uint8_t* out);
std::int64_t search_q6_k(const float* in, std::int64_t blocks, std::uint8_t* out);

// Codes into the bytes of a block, the f16 scales aside. `q` holds a whole block; the symmetric K formats take signed
// codes, all others unsigned ones.
void pack_nibbles(const int* q, std::uint8_t* out);  // the low four bits of 32 codes
std::uint32_t fifth_bits(const int* q);
void pack_q2_k(const int* scale, const int* min, const int* q, std::uint8_t* out);
void pack_q3_k(const int* scale, const int* q, std::uint8_t* out);
void pack_q4_k(const int* scale, const int* min, const int* q, std::uint8_t* out);
void pack_q5_k(const int* scale, const int* min, const int* q, std::uint8_t* out);
void pack_q6_k(const int* scale, const int* q, std::uint8_t* out);

template <class T>
T load(const std::uint8_t* in) {
  T value;
  std::memcpy(&value, in, sizeof(T));
  return value;
}
template <class T>
void store(std::uint8_t* out, T value) {
  std::memcpy(out, &value, sizeof(T));
}

inline float load_f16(const std::uint8_t* in) { return f16_to_f32(load<std::uint16_t>(in)); }

// Stores `value` as f16 and gives back what was stored.
inline float store_f16(std::uint8_t* out, float value) {
  const std::uint16_t half = f32_to_f16(value);
  store(out, half);
  return f16_to_f32(half);
}

// Half away from zero, then clamped. In double, so that the added half never rounds by itself.
inline int round_clamped(float value, int low, int high) {
  const double rounded = static_cast<double>(value) + std::copysign(0.5, static_cast<double>(value));
  if (!(rounded > low)) return low;
  if (rounded >= high) return high;
  return static_cast<int>(rounded);
}

inline float max_magnitude(const float* values, int count) {
  float most = 0;
  for (int i = 0; i < count; ++i) most = std::fabs(values[i]) > most ? std::fabs(values[i]) : most;
  return most;
}

}  // namespace weft::codec
