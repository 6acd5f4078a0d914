// The least-squares fits behind the searched encoders. Internal. A run of values x is approximated by scale * q, or by
// scale * q + base, with whole codes q: for fixed codes the best scale and base solve linear equations, so the search
// goes over codes, those that a list of trial scales gives, and keeps the fit of least weighted squared error.
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

// What a squared error counts: more where the value is large, since large weights meet large activations more often
// than chance has it, but never nothing.
template <int size>
struct SearchWeights {
  Lanes w[size / 4];

  explicit SearchWeights(const Lanes* x) {
    Lanes squares = lanes(0);
    for (int i = 0; i < size / 4; ++i) squares += x[i] * x[i];
    const float rms = std::sqrt(sum_of(squares) / size);
    for (int i = 0; i < size / 4; ++i) w[i] = lanes(rms) + larger(x[i], -x[i]);
  }
};

// Below this share of the block's largest magnitude values count as zero.
inline constexpr float negligible = 1e-15f;

// Sums over a run of N values for given codes.
struct CodeSums {
  double wq = 0, wqq = 0, wxq = 0;
};

template <int N>
CodeSums code_sums(const Lanes* x, const Lanes* w, float inverse, float offset, float low, float high) {
  Lanes wq = lanes(0), wqq = lanes(0), wxq = lanes(0);
  const Lanes by = lanes(inverse), from = lanes(offset);
  for (int i = 0; i < N / 4; ++i) {
    const Lanes q = nearest_within((x[i] - from) * by, low, high);
    const Lanes weighted = w[i] * q;
    wq += weighted;
    wqq += weighted * q;
    wxq += weighted * x[i];
  }
  return {sum_of(wq), sum_of(wqq), sum_of(wxq)};
}

// The scale, of either sign, with which low <= q <= high serve best.
template <int N, int low, int high>
float fit_scale(const Lanes* x, const Lanes* w, int trials, float spread) {
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
    const CodeSums s = code_sums<N>(x, w, inverse, 0, low, high);
    if (s.wqq > 0 && s.wxq * s.wxq > best_gain * s.wqq) {
      best_gain = s.wxq * s.wxq / s.wqq;
      best = static_cast<float>(s.wxq / s.wqq);
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
ScaleAndBase fit_scale_and_base(const Lanes* x, const Lanes* w, int trials, float spread, bool base_below_zero) {
  float least = x[0][0], most = x[0][0];
  double sw = 0, swx = 0, swxx = 0;
  for (int i = 0; i < N; ++i) {
    const float value = x[i / 4][i % 4];
    least = std::min(least, value);
    most = std::max(most, value);
    const double weight = static_cast<double>(w[i / 4][i % 4]), weighted = weight * static_cast<double>(value);
    sw += weight;
    swx += weighted;
    swxx += weighted * static_cast<double>(value);
  }
  if (base_below_zero) least = std::min(least, 0.f);
  if (most - least < negligible) return {0, base_below_zero ? std::min(least, 0.f) : least};

  double best_error = std::numeric_limits<double>::infinity();
  ScaleAndBase best;
  const auto attempt = [&](float inverse, float offset) {
    const CodeSums s = code_sums<N>(x, w, inverse, offset, 0, levels);
    const double determinant = sw * s.wqq - s.wq * s.wq;
    double scale = 0, base = 0;
    if (determinant > 1e-9 * sw * s.wqq) {
      scale = (sw * s.wxq - swx * s.wq) / determinant;
      base = (s.wqq * swx - s.wq * s.wxq) / determinant;
    } else {
      scale = s.wqq > 0 ? s.wxq / s.wqq : 0;
    }
    if (base_below_zero && base > 0) {
      base = 0;
      scale = s.wqq > 0 ? s.wxq / s.wqq : 0;
    }
    if (scale < 0) return;
    const double error = swxx + scale * (scale * s.wqq - 2 * s.wxq) + base * (base * sw - 2 * swx + 2 * scale * s.wq);
    if (error < best_error) {
      best_error = error;
      best = {static_cast<float>(scale), static_cast<float>(base)};
    }
  };
  for (int t = -trials; t <= trials; ++t) {
    const float shift = spread * static_cast<float>(t) / static_cast<float>(trials);
    attempt((static_cast<float>(levels) + shift) / (most - least), least);
  }
  for (int round = 0; round < 2 && best.scale > 0; ++round) attempt(1 / best.scale, best.base);
  return best;
}

// Weighted squared error of a run under a given scale and base, its codes being the nearest.
template <int N>
float error_of(const Lanes* x, const Lanes* w, float scale, float base, float low, float high) {
  Lanes error = lanes(0);
  const Lanes by = lanes(scale == 0 ? 0 : 1 / scale), from = lanes(base), step = lanes(scale);
  for (int i = 0; i < N / 4; ++i) {
    const Lanes difference = nearest_within((x[i] - from) * by, low, high) * step + from - x[i];
    error += w[i] * difference * difference;
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
