// Many rows against integer weights on a tile unit: tiles make the exact integer sums of each group, AVX-512 scales
// and adds them in the order of linear.h, so the bits are those of every other level. Included as
// linear_kernels-inl.h is, inside a target with AVX-512 VNNI and after linear_levels.h; the unit is the CPU's, or an
// emulation of it in tests.
#pragma once

#include "weft/backend/cpu/avx512_vnni_operations-inl.h"
#include "weft/backend/cpu/linear_kernels-inl.h"

namespace weft::cpu {
namespace {

// Unit: tiles of 16 rows of A (activations, `depth` bytes a row), of B (weights, depth / 4 rows of 16 dwords) and four
// of C (16 x 16 sums). configure(depth), release(), load_a<i>(first row, stride in bytes), load_b<j>(groups),
// zero<c>(), dot<c, i, j>(): C += A B with signed bytes, store<c>(sums, stride in bytes).
template <class Unit>
struct AmxLinear {
  using Vector = Linear<Avx512Vnni>;
  using L = Avx512Vnni;

  static constexpr std::int64_t tile_rows = 16, lanes = Vector::lanes;
  static constexpr int panels = 2;
  static_assert(Vector::panels == panels);
  static constexpr std::int64_t fewest_rows = 16;  // below, filling tiles costs more than they save
  static constexpr int batch = 8;                  // groups whose sums are kept at a time: 32 KB

  struct Scratch {
    typename Vector::Slab slab;
    alignas(64) std::int32_t sums[batch][2 * tile_rows][panels * lanes];
  };

  // C tile 2 i + j is A tile i times B tile j.
  template <class Code, int blocks>
  static void multiply(Unit& unit, const typename Vector::Slab& slab, std::int64_t g, const std::int8_t* x,
                       std::int64_t stride, std::int32_t (&sums)[2 * tile_rows][panels * lanes]) {
    constexpr std::int64_t row_bytes = sizeof(sums[0]);
    unit.template load_b<0>(slab.codes[0] + g * (Code::group * lanes));
    unit.template load_b<1>(slab.codes[1] + g * (Code::group * lanes));
    unit.template load_a<0>(x, stride);
    unit.template zero<0>();
    unit.template zero<1>();
    unit.template dot<0, 0, 0>();
    unit.template dot<1, 0, 1>();
    if constexpr (blocks == 2) {
      unit.template load_a<1>(x + tile_rows * stride, stride);
      unit.template zero<2>();
      unit.template zero<3>();
      unit.template dot<2, 1, 0>();
      unit.template dot<3, 1, 1>();
    }
    unit.template store<0>(sums[0], row_bytes);
    unit.template store<1>(sums[0] + lanes, row_bytes);
    if constexpr (blocks == 2) {
      unit.template store<2>(sums[tile_rows], row_bytes);
      unit.template store<3>(sums[tile_rows] + lanes, row_bytes);
    }
  }

