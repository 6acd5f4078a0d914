// Searched encoders of the K formats. Each sub-block is fitted by itself; the fits, as whole multiples of the block's
// f16 scales, are then improved together: around the multiples of each sub-block the neighbours are tried with the
// scales as stored, and with the codes that come of it the scales themselves are solved for again.
#include <array>

#include "weft/base/block_codec_kernels.h"
#include "weft/base/block_search.h"

namespace weft::codec {
namespace {

constexpr int rounds = 2;

// A scale as the file will hold it: its f16, and its value in the block's own unit.
struct HalfScale {
  std::uint16_t half = 0;
  float value = 0;

  HalfScale() = default;
  HalfScale(double wanted, int exponent)
      : half(f32_to_f16(static_cast<float>(std::ldexp(wanted, exponent)))),
        value(std::ldexp(f16_to_f32(half), -exponent)) {}
};

int near(float value, float unit, int low, int high) { return unit == 0 ? 0 : round_clamped(value / unit, low, high); }

// d S q - dmin M, with 0 <= q <= levels and 0 <= S, M <= top.
template <int width, int levels, int top>
class AsymmetricSearch {
 public:
  static constexpr int parts = super_block_size / width;
  HalfScale d, dmin;
  std::array<int, parts> scale{}, min{};
  std::array<int, super_block_size> q{};

  explicit AsymmetricSearch(const float* in) : block_(in) {
    if (block_.zero || !block_.finite) return;
    std::array<float, parts> s{}, m{};
    for (int p = 0; p < parts; ++p) {
      const ScaleAndBase fit = fit_scale_and_base<width, levels>(x(p), 6, 1, true);
      s[p] = fit.scale;
      m[p] = -fit.base;
    }
    d = HalfScale(static_cast<double>(*std::max_element(s.begin(), s.end())) / top, block_.exponent);
    dmin = HalfScale(static_cast<double>(*std::max_element(m.begin(), m.end())) / top, block_.exponent);
    if (!fits()) return;
    for (int p = 0; p < parts; ++p) {
      scale[p] = near(s[p], d.value, 0, top);
      min[p] = near(m[p], dmin.value, 0, top);
    }
    double error = try_neighbours(d, dmin, scale, min);
    for (int round = 0; round < rounds; ++round) {
      const auto [next_d, next_dmin] = solve();
      auto next_scale = scale, next_min = min;
      const double next_error = try_neighbours(next_d, next_dmin, next_scale, next_min);
      if (!(next_error < error)) break;
      error = next_error;
      d = next_d;
      dmin = next_dmin;
      scale = next_scale;
      min = next_min;
    }
    for (int p = 0; p < parts; ++p) write_codes<width>(x(p), step(p), base(p), 0, levels, q.data() + p * width);
  }

  bool fits() const { return block_.finite && std::isfinite(d.value) && std::isfinite(dmin.value); }

 private:
  const Lanes* x(int part) const { return block_.x + part * width / 4; }
  float step(int p) const { return d.value * static_cast<float>(scale[p]); }
  float base(int p) const { return -dmin.value * static_cast<float>(min[p]); }

  // Moves S and M of each sub-block by at most one to where the error is least; gives the block's error.
  double try_neighbours(HalfScale unit, HalfScale min_unit, std::array<int, parts>& s,
                        std::array<int, parts>& m) const {
    double total = 0;
    for (int p = 0; p < parts; ++p) {
      float least = std::numeric_limits<float>::infinity();
      int best_s = s[p], best_m = m[p];
      for (int i = std::max(s[p] - 1, 0); i <= std::min(s[p] + 1, top); ++i)
        for (int j = std::max(m[p] - 1, 0); j <= std::min(m[p] + 1, top); ++j) {
          const float error = error_of<width>(x(p), unit.value * static_cast<float>(i),
                                              -min_unit.value * static_cast<float>(j), 0, levels);
          if (error < least) {
            least = error;
            best_s = i;
            best_m = j;
          }
        }
      s[p] = best_s;
      m[p] = best_m;
      total += static_cast<double>(least);
    }
    return total;
  }

  // The scales of least error for the codes that the present ones give: two linear equations.
  std::pair<HalfScale, HalfScale> solve() const {
    double uu = 0, uv = 0, vv = 0, xu = 0, xv = 0;
    for (int p = 0; p < parts; ++p) {
      const CodeSums sums = code_sums<width>(x(p), step(p) == 0 ? 0 : 1 / step(p), base(p), 0, levels);
      Lanes sum_x = lanes(0);
      for (int i = 0; i < width / 4; ++i) sum_x += x(p)[i];
      const double s = scale[p], m = min[p];
      uu += s * s * sums.qq;
      uv += s * m * sums.q;
      vv += m * m * width;
      xu += s * sums.xq;
      xv += m * static_cast<double>(sum_of(sum_x));
    }
    const double determinant = uu * vv - uv * uv;
    if (determinant > 1e-9 * uu * vv) {
      const double unit = (xu * vv - xv * uv) / determinant, min_unit = (xu * uv - xv * uu) / determinant;
      if (unit > 0 && min_unit > 0) return {HalfScale(unit, block_.exponent), HalfScale(min_unit, block_.exponent)};
    }
    if (vv == 0 && uu > 0 && xu > 0) return {HalfScale(xu / uu, block_.exponent), dmin};
    return {d, dmin};
  }

