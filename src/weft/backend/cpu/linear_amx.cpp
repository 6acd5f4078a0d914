// The linear kernels for AMX: tiles for many rows of integer weights, AVX-512 with VNNI for the rest.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/backend/cpu/linear_levels.h"
#include "weft/backend/cpu/packed_layout.h"
#include "weft/base/target.h"

WEFT_BEGIN_TARGET("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8")
#include "weft/backend/cpu/linear_amx-inl.h"

namespace weft::cpu {
namespace {

// The memory form of a tile configuration, palette 1.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfiguration) == 64);

// C in tiles 0 to 3, A in 4 and 5, B in 6 and 7; the intrinsics want their numbers as literals.
struct TileUnit {
  // GCC 12's loads do not say that they read memory, so what was stored before could come after them.
  static WEFT_INLINE void written() { __asm__ volatile("" ::: "memory"); }
  static WEFT_INLINE void configure(int depth) {
    TileConfiguration tiles;
    for (int t = 0; t < 8; ++t) {
      const bool is_a = t == 4 || t == 5, is_b = t >= 6;
      tiles.rows[t] = static_cast<std::uint8_t>(is_b ? depth / 4 : 16);
      tiles.row_bytes[t] = static_cast<std::uint16_t>(is_a ? depth : 64);
    }
    written();
    _tile_loadconfig(&tiles);
  }
  static WEFT_INLINE void release() { _tile_release(); }
  template <int i>
  static WEFT_INLINE void load_a(const std::int8_t* rows, std::int64_t stride) {
    written();
    if constexpr (i == 0) _tile_loadd(4, rows, stride);
    if constexpr (i == 1) _tile_loadd(5, rows, stride);
  }
  template <int j>
  static WEFT_INLINE void load_b(const std::uint8_t* groups) {
    written();
    if constexpr (j == 0) _tile_loadd(6, groups, 64);
    if constexpr (j == 1) _tile_loadd(7, groups, 64);
  }
  template <int c>
  static WEFT_INLINE void zero() {
    if constexpr (c == 0) _tile_zero(0);
    if constexpr (c == 1) _tile_zero(1);
    if constexpr (c == 2) _tile_zero(2);
    if constexpr (c == 3) _tile_zero(3);
  }
  template <int c, int i, int j>
  static WEFT_INLINE void dot() {
    static_assert(c == 2 * i + j);
    if constexpr (c == 0) _tile_dpbssd(0, 4, 6);
    if constexpr (c == 1) _tile_dpbssd(1, 4, 7);
    if constexpr (c == 2) _tile_dpbssd(2, 5, 6);
    if constexpr (c == 3) _tile_dpbssd(3, 5, 7);
  }
  template <int c>
  static WEFT_INLINE void store(std::int32_t* sums, std::int64_t stride) {
    if constexpr (c == 0) _tile_stored(0, sums, stride);
    if constexpr (c == 1) _tile_stored(1, sums, stride);
    if constexpr (c == 2) _tile_stored(2, sums, stride);
    if constexpr (c == 3) _tile_stored(3, sums, stride);
  }
};

constexpr LinearKernels table = AmxLinear<TileUnit>::kernels();

}  // namespace
WEFT_END_TARGET

constinit const LinearKernels amx_linear = table;

}  // namespace weft::cpu
#endif
