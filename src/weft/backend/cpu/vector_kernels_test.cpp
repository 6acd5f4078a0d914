#include "weft/backend/cpu/vector_kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "random_tensor.h"
#include "run_node.h"
#include "tolerance.h"
#include "weft/base/block_codec.h"
#include "weft/base/half.h"

namespace weft::cpu {
namespace {

using test::difference;
using test::random_tensor;
using test::Rule;
using test::run_node;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
const std::int64_t widths[] = {1, 3, 7, 16, 31, 33, 64, 100, 576, 1029};

float* data(Tensor& tensor) { return tensor.mutable_values<float>().data(); }
const float* data(const Tensor& tensor) { return tensor.values<float>().data(); }

// The kernels of each level that this machine has.
void at_every_level(const std::function<void(const VectorKernels&, std::string)>& body) {
  for (const CpuLevel level : supported_cpu_levels()) body(vector_kernels(level), std::string(to_string(level)));
}

Tensor with_shape(std::vector<float> values, std::vector<std::int64_t> dims) {
  Tensor tensor = Tensor::allocate(DType::f32, std::move(dims));
  std::copy(values.begin(), values.end(), tensor.mutable_values<float>().begin());
  return tensor;
}

TEST(VectorKernels, NormsAgreeWithTheirOps) {
  for (const std::int64_t width : widths)
    for (const std::int64_t rows : {1, 2, 5, 17}) {
      const Tensor x = random_tensor({rows, width}, 1), y = random_tensor({rows, width}, 2),
                   gain = random_tensor({width}, 3), bias = random_tensor({width}, 4);
      const Tensor sum = run_node("Binary", {x, y}, {{"kind", "add"}})[0];
      at_every_level([&](const VectorKernels& k, const std::string& level) {
        for (const bool affine : {true, false}) {
          const std::string what = fmt::format("{} x {}, {}", rows, width, level);
          const float *g = affine ? data(gain) : nullptr, *b = affine ? data(bias) : nullptr;
          std::vector<Tensor> inputs = {x}, sum_inputs = {sum};
          if (affine) inputs = {x, gain, bias}, sum_inputs = {sum, gain, bias};
          Tensor out = Tensor::zeros(DType::f32, {rows, width}), added = Tensor::zeros(DType::f32, {rows, width});
          k.rms_norm(data(x), width, rows, width, g, b, 1e-6f, data(out), width);
          EXPECT_EQ(difference(out, run_node("RmsNorm", inputs)[0], Rule::row), std::nullopt) << what;
          k.layer_norm(data(x), width, rows, width, g, b, 1e-5f, data(out), width);
          EXPECT_EQ(difference(out, run_node("LayerNorm", inputs)[0], Rule::row), std::nullopt) << what;
          k.add_rms_norm(data(x), data(y), data(added), width, rows, width, g, b, 1e-6f, data(out), width);
          EXPECT_EQ(difference(out, run_node("RmsNorm", sum_inputs)[0], Rule::row), std::nullopt) << what;
          EXPECT_EQ(difference(added, sum, Rule::exact), std::nullopt) << what;
          k.add_layer_norm(data(x), data(y), data(added), width, rows, width, g, b, 1e-5f, data(out), width);
          EXPECT_EQ(difference(out, run_node("LayerNorm", sum_inputs)[0], Rule::row), std::nullopt) << what;
          EXPECT_EQ(difference(added, sum, Rule::exact), std::nullopt) << what;
        }
      });
    }
}

TEST(VectorKernels, NormsOfExtremeRows) {
  std::vector<std::vector<float>> rows = {std::vector<float>(40, 0.f), std::vector<float>(40, 3e30f),
                                          std::vector<float>(40, 1e-25f), std::vector<float>(40, 1e4f),
                                          std::vector<float>(40, 1.f)};
  rows[3][7] = 1e4f + 1;
  rows[4][39] = nan;
  for (const std::vector<float>& row : rows) {
    const Tensor x = with_shape(row, {1, 40});
    at_every_level([&](const VectorKernels& k, const std::string& level) {
      for (const double eps : {0.0, 1e-5}) {
        if (eps == 0 && row[0] == 0) continue;
        Tensor out = Tensor::zeros(DType::f32, {1, 40});
        k.rms_norm(data(x), 40, 1, 40, nullptr, nullptr, static_cast<float>(eps), data(out), 40);
        EXPECT_EQ(difference(out, run_node("RmsNorm", {x}, {{"eps", eps}})[0], Rule::row), std::nullopt) << level;
      }
      Tensor out = Tensor::zeros(DType::f32, {1, 40});
      k.layer_norm(data(x), 40, 1, 40, nullptr, nullptr, 1e-5f, data(out), 40);
      const Tensor expected = run_node("LayerNorm", {x})[0];
      // Where all are equal the mean's own rounding is all that is left of them.
      if (row[0] == 3e30f) return;
      EXPECT_EQ(difference(out, expected, Rule::row), std::nullopt) << level << ", " << row[0];
    });
  }
}

TEST(VectorKernels, SoftmaxAgreesWithTheOp) {
  for (const std::int64_t width : widths) {
    Tensor x = random_tensor({6, width}, 5);
    std::span<float> values = x.mutable_values<float>();
    const auto row = [&](std::int64_t r) {
      return values.subspan(static_cast<std::size_t>(r * width)).first(static_cast<std::size_t>(width));
    };
    for (float& v : row(1)) v *= 40;
    std::fill(row(2).begin(), row(2).end(), -infinity);
    row(3).back() = nan;
    row(4).front() = -infinity;
    row(5).back() = infinity;
    for (const bool zeros : {true, false}) {
      const Tensor expected = run_node("Softmax", {x}, {{"empty_row", zeros ? "zeros" : "nan"}})[0];
      at_every_level([&](const VectorKernels& k, const std::string& level) {
        Tensor out = Tensor::allocate(DType::f32, x.dims());
        std::copy(values.begin(), values.end(), data(out));
        k.softmax(data(out), width, 6, width, zeros ? 0.f : nan, data(out), width);
        EXPECT_EQ(difference(out, expected, Rule::softmax), std::nullopt) << width << " " << level;
      });
    }
  }
}

TEST(VectorKernels, RopeAgreesWithTheOp) {
  for (const std::int64_t head_dim : {2, 6, 48, 64, 128})
    for (const std::int64_t rotary : {head_dim, head_dim / 4 * 2})
      for (const char* style : {"neox", "interleaved"})
        for (const char* layout : {"prefix", "proportional"}) {
          if (rotary == 0) continue;
          const std::int64_t rows = 5, heads = 3, pairs = rotary / 2;
          const bool prefix = std::string(layout) == "prefix", neox = std::string(style) == "neox";
          if (!prefix && !neox) continue;
          const Tensor x = random_tensor({rows, heads, head_dim}, 1), cos = random_tensor({rows, pairs + 2}, 2),
                       sin = random_tensor({rows, pairs + 2}, 3);
          const Tensor expected = run_node("Rope", {x, cos, sin},
                                           {{"head_dim", head_dim},
                                            {"rotary_dim", rotary},
                                            {"style", style},
                                            {"layout", layout},
                                            {"heads", "token_major"},
                                            {"rows", "position"},
                                            {"tables", true}})[0];
          at_every_level([&](const VectorKernels& k, const std::string& level) {
            for (const bool in_place : {false, true}) {
              Tensor out = Tensor::zeros(DType::f32, x.dims());
              if (in_place) std::copy_n(data(x), x.numel(), data(out));
              k.rope({.x = in_place ? data(out) : data(x),
                      .out = data(out),
                      .rows = rows,
                      .heads = heads,
                      .head_dim = head_dim,
                      .x_stride = heads * head_dim,
                      .out_stride = heads * head_dim,
                      .cos = data(cos),
                      .sin = data(sin),
                      .table_stride = pairs + 2,
                      .pairs = pairs,
                      .half = prefix ? pairs : head_dim / 2,
                      .style = neox ? RopeStyle::neox : RopeStyle::interleaved});
              EXPECT_EQ(difference(out, expected, Rule::row), std::nullopt)
                  << head_dim << " " << rotary << " " << style << " " << layout << " " << level;
            }
          });
        }
}

const char* const unary_names[unary_kinds] = {
    "gelu",  "gelu_approx", "gelu_quick",  "silu",       "relu",     "sigmoid", "tanh", "exp",        "log",
    "sqrt",  "rsqrt",       "neg",         "abs",        "sin",      "cos",     "tan",  "atan",       "round",
    "recip", "floor",       "ceil",        "sign",       "softplus", "elu",     "erf",  "hard_swish", "hard_sigmoid",
    "mish",  "softsign",    "log_sigmoid", "log1p",      "expm1",    "asin",    "acos", "sinh",       "cosh",
    "asinh", "acosh",       "atanh",       "leaky_relu", "trunc",    "cbrt"};

// All magnitudes from subnormal to the largest, denser where functions bend, and what is special.
Tensor sweep() {
  std::vector<float> values = {0.f,        -0.f,       infinity,      -infinity,      nan,   0x1p-149f,
                               -0x1p-149f, 0x1p-126f,  3.4028235e38f, -3.4028235e38f, 1.f,   -1.f,
                               0.5f,       -0.5f,      1.5f,          2.5f,           -2.5f, 88.72284f,
                               88.72283f,  -103.9721f, -103.97209f,   -87.33655f};
  for (int exponent = -140; exponent <= 127; ++exponent)
    for (const float mantissa : {1.f, 1.0000001f, 1.37f, 1.7182818f, 1.9999999f})
      for (const float sign : {1.f, -1.f}) values.push_back(sign * std::ldexp(mantissa, exponent));
  for (int i = -20000; i <= 20000; ++i) values.push_back(static_cast<float>(i) * 0.00737f);
  Pcg32 generator(3);
  for (int i = 0; i < 20000; ++i) values.push_back(static_cast<float>(generator.uniform() * 12 - 6));
  const auto count = static_cast<std::int64_t>(values.size());
  return with_shape(std::move(values), {count});
}

TEST(VectorKernels, FunctionsOfOneValueAgreeWithTheOp) {
  const Tensor x = sweep();
  for (int i = 0; i < unary_kinds; ++i) {
    const auto kind = static_cast<UnaryKind>(i);
    const bool slope = kind == UnaryKind::elu || kind == UnaryKind::leaky_relu;
    Attributes attributes = {{"kind", unary_names[i]}};
    if (slope) attributes.emplace_back("alpha", 0.25);
    const Tensor expected = run_node("Activation", {x}, attributes)[0];
    at_every_level([&](const VectorKernels& k, const std::string& level) {
      Tensor out = Tensor::allocate(DType::f32, x.dims());
      k.unary(kind, data(x), data(out), x.numel(), 0.25f);
      const auto found = difference(out, expected, Rule::transcendental);
      EXPECT_EQ(found, std::nullopt) << unary_names[i] << " " << level;
      if (found) {
        const auto at = static_cast<std::size_t>(std::stoul(found->substr(8)));
        ADD_FAILURE() << "x = " << x.values<float>()[at];
      }
    });
  }
}

TEST(VectorKernels, PlaceDoesNotShowInAFunctionsResult) {
  const Tensor x = random_tensor({67}, 9);
  at_every_level([&](const VectorKernels& k, const std::string& level) {
    for (int i = 0; i < unary_kinds; ++i) {
      std::vector<float> whole(67), part(67);
      k.unary(static_cast<UnaryKind>(i), data(x), whole.data(), 67, 1);
      for (std::int64_t begin = 0; begin < 67; begin += 5)
        k.unary(static_cast<UnaryKind>(i), data(x) + begin, part.data() + begin, std::min<std::int64_t>(5, 67 - begin),
                1);
      EXPECT_EQ(0, std::memcmp(whole.data(), part.data(), 67 * sizeof(float))) << unary_names[i] << " " << level;
    }
  });
}

TEST(VectorKernels, FunctionsOfTwoValuesAgreeWithTheOp) {
  const char* const names[binary_kinds] = {"add", "sub", "mul", "div", "max", "min", "pow", "mod", "atan2"};
  Tensor full = random_tensor({6, 35}, 1), row = random_tensor({35}, 2), one = random_tensor({1}, 3);
  full.mutable_values<float>()[3] = nan;
  full.mutable_values<float>()[4] = -0.f;
  row.mutable_values<float>()[4] = 0.f;
  row.mutable_values<float>()[9] = nan;
  row.mutable_values<float>()[11] = infinity;
  struct Operand {
    const Tensor* tensor;
    std::int64_t period;
  };
  const Operand operands[] = {{&full, 0}, {&row, 35}, {&one, 1}};
  for (int i = 0; i < binary_kinds; ++i)
    for (const Operand& a : operands)
      for (const Operand& b : operands) {
        if (a.period != 0 && b.period != 0) continue;
        const Tensor expected = run_node("Binary", {*a.tensor, *b.tensor}, {{"kind", names[i]}})[0];
        at_every_level([&](const VectorKernels& k, const std::string& level) {
          Tensor out = Tensor::allocate(DType::f32, expected.dims());
          k.binary(static_cast<BinaryKind>(i), {data(*a.tensor), a.period}, {data(*b.tensor), b.period}, data(out),
                   6 * 35);
          EXPECT_EQ(difference(out, expected, Rule::exact), std::nullopt)
              << names[i] << " " << a.period << " " << b.period << " " << level;
        });
      }
}

TEST(VectorKernels, GatedIsTheProductWithTheFunction) {
  const Tensor g = random_tensor({531}, 1), u = random_tensor({531}, 2);
  for (const UnaryKind kind : {UnaryKind::silu, UnaryKind::gelu, UnaryKind::gelu_approx, UnaryKind::relu}) {
    const Tensor f = run_node("Activation", {g}, {{"kind", unary_names[static_cast<int>(kind)]}})[0];
    const Tensor expected = run_node("Binary", {f, u}, {{"kind", "mul"}})[0];
    at_every_level([&](const VectorKernels& k, const std::string& level) {
      Tensor out = Tensor::allocate(DType::f32, {531});
      std::copy_n(data(u), 531, data(out));
      k.gated(kind, data(g), data(out), data(out), 531);
      EXPECT_EQ(difference(out, expected, Rule::transcendental), std::nullopt) << level;
    });
  }
}

TEST(VectorKernels, FmaClampAndWhereAgreeWithTheirOps) {
  Tensor a = random_tensor({203}, 1);
  const Tensor b = random_tensor({203}, 2), c = random_tensor({203}, 3);
  a.mutable_values<float>()[3] = nan;
  a.mutable_values<float>()[17] = -0.f;
  a.mutable_values<float>()[200] = 0.f;
  at_every_level([&](const VectorKernels& k, const std::string& level) {
    Tensor out = Tensor::allocate(DType::f32, {203});
    k.fma(data(a), data(b), data(c), data(out), 203);
    EXPECT_EQ(difference(out, run_node("Fma", {a, b, c})[0], Rule::exact), std::nullopt) << level;
    k.where(data(a), data(b), data(c), data(out), 203);
    EXPECT_EQ(difference(out, run_node("Where", {a, b, c})[0], Rule::exact), std::nullopt) << level;
    k.scaled_add(data(a), 0.3f, data(b), data(out), 203);
    for (std::size_t i = 4; i < 203; ++i)
      EXPECT_NEAR(out.values<float>()[i], data(a)[i] * 0.3f + data(b)[i], 2e-7 * (1 + std::abs(data(b)[i]))) << level;
    for (const float high : {0.5f, -2.f}) {
      k.clamp(data(a), -1, high, data(out), 203);
      const Tensor expected = run_node("Clamp", {a}, {{"min", -1.0}, {"max", static_cast<double>(high)}})[0];
      EXPECT_EQ(difference(out, expected, Rule::exact), std::nullopt) << level;
    }
  });
}

TEST(VectorKernels, ReductionsAgreeWithTheirOps) {
  for (const std::int64_t width : widths) {
    Tensor x = random_tensor({width}, 8);
    float magnitude = 0;
    for (const float v : x.values<float>()) magnitude += std::abs(v);
    const auto reduced = [&](const char* op) {
      return run_node("Reduce", {x}, {{"op", op}, {"axes", std::vector<std::int64_t>{0}}})[0].values<float>()[0];
    };
    at_every_level([&](const VectorKernels& k, const std::string& level) {
      EXPECT_NEAR(k.sum(data(x), width), reduced("sum"), 1e-6 * magnitude) << level;
      EXPECT_EQ(k.max(data(x), width), reduced("max")) << level;
      EXPECT_EQ(k.min(data(x), width), reduced("min")) << level;
    });
    for (const std::int64_t at : {width / 2, width - 1}) {
      x.mutable_values<float>()[static_cast<std::size_t>(at)] = nan;
      at_every_level([&](const VectorKernels& k, const std::string& level) {
        EXPECT_TRUE(std::isnan(k.max(data(x), width))) << level;
        EXPECT_TRUE(std::isnan(k.min(data(x), width))) << level;
      });
    }
  }
}

TEST(VectorKernels, ArgmaxAgreesWithTheOp) {
  for (const std::int64_t width : widths)
    for (int spoiled = 0; spoiled < 4; ++spoiled) {
      Tensor x = random_tensor({width}, 11);
      std::span<float> values = x.mutable_values<float>();
      if (spoiled == 1) std::fill(values.begin(), values.end(), -infinity);  // all tie
      if (spoiled == 2) values[static_cast<std::size_t>(width / 3)] = values.back() = nan;
      if (spoiled == 3) std::fill(values.begin(), values.end(), nan);
      for (const bool ignore : {false, true}) {
        const Tensor expected =
            run_node("ArgMax", {x}, {{"nan", ignore ? "ignore" : "wins"}, {"index_dtype", DType::i64}})[0];
        at_every_level([&](const VectorKernels& k, const std::string& level) {
          EXPECT_EQ(k.argmax(data(x), width, ignore), expected.values<std::int64_t>()[0])
              << width << " " << spoiled << " " << level;
        });
      }
    }
}

TEST(VectorKernels, TopKIsTheBeginningOfAStableSort) {
  for (const std::int64_t width : widths)
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{5}, width / 2, width}) {
      if (k < 1 || k > width) continue;
      Tensor x = random_tensor({width}, 13);
      for (float& v : x.mutable_values<float>()) v = std::round(v * 4) / 4;  // many ties
      std::vector<std::int32_t> order(static_cast<std::size_t>(width));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::int32_t a, std::int32_t b) { return data(x)[a] > data(x)[b]; });
      order.resize(static_cast<std::size_t>(k));
      at_every_level([&](const VectorKernels& kernels, const std::string& level) {
        std::vector<std::int32_t> indices(static_cast<std::size_t>(k));
        std::vector<float> values(static_cast<std::size_t>(k));
        kernels.top_k(data(x), width, k, indices.data(), values.data());
        EXPECT_EQ(indices, order) << width << " " << k << " " << level;
        for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], data(x)[indices[i]]);
      });
    }
}

