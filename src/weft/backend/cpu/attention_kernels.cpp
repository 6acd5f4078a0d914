#include "weft/backend/cpu/attention_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "weft/backend/cpu/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/backend/cpu/attention_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/backend/cpu/vector_math_inl.h"
#include "weft/backend/cpu/vector_memory_inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t panel_vectors = 16 / lanes;
// Accumulators of a tile: what the registers hold beside one row of operands.
constexpr int accumulators = lanes == 16 ? 24 : 12;
constexpr int most_rows = lanes >= 8 ? 6 : 3;

// --- scores -----------------------------------------------------------------------------------------------------

// R rows times P panels that lie `stride` apart; each score is one sum over the dims in ascending order.
template <class Element, int R, int P>
HWY_INLINE void score_tile(const float* const* q, std::int64_t dim, const std::byte* panels, std::int64_t stride,
                           float* scores, std::int64_t score_stride) {
  constexpr int vectors = P * panel_vectors;
  constexpr std::int64_t dim_bytes = 16 * static_cast<std::int64_t>(sizeof(Element));
  VF sums[R][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < vectors; ++i) sums[r][i] = hn::Zero(f32);
  for (std::int64_t d = 0; d < dim; ++d) {
    if (d * dim_bytes % 64 == 0)
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) __builtin_prefetch(panels + p * stride + d * dim_bytes + ahead_bytes);
    VF keys[vectors];
#pragma GCC unroll 16
    for (int i = 0; i < vectors; ++i)
      keys[i] = load_as_f32<Element>(panels + i / panel_vectors * stride, d * 16 + i % panel_vectors * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const VF x = constant(q[r][d]);
#pragma GCC unroll 16
      for (int i = 0; i < vectors; ++i) sums[r][i] = hn::MulAdd(x, keys[i], sums[r][i]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < vectors; ++i)
      hn::StoreU(sums[r][i], f32,
                 scores + r * chunk_keys + i / panel_vectors * score_stride + i % panel_vectors * lanes);
}

// As many blocks side by side as there are, at most S at a time.
template <class Element, int R, int S>
HWY_INLINE void score_blocks(const float* const* q, std::int64_t dim, const std::byte* blocks, std::int64_t stride,
                             std::int64_t count, float* scores) {
  const std::int64_t panel_bytes = dim * 16 * static_cast<std::int64_t>(sizeof(Element));
  for (; count >= S; count -= S, blocks += S * stride, scores += S * block_keys)
    for (std::int64_t p = 0; p < block_panels; ++p)
      score_tile<Element, R, S>(q, dim, blocks + p * panel_bytes, stride, scores + p * 16, block_keys);
  if constexpr (S > 1) score_blocks<Element, R, S / 2>(q, dim, blocks, stride, count, scores);
}

// Up to `most_rows` rows against panels [first, last) of a chunk.
template <class Element, int R>
void score_rows(const float* const* q, std::int64_t dim, KvBlocks keys, std::int64_t first, std::int64_t last,
                float* scores) {
  constexpr int room = accumulators / (R * static_cast<int>(panel_vectors));
  constexpr int streams = room >= block_streams ? block_streams : room >= 2 ? 2 : 1;
  const std::int64_t panel_bytes = dim * 16 * static_cast<std::int64_t>(sizeof(Element));
  const auto single = [&](std::int64_t p) {
    const std::byte* panel = keys.data + p / block_panels * keys.stride + p % block_panels * panel_bytes;
    score_tile<Element, R, 1>(q, dim, panel, 0, scores + p * 16, 0);
  };
  for (; first < last && first % block_panels != 0; ++first) single(first);
  const std::int64_t block = first / block_panels, blocks = std::max<std::int64_t>(last / block_panels - block, 0);
  score_blocks<Element, R, streams>(q, dim, keys.data + block * keys.stride, keys.stride, blocks,
                                    scores + block * block_keys);
  for (first += blocks * block_panels; first < last; ++first) single(first);
}

template <class Element>
void scores(const float* const* q, std::int64_t rows, std::int64_t dim, KvBlocks keys, std::int64_t first,
            std::int64_t last, float* out) {
  for (std::int64_t r = 0; r < rows; r += most_rows) {
    const float* const* some = q + r;
    float* to = out + r * chunk_keys;
    switch (std::min<std::int64_t>(most_rows, rows - r)) {
      case 1: score_rows<Element, 1>(some, dim, keys, first, last, to); break;
      case 2: score_rows<Element, 2>(some, dim, keys, first, last, to); break;
      case 3: score_rows<Element, 3>(some, dim, keys, first, last, to); break;
#if HWY_TARGET <= HWY_AVX2
      case 4: score_rows<Element, 4>(some, dim, keys, first, last, to); break;
      case 5: score_rows<Element, 5>(some, dim, keys, first, last, to); break;
      default: score_rows<Element, 6>(some, dim, keys, first, last, to);
#else
      default: break;
#endif
    }
  }
}

// The integer sums are exact, so any way of adding them gives these results.
void int8_scores(const QuantizedQueries& q, std::int64_t rows, KvBlocks keys, std::int64_t first, std::int64_t last,
                 float* out) {
  constexpr std::int64_t codes_bytes = 512, key_block_bytes = codes_bytes + 32;
  for (std::int64_t p = first; p < last; ++p) {
    const std::byte* panel = keys.data + p / block_panels * keys.stride + p % block_panels * q.blocks * key_block_bytes;
    for (std::int64_t r = 0; r < rows; ++r) {
      VF total[panel_vectors];
      for (VF& vector : total) vector = hn::Zero(f32);
      for (std::int64_t b = 0; b < q.blocks; ++b) {
        const std::byte* block = panel + b * key_block_bytes;
        const std::int8_t* codes = q.codes + (r * q.blocks + b) * 32;
        HWY_ALIGN std::int32_t sums[16];
        std::fill_n(sums, 16, q.sums[r * q.blocks + b]);
        for (std::int64_t group = 0; group < 8; ++group)
          for (std::int64_t key = 0; key < 16; ++key)
            for (std::int64_t i = 0; i < 4; ++i)
              sums[key] += codes[group * 4 + i] * std::to_integer<std::int32_t>(block[(group * 16 + key) * 4 + i]);
        const VF q_scale = constant(q.scales[r * q.blocks + b]);
        for (std::int64_t i = 0; i < panel_vectors; ++i) {
          const VF scale = hn::Mul(load_as_f32<hwy::float16_t>(block + codes_bytes, i * lanes), q_scale);
          total[i] = hn::MulAdd(hn::ConvertTo(f32, hn::Load(i32, sums + i * lanes)), scale, total[i]);
        }
      }
      for (std::int64_t i = 0; i < panel_vectors; ++i)
        hn::StoreU(total[i], f32, out + r * chunk_keys + p * 16 + i * lanes);
    }
  }
}

void quantize_row(const float* q, std::int64_t dim, std::int8_t* codes, float* scales, std::int32_t* sums) {
  for (std::int64_t d = 0, b = 0; d < dim; d += 32, ++b) {
    HWY_ALIGN float values[32] = {};
    std::copy_n(q + d, std::min<std::int64_t>(32, dim - d), values);
    float most = 0, poison = 0;
    for (const float x : values) {
      most = std::max(most, std::abs(x));
      poison += x * 0.f;  // NaN when any value is not finite
    }
    const float inverse = most > 0 ? 127.f / most : 0.f;
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < 32; i += lanes) {
      HWY_ALIGN std::int32_t whole[lanes];
      hn::Store(hn::NearestInt(hn::Mul(hn::Load(f32, values + i), constant(inverse))), i32, whole);
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const std::int32_t code = std::clamp<std::int32_t>(whole[lane], -127, 127);
        codes[d + i + lane] = static_cast<std::int8_t>(code);
        sum += code;
      }
    }
    scales[b] = most / 127.f + poison;
    sums[b] = -128 * sum;
  }
}

