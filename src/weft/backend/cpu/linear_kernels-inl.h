// The linear kernels over an operations object L (a level's vectors of 16 lanes); see linear.h for the arithmetic and
// linear_portable.cpp for what L has. Included by one .cpp per level, inside that level's target, so it includes no
// header of a library itself: linear.h, packed_layout.h, <algorithm>, <cstring> and <utility> come before it.
#pragma once

#include "weft/backend/cpu/packed_codes-inl.h"

namespace weft::cpu {
namespace {

// Columns that many-row kernels unpack at a time: two panels of integers fit the second cache, two of floats the first.
constexpr std::int64_t integer_slab = 2048, float_slab = 256;

template <class L>
struct Linear {
  using F = typename L::F;
  using I = typename L::I;
  using U8 = typename L::U8;

  static constexpr int panels = L::tile_panels;  // of a many-row tile
  static constexpr std::int64_t lanes = PackedMatrix::panel_rows;

  // What a group's accumulator starts from is -zero * sum of x; levels that make bytes signed have done with it.
  template <int bits>
  static constexpr bool unsigned_codes = bits < 8 || !L::signs_bytes;

  static int lanes_of(std::int64_t rows, std::int64_t panel) {
    return static_cast<int>(std::min(lanes, rows - panel * lanes));
  }
  static Bytes bytes_of(const PackedMatrix& weight, std::int64_t panel) {
    return reinterpret_cast<Bytes>(weight.panel(panel).data());
  }

  // --- integer weights, 1 to direct_rows rows: straight from the packed panels -------------------------------------

