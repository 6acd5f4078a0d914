// The K formats: 256 values a block in sub-blocks with scales of their own, packed to 4, 6 or 8 bits against the
// block's f16 scale. Products of scale, sub-scale and code are exact in f32, so each value is rounded at most once.
#include <algorithm>
#include <array>

#include "weft/base/block_codec_kernels.h"

namespace weft::codec {
namespace {

// Six-bit scales and minima of the eight sub-blocks of Q4_K and Q5_K, in twelve bytes: those of sub-blocks 0-3 in the
// low six bits of bytes 0-3 and 4-7, those of 4-7 as nibbles of bytes 8-11 with their top bits above the former.
struct SubScales {
  std::array<int, 8> scale, min;
};

SubScales unpack_scales(const std::uint8_t* in) {
  SubScales s;
  for (std::size_t i = 0; i < 4; ++i) {
    s.scale[i] = in[i] & 63;
    s.min[i] = in[i + 4] & 63;
    s.scale[i + 4] = (in[i + 8] & 15) | ((in[i] >> 6) << 4);
    s.min[i + 4] = (in[i + 8] >> 4) | ((in[i + 4] >> 6) << 4);
  }
  return s;
}

void pack_scales(const int* scale, const int* min, std::uint8_t* out) {
  for (int i = 0; i < 4; ++i) {
    out[i] = static_cast<std::uint8_t>(scale[i] | ((scale[i + 4] >> 4) << 6));
    out[i + 4] = static_cast<std::uint8_t>(min[i] | ((min[i + 4] >> 4) << 6));
    out[i + 8] = static_cast<std::uint8_t>((scale[i + 4] & 15) | ((min[i + 4] & 15) << 4));
  }
}

// The sixteen six-bit scales of Q3_K, stored plus 32: low nibbles in bytes 0-7 (scales 8-15 in their upper halves),
// top two bits in bytes 8-11.
std::array<int, 16> unpack_q3_scales(const std::uint8_t* in) {
  std::array<int, 16> scale;
  for (unsigned k = 0; k < 16; ++k) {
    const int low = (in[k & 7] >> (k < 8 ? 0 : 4)) & 15;
    const int high = (in[8 + (k & 3)] >> (2 * (k >> 2))) & 3;
    scale[k] = (low | (high << 4)) - 32;
  }
  return scale;
}

void pack_q3_scales(const int* scale, std::uint8_t* out) {
  std::fill(out, out + 12, std::uint8_t{0});
  for (unsigned k = 0; k < 16; ++k) {
    const unsigned code = static_cast<unsigned>(scale[k] + 32);
    out[k & 7] = static_cast<std::uint8_t>(out[k & 7] | ((code & 15) << (k < 8 ? 0 : 4)));
    out[8 + (k & 3)] = static_cast<std::uint8_t>(out[8 + (k & 3)] | ((code >> 4) << (2 * (k >> 2))));
  }
}

// --- encoding: sub-block scales, then codes against the scales as stored -------------------------------------------

float quotient(float value, float by) { return by == 0 ? 0 : value / by; }

// Values approximated as d S q - dmin M, with 0 <= q <= levels and 0 <= S, M <= top; sub-blocks of `width` values.
template <int width, int levels, int top>
struct Asymmetric {
  static constexpr int parts = super_block_size / width;
  float d = 0, dmin = 0;
  std::array<int, parts> scale{}, min{};
  std::array<int, super_block_size> q{};

  Asymmetric(const float* in, std::uint8_t* d_out, std::uint8_t* dmin_out) {
    std::array<float, parts> s, m;
    for (int p = 0; p < parts; ++p) {
      const auto [low, high] = std::minmax_element(in + p * width, in + (p + 1) * width);
      const float floor = std::min(0.f, *low);
      s[p] = std::max(0.f, (*high - floor) / static_cast<float>(levels));
      m[p] = -floor;
    }
    d = store_f16(d_out, *std::max_element(s.begin(), s.end()) / static_cast<float>(top));
    dmin = store_f16(dmin_out, *std::max_element(m.begin(), m.end()) / static_cast<float>(top));
    for (int p = 0; p < parts; ++p) {
      scale[p] = round_clamped(quotient(s[p], d), 0, top);
      min[p] = round_clamped(quotient(m[p], dmin), 0, top);
      const float step = d * static_cast<float>(scale[p]), base = dmin * static_cast<float>(min[p]);
      for (int i = p * width; i < (p + 1) * width; ++i) q[i] = round_clamped(quotient(in[i] + base, step), 0, levels);
    }
  }
  bool fits() const { return std::isfinite(d) && std::isfinite(dmin); }
};

// Values approximated as d S q, with low <= q <= high and 0 <= S <= top; sixteen sub-blocks of sixteen values.
template <int low, int high, int top>
struct Symmetric {
  float d = 0;
  std::array<int, 16> scale{};
  std::array<int, super_block_size> q{};