TEST(VectorKernels, ConversionsAreThoseOfTheFormats) {
  const Tensor x = sweep();
  const std::int64_t count = x.numel();
  std::vector<std::uint16_t> halves(65536);
  std::iota(halves.begin(), halves.end(), std::uint16_t{0});
  at_every_level([&](const VectorKernels& k, const std::string& level) {
    std::vector<float> wide(halves.size());
    k.f16_to_f32(halves.data(), wide.data(), 65536);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const float expected = f16_to_f32(halves[i]);
      ASSERT_TRUE(std::bit_cast<std::uint32_t>(wide[i]) == std::bit_cast<std::uint32_t>(expected) ||
                  (std::isnan(wide[i]) && std::isnan(expected)))
          << i << " " << level;
    }
    k.bf16_to_f32(halves.data(), wide.data(), 65536);
    for (std::size_t i = 0; i < halves.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(bf16_to_f32(halves[i]))) << level;
    std::vector<std::uint16_t> narrow(static_cast<std::size_t>(count));
    k.f32_to_f16(data(x), narrow.data(), count);
    for (std::int64_t i = 0; i < count; ++i)
      ASSERT_EQ(narrow[static_cast<std::size_t>(i)], f32_to_f16(data(x)[i])) << data(x)[i] << " " << level;
    k.f32_to_bf16(data(x), narrow.data(), count);
    for (std::int64_t i = 0; i < count; ++i)
      ASSERT_EQ(narrow[static_cast<std::size_t>(i)], f32_to_bf16(data(x)[i])) << data(x)[i] << " " << level;
  });
}