  SearchBlock<super_block_size> block_;
};

// d S q, with low <= q <= high and -top - 1 <= S <= top; sixteen sub-blocks of sixteen values.
template <int low, int high, int top, int trials>
class SymmetricSearch {
 public:
  HalfScale d;
  std::array<int, 16> scale{};
  std::array<int, super_block_size> q{};

  explicit SymmetricSearch(const float* in) : block_(in) {
    if (block_.zero || !block_.finite) return;
    std::array<float, 16> s{};
    float extreme = 0;
    for (int p = 0; p < 16; ++p) {
      s[p] = fit_scale<16, low, high>(x(p), trials, 0.9f);
      if (std::fabs(s[p]) > std::fabs(extreme)) extreme = s[p];
    }
    d = HalfScale(static_cast<double>(extreme) / (-top - 1), block_.exponent);
    if (!fits()) return;
    for (int p = 0; p < 16; ++p) scale[p] = near(s[p], d.value, -top - 1, top);
    double error = try_neighbours(d, scale);
    for (int round = 0; round < rounds; ++round) {
      const HalfScale next_d = solve();
      auto next_scale = scale;
      const double next_error = try_neighbours(next_d, next_scale);
      if (!(next_error < error)) break;
      error = next_error;
      d = next_d;
      scale = next_scale;
    }
    for (int p = 0; p < 16; ++p)
      write_codes<16>(x(p), d.value * static_cast<float>(scale[p]), 0, low, high, q.data() + p * 16);
  }

  bool fits() const { return block_.finite && std::isfinite(d.value); }

 private:
  const Lanes* x(int part) const { return block_.x + part * 4; }

  double try_neighbours(HalfScale unit, std::array<int, 16>& s) const {
    double total = 0;
    for (int p = 0; p < 16; ++p) {
      float least = std::numeric_limits<float>::infinity();
      int best = s[p];
      for (int i = std::max(s[p] - 1, -top - 1); i <= std::min(s[p] + 1, top); ++i) {
        const float error = error_of<16>(x(p), unit.value * static_cast<float>(i), 0, low, high);
        if (error < least) {
          least = error;
          best = i;
        }
      }
      s[p] = best;
      total += static_cast<double>(least);
    }
    return total;
  }

  HalfScale solve() const {
    double uu = 0, xu = 0;
    for (int p = 0; p < 16; ++p) {
      const float step = d.value * static_cast<float>(scale[p]);
      const CodeSums sums = code_sums<16>(x(p), step == 0 ? 0 : 1 / step, 0, low, high);
      uu += static_cast<double>(scale[p]) * scale[p] * sums.qq;
      xu += scale[p] * sums.xq;
    }
    return uu > 0 ? HalfScale(xu / uu, block_.exponent) : d;
  }

  SearchBlock<super_block_size> block_;
};

}  // namespace

std::int64_t search_q2_k(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += super_block_size, out += 84) {
    const AsymmetricSearch<16, 3, 15> found(in);
    if (!found.fits()) return b;
    store(out + 80, found.d.half);
    store(out + 82, found.dmin.half);
    pack_q2_k(found.scale.data(), found.min.data(), found.q.data(), out);
  }
  return -1;
}

std::int64_t search_q3_k(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += super_block_size, out += 110) {
    const SymmetricSearch<-4, 3, 31, 8> found(in);
    if (!found.fits()) return b;
    store(out + 108, found.d.half);
    pack_q3_k(found.scale.data(), found.q.data(), out);
  }
  return -1;
}

std::int64_t search_q4_k(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += super_block_size, out += 144) {
    const AsymmetricSearch<32, 15, 63> found(in);
    if (!found.fits()) return b;
    store(out, found.d.half);
    store(out + 2, found.dmin.half);
    pack_q4_k(found.scale.data(), found.min.data(), found.q.data(), out);
  }
  return -1;
}

std::int64_t search_q5_k(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += super_block_size, out += 176) {
    const AsymmetricSearch<32, 31, 63> found(in);
    if (!found.fits()) return b;
    store(out, found.d.half);
    store(out + 2, found.dmin.half);
    pack_q5_k(found.scale.data(), found.min.data(), found.q.data(), out);
  }
  return -1;
}

std::int64_t search_q6_k(const float* in, std::int64_t blocks, std::uint8_t* out) {
  for (std::int64_t b = 0; b < blocks; ++b, in += super_block_size, out += 210) {
    const SymmetricSearch<-32, 31, 127, 4> found(in);
    if (!found.fits()) return b;
    store(out + 208, found.d.half);
    pack_q6_k(found.scale.data(), found.q.data(), out);
  }
  return -1;
}

}  // namespace weft::codec
