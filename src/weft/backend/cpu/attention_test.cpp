#include "weft/backend/cpu/attention.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "random_tensor.h"
#include "run_node.h"
#include "tolerance.h"
#include "weft/base/cpu_features.h"

namespace weft::cpu {
namespace {

using test::random_tensor;

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
const DType kv_dtypes[] = {DType::f32, DType::f16, DType::bf16, DType::q8_0};

struct AlignedBytes {
  explicit AlignedBytes(std::int64_t count) : bytes(static_cast<std::size_t>(count) + 64) {}
  std::byte* data() {
    void* at = bytes.data();
    std::size_t space = bytes.size();
    return static_cast<std::byte*>(std::align(64, space - 63, at, space));
  }
  std::vector<std::byte> bytes;
};

struct Case {
  std::int64_t heads = 2, kv_heads = 1, head_dim = 16, v_head_dim = 16, rows = 1, keys = 1;
  bool causal = true;
  std::int64_t window = 0;
  float softcap = 0;
  bool sink = false, bias = false, mask = false;

  std::string text() const {
    return fmt::format("{}/{} heads of {}/{}, {} rows, {} keys{}{}{}{}{}{}", heads, kv_heads, head_dim, v_head_dim,
                       rows, keys, causal ? ", causal" : "", window != 0 ? fmt::format(", window {}", window) : "",
                       softcap != 0 ? ", softcap" : "", sink ? ", sink" : "", bias ? ", bias" : "",
                       mask ? ", mask" : "");
  }
};

// A case with its operands, stored in a cache.
class Problem {
 public:
  Problem(const Case& c, DType dtype, std::uint64_t seed = 7)
      : c_(c),
        layout_{c.kv_heads, c.head_dim, c.v_head_dim, dtype},
        bytes_((c.keys / block_keys + 1) * stride()),
        q_rows_(random_tensor({c.rows, c.heads * c.head_dim}, seed)),
        k_rows_(random_tensor({c.keys, c.kv_heads * c.head_dim}, seed + 1)),
        v_rows_(random_tensor({c.keys, c.kv_heads * c.v_head_dim}, seed + 2)),
        sink_(random_tensor({c.heads}, seed + 3)),
        bias_(random_tensor({c.heads, c.rows, c.keys}, seed + 4)),
        mask_(static_cast<std::size_t>(c.rows * c.keys)) {
    Pcg32 generator(seed + 5);
    for (std::uint8_t& m : mask_) m = generator.uniform() < 0.7;
  }

  // Blocks do not touch, as those of layers that take turns do not.
  std::int64_t stride() const { return block_bytes(layout_) + 192; }
  MutableKvBlocks kv() { return {bytes_.data(), stride()}; }

  // Appends in steps, the last of them of the case's rows.
  void fill(CpuLevel level) {
    std::int64_t past = 0;
    for (const std::int64_t rows : {(c_.keys - c_.rows) / 2, c_.keys - c_.rows - (c_.keys - c_.rows) / 2, c_.rows}) {
      append(layout_, kv(), past, rows, rows_from(k_rows_, past, c_.head_dim), rows_from(v_rows_, past, c_.v_head_dim),
             level);
      past += rows;
    }
  }

  AttentionArgs args(CpuLevel level, float* out) {
    AttentionArgs a;
    a.layout = layout_;
    a.kv = kv();
    a.heads = c_.heads;
    a.rows = c_.rows;
    a.keys = c_.keys;
    a.q = rows_from(q_rows_, 0, c_.head_dim);
    a.output = {out, c_.heads * c_.v_head_dim, c_.v_head_dim};
    a.scale = scale();
    a.causal = c_.causal;
    a.window_keys = c_.window;
    a.softcap = c_.softcap;
    if (c_.sink) a.sink = sink_.values<float>().data();
    if (c_.bias) a.bias = {bias_.values<float>().data(), c_.rows * c_.keys, c_.keys, 1};
    if (c_.mask) a.mask = {mask_.data(), 0, c_.keys, 1};
    a.level = level;
    return a;
  }