constexpr float hidden = -std::numeric_limits<float>::infinity();

// --- softmax ----------------------------------------------------------------------------------------------------

// e^x for x up to 0 within 2e-7, and exactly 0 for what is not a normal number any more. NaN stays NaN.
HWY_INLINE VF weight_of(VF x) {
  const VF n = hn::Round(hn::Mul(x, constant(1.44269504f)));
  VF r = hn::NegMulAdd(n, constant(0.693359375f), x);
  r = hn::NegMulAdd(n, constant(-2.12194440e-4f), r);
  const VF tail = polynomial(r, {0.5f, 0.16666548f, 0.0416662991f, 0.00836610235f, 0.00139455486f});
  const VF y = hn::Add(constant(1.f), hn::MulAdd(hn::Mul(r, r), tail, r));
  const auto vanishes = hn::Lt(x, constant(-87.f));
  return hn::IfThenZeroElse(vanishes, hn::Mul(y, power_of_two(hn::ConvertTo(i32, n))));
}

// Applies scale, softcap, bias and mask to keys [first, last), whole vectors of which some may be hidden.
void adjust(float* z, const WeighOptions& o, std::int64_t first, std::int64_t last) {
  for (std::int64_t key = first; key < last; key += lanes) {
    VF x = hn::Mul(hn::LoadU(f32, z + key), constant(o.scale));
    if (o.softcap != 0) x = hn::Mul(constant(o.softcap), tanh(hn::Div(x, constant(o.softcap))));
    hn::StoreU(x, f32, z + key);
  }
  for (std::int64_t key = first; key < last; ++key) {
    if (key < o.visible_first || key >= o.visible_last) {
      z[key] = hidden;
      continue;
    }
    if (o.bias != nullptr) z[key] += o.bias[key * o.bias_stride];
    if (o.mask != nullptr && o.mask[key * o.mask_stride] == 0) z[key] = hidden;
  }
}

