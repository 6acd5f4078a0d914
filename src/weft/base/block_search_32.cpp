// Searched encoders of the formats of 32 values: the scale, or scale and minimum, of least squared error.
#include "weft/base/block_codec_kernels.h"
#include "weft/base/block_search.h"

namespace weft::codec {
namespace {

// f16 that is stored for `value * 2^exponent`, and what it stands for in the block's own unit.
float stored(float value, int exponent, std::uint8_t* out) {
  return std::ldexp(store_f16(out, std::ldexp(value, exponent)), -exponent);
}

// d (q - half), d = 0 for a zero block. False: the scale does not fit.
template <int half>
bool symmetric_codes(const float* in, std::uint8_t* d_out, int* q) {
  const SearchBlock<block_size> block(in);
  if (block.zero) {
    store(d_out, std::uint16_t{0});
    std::fill(q, q + block_size, half);
    return true;
  }
  if (!block.finite) return false;
  const float d = stored(fit_scale<block_size, -half, half - 1>(block.x, 8, 0.9f), block.exponent, d_out);
  if (!std::isfinite(d)) return false;
  write_codes<block_size>(block.x, d, 0, -half, half - 1, q);
  for (int i = 0; i < block_size; ++i) q[i] += half;
  return true;
}

template <int levels>
bool asymmetric_codes(const float* in, std::uint8_t* out, int* q) {
  const SearchBlock<block_size> block(in);
  if (!block.finite) return false;
  ScaleAndBase fit;
  if (!block.zero) fit = fit_scale_and_base<block_size, levels>(block.x, 6, 1, false);
  const float m = stored(fit.base, block.exponent, out + 2), d = stored(fit.scale, block.exponent, out);
  if (!std::isfinite(m) || !std::isfinite(d)) return false;
  write_codes<block_size>(block.x, d, m, 0, levels, q);
  return true;
}

}  // namespace

std::int64_t search_q4_0(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += block_size, out += 18) {
    int q[block_size];
    if (!symmetric_codes<8>(in, out, q)) return b;
    pack_nibbles(q, out + 2);
  }
  return -1;
}

std::int64_t search_q5_0(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += block_size, out += 22) {
    int q[block_size];
    if (!symmetric_codes<16>(in, out, q)) return b;
    store(out + 2, fifth_bits(q));
    pack_nibbles(q, out + 6);
  }
  return -1;
}

std::int64_t search_q4_1(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += block_size, out += 20) {
    int q[block_size];
    if (!asymmetric_codes<15>(in, out, q)) return b;
    pack_nibbles(q, out + 4);
  }
  return -1;
}

std::int64_t search_q5_1(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += block_size, out += 24) {
    int q[block_size];
    if (!asymmetric_codes<31>(in, out, q)) return b;
    store(out + 4, fifth_bits(q));
    pack_nibbles(q, out + 8);
  }
  return -1;
}

}  // namespace weft::codec