  std::vector<float> run(CpuLevel level, int threads) {
    std::vector<float> out(static_cast<std::size_t>(c_.rows * c_.heads * c_.v_head_dim), -77.f);
    AttentionArgs a = args(level, out.data());
    const std::int64_t bytes = attention_scratch_bytes(layout_, c_.heads, c_.rows, c_.keys, threads);
    AlignedBytes scratch(bytes + 64);
    std::memset(scratch.data(), 0xFF, static_cast<std::size_t>(bytes) + 64);
    a.scratch = {scratch.data(), static_cast<std::size_t>(bytes)};
    ThreadPool pool(threads);
    attention(a, pool);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(scratch.data()[bytes + i], std::byte{0xFF}) << "scratch overrun";
    return out;
  }

  // In f64 from what is stored.
  std::vector<double> expected() {
    const Case& c = c_;
    std::vector<float> k(static_cast<std::size_t>(c.keys * c.kv_heads * c.head_dim));
    std::vector<float> v(static_cast<std::size_t>(c.keys * c.kv_heads * c.v_head_dim));
    read_keys(layout_, kv(), 0, c.keys, {k.data(), c.kv_heads * c.head_dim, c.head_dim});
    read_values(layout_, kv(), 0, c.keys, {v.data(), c.kv_heads * c.v_head_dim, c.v_head_dim});
    std::vector<double> out;
    for (std::int64_t i = 0; i < c.rows; ++i)
      for (std::int64_t h = 0; h < c.heads; ++h) {
        const std::int64_t kv = h / (c.heads / c.kv_heads), own = c.keys - c.rows + i;
        const std::vector<double> q = query(i, h);
        std::vector<double> z(static_cast<std::size_t>(c.keys), minus_infinity);
        double top = c.sink ? static_cast<double>(sink_.values<float>()[static_cast<std::size_t>(h)]) : minus_infinity;
        for (std::int64_t j = 0; j < c.keys; ++j) {
          if (c.causal && j > own) continue;
          if (c.window != 0 && (j <= own - c.window || j >= own + c.window)) continue;
          if (c.mask && mask_[static_cast<std::size_t>(i * c.keys + j)] == 0) continue;
          double dot = 0;
          for (std::int64_t d = 0; d < c.head_dim; ++d)
            dot += q[static_cast<std::size_t>(d)] *
                   static_cast<double>(k[static_cast<std::size_t>((j * c.kv_heads + kv) * c.head_dim + d)]);
          double& score = z[static_cast<std::size_t>(j)];
          score = dot * static_cast<double>(scale());
          if (c.softcap != 0)
            score = static_cast<double>(c.softcap) * std::tanh(score / static_cast<double>(c.softcap));
          if (c.bias)
            score +=
                static_cast<double>(bias_.values<float>()[static_cast<std::size_t>((h * c.rows + i) * c.keys + j)]);
          top = std::max(top, score);
        }
        double sum =
            c.sink ? std::exp(static_cast<double>(sink_.values<float>()[static_cast<std::size_t>(h)]) - top) : 0;
        std::vector<double> y(static_cast<std::size_t>(c.v_head_dim));
        for (std::int64_t j = 0; j < c.keys; ++j) {
          if (z[static_cast<std::size_t>(j)] == minus_infinity) continue;
          const double weight = std::exp(z[static_cast<std::size_t>(j)] - top);
          sum += weight;
          for (std::int64_t d = 0; d < c.v_head_dim; ++d)
            y[static_cast<std::size_t>(d)] +=
                weight * static_cast<double>(v[static_cast<std::size_t>((j * c.kv_heads + kv) * c.v_head_dim + d)]);
        }
        for (const double value : y) out.push_back(sum == 0 ? 0 : value / sum);
      }
    return out;
  }

  Case c_;
  KvLayout layout_;
  AlignedBytes bytes_;
  Tensor q_rows_, k_rows_, v_rows_, sink_, bias_;
  std::vector<std::uint8_t> mask_;

