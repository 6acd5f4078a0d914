// The inner loop of matrix products and attention: sixteen sums side by side, each in f64 and in ascending order of
// its terms. A sum is never split, so its bits do not depend on rows, blocking, threads or instruction set (fused
// multiply-add is not used). Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::ops {

inline constexpr std::int64_t panel_lanes = 16;

// For r in [0, rows), lane in [0, 16): sums[r*16 + lane] += sum over k of x[r*x_stride + k] * panel[k*16 + lane].
template <class P>
using PanelDotFunction = void (*)(const P* panel, const double* x, std::int64_t x_stride, std::int64_t rows,
                                  std::int64_t terms, double* sums);

struct PanelDot {
  std::string_view instructions;
  PanelDotFunction<float> f32;
  PanelDotFunction<double> f64;
};

// What this machine can run, the fastest first; all give the same bits.
std::span<const PanelDot> panel_dots();

inline void panel_dot(const float* panel, const double* x, std::int64_t x_stride, std::int64_t rows, std::int64_t terms,
                      double* sums) {
  panel_dots().front().f32(panel, x, x_stride, rows, terms, sums);
}
inline void panel_dot(const double* panel, const double* x, std::int64_t x_stride, std::int64_t rows,
                      std::int64_t terms, double* sums) {
  panel_dots().front().f64(panel, x, x_stride, rows, terms, sums);
}

// Sixteen rows of `terms` values become a panel: panel[k*16 + lane] = rows[lane][k]. A null row counts as zeros.
void pack_panel(const float* const* rows, std::int64_t terms, float* panel);
void pack_panel(const double* const* rows, std::int64_t terms, double* panel);

}  // namespace weft::ops