TEST(VectorKernels, Q8BlocksAreThoseOfTheCodec) {
  Tensor x = random_tensor({40, 32}, 21);
  std::span<float> values = x.mutable_values<float>();
  std::fill_n(values.begin(), 32, 0.f);
  for (std::size_t i = 32; i < 64; ++i) values[i] = static_cast<float>(i) - 47.5f;  // halves, and 127 / 127
  values[63] = 127.f;
  for (std::size_t i = 64; i < 96; ++i) values[i] *= 1e-40f;
  const Tensor expected = [&] {
    Tensor encoded = Tensor::allocate(DType::q8_0, {40, 32});
    encode_from_f32(DType::q8_0, x.values<float>(), encoded.mutable_bytes());
    return encoded;
  }();
  at_every_level([&](const VectorKernels& k, const std::string& level) {
    std::vector<std::byte> blocks(40 * 34);
    k.f32_to_q8_0(data(x), blocks.data(), 40);
    EXPECT_EQ(0, std::memcmp(blocks.data(), expected.bytes().data(), blocks.size())) << level;
    std::vector<float> decoded(40 * 32), reference(40 * 32);
    k.q8_0_to_f32(blocks.data(), decoded.data(), 40);
    decode_to_f32(DType::q8_0, expected.bytes(), reference);
    EXPECT_EQ(decoded, reference) << level;
    std::vector<float> bad(32, 1.f), poisoned(32);
    for (const float value : {nan, infinity, -infinity}) {
      bad[30] = value;
      k.f32_to_q8_0(bad.data(), blocks.data(), 1);
      k.q8_0_to_f32(blocks.data(), poisoned.data(), 1);
      EXPECT_TRUE(std::isnan(poisoned[0])) << level;
    }
  });
}