 private:
  float scale() const { return 1 / std::sqrt(static_cast<float>(c_.head_dim)); }
  static HeadRows rows_from(const Tensor& rows, std::int64_t first, std::int64_t width) {
    return {rows.values<float>().data() + first * rows.dim(1), rows.dim(1), width};
  }
  // The query as the kernel takes it: for q8_0 keys rounded to int8 with a scale per 32 values.
  std::vector<double> query(std::int64_t row, std::int64_t head) const {
    const float* q = q_rows_.values<float>().data() + (row * c_.heads + head) * c_.head_dim;
    std::vector<double> out(q, q + c_.head_dim);
    if (layout_.dtype != DType::q8_0) return out;
    for (std::int64_t begin = 0; begin < c_.head_dim; begin += 32) {
      const std::int64_t end = std::min(begin + 32, c_.head_dim);
      float most = 0;
      for (std::int64_t d = begin; d < end; ++d) most = std::max(most, std::abs(q[d]));
      const float inverse = 127.f / most;
      for (std::int64_t d = begin; d < end; ++d)
        out[static_cast<std::size_t>(d)] = std::nearbyint(q[d] * inverse) * static_cast<double>(most / 127.f);
    }
    return out;
  }
};

void expect_close(const std::vector<float>& actual, const std::vector<double>& expected, std::int64_t width,
                  const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t row = 0; row < expected.size(); row += static_cast<std::size_t>(width)) {
    double most = 0;
    for (std::size_t i = row; i < row + static_cast<std::size_t>(width); ++i)
      most = std::max(most, std::abs(expected[i]));
    for (std::size_t i = row; i < row + static_cast<std::size_t>(width); ++i)
      ASSERT_NEAR(actual[i], expected[i], 1e-5 * most) << what << ", element " << i;
  }
}

std::vector<Case> cases() {
  std::vector<Case> list = {
      {.rows = 1, .keys = 1},
      {.heads = 4, .kv_heads = 2, .head_dim = 128, .v_head_dim = 128, .rows = 1, .keys = 17},
      {.heads = 4, .kv_heads = 2, .head_dim = 128, .v_head_dim = 128, .rows = 1, .keys = 2500},
      {.heads = 3, .kv_heads = 3, .head_dim = 64, .v_head_dim = 64, .rows = 130, .keys = 130},
      {.heads = 8, .kv_heads = 2, .head_dim = 80, .v_head_dim = 48, .rows = 33, .keys = 1212},
      {.heads = 71, .kv_heads = 1, .head_dim = 33, .v_head_dim = 20, .rows = 3, .keys = 1042},
      {.heads = 2, .kv_heads = 2, .head_dim = 7, .v_head_dim = 5, .rows = 9, .keys = 40, .causal = false},
      {.heads = 4, .kv_heads = 2, .head_dim = 32, .v_head_dim = 96, .rows = 5, .keys = 1100, .window = 600},
      {.heads = 4, .kv_heads = 2, .head_dim = 32, .v_head_dim = 32, .rows = 40, .keys = 1100, .window = 7},
      {.heads = 4,
       .kv_heads = 4,
       .head_dim = 32,
       .v_head_dim = 32,
       .rows = 6,
       .keys = 50,
       .causal = false,
       .window = 9},
      {.heads = 4,
       .kv_heads = 1,
       .head_dim = 48,
       .v_head_dim = 64,
       .rows = 2,
       .keys = 1030,
       .softcap = 3,
       .sink = true},
      {.heads = 2, .kv_heads = 1, .head_dim = 24, .v_head_dim = 24, .rows = 4, .keys = 1112, .bias = true},
      {.heads = 2, .kv_heads = 1, .head_dim = 24, .v_head_dim = 24, .rows = 4, .keys = 1112, .mask = true},
      {.heads = 2,
       .kv_heads = 2,
       .head_dim = 24,
       .v_head_dim = 24,
       .rows = 19,
       .keys = 90,
       .causal = false,
       .softcap = 2,
       .sink = true,
       .bias = true,
       .mask = true},
  };
  for (std::int64_t rows = 1; rows <= 17; ++rows)
    list.push_back({.heads = 2, .kv_heads = 1, .head_dim = 40, .v_head_dim = 40, .rows = rows, .keys = 1012 + rows});
  return list;
}

TEST(CpuAttention, AgreesWithF64AtEveryLevelOnAnyThreads) {
  for (const Case& c : cases())
    for (const DType dtype : kv_dtypes) {
      Problem problem(c, dtype);
      problem.fill(CpuLevel::portable);
      const std::vector<double> expected = problem.expected();
      for (const CpuLevel level : supported_cpu_levels()) {
        problem.fill(level);
        const std::string what = fmt::format("{}, {}, {}", c.text(), to_string(dtype), to_string(level));
        const std::vector<float> one = problem.run(level, 1), two = problem.run(level, 2);
        expect_close(one, expected, c.v_head_dim, what);
        ASSERT_EQ(0, std::memcmp(one.data(), two.data(), one.size() * sizeof(float))) << what << ": threads";
      }
    }
}

TEST(CpuAttention, RowsOfAStepEqualStepsOfOneRow) {
  for (const std::int64_t past : {0, 5, 508, 1021, 2045})
    for (const std::int64_t window : {0, 300})
      for (std::int64_t rows = 1; rows <= 8; ++rows)
        for (const DType dtype : kv_dtypes) {
          Problem all({.heads = 6,
                       .kv_heads = 2,
                       .head_dim = 64,
                       .v_head_dim = 64,
                       .rows = rows,
                       .keys = past + rows,
                       .window = window},
                      dtype);
          for (const CpuLevel level : supported_cpu_levels()) {
            all.fill(level);
            const std::vector<float> together = all.run(level, 2);
            const std::size_t width = together.size() / static_cast<std::size_t>(rows);
            std::vector<float> alone(width);
            AlignedBytes scratch(attention_scratch_bytes(all.layout_, 6, 1, past + rows, 2));
            ThreadPool pool(2);
            for (std::int64_t row = 0; row < rows; ++row) {
              AttentionArgs a = all.args(level, alone.data());
              a.rows = 1;
              a.keys = past + row + 1;
              a.q.data += row * a.q.row_stride;
              a.scratch = {scratch.data(), scratch.bytes.size()};
              attention(a, pool);
              ASSERT_EQ(0, std::memcmp(alone.data(), together.data() + static_cast<std::size_t>(row) * width,
                                       width * sizeof(float)))
                  << to_string(dtype) << " " << to_string(level) << ", row " << row << " of " << rows << " after "
                  << past;
            }
          }
        }
}

// Many rows of several tiles against the same rows in small steps.
TEST(CpuAttention, TilesDoNotShowInTheResult) {
  for (const DType dtype : kv_dtypes) {
    Problem all({.heads = 4, .kv_heads = 2, .head_dim = 32, .v_head_dim = 32, .rows = 150, .keys = 1212}, dtype);
    for (const CpuLevel level : supported_cpu_levels()) {
      all.fill(level);
      const std::vector<float> together = all.run(level, 2);
      std::vector<float> steps(together.size());
      AlignedBytes scratch(attention_scratch_bytes(all.layout_, 4, 7, 1212, 2));
      ThreadPool pool(2);
      for (std::int64_t row = 0; row < 150; row += 7) {
        AttentionArgs a = all.args(level, steps.data());
        a.rows = std::min<std::int64_t>(7, 150 - row);
        a.keys = 1062 + row + a.rows;
        a.q.data += row * a.q.row_stride;
        a.output.data += row * a.output.row_stride;
        a.scratch = {scratch.data(), scratch.bytes.size()};
        attention(a, pool);
      }
      EXPECT_EQ(0, std::memcmp(steps.data(), together.data(), steps.size() * sizeof(float)))
          << to_string(dtype) << " " << to_string(level);
    }
  }
}

TEST(CpuAttention, AHiddenKeyHasNoInfluence) {
  for (const DType dtype : kv_dtypes)
    for (const CpuLevel level : supported_cpu_levels()) {
      const Case c{.heads = 2, .kv_heads = 1, .head_dim = 16, .v_head_dim = 16, .rows = 3, .keys = 20};
      Problem clean(c, dtype), spoiled(c, dtype);
      for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        for (float& x : spoiled.v_rows_.mutable_values<float>().subspan(19 * 16)) x = value;
        for (float& x : spoiled.k_rows_.mutable_values<float>().subspan(19 * 16)) x = value;
        clean.fill(level);
        spoiled.fill(level);
        const std::vector<float> good = clean.run(level, 1), bad = spoiled.run(level, 1);
        EXPECT_EQ(0, std::memcmp(good.data(), bad.data(), 2 * 32 * sizeof(float)))
            << to_string(dtype) << " " << to_string(level);
        EXPECT_TRUE(std::isnan(bad.back())) << to_string(dtype) << " " << to_string(level);
      }
    }
}

