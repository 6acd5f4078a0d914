#include "weft/ops/panel_dot.h"

#include <vector>

#include "weft/base/target.h"

// A fused multiply-add rounds once where a machine without it rounds twice; the reference must not depend on that.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#if defined(__x86_64__)
#define WEFT_PANEL_DOT_X86 1
#endif

namespace weft::ops {
namespace {

#ifdef WEFT_PANEL_DOT_X86
WEFT_BEGIN_TARGET("avx512f")
namespace avx512 {
constexpr int width = 8, tile = 4;
#include "weft/ops/panel_dot_loop.h"
}  // namespace avx512
WEFT_END_TARGET

WEFT_BEGIN_TARGET("avx2")
namespace avx2 {
constexpr int width = 4, tile = 2;
#include "weft/ops/panel_dot_loop.h"
}  // namespace avx2
WEFT_END_TARGET
#endif

namespace portable {
constexpr int width = 2, tile = 1;
#include "weft/ops/panel_dot_loop.h"
}  // namespace portable

std::vector<PanelDot> usable_dots() {
  std::vector<PanelDot> found;
#ifdef WEFT_PANEL_DOT_X86
  if (__builtin_cpu_supports("avx512f")) found.push_back({"avx512", avx512::dot<float>, avx512::dot<double>});
  if (__builtin_cpu_supports("avx2")) found.push_back({"avx2", avx2::dot<float>, avx2::dot<double>});
#endif
  found.push_back({"portable", portable::dot<float>, portable::dot<double>});
  return found;
}

// rows[0..3][k..k+3] -> out[k..k+3][lane..lane+3]
void transpose_4x4(const float* const* rows, std::int64_t k, float* out) {
  typedef float Four __attribute__((vector_size(16), aligned(4)));
  const auto at = [&](int row) { return *reinterpret_cast<const Four*>(rows[row] + k); };
  const Four a = at(0), b = at(1), c = at(2), d = at(3);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const auto put = [&](std::int64_t row, Four value) { *reinterpret_cast<Four*>(out + row * panel_lanes) = value; };
  put(0, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  put(1, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  put(2, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  put(3, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

template <class P>
void pack_columns(const P* const* rows, std::int64_t first, std::int64_t terms, P* panel, std::int64_t lane_begin,
                  std::int64_t lane_end) {
  for (std::int64_t lane = lane_begin; lane < lane_end; ++lane)
    for (std::int64_t k = first; k < terms; ++k)
      panel[k * panel_lanes + lane] = rows[lane] == nullptr ? P{0} : rows[lane][k];
}

}  // namespace

std::span<const PanelDot> panel_dots() {
  static const std::vector<PanelDot> dots = usable_dots();
  return dots;
}

void pack_panel(const float* const* rows, std::int64_t terms, float* panel) {
  const std::int64_t whole = terms / 4 * 4;
  for (std::int64_t lane = 0; lane < panel_lanes; lane += 4) {
    bool all = true;
    for (std::int64_t i = 0; i < 4; ++i) all = all && rows[lane + i] != nullptr;
    if (all)
      for (std::int64_t k = 0; k < whole; k += 4) transpose_4x4(rows + lane, k, panel + k * panel_lanes + lane);
    pack_columns(rows, all ? whole : 0, terms, panel, lane, lane + 4);
  }
}

void pack_panel(const double* const* rows, std::int64_t terms, double* panel) {
  pack_columns(rows, 0, terms, panel, 0, panel_lanes);
}

}  // namespace weft::ops
