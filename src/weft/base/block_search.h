// The least-squares fits behind the searched encoders. Internal. A run of values x is approximated by scale * q, or by
// scale * q + base, with whole codes q: for fixed codes the best scale and base solve linear equations, so the search
// goes over codes, those that a list of trial scales gives, and keeps the fit of least squared error.
//
// Four lanes of plain IEEE operations, no fused ones: every machine finds the same bytes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace weft::codec {

using Lanes = float __attribute__((vector_size(16)));
using IntLanes = std::int32_t __attribute__((vector_size(16)));

inline Lanes lanes(float value) { return Lanes{value, value, value, value}; }
inline Lanes smaller(Lanes a, Lanes b) { return a < b ? a : b; }
inline Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }
inline float sum_of(Lanes a) { return (a[0] + a[1]) + (a[2] + a[3]); }

// The nearest whole numbers, halves to even, of magnitudes below 2^22.
inline Lanes nearest(Lanes a) {
  const Lanes magic = lanes(0x1.8p23f);
  return (a + magic) - magic;
}
inline Lanes nearest_within(Lanes a, float low, float high) {
  return nearest(smaller(larger(a, lanes(low)), lanes(high)));
}

// Values of a block brought to magnitudes of about one by a power of two, so that no sum overflows or vanishes.
template <int size>
struct SearchBlock {
  Lanes x[size / 4] = {};
  int exponent = 0;  // the values are x * 2^exponent
  bool zero = true, finite = true;

  explicit SearchBlock(const float* in) {
    float most = 0;
    for (int i = 0; i < size; ++i) most = std::max(most, std::fabs(in[i]));
    zero = most == 0;
    finite = std::isfinite(most);
    if (zero || !finite) return;
    exponent = std::ilogb(most);
    // In two factors: 2^-exponent itself may have no f32.
    const float half = std::ldexp(1.f, -exponent / 2), rest = std::ldexp(1.f, -exponent - (-exponent / 2));
    std::memcpy(x, in, sizeof(x));
    for (Lanes& v : x) v = v * lanes(half) * lanes(rest);
  }
};

// Below this share of the block's largest magnitude values count as zero.
inline constexpr float negligible = 1e-15f;

// Sums over a run of N values for the codes nearest to (x - offset) * inverse.
struct CodeSums {
  double q = 0, qq = 0, xq = 0;
};

template <int N>
CodeSums code_sums(const Lanes* x, float inverse, float offset, float low, float high) {
  Lanes sum_q = lanes(0), sum_qq = lanes(0), sum_xq = lanes(0);
  const Lanes by = lanes(inverse), from = lanes(offset);
  for (int i = 0; i < N / 4; ++i) {
    const Lanes q = nearest_within((x[i] - from) * by, low, high);
    sum_q += q;
    sum_qq += q * q;
    sum_xq += q * x[i];
  }
  return {sum_of(sum_q), sum_of(sum_qq), sum_of(sum_xq)};
}

// The scale, of either sign, with which low <= q <= high serve best.
template <int N, int low, int high>
float fit_scale(const Lanes* x, int trials, float spread) {
  float most = 0, least = 0;
  for (int i = 0; i < N; ++i) {
    most = std::max(most, x[i / 4][i % 4]);
    least = std::min(least, x[i / 4][i % 4]);
  }
  const float extreme = most > -least ? most : least;
  if (std::fabs(extreme) < negligible) return 0;
  double best_gain = 0;
  float best = 0;
  const auto attempt = [&](float inverse) {
    const CodeSums s = code_sums<N>(x, inverse, 0, low, high);
    if (s.qq > 0 && s.xq * s.xq > best_gain * s.qq) {
      best_gain = s.xq * s.xq / s.qq;
      best = static_cast<float>(s.xq / s.qq);
    }
  };
  // The extreme on its own code, on codes around it and, by the other sign, on the shorter side of the codes.
  for (int t = -trials; t <= trials; ++t) {
    const float shift = spread * static_cast<float>(t) / static_cast<float>(trials);
    attempt((static_cast<float>(low) + shift) / extreme);
    attempt((static_cast<float>(-low) + shift) / extreme);
  }
  for (int round = 0; round < 2 && best != 0; ++round) attempt(1 / best);
  return best;
}

struct ScaleAndBase {
  float scale = 0, base = 0;
};

// Scale, not negative, and base, if so asked not positive, with which 0 <= q <= levels serve best.
template <int N, int levels>
ScaleAndBase fit_scale_and_base(const Lanes* x, int trials, float spread, bool base_below_zero) {
  float least = x[0][0], most = x[0][0];
  double sum_x = 0, sum_xx = 0;
  for (int i = 0; i < N; ++i) {
    const float value = x[i / 4][i % 4];
    least = std::min(least, value);
    most = std::max(most, value);
    sum_x += static_cast<double>(value);
    sum_xx += static_cast<double>(value) * static_cast<double>(value);
  }
  if (base_below_zero) least = std::min(least, 0.f);
  if (most - least < negligible) return {0, base_below_zero ? std::min(least, 0.f) : least};

  double best_error = std::numeric_limits<double>::infinity();
  ScaleAndBase best;
  const auto attempt = [&](float inverse, float offset) {
    const CodeSums s = code_sums<N>(x, inverse, offset, 0, levels);
    const double determinant = N * s.qq - s.q * s.q;
    double scale = 0, base = 0;
    if (determinant > 1e-9 * N * s.qq) {
      scale = (N * s.xq - sum_x * s.q) / determinant;
      base = (s.qq * sum_x - s.q * s.xq) / determinant;
    } else {
      scale = s.qq > 0 ? s.xq / s.qq : 0;
    }
    if (base_below_zero && base > 0) {
      base = 0;
      scale = s.qq > 0 ? s.xq / s.qq : 0;
    }
    if (scale < 0) return;
    const double error = sum_xx + scale * (scale * s.qq - 2 * s.xq) + base * (base * N - 2 * sum_x + 2 * scale * s.q);
    if (error < best_error) {
      best_error = error;
      best = {static_cast<float>(scale), static_cast<float>(base)};
    }
  };
  // The codes' range around that of the values: from the least value, or half a step above it, to around the largest.
  const float step = (most - least) / static_cast<float>(levels);
  for (const float inset : {0.f, 0.5f})
    for (int t = -trials; t <= trials; ++t) {
      const float shift = spread * static_cast<float>(t) / static_cast<float>(trials);
      attempt((static_cast<float>(levels) + shift) / (most - least - inset * step), least + inset * step);
    }
  for (int round = 0; round < 3 && best.scale > 0; ++round) attempt(1 / best.scale, best.base);
  return best;
}

// Squared error of a run under a given scale and base, its codes being the nearest.
template <int N>
float error_of(const Lanes* x, float scale, float base, float low, float high) {
  Lanes error = lanes(0);
  const Lanes by = lanes(scale == 0 ? 0 : 1 / scale), from = lanes(base), step = lanes(scale);
  for (int i = 0; i < N / 4; ++i) {
    const Lanes difference = nearest_within((x[i] - from) * by, low, high) * step + from - x[i];
    error += difference * difference;
  }
  return sum_of(error);
}

template <int N>
void write_codes(const Lanes* x, float scale, float base, float low, float high, int* q) {
  const Lanes by = lanes(scale == 0 ? 0 : 1 / scale), from = lanes(base);
  for (int i = 0; i < N / 4; ++i) {
    const IntLanes codes = __builtin_convertvector(nearest_within((x[i] - from) * by, low, high), IntLanes);
    std::memcpy(q + 4 * i, &codes, sizeof(codes));
  }
}

}  // namespace weft::codec