TEST(CopyStrided, TransposesAndConcatenates) {
  const Tensor x = random_tensor({3, 17, 19}, 1);
  std::vector<float> out(3 * 17 * 19);
  copy_strided(x.bytes().data(), reinterpret_cast<std::byte*>(out.data()),
               {.dims = {3, 17, 19}, .in_strides = {323, 19, 1}, .out_strides = {323, 1, 17}, .element_bytes = 4});
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 17; ++j)
      for (std::size_t k = 0; k < 19; ++k)
        EXPECT_EQ(out[i * 323 + k * 17 + j], x.values<float>()[i * 323 + j * 19 + k]);
  for (const std::int64_t size : {1, 2, 8}) {
    std::vector<std::byte> from(static_cast<std::size_t>(6 * size)), to(static_cast<std::size_t>(8 * size));
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i);
    copy_strided(from.data(), to.data(),
                 {.dims = {1, 2, 3}, .in_strides = {0, 3, 1}, .out_strides = {0, 4, 1}, .element_bytes = size});
    EXPECT_EQ(0, std::memcmp(from.data(), to.data(), static_cast<std::size_t>(3 * size)));
    EXPECT_EQ(0, std::memcmp(from.data() + 3 * size, to.data() + 4 * size, static_cast<std::size_t>(3 * size)));
  }
}

}  // namespace
}  // namespace weft::cpu