  // `count` panels side by side, `stride` panels apart, so that a broadcast serves all and as many streams are read.
  // Each stream asks ahead, at the end of a panel for the beginning of the next one, with which it goes on in the next
  // call; the first (`fresh`) asks for its own beginning.
  template <class Code, int rows, int count>
  static void direct(const PackedMatrix& weight, const QuantizedRows& x, std::int64_t panel, std::int64_t stride,
                     float* y, std::int64_t y_stride, bool fresh) {
    constexpr L l{};
    constexpr PanelLayout layout = layout_of<Code>;
    constexpr int groups = Code::chunk / Code::group;  // of a chunk
    constexpr int chunks = Code::record / Code::chunk;
    constexpr int bytes = Code::value_bytes / chunks;
    constexpr std::int64_t ahead = L::prefetch_distance;
    Bytes in[count];
    F out[count][rows];
    unroll<count>([&](auto p) WEFT_INLINE_LAMBDA {
      in[p] = bytes_of(weight, panel + p * stride);
      unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA { out[p][r] = l.set(0); });
    });
    if (fresh)
      for (std::int64_t at = 0; at < ahead; at += 64)
        unroll<count>([&](auto p) WEFT_INLINE_LAMBDA { __builtin_prefetch(in[p] + at); });
    const std::int8_t* quants = x.values;
    const float* dx = x.scales;
    const std::int32_t* sums = x.sums;
    const std::int64_t records = x.columns / Code::record;
    for (std::int64_t record = 0; record < records; ++record) {
      const std::int64_t scales_at = layout.scales_at(record), values_at = layout.values_at(record);
      unroll<count>([&](auto p) WEFT_INLINE_LAMBDA {
        unroll<(Code::scale_bytes + 63) / 64>(
            [&](auto line) WEFT_INLINE_LAMBDA { __builtin_prefetch(in[p] + scales_at + ahead + 64 * line); });
      });
      for (int chunk = 0; chunk < chunks; ++chunk) {
        std::int32_t sum[rows][groups];
        unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
          unroll<groups>([&](auto g) WEFT_INLINE_LAMBDA {
            const std::int32_t* part = sums + r * x.sum_stride + g * (Code::group / 16);
            sum[r][g] = Code::group == 32 ? part[0] + part[1] : part[0];
          });
        });
        unroll<count>([&](auto p) WEFT_INLINE_LAMBDA {
          Bytes scales = in[p] + scales_at, values = in[p] + values_at;
          unroll<bytes / 64>(
              [&](auto line) WEFT_INLINE_LAMBDA { __builtin_prefetch(values + chunk * bytes + ahead + 64 * line); });
          I acc[rows][groups];
          unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
            unroll<groups>([&](auto g) WEFT_INLINE_LAMBDA {
              acc[r][g] = l.seti(Code::zero != 0 && unsigned_codes<Code::bits> ? -Code::zero * sum[r][g] : 0);
            });
          });
          Code::unpack(l, values, chunk, [&](const U8& codes, auto group) WEFT_INLINE_LAMBDA {
            constexpr int at = group, g = at / (Code::group / 4);
            unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
              acc[r][g] = l.template dot<Code::bits>(acc[r][g], codes, l.quad(quants + r * x.value_stride + 4 * at));
            });
          });
          unroll<groups>([&](auto g) WEFT_INLINE_LAMBDA {
            const F scale = Code::scale(l, scales, chunk * groups + g);
            unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
              const F step = l.set(dx[r * x.scale_stride + g * Code::group / 32]);
              out[p][r] = l.fma(l.to_float(acc[r][g]), l.mul(scale, step), out[p][r]);
            });
            if constexpr (Code::minimums) {
              const F minimum = Code::minimum(l, scales, chunk * groups + g);
              unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
                const float step = dx[r * x.scale_stride + g * Code::group / 32];
                out[p][r] = l.fma(minimum, l.set(step * static_cast<float>(sum[r][g])), out[p][r]);
              });
            }
          });
        });
        quants += Code::chunk;
        dx += Code::chunk / 32;
        sums += Code::chunk / 16;
      }
    }
    unroll<count>([&](auto p) WEFT_INLINE_LAMBDA {
      const std::int64_t at = panel + p * stride;
      unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
        l.store_lanes(y + r * y_stride + at * lanes, out[p][r], lanes_of(weight.rows(), at));
      });
    });
  }

  // A range of panels as `count` streams, each with a part of its own, so that none jumps before its end.
  template <class Code, int rows, int count>
  static void streams(const PackedMatrix& weight, const QuantizedRows& x, std::int64_t first, std::int64_t last,
                      float* y, std::int64_t y_stride) {
    const std::int64_t stride = (last - first) / count;
    for (std::int64_t i = 0; i < stride; ++i)
      direct<Code, rows, count>(weight, x, first + i, stride, y, y_stride, i == 0);
    for (first += stride * count; first < last; ++first) direct<Code, rows, 1>(weight, x, first, 1, y, y_stride, true);
  }

  // --- integer weights, many rows: a slab of columns unpacked, then tiles ----------------------------------------

  // `panels` panels of a slab: codes as bytes in groups, the groups' scales and minimums.
  struct Slab {
    alignas(64) std::uint8_t codes[panels][integer_slab * lanes];
    alignas(64) float scales[panels][integer_slab / 16 * lanes];
    alignas(64) float minimums[panels][integer_slab / 16 * lanes];
  };

  template <class Code>
  static void unpack(Bytes panel, std::int64_t begin, std::int64_t count, Slab& slab, int part) {
    constexpr L l{};
    constexpr int groups = Code::chunk / Code::group;
    std::uint8_t* codes = slab.codes[part];
    float* to_scales = slab.scales[part];
    float* to_minimums = slab.minimums[part];
    for (std::int64_t k = begin; k < begin + count; k += Code::record) {
      Bytes scales = panel + layout_of<Code>.scales_at(k / Code::record);
      Bytes values = panel + layout_of<Code>.values_at(k / Code::record);
      for (int chunk = 0; chunk < Code::record / Code::chunk; ++chunk) {
        Code::unpack(l, values, chunk,
                     [&](const U8& bytes, auto group) WEFT_INLINE_LAMBDA { l.store(codes + 64 * group, bytes); });
        unroll<groups>([&](auto g) WEFT_INLINE_LAMBDA {
          l.store_f(to_scales + lanes * g, Code::scale(l, scales, chunk * groups + g));
          if constexpr (Code::minimums)
            l.store_f(to_minimums + lanes * g, Code::minimum(l, scales, chunk * groups + g));
        });
        codes += Code::chunk * lanes;
        to_scales += groups * lanes;
        to_minimums += groups * lanes;
      }
    }
  }

  // What a tile adds to: rows of y, and how many lanes of each panel are real.
  struct Output {
    float* y;
    std::int64_t stride;
    int counts[panels];
    bool fresh;  // y holds nothing yet
  };

  template <class Code, int rows>
  static void tile(const Slab& slab, std::int64_t count, const QuantizedRows& x, const Output& to) {
    constexpr L l{};
    constexpr int halves = 32 / Code::group;
    constexpr std::int64_t most = integer_slab / Code::group;
    std::int32_t starts[rows][most];
    float shares[rows][Code::minimums ? most : 1];  // dx * sum of x
    for (int r = 0; r < rows; ++r)
      for (std::int64_t g = 0; g < count / Code::group; ++g) {
        const std::int32_t* part = x.sums + r * x.sum_stride + g * (Code::group / 16);
        const std::int32_t sum = Code::group == 32 ? part[0] + part[1] : part[0];
        starts[r][g] = unsigned_codes<Code::bits> ? -Code::zero * sum : 0;
        if constexpr (Code::minimums)
          shares[r][g] = x.scales[r * x.scale_stride + g / halves] * static_cast<float>(sum);
      }
    F out[rows][panels];
    unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
      unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA {
        out[r][p] = to.fresh ? l.set(0) : l.load_lanes(to.y + r * to.stride + p * lanes, to.counts[p]);
      });
    });
    const std::int8_t* quants = x.values;
    for (std::int64_t g = 0; g < count / Code::group; ++g, quants += Code::group) {
      I acc[rows][panels];
      unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
        const I start = l.seti(Code::zero != 0 ? starts[r][g] : 0);
        unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA { acc[r][p] = start; });
      });
      unroll<Code::group / 4>([&](auto j) WEFT_INLINE_LAMBDA {
        U8 codes[panels];
        unroll<panels>(
            [&](auto p) WEFT_INLINE_LAMBDA { codes[p] = l.load(slab.codes[p] + g * (Code::group * lanes) + 64 * j); });
        unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
          const auto quad = l.quad(quants + r * x.value_stride + 4 * j);
          unroll<panels>([&](auto p)
                             WEFT_INLINE_LAMBDA { acc[r][p] = l.template dot<Code::bits>(acc[r][p], codes[p], quad); });
        });
      });
      F scale[panels];
      unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA { scale[p] = l.load_f(slab.scales[p] + g * lanes); });
      unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
        const F step = l.set(x.scales[r * x.scale_stride + g / halves]);
        unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA {
          out[r][p] = l.fma(l.to_float(acc[r][p]), l.mul(scale[p], step), out[r][p]);
        });
      });
      if constexpr (Code::minimums) {
        unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA { scale[p] = l.load_f(slab.minimums[p] + g * lanes); });
        unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
          const F share = l.set(shares[r][g]);
          unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA { out[r][p] = l.fma(scale[p], share, out[r][p]); });
        });
      }
    }
    unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
      unroll<panels>(
          [&](auto p) WEFT_INLINE_LAMBDA { l.store_lanes(to.y + r * to.stride + p * lanes, out[r][p], to.counts[p]); });
    });
  }

  // Tiles of `rows` rows, then of fewer, from row `row` on.
  template <class Code, int rows>
  static void tiles(const Slab& slab, std::int64_t count, const QuantizedRows& x, std::int64_t row, Output to) {
    float* y = to.y;
    for (; row + rows <= x.rows; row += rows) {
      to.y = y + row * to.stride;
      tile<Code, rows>(slab, count, x.from_row(row, rows), to);
    }
    to.y = y;
    if constexpr (rows > 1) tiles<Code, (rows > 4 ? 4 : rows / 2)>(slab, count, x, row, to);
  }

  // The panels of a tile that starts at `panel`; beyond `last` the last one again, of which nothing is stored.
  static void choose_panels(const PackedMatrix& weight, std::int64_t panel, std::int64_t last, Bytes (&in)[panels],
                            int (&counts)[panels]) {
    for (int p = 0; p < panels; ++p) {
      const bool real = panel + p < last;
      in[p] = bytes_of(weight, real ? panel + p : last - 1);
      counts[p] = real ? lanes_of(weight.rows(), panel + p) : 0;
    }
  }

  template <class Code>
  static void many(const PackedMatrix& weight, const QuantizedRows& x, std::int64_t first, std::int64_t last, float* y,
                   std::int64_t y_stride, std::byte* scratch) {
    Slab& slab = *reinterpret_cast<Slab*>(scratch);
    for (std::int64_t panel = first; panel < last; panel += panels) {
      Bytes in[panels];
      Output to{y + panel * lanes, y_stride, {}, true};
      choose_panels(weight, panel, last, in, to.counts);
      for (std::int64_t k = 0; k < x.columns; k += integer_slab) {
        const std::int64_t count = std::min(integer_slab, x.columns - k);
        for (int p = 0; p < panels; ++p) unpack<Code>(in[p], k, count, slab, p);
        QuantizedRows part = x;
        part.values += k;
        part.scales += k / 32;
        part.sums += k / 16;
        to.fresh = k == 0;
        tiles<Code, L::tile_rows>(slab, count, part, 0, to);
      }
    }
  }

  static void integer(const PackedMatrix& weight, const QuantizedRows& x, std::int64_t first, std::int64_t last,
                      float* y, std::int64_t y_stride, std::byte* scratch) {
    with_code(weight.dtype(), [&](auto code) WEFT_INLINE_LAMBDA {
      using Code = decltype(code);
      if (x.rows == 1) return streams<Code, 1, L::row_panels>(weight, x, first, last, y, y_stride);
      if (x.rows > L::direct_rows) return many<Code>(weight, x, first, last, y, y_stride, scratch);
      unroll<L::direct_rows - 1>([&](auto r) {
        if (x.rows == r + 2) streams<Code, r + 2, 2>(weight, x, first, last, y, y_stride);
      });
    });
  }

  // --- float and fixed-point weights
  // ---------------------------------------------------------------------------------------------

  // 16 weights at position k of a panel.
  template <DType dtype>
  static WEFT_INLINE F weights(Bytes panel, std::int64_t k) {
    constexpr L l{};
    if constexpr (dtype == DType::f32) return l.load_f(reinterpret_cast<const float*>(panel) + k * lanes);
    if constexpr (dtype == DType::f16) return l.f16(panel + k * 32);
    if constexpr (dtype == DType::bf16) return l.bf16(panel + k * 32);
    if constexpr (dtype == DType::fx16_16) return l.mul(l.i32(panel + k * 64), l.set(0x1p-16f));
    if constexpr (dtype == DType::fx8_8) return l.mul(l.i16(panel + k * 32), l.set(0x1p-8f));
  }

  // One row: `count` panels at once, `stride` panels apart, so that as many sums and streams are under way.
  template <DType dtype, int count>
  static void float_row(const PackedMatrix& weight, const float* x, std::int64_t panel, std::int64_t stride, float* y) {
    constexpr L l{};
    Bytes in[count];
    F out[count];
    unroll<count>([&](auto p) WEFT_INLINE_LAMBDA {
      in[p] = bytes_of(weight, panel + p * stride);
      out[p] = l.set(0);
    });
    constexpr std::int64_t bytes = panel_layout(dtype).value_bytes;
    for (std::int64_t k = 0; k < weight.columns(); ++k) {
      const F value = l.set(x[k]);
      if (k * bytes % 64 == 0)
        unroll<count>([&](auto p) WEFT_INLINE_LAMBDA { __builtin_prefetch(in[p] + k * bytes + L::prefetch_distance); });
      unroll<count>([&](auto p) WEFT_INLINE_LAMBDA { out[p] = l.fma(weights<dtype>(in[p], k), value, out[p]); });
    }
    unroll<count>([&](auto p) WEFT_INLINE_LAMBDA {
      const std::int64_t at = panel + p * stride;
      l.store_lanes(y + at * lanes, out[p], lanes_of(weight.rows(), at));
    });
  }

  template <int rows>
  static void float_tile(const float* const (&in)[panels], std::int64_t count, const float* x, std::int64_t x_stride,
                         const Output& to) {
    constexpr L l{};
    F out[rows][panels];
    unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
      unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA {
        out[r][p] = to.fresh ? l.set(0) : l.load_lanes(to.y + r * to.stride + p * lanes, to.counts[p]);
      });
    });
    for (std::int64_t k = 0; k < count; ++k) {
      F w[panels];
      unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA { w[p] = l.load_f(in[p] + k * lanes); });
      unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
        const F value = l.set(x[r * x_stride + k]);
        unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA { out[r][p] = l.fma(w[p], value, out[r][p]); });
      });
    }
    unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
      unroll<panels>(
          [&](auto p) WEFT_INLINE_LAMBDA { l.store_lanes(to.y + r * to.stride + p * lanes, out[r][p], to.counts[p]); });
    });
  }

  template <int rows>
  static void float_tiles(const float* const (&in)[panels], std::int64_t count, const float* x, std::int64_t x_stride,
                          std::int64_t row, std::int64_t end, Output to) {
    float* y = to.y;
    for (; row + rows <= end; row += rows) {
      to.y = y + row * to.stride;
      float_tile<rows>(in, count, x + row * x_stride, x_stride, to);
    }
    to.y = y;
    if constexpr (rows > 1) float_tiles<(rows > 4 ? 4 : rows / 2)>(in, count, x, x_stride, row, end, to);
  }

  template <DType dtype>
  static void float_many(const PackedMatrix& weight, const float* x, std::int64_t x_stride, std::int64_t rows,
                         std::int64_t first, std::int64_t last, float* y, std::int64_t y_stride, std::byte* scratch) {
    constexpr L l{};
    auto* slab = reinterpret_cast<float*>(scratch);
    for (std::int64_t panel = first; panel < last; panel += panels) {
      Bytes in[panels];
      Output to{y + panel * lanes, y_stride, {}, true};
      choose_panels(weight, panel, last, in, to.counts);
      for (std::int64_t begin = 0; begin < weight.columns(); begin += float_slab) {
        const std::int64_t count = std::min(float_slab, weight.columns() - begin);
        const float* part[panels];
        for (int p = 0; p < panels; ++p) {
          if constexpr (dtype == DType::f32) {
            part[p] = reinterpret_cast<const float*>(in[p]) + begin * lanes;
          } else {
            float* widened = slab + p * (float_slab * lanes);
            for (std::int64_t k = 0; k < count; ++k) l.store_f(widened + k * lanes, weights<dtype>(in[p], begin + k));
            part[p] = widened;
          }
        }
        to.fresh = begin == 0;
        float_tiles<L::float_rows>(part, count, x + begin, x_stride, 0, rows, to);
      }
    }
  }

  template <DType dtype>
  static void float_any(const PackedMatrix& weight, const float* x, std::int64_t x_stride, std::int64_t rows,
                        std::int64_t first, std::int64_t last, float* y, std::int64_t y_stride, std::byte* scratch) {
    if (rows > 1) return float_many<dtype>(weight, x, x_stride, rows, first, last, y, y_stride, scratch);
    if (rows < 1) return;
    const std::int64_t stride = (last - first) / 4;
    for (std::int64_t i = 0; i < stride; ++i) float_row<dtype, 4>(weight, x, first + i, stride, y);
    for (first += 4 * stride; first < last; ++first) float_row<dtype, 1>(weight, x, first, 1, y);
  }

  static void floating(const PackedMatrix& weight, const float* x, std::int64_t x_stride, std::int64_t rows,
                       std::int64_t first, std::int64_t last, float* y, std::int64_t y_stride, std::byte* scratch) {
    switch (weight.dtype()) {
      case DType::f16: return float_any<DType::f16>(weight, x, x_stride, rows, first, last, y, y_stride, scratch);
      case DType::bf16: return float_any<DType::bf16>(weight, x, x_stride, rows, first, last, y, y_stride, scratch);
      case DType::fx16_16:
        return float_any<DType::fx16_16>(weight, x, x_stride, rows, first, last, y, y_stride, scratch);
      case DType::fx8_8: return float_any<DType::fx8_8>(weight, x, x_stride, rows, first, last, y, y_stride, scratch);
      default: return float_any<DType::f32>(weight, x, x_stride, rows, first, last, y, y_stride, scratch);
    }
  }

  // --- the rest ----------------------------------------------------------------------------------------------------

  static std::size_t scratch_bytes(std::int64_t) {
    return std::max(sizeof(Slab), static_cast<std::size_t>(panels * float_slab * lanes) * sizeof(float));
  }

  static void quantize(const float* x, std::int64_t x_stride, std::int64_t first, std::int64_t last,
                       const MutableQuantizedRows& out) {
    for (std::int64_t r = first; r < last; ++r)
      for (std::int64_t b = 0; b < out.columns / 32; ++b)
        L::quantize(x + r * x_stride + 32 * b, out.values + r * out.value_stride + 32 * b,
                    out.scales + r * out.scale_stride + b, out.sums + r * out.sum_stride + 2 * b);
  }

  static constexpr LinearKernels kernels(CpuLevel level) { return {level, quantize, scratch_bytes, integer, floating}; }
};

}  // namespace
}  // namespace weft::cpu