PartialSoftmax weigh(float* z, const WeighOptions& o) {
  // Between `inner_first` and `inner_last` nothing is hidden and nothing but the scale is applied.
  const bool plain = o.bias == nullptr && o.mask == nullptr && o.softcap == 0;
  const auto within = [&](std::int64_t key) { return std::clamp(key, o.first, o.last); };
  const std::int64_t inner_first =
      plain ? within((std::max(o.visible_first, o.first) + lanes - 1) / lanes * lanes) : o.last;
  const std::int64_t inner_last = std::max(inner_first, within(std::max(o.visible_last, o.first) / lanes * lanes));
  adjust(z, o, o.first, inner_first);
  adjust(z, o, inner_last, o.last);
  VF top = constant(hidden);
  for (std::int64_t key = o.first; key < inner_first; key += lanes) top = hn::Max(top, hn::LoadU(f32, z + key));
  for (std::int64_t key = inner_first; key < inner_last; key += lanes) {
    const VF x = hn::Mul(hn::LoadU(f32, z + key), constant(o.scale));
    hn::StoreU(x, f32, z + key);
    top = hn::Max(top, x);
  }
  for (std::int64_t key = inner_last; key < o.last; key += lanes) top = hn::Max(top, hn::LoadU(f32, z + key));
  float highest = hn::GetLane(hn::MaxOfLanes(f32, top));
  if (!(highest > hidden)) {
    // Nothing is seen, or what is seen is not a number.
    if (std::none_of(z + o.first, z + o.last, [](float x) { return std::isnan(x); })) {
      std::fill(z + o.first, z + o.last, 0.f);
      return {hidden, 0};
    }
    highest = std::numeric_limits<float>::quiet_NaN();
  }
  VF sums[panel_vectors];
  for (VF& sum : sums) sum = hn::Zero(f32);
  for (std::int64_t key = o.first; key < o.last; key += 16)
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < panel_vectors; ++i) {
      const VF weight = weight_of(hn::Sub(hn::LoadU(f32, z + key + i * lanes), constant(highest)));
      hn::StoreU(weight, f32, z + key + i * lanes);
      sums[i] = hn::Add(sums[i], weight);
    }
  for (std::int64_t i = 1; i < panel_vectors; ++i) sums[0] = hn::Add(sums[0], sums[i]);
  return {highest, hn::GetLane(hn::SumOfLanes(f32, sums[0]))};
}

// --- values -----------------------------------------------------------------------------------------------------

// R rows times C vectors of columns. What is not a key of [first, last) is passed over, so that the order of those that
// are does not depend on it.
template <class Element, int R, int C>
HWY_INLINE void sum_tile(const float* weights, const ValueBlocks& values, const float* scales,
                         std::int64_t scale_stride, std::int64_t first, std::int64_t last, std::int64_t column,
                         float* out, std::int64_t out_stride) {
  VF sums[R][C];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) sums[r][c] = hn::Zero(f32);
  const auto blocks_before = [](std::int64_t keys, std::int64_t place) {
    return keys / block_keys + (place < keys % block_keys ? 1 : 0);
  };
  constexpr std::int64_t group_keys = block_streams * block_keys;
  for (std::int64_t group = first / group_keys * group_keys; group < last; group += group_keys)
    for (std::int64_t place = 0; place < block_keys; ++place) {
      const std::int64_t from = blocks_before(std::max(first, group), place),
                         to = blocks_before(std::min(last, group + group_keys), place);
      const std::byte* row = values.row(from * block_keys + place);
      for (std::int64_t block = from; block < to; ++block, row += values.blocks.stride) {
        const std::int64_t key = block * block_keys + place;
        constexpr std::int64_t bytes = C * lanes * static_cast<std::int64_t>(sizeof(Element));
        const std::byte* next = row + column * static_cast<std::int64_t>(sizeof(Element)) + ahead_bytes;
#pragma GCC unroll 8
        for (std::int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(next + line);
        VF v[C];
#pragma GCC unroll 16
        for (int c = 0; c < C; ++c) {
          v[c] = load_as_f32<Element>(row, column + c * lanes);
          if constexpr (sizeof(Element) == 1)
            v[c] = hn::Mul(v[c], constant(scales[key * scale_stride + (column + c * lanes) / 32]));
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          const VF w = constant(weights[r * chunk_keys + key]);
#pragma GCC unroll 16
          for (int c = 0; c < C; ++c) sums[r][c] = hn::MulAdd(w, v[c], sums[r][c]);
        }
      }
    }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) hn::StoreU(sums[r][c], f32, out + r * out_stride + column + c * lanes);
}

