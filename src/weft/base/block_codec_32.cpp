// Formats of 32 values a block, and ternary. The first bytes of a block are its scale (and, in the _1 formats, its
// minimum); the low nibbles are values 0-15, the high nibbles values 16-31.
#include <algorithm>

#include "weft/base/block_codec_kernels.h"

namespace weft::codec {
namespace {

// out[i] = nibble of value i.
void unpack_nibbles(const std::uint8_t* in, int* out) {
  for (int i = 0; i < 16; ++i) out[i] = in[i] & 15;
  for (int i = 0; i < 16; ++i) out[i + 16] = in[i] >> 4;
}

// Adds 16 where the value's bit is set in `high`.
void add_fifth_bit(std::uint32_t high, int* q) {
  const auto bits = static_cast<std::int32_t>(high);
  for (int i = 0; i < 16; ++i) {
    q[i] += (bits >> i & 1) << 4;
    q[i + 16] += (bits >> (i + 16) & 1) << 4;
  }
}

// The element of largest magnitude with its sign, the first one on ties.
float extreme(const float* in) {
  return *std::max_element(in, in + block_size, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
}

// Codes of the signed formats without a minimum: d = extreme / -half, code = min(2 half - 1, floor(x/d + half + 1/2)).
float symmetric_codes(const float* in, int half, int* q) {
  const float most = extreme(in);
  const float d = most == 0 ? 0 : most / static_cast<float>(-half);
  for (int i = 0; i < block_size; ++i) {
    const double code = d == 0 ? half : static_cast<double>(in[i] / d) + half + 0.5;
    q[i] = !(code > 0) ? 0 : static_cast<int>(std::min(code, 2.0 * half - 1));  // a NaN is none, and refused later
  }
  return d;
}

// Codes of the formats with a minimum, taken against the scale and minimum as stored. False: they do not fit.
bool asymmetric_codes(const float* in, int levels, std::uint8_t* out, int* q) {
  const auto [low, high] = std::minmax_element(in, in + block_size);
  const float m = store_f16(out + 2, *low);
  const float d = store_f16(out, (*high - *low) / static_cast<float>(levels));
  for (int i = 0; i < block_size; ++i) q[i] = d == 0 ? 0 : round_clamped((in[i] - m) / d, 0, levels);
  return std::isfinite(d) && std::isfinite(m);
}

}  // namespace

void pack_nibbles(const int* q, std::uint8_t* out) {
  for (int i = 0; i < 16; ++i) out[i] = static_cast<std::uint8_t>((q[i] & 15) | ((q[i + 16] & 15) << 4));
}

std::uint32_t fifth_bits(const int* q) {
  std::uint32_t high = 0;
  for (int i = 0; i < block_size; ++i) high |= static_cast<std::uint32_t>((q[i] >> 4) & 1) << i;
  return high;
}

void decode_q8_0(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 34, out += block_size) {
    const float d = load_f16(in);
    for (int i = 0; i < block_size; ++i) out[i] = d * static_cast<float>(static_cast<std::int8_t>(in[2 + i]));
  }
}

void decode_q4_0(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 18, out += block_size) {
    const float d = load_f16(in);
    int q[block_size];
    unpack_nibbles(in + 2, q);
    for (int i = 0; i < block_size; ++i) out[i] = d * static_cast<float>(q[i] - 8);
  }
}

void decode_q4_1(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 20, out += block_size) {
    const float d = load_f16(in), m = load_f16(in + 2);
    int q[block_size];
    unpack_nibbles(in + 4, q);
    for (int i = 0; i < block_size; ++i) out[i] = d * static_cast<float>(q[i]) + m;
  }
}

void decode_q5_0(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 22, out += block_size) {
    const float d = load_f16(in);
    int q[block_size];
    unpack_nibbles(in + 6, q);
    add_fifth_bit(load<std::uint32_t>(in + 2), q);
    for (int i = 0; i < block_size; ++i) out[i] = d * static_cast<float>(q[i] - 16);
  }
}

void decode_q5_1(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 24, out += block_size) {
    const float d = load_f16(in), m = load_f16(in + 2);
    int q[block_size];
    unpack_nibbles(in + 8, q);
    add_fifth_bit(load<std::uint32_t>(in + 4), q);
    for (int i = 0; i < block_size; ++i) out[i] = d * static_cast<float>(q[i]) + m;
  }
}