  Symmetric(const float* in, std::uint8_t* d_out) {
    std::array<float, 16> s;
    for (int p = 0; p < 16; ++p) s[p] = max_magnitude(in + p * 16, 16) / static_cast<float>(high);
    d = store_f16(d_out, *std::max_element(s.begin(), s.end()) / static_cast<float>(top));
    for (int p = 0; p < 16; ++p) {
      scale[p] = round_clamped(quotient(s[p], d), 0, top);
      const float step = d * static_cast<float>(scale[p]);
      for (int i = p * 16; i < (p + 1) * 16; ++i) q[i] = round_clamped(quotient(in[i], step), low, high);
    }
  }
  bool fits() const { return std::isfinite(d); }
};

// Two bits a value: byte 32 n + l holds values 128 n + 32 j + l for j = 0..3, lowest bits first.
void pack_crumbs(const int* q, std::uint8_t* out) {
  for (int n = 0; n < 2; ++n, q += 128, out += 32)
    for (int l = 0; l < 32; ++l) {
      const int byte = (q[l] & 3) | (q[32 + l] & 3) << 2 | (q[64 + l] & 3) << 4 | (q[96 + l] & 3) << 6;
      out[l] = static_cast<std::uint8_t>(byte);
    }
}

}  // namespace

void decode_q2_k(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 84) {
    const float d = load_f16(in + 80), dmin = load_f16(in + 82);
    const std::uint8_t* sc = in;
    for (int n = 0; n < 2; ++n) {
      const std::uint8_t* qs = in + 16 + 32 * n;
      for (int j = 0; j < 4; ++j)
        for (int half = 0; half < 2; ++half, ++sc, out += 16) {
          const float step = d * static_cast<float>(*sc & 15), base = dmin * static_cast<float>(*sc >> 4);
          for (int l = 0; l < 16; ++l) out[l] = step * static_cast<float>((qs[16 * half + l] >> (2 * j)) & 3) - base;
        }
    }
  }
}

void decode_q3_k(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 110) {
    const float d = load_f16(in + 108);
    const std::array<int, 16> scale = unpack_q3_scales(in + 96);
    const std::uint8_t* hmask = in;
    for (unsigned k = 0; k < 16; ++k, out += 16) {
      const unsigned n = k >> 3, j = (k >> 1) & 3, at = 16 * (k & 1);
      const std::uint8_t* qs = in + 32 + 32 * n;
      const float step = d * static_cast<float>(scale[k]);
      const int bit = 1 << (4 * n + j);
      for (unsigned l = at; l < at + 16; ++l) {
        const int q = ((qs[l] >> (2 * j)) & 3) - ((hmask[l] & bit) != 0 ? 0 : 4);
        out[l - at] = step * static_cast<float>(q);
      }
    }
  }
}

void decode_q4_k(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 144) {
    const float d = load_f16(in), dmin = load_f16(in + 2);
    const SubScales s = unpack_scales(in + 4);
    for (std::size_t pair = 0; pair < 4; ++pair, out += 64) {
      const std::uint8_t* qs = in + 16 + 32 * pair;
      const float step0 = d * static_cast<float>(s.scale[2 * pair]), base0 = dmin * static_cast<float>(s.min[2 * pair]);
      const float step1 = d * static_cast<float>(s.scale[2 * pair + 1]),
                  base1 = dmin * static_cast<float>(s.min[2 * pair + 1]);
      for (int l = 0; l < 32; ++l) out[l] = step0 * static_cast<float>(qs[l] & 15) - base0;
      for (int l = 0; l < 32; ++l) out[32 + l] = step1 * static_cast<float>(qs[l] >> 4) - base1;
    }
  }
}

void decode_q5_k(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 176) {
    const float d = load_f16(in), dmin = load_f16(in + 2);
    const SubScales sub = unpack_scales(in + 4);
    const std::uint8_t* qh = in + 16;
    for (unsigned s = 0; s < 8; ++s, out += 32) {
      const std::uint8_t* qs = in + 48 + 32 * (s / 2);
      const float step = d * static_cast<float>(sub.scale[s]), base = dmin * static_cast<float>(sub.min[s]);
      const unsigned shift = 4 * (s % 2);
      for (int l = 0; l < 32; ++l) {
        const int q = ((qs[l] >> shift) & 15) | (((qh[l] >> s) & 1) << 4);
        out[l] = step * static_cast<float>(q) - base;
      }
    }
  }
}