template <class Element, int R>
void sum_rows(const float* weights, const ValueBlocks& values, const float* scales, std::int64_t first,
              std::int64_t last, std::int64_t columns, float* out) {
  constexpr int wide = R == 1 ? 8 : accumulators / R >= 8 ? 8 : accumulators / R >= 4 ? 4 : 2;
  std::int64_t c = 0;
  for (; c + wide * lanes <= columns; c += wide * lanes)
    sum_tile<Element, R, wide>(weights, values, scales, columns / 32, first, last, c, out, columns);
  for (; c < columns; c += lanes)
    sum_tile<Element, R, 1>(weights, values, scales, columns / 32, first, last, c, out, columns);
}

template <class Element>
void weighted_sum(const float* weights, std::int64_t rows, const ValueBlocks& values, const float* scales,
                  std::int64_t first, std::int64_t last, std::int64_t columns, float* out) {
  for (std::int64_t r = 0; r < rows; r += most_rows) {
    const float* some = weights + r * chunk_keys;
    float* to = out + r * columns;
    switch (std::min<std::int64_t>(most_rows, rows - r)) {
      case 1: sum_rows<Element, 1>(some, values, scales, first, last, columns, to); break;
      case 2: sum_rows<Element, 2>(some, values, scales, first, last, columns, to); break;
      case 3: sum_rows<Element, 3>(some, values, scales, first, last, columns, to); break;
#if HWY_TARGET <= HWY_AVX2
      case 4: sum_rows<Element, 4>(some, values, scales, first, last, columns, to); break;
      case 5: sum_rows<Element, 5>(some, values, scales, first, last, columns, to); break;
      default: sum_rows<Element, 6>(some, values, scales, first, last, columns, to);
#else
      default: break;
#endif
    }
  }
}

void join(float* total, float left, const float* part, float right, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += lanes)
    hn::StoreU(
        hn::MulAdd(hn::LoadU(f32, part + i), constant(right), hn::Mul(hn::LoadU(f32, total + i), constant(left))), f32,
        total + i);
}

void divide(const float* total, float divisor, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Div(hn::LoadU(f32, total + i), constant(divisor)), f32, out + i);
  for (; i < count; ++i) out[i] = total[i] / divisor;
}

void widen_scales(const std::uint16_t* halves, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(load_as_f32<hwy::float16_t>(reinterpret_cast<const std::byte*>(halves), i), f32, out + i);
  for (; i < count; ++i) out[i] = f16_to_f32(halves[i]);
}

}  // namespace

extern const AttentionKernels attention_table;
const AttentionKernels attention_table = {
    .scores_f32 = scores<float>,
    .scores_f16 = scores<hwy::float16_t>,
    .scores_bf16 = scores<hwy::bfloat16_t>,
    .scores_q8_0 = int8_scores,
    .sum_f32 = weighted_sum<float>,
    .sum_f16 = weighted_sum<hwy::float16_t>,
    .sum_bf16 = weighted_sum<hwy::bfloat16_t>,
    .sum_q8_0 = weighted_sum<std::int8_t>,
    .quantize_row = quantize_row,
    .weigh = weigh,
    .join = join,
    .divide = divide,
    .widen_scales = widen_scales,
};

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::cpu {
namespace {

[[maybe_unused]] AttentionKernels with_int8_scores(AttentionKernels kernels, Int8ScoresFunction* scores) {
  kernels.scores_q8_0 = scores;
  return kernels;
}

}  // namespace

const AttentionKernels& attention_kernels([[maybe_unused]] CpuLevel level) {
#if defined(__x86_64__)
  static const AttentionKernels avx2 = with_int8_scores(N_AVX2::attention_table, int8_scores_avx2);
  static const AttentionKernels avx_vnni = with_int8_scores(N_AVX2::attention_table, int8_scores_avx_vnni);
  static const AttentionKernels avx512 = with_int8_scores(N_AVX3::attention_table, int8_scores_avx2);
  static const AttentionKernels avx512_vnni = with_int8_scores(N_AVX3::attention_table, int8_scores_avx512_vnni);
  switch (level) {
    case CpuLevel::portable: break;
    case CpuLevel::avx2: return avx2;
    case CpuLevel::avx_vnni: return avx_vnni;
    case CpuLevel::avx512: return avx512;
    case CpuLevel::avx512_vnni:
    case CpuLevel::amx: return avx512_vnni;
  }
#endif
  return HWY_NAMESPACE::attention_table;
}

}  // namespace weft::cpu
#endif