void decode_q8(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 34, out += block_size) {
    const int n = load<std::int16_t>(in);
    // q * (n / 256) / 127 with the division last: q * n is an exact f32.
    for (int i = 0; i < block_size; ++i)
      out[i] = static_cast<float>(n * static_cast<std::int8_t>(in[2 + i])) / (256.f * 127.f);
  }
}

void decode_q4(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 18, out += block_size) {
    const float d = static_cast<float>(load<std::int16_t>(in)) * 0x1p-11f;
    int q[block_size];
    unpack_nibbles(in + 2, q);
    for (int i = 0; i < block_size; ++i) out[i] = d * static_cast<float>(q[i] - 8);
  }
}

void decode_ternary(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  constexpr float value[4] = {0, 1, -1, 0};
  for (std::int64_t b = 0; b < blocks; ++b, out += 4)
    for (int k = 0; k < 4; ++k) out[k] = value[(in[b] >> (2 * k)) & 3];
}

std::int64_t encode_q8_0(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += block_size, out += 34) {
    const float d = max_magnitude(in, block_size) / 127.f;
    if (!std::isfinite(store_f16(out, d))) return b;
    for (int i = 0; i < block_size; ++i)
      out[2 + i] = static_cast<std::uint8_t>(d == 0 ? 0 : round_clamped(in[i] / d, -128, 127));
  }
  return -1;
}

std::int64_t encode_q4_0(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += block_size, out += 18) {
    int q[block_size];
    if (!std::isfinite(store_f16(out, symmetric_codes(in, 8, q)))) return b;
    pack_nibbles(q, out + 2);
  }
  return -1;
}

std::int64_t encode_q5_0(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += block_size, out += 22) {
    int q[block_size];
    if (!std::isfinite(store_f16(out, symmetric_codes(in, 16, q)))) return b;
    store(out + 2, fifth_bits(q));
    pack_nibbles(q, out + 6);
  }
  return -1;
}

std::int64_t encode_q4_1(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += block_size, out += 20) {
    int q[block_size];
    if (!asymmetric_codes(in, 15, out, q)) return b;
    pack_nibbles(q, out + 4);
  }
  return -1;
}

std::int64_t encode_q5_1(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += block_size, out += 24) {
    int q[block_size];
    if (!asymmetric_codes(in, 31, out, q)) return b;
    store(out + 4, fifth_bits(q));
    pack_nibbles(q, out + 8);
  }
  return -1;
}

namespace {

// n = ceil(256 max|x|), at least 1 unless the block is zero; -1 when it exceeds 16 bits.
int fixed_scale(const float* in) {
  const double n = std::ceil(256.0 * static_cast<double>(max_magnitude(in, block_size)));
  return n > 32767 ? -1 : static_cast<int>(n);
}

}  // namespace

std::int64_t encode_q8(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += block_size, out += 34) {
    const int n = fixed_scale(in);
    if (n < 0) return b;
    store(out, static_cast<std::int16_t>(n));
    for (int i = 0; i < block_size; ++i) {
      const int q = n == 0 ? 0 : round_clamped(in[i] * (127.f * 256.f) / static_cast<float>(n), -127, 127);
      out[2 + i] = static_cast<std::uint8_t>(q);
    }
  }
  return -1;
}

std::int64_t encode_q4(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += block_size, out += 18) {
    const int n = fixed_scale(in);
    if (n < 0) return b;
    store(out, static_cast<std::int16_t>(n));
    int q[block_size];
    for (int i = 0; i < block_size; ++i)
      q[i] = 8 + (n == 0 ? 0 : round_clamped(in[i] * (8.f * 256.f) / static_cast<float>(n), -8, 7));
    pack_nibbles(q, out + 2);
  }
  return -1;
}

std::int64_t encode_ternary(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 4) {
    unsigned codes = 0;
    for (int k = 0; k < 4; ++k) codes |= (in[k] >= 0.5f ? 1u : in[k] <= -0.5f ? 2u : 0u) << (2 * k);
    out[b] = static_cast<std::uint8_t>(codes);
  }
  return -1;
}

}  // namespace weft::codec