TEST(CpuAttention, RowsThatSeeNothingBecomeZeros) {
  for (const CpuLevel level : supported_cpu_levels())
    for (const bool sink : {false, true}) {
      // The first two queries stand before the first key.
      Problem problem({.rows = 5, .keys = 3, .sink = sink}, DType::f32);
      append(problem.layout_, problem.kv(), 0, 3, {problem.k_rows_.values<float>().data(), 16, 16},
             {problem.v_rows_.values<float>().data(), 16, 16}, level);
      const std::vector<float> out = problem.run(level, 1);
      for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 0.f);
      EXPECT_NE(out[64], 0.f);
    }
}

TEST(CpuAttention, AgreesWithTheReferenceKernelOfTheOp) {
  const Case c{.heads = 6,
               .kv_heads = 2,
               .head_dim = 24,
               .v_head_dim = 24,
               .rows = 11,
               .keys = 1042,
               .window = 1027,
               .softcap = 4,
               .sink = true};
  Problem problem(c, DType::f32);
  const Tensor expected = test::run_node(
      "Attention", {problem.q_rows_, problem.k_rows_, problem.v_rows_, Tensor(), Tensor(), problem.sink_},
      {{"num_heads", std::int64_t{6}},
       {"num_kv_heads", std::int64_t{2}},
       {"head_dim", std::int64_t{24}},
       {"causal", true},
       {"window_keys", std::int64_t{1027}},
       {"softcap", 4.0},
       {"layout", std::string("packed")},
       {"k_layout", std::string("packed")},
       {"v_layout", std::string("packed")}})[0];
  for (const CpuLevel level : supported_cpu_levels()) {
    problem.fill(level);
    const std::vector<float> out = problem.run(level, 2);
    Tensor actual = Tensor::allocate(DType::f32, expected.dims());
    std::copy(out.begin(), out.end(), actual.mutable_values<float>().begin());
    EXPECT_EQ(test::difference(actual, expected, test::Rule::row), std::nullopt) << to_string(level);
  }
}