void decode_q6_k(const std::uint8_t* __restrict in, std::int64_t blocks, float* __restrict out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += 210) {
    const float d = load_f16(in + 208);
    for (unsigned k = 0; k < 16; ++k, out += 16) {
      const unsigned n = k >> 3, j = (k >> 1) & 3, at = 16 * (k & 1);
      const std::uint8_t* ql = in + 64 * n + 32 * (j & 1) + at;
      const std::uint8_t* qh = in + 128 + 32 * n + at;
      const float step = d * static_cast<float>(static_cast<std::int8_t>(in[192 + k]));
      const unsigned low_shift = 4 * (j >> 1), high_shift = 2 * j;
      for (int l = 0; l < 16; ++l) {
        const int q = ((ql[l] >> low_shift) & 15) | (((qh[l] >> high_shift) & 3) << 4);
        out[l] = step * static_cast<float>(q - 32);
      }
    }
  }
}

void pack_q2_k(const int* scale, const int* min, const int* q, std::uint8_t* out) {
  for (int p = 0; p < 16; ++p) out[p] = static_cast<std::uint8_t>(scale[p] | (min[p] << 4));
  pack_crumbs(q, out + 16);
}

void pack_q3_k(const int* scale, const int* q, std::uint8_t* out) {
  pack_q3_scales(scale, out + 96);
  // A set mask bit means that the code is not negative; the low two bits of code + 4 are those of the code.
  for (int l = 0; l < 32; ++l) {
    int mask = 0;
    for (int group = 0; group < 8; ++group) mask |= (q[32 * group + l] >= 0 ? 1 : 0) << group;
    out[l] = static_cast<std::uint8_t>(mask);
  }
  pack_crumbs(q, out + 32);
}

void pack_q4_k(const int* scale, const int* min, const int* q, std::uint8_t* out) {
  pack_scales(scale, min, out + 4);
  for (int i = 0; i < 128; ++i) {
    const int at = 64 * (i / 32) + i % 32;
    out[16 + i] = static_cast<std::uint8_t>(q[at] | (q[at + 32] << 4));
  }
}

void pack_q5_k(const int* scale, const int* min, const int* q, std::uint8_t* out) {
  pack_scales(scale, min, out + 4);
  for (int l = 0; l < 32; ++l) {
    int high = 0;
    for (int s = 0; s < 8; ++s) high |= (q[32 * s + l] >> 4) << s;
    out[16 + l] = static_cast<std::uint8_t>(high);
  }
  for (int i = 0; i < 128; ++i) {
    const int at = 64 * (i / 32) + i % 32;
    out[48 + i] = static_cast<std::uint8_t>((q[at] & 15) | ((q[at + 32] & 15) << 4));
  }
}

void pack_q6_k(const int* scale, const int* q, std::uint8_t* out) {
  for (int p = 0; p < 16; ++p) out[192 + p] = static_cast<std::uint8_t>(scale[p]);
  std::array<int, super_block_size> low;
  std::transform(q, q + super_block_size, low.begin(), [](int code) { return code + 32; });
  for (int i = 0; i < 128; ++i) {
    const int at = 128 * (i / 64) + i % 64;
    out[i] = static_cast<std::uint8_t>((low[at] & 15) | ((low[at + 64] & 15) << 4));
  }
  std::array<int, super_block_size> high;
  std::transform(low.begin(), low.end(), high.begin(), [](int code) { return code >> 4; });
  pack_crumbs(high.data(), out + 128);
}

std::int64_t encode_q2_k(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += super_block_size, out += 84) {
    const Asymmetric<16, 3, 15> codes(in, out + 80, out + 82);
    if (!codes.fits()) return b;
    pack_q2_k(codes.scale.data(), codes.min.data(), codes.q.data(), out);
  }
  return -1;
}

std::int64_t encode_q3_k(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += super_block_size, out += 110) {
    const Symmetric<-4, 3, 31> codes(in, out + 108);
    if (!codes.fits()) return b;
    pack_q3_k(codes.scale.data(), codes.q.data(), out);
  }
  return -1;
}

std::int64_t encode_q4_k(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += super_block_size, out += 144) {
    const Asymmetric<32, 15, 63> codes(in, out, out + 2);
    if (!codes.fits()) return b;
    pack_q4_k(codes.scale.data(), codes.min.data(), codes.q.data(), out);
  }
  return -1;
}

std::int64_t encode_q5_k(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += super_block_size, out += 176) {
    const Asymmetric<32, 31, 63> codes(in, out, out + 2);
    if (!codes.fits()) return b;
    pack_q5_k(codes.scale.data(), codes.min.data(), codes.q.data(), out);
  }
  return -1;
}

std::int64_t encode_q6_k(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += super_block_size, out += 210) {
    const Symmetric<-32, 31, 127> codes(in, out + 208);
    if (!codes.fits()) return b;
    pack_q6_k(codes.scale.data(), codes.q.data(), out);
  }
  return -1;
}

}  // namespace weft::codec