  // Adds `count` groups, the first being group g of the slab, to four rows of y.
  template <class Code>
  static void accumulate(const Scratch& scratch, std::int64_t g, std::int64_t count, std::int64_t row,
                         const QuantizedRows& x, const typename Vector::Output& to) {
    constexpr L l{};
    constexpr int rows = 4;
    __m512 out[rows][panels];
    unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
      unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA {
        out[r][p] = to.fresh ? l.set(0) : l.load_lanes(to.y + (row + r) * to.stride + p * lanes, to.counts[p]);
      });
    });
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t group = g + i;
      __m512 scale[panels], minimum[panels];
      unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA {
        scale[p] = l.load_f(scratch.slab.scales[p] + group * lanes);
        if constexpr (Code::minimums) minimum[p] = l.load_f(scratch.slab.minimums[p] + group * lanes);
      });
      unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
        const float step = x.scales[(row + r) * x.scale_stride + group * Code::group / 32];
        unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA {
          const __m512i sum = _mm512_load_si512(scratch.sums[i][row + r] + p * lanes);
          out[r][p] = l.fma(l.to_float(sum), l.mul(scale[p], l.set(step)), out[r][p]);
        });
        if constexpr (Code::minimums) {
          const std::int32_t* part = x.sums + (row + r) * x.sum_stride + group * (Code::group / 16);
          const std::int32_t sum = Code::group == 32 ? part[0] + part[1] : part[0];
          const __m512 share = l.set(step * static_cast<float>(sum));
          unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA { out[r][p] = l.fma(minimum[p], share, out[r][p]); });
        }
      });
    }
    unroll<rows>([&](auto r) WEFT_INLINE_LAMBDA {
      unroll<panels>([&](auto p) WEFT_INLINE_LAMBDA {
        l.store_lanes(to.y + (row + r) * to.stride + p * lanes, out[r][p], to.counts[p]);
      });
    });
  }

  // 16 * blocks rows of activations against a slab.
  template <class Code, int blocks>
  static void block(Unit& unit, Scratch& scratch, std::int64_t count, const QuantizedRows& x,
                    typename Vector::Output to) {
    const std::int64_t groups = count / Code::group;
    for (std::int64_t g = 0; g < groups; g += batch) {
      const std::int64_t some = std::min<std::int64_t>(batch, groups - g);
      for (std::int64_t i = 0; i < some; ++i)
        multiply<Code, blocks>(unit, scratch.slab, g + i, x.values + (g + i) * Code::group, x.value_stride,
                               scratch.sums[i]);
      for (std::int64_t row = 0; row < blocks * tile_rows; row += 4) accumulate<Code>(scratch, g, some, row, x, to);
      to.fresh = false;
    }
  }

  // Codes become signed: for types with a zero, their distance from it.
  template <class Code>
  static void center(typename Vector::Slab& slab, std::int64_t count) {
    if constexpr (Code::zero != 0) {
      const __m512i zero = _mm512_set1_epi8(static_cast<char>(Code::zero));
      for (int p = 0; p < panels; ++p)
        for (std::int64_t k = 0; k < count * lanes; k += 64)
          L::store(slab.codes[p] + k, _mm512_sub_epi8(L::load(slab.codes[p] + k), zero));
    }
  }

  // Whole tiles of rows only.
  template <class Code>
  static void many(Unit& unit, const PackedMatrix& weight, const QuantizedRows& x, std::int64_t first,
                   std::int64_t last, float* y, std::int64_t y_stride, Scratch& scratch) {
    unit.configure(Code::group);
    for (std::int64_t panel = first; panel < last; panel += panels) {
      Bytes in[panels];
      typename Vector::Output to{y + panel * lanes, y_stride, {}, true};
      Vector::choose_panels(weight, panel, last, in, to.counts);
      for (std::int64_t k = 0; k < x.columns; k += integer_slab) {
        const std::int64_t count = std::min(integer_slab, x.columns - k);
        for (int p = 0; p < panels; ++p) Vector::template unpack<Code>(in[p], k, count, scratch.slab, p);
        center<Code>(scratch.slab, count);
        to.fresh = k == 0;
        for (std::int64_t row = 0; row < x.rows;) {
          QuantizedRows part = x.from_row(row, x.rows - row);
          part.values += k;
          part.scales += k / 32;
          part.sums += k / 16;
          typename Vector::Output at = to;
          at.y += row * y_stride;
          if (part.rows >= 2 * tile_rows) {
            block<Code, 2>(unit, scratch, count, part, at);
            row += 2 * tile_rows;
          } else {
            block<Code, 1>(unit, scratch, count, part, at);
            row += tile_rows;
          }
        }
      }
    }
    unit.release();
  }

  static void integer(const PackedMatrix& weight, const QuantizedRows& x, std::int64_t first, std::int64_t last,
                      float* y, std::int64_t y_stride, std::byte* scratch) {
    const std::int64_t tiled = x.rows < fewest_rows ? 0 : x.rows / tile_rows * tile_rows;
    if (tiled > 0) {
      Unit unit;
      with_code(weight.dtype(), [&](auto code) WEFT_INLINE_LAMBDA {
        many<decltype(code)>(unit, weight, x.from_row(0, tiled), first, last, y, y_stride,
                             *reinterpret_cast<Scratch*>(scratch));
      });
    }
    if (tiled < x.rows)
      avx512_vnni_linear.integer(weight, x.from_row(tiled, x.rows - tiled), first, last, y + tiled * y_stride, y_stride,
                                 scratch);
  }

  static std::size_t scratch_bytes(std::int64_t rows) {
    return std::max(sizeof(Scratch), avx512_vnni_linear.scratch_bytes(rows));
  }

  // What tiles do not do is the level below's, compiled once.
  static void quantize(const float* x, std::int64_t x_stride, std::int64_t first, std::int64_t last,
                       const MutableQuantizedRows& out) {
    avx512_vnni_linear.quantize(x, x_stride, first, last, out);
  }
  static void floating(const PackedMatrix& weight, const float* x, std::int64_t x_stride, std::int64_t rows,
                       std::int64_t first, std::int64_t last, float* y, std::int64_t y_stride, std::byte* scratch) {
    avx512_vnni_linear.floating(weight, x, x_stride, rows, first, last, y, y_stride, scratch);
  }

  static constexpr LinearKernels kernels() { return {CpuLevel::amx, quantize, scratch_bytes, integer, floating}; }
};

}  // namespace
}  // namespace weft::cpu
