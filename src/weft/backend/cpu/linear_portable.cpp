// The linear kernels in plain C++, for any CPU. Also the page that says what an operations object has.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "weft/backend/cpu/linear_levels.h"
#include "weft/backend/cpu/packed_layout.h"
#include "weft/base/half.h"
// Last.
#include "weft/backend/cpu/linear_kernels-inl.h"

namespace weft::cpu {
namespace {

// fma(a, b, c), exactly. Without the instruction: in double the product is exact and the sum has 53 bits; rounding
// that sum to odd keeps what its rounding to f32 needs to know (Boldo and Melquiond, "Emulation of FMA", 2008).
inline float exact_fma(float a, float b, float c) {
#ifdef __FP_FAST_FMAF
  return std::fma(a, b, c);
#else
  const double product = static_cast<double>(a) * static_cast<double>(b), addend = c;
  const double sum = product + addend;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (addend - part);
  auto bits = std::bit_cast<std::int64_t>(sum);
  // Away from zero when the error points there, towards zero else; only from an even sum, and never from a NaN.
  const std::int64_t inexact = error > 0 || error < 0, outward = (error > 0) == (sum > 0);
  bits += inexact & ~bits & 1 ? 2 * outward - 1 : 0;
  return static_cast<float>(std::bit_cast<double>(bits));
#endif
}

// Vectors of the compiler: one statement each, that it takes apart into what the CPU has.
struct Portable {
  typedef float F __attribute__((vector_size(64)));
  typedef std::int32_t I __attribute__((vector_size(64)));
  typedef std::uint32_t U8 __attribute__((vector_size(64)));
  typedef std::int16_t Shorts __attribute__((vector_size(64)));
  struct Quad {
    Shorts even, odd;  // x0 x2 and x1 x3 in turn
  };

  static constexpr int tile_panels = 1, tile_rows = 2, float_rows = 2, row_panels = 1, direct_rows = 1;
  static constexpr int prefetch_distance = 1024;
  static constexpr bool signs_bytes = false;  // whether dot<8> takes its codes minus 128

  // 64 bytes of codes: bits moved right (or left, if negative) within bytes and masked; moved right within dwords.
  static WEFT_INLINE U8 load(Bytes in) {
    U8 out;
    std::memcpy(&out, in, 64);
    return out;
  }
  static WEFT_INLINE void store(std::uint8_t* out, const U8& v) { std::memcpy(out, &v, 64); }
  template <int right>
  static WEFT_INLINE U8 pick(const U8& v, std::uint32_t mask) {
    return (right >= 0 ? v >> std::max(right, 0) : v << std::max(-right, 0)) & (mask * 0x01010101u);
  }
  static WEFT_INLINE U8 shift(const U8& v, int right) { return v >> static_cast<std::uint32_t>(right); }
  static WEFT_INLINE U8 merge(const U8& a, const U8& b) { return a | b; }

  // Sixteen values widened to f32. u4: the nibble that starts at bit `right`.
  static F f16(Bytes in) {
    return each([in](int i) { return f16_to_f32(half_at(in, i)); });
  }
  static F bf16(Bytes in) {
    return each([in](int i) { return bf16_to_f32(half_at(in, i)); });
  }
  static F i16(Bytes in) {
    return each([in](int i) { return static_cast<float>(static_cast<std::int16_t>(half_at(in, i))); });
  }
  static F i32(Bytes in) {
    I out;
    std::memcpy(&out, in, 64);
    return to_float(out);
  }
  static F u8(Bytes in) {
    return each([in](int i) { return static_cast<float>(in[i]); });
  }
  static F i8(Bytes in) {
    return each([in](int i) { return static_cast<float>(static_cast<std::int8_t>(in[i])); });
  }
  static F u4(Bytes in, int right) {
    return each([in, right](int i) { return static_cast<float>(in[i] >> right & 15); });
  }

  static WEFT_INLINE F set(float value) { return F{} + value; }
  static WEFT_INLINE F mul(const F& a, const F& b) { return a * b; }
  static WEFT_INLINE F negate(const F& a) { return -a; }
  __attribute__((noinline)) static F fma(const F& a, const F& b, const F& c) {
    float x[16], y[16], z[16];
    std::memcpy(x, &a, 64);
    std::memcpy(y, &b, 64);
    std::memcpy(z, &c, 64);
    for (int i = 0; i < 16; ++i) z[i] = exact_fma(x[i], y[i], z[i]);
    return load_f(z);
  }
  static WEFT_INLINE F load_f(const float* in) {
    F out;
    std::memcpy(&out, in, 64);
    return out;
  }
  static WEFT_INLINE void store_f(float* out, const F& v) { std::memcpy(out, &v, 64); }
  static WEFT_INLINE F load_lanes(const float* in, int count) {
    F out{};
    std::memcpy(&out, in, static_cast<std::size_t>(count) * sizeof(float));
    return out;
  }
  static WEFT_INLINE void store_lanes(float* out, const F& v, int count) {
    std::memcpy(out, &v, static_cast<std::size_t>(count) * sizeof(float));
  }

  static WEFT_INLINE I seti(std::int32_t value) { return I{} + value; }
  static WEFT_INLINE F to_float(const I& a) { return __builtin_convertvector(a, F); }
  // Four activations, and acc + the products with the four codes of each lane.
  static WEFT_INLINE Quad quad(const std::int8_t* in) {
    const auto pair = [](int low, int high) { return (Shorts)(I{} + ((low & 0xFFFF) | high * 65536)); };
    return {pair(in[0], in[2]), pair(in[1], in[3])};
  }
  template <int bits>
  static WEFT_INLINE I dot(const I& acc, const U8& codes, const Quad& x) {
    return dot_shorts(acc, codes, x);
  }

  // 32 values to codes, their scale and the sums of 16 codes.
  static void quantize(const float* x, std::int8_t* codes, float* scale, std::int32_t* sums) {
    std::uint32_t most = 0;
    for (int i = 0; i < 32; ++i) most = std::max(most, std::bit_cast<std::uint32_t>(x[i]) & 0x7FFFFFFFu);
    const QuantizeScale by = quantize_scale(most);
    *scale = by.scale;
    for (int half = 0; half < 2; ++half, x += 16, codes += 16) {
      std::int32_t sum = 0;
      for (int i = 0; i < 16; ++i) {
        // Adding 1.5 * 2^23 leaves the nearest integer in the low bits. Infinity and NaN have codes of zero.
        const float rounded = by.inverse == 0 ? 0.f : (x[i] * by.inverse + 12582912.f) - 12582912.f;
        codes[i] = static_cast<std::int8_t>(rounded);
        sum += codes[i];
      }
      sums[half] = sum;
    }
  }

 private:
  // Codes of eight bits times 127 fit 16 signed ones.
  __attribute__((noinline)) static I dot_shorts(const I& acc, const U8& codes, const Quad& x) {
    const I even = (I)((Shorts)(codes & 0x00FF00FFu) * x.even), odd = (I)((Shorts)(codes >> 8 & 0x00FF00FFu) * x.odd);
    return acc + (even << 16 >> 16) + (even >> 16) + (odd << 16 >> 16) + (odd >> 16);
  }
  template <class Function>
  static F each(Function function) {
    float out[16];
    for (int i = 0; i < 16; ++i) out[i] = function(i);
    return load_f(out);
  }
  static std::uint16_t half_at(Bytes in, int index) {
    std::uint16_t half;
    std::memcpy(&half, in + 2 * index, 2);
    return half;
  }
};

}  // namespace

constinit const LinearKernels portable_linear = Linear<Portable>::kernels(CpuLevel::portable);

}  // namespace weft::cpu