TEST(KvCache, PackingGivesTheBytesOfAppending) {
  for (const DType dtype : kv_dtypes) {
    Problem problem({.heads = 3, .kv_heads = 3, .head_dim = 40, .v_head_dim = 20, .rows = 1, .keys = 75}, dtype);
    problem.fill(CpuLevel::portable);
    AlignedBytes packed(2 * problem.stride());
    ThreadPool pool(2);
    pack_keys_and_values(problem.layout_, {packed.data(), problem.stride()}, 75,
                         {problem.k_rows_.values<float>().data(), 120, 40},
                         {problem.v_rows_.values<float>().data(), 60, 20}, supported_cpu_levels().back(), pool);
    EXPECT_EQ(0, std::memcmp(packed.data(), problem.kv().data, static_cast<std::size_t>(2 * problem.stride())));
  }
}

TEST(KvCache, StoresWhatTheDTypesOwnEncoderWould) {
  for (const DType dtype : kv_dtypes) {
    Problem problem({.heads = 2, .kv_heads = 2, .head_dim = 64, .v_head_dim = 32, .rows = 1, .keys = 37}, dtype);
    problem.fill(supported_cpu_levels().back());
    std::vector<float> k(37 * 128), v(37 * 64), expected(37 * 128);
    read_keys(problem.layout_, problem.kv(), 0, 37, {k.data(), 128, 64});
    read_values(problem.layout_, problem.kv(), 0, 37, {v.data(), 64, 32});
    const auto stored = [&](const Tensor& rows) {
      Tensor encoded = Tensor::allocate(dtype, rows.dims());
      encode_from_f32(dtype, rows.values<float>(), encoded.mutable_bytes());
      expected.resize(static_cast<std::size_t>(rows.numel()));
      decode_to_f32(dtype, encoded.bytes(), expected);
      return expected;
    };
    EXPECT_EQ(stored(problem.k_rows_), k) << to_string(dtype);
    EXPECT_EQ(stored(problem.v_rows_), v) << to_string(dtype);
  }
}

TEST(KvCache, RefusesOtherDTypes) { EXPECT_THROW(block_bytes({1, 16, 16, DType::q4_0}), Error); }

}  // namespace
}  // namespace weft::cpu
