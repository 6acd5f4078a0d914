// What Graph IR ops compute: through MIR and its reference kernels, against the formulas of the ops, and the same bits
// after a graph was stored and read again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "weft/base/block_codec.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/from_mir.h"
#include "weft/formats/graph_ir/test_graphs.h"
#include "weft/formats/graph_ir/to_mir.h"
#include "weft/formats/graph_ir/toml_form.h"
#include "weft/runtime/graph_executor.h"

namespace weft::graph_ir {
namespace {

Tensor f32(std::vector<float> values, std::vector<std::int64_t> dims) {
  return Tensor::from(std::span<const float>(values), std::move(dims));
}

std::vector<float> values_of(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

Tensor random_tensor(std::mt19937& random, const std::vector<std::int64_t>& dims, DType dtype, bool as_ids) {
  Tensor real = Tensor::allocate(DType::f32, dims);
  std::normal_distribution<float> normal;
  for (float& value : real.mutable_values<float>()) value = as_ids ? static_cast<float>(random() % 5) : normal(random);
  if (dtype == DType::f32) return real;
  Tensor tensor = Tensor::allocate(dtype, dims);
  encode_from_f32(dtype, real.values<float>(), tensor.mutable_bytes());
  return tensor;
}

NamedTensors run(const weft::Graph& mir, const NamedTensors& inputs,
                 const std::map<std::string, Tensor>& weights = {}) {
  ExecConfig config;
  config.backend = "reference";
  return GraphExecutor::prepare(mir, weft::WeightMap(weights), config).run(inputs);
}

// Inputs for a graph whose unknown sizes all take one value.
NamedTensors inputs_for(const Graph& graph, std::int64_t unknown, unsigned seed) {
  std::mt19937 random(seed);
  NamedTensors inputs;
  const Form& form = *form_for(op_def(graph.nodes[0].op.tag), graph.inputs.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    std::vector<std::int64_t> dims = graph.inputs[i].spec.shape;
    for (std::int64_t& dim : dims) dim = dim < 0 ? unknown : dim;
    const bool ids = slot_of(form, i).role == Role::ids;
    inputs[graph.inputs[i].name] = random_tensor(random, dims, graph.inputs[i].spec.dtype, ids);
  }
  return inputs;
}

void expect_same_bits(const NamedTensors& a, const NamedTensors& b, std::string_view what) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    const Tensor& other = b.at(name);
    ASSERT_EQ(tensor.dims(), other.dims()) << what;
    ASSERT_EQ(tensor.dtype(), other.dtype()) << what;
    EXPECT_EQ(std::memcmp(tensor.bytes().data(), other.bytes().data(), tensor.byte_size()), 0) << what << " " << name;
  }
}

TEST(GraphIrRun, StoredGraphsComputeTheSameBits) {
  std::size_t compared = 0;
  for (const GoodCase& good : good_cases()) {
    const Graph graph = good.graph();
    const std::string_view name = op_def(good.op.tag).name;
    weft::Graph mir;
    if (error_of([&] { mir = to_mir(graph); }).code() != "none") continue;
    // Some value of the unknown sizes suits all operands.
    NamedTensors inputs, results;
    std::string code;
    for (const std::int64_t unknown : {2, 1, 3, 4, 7, 8, 16}) {
      inputs = inputs_for(graph, unknown, 5);
      if (good.op.tag == Tag::sample && inputs.count("b") != 0) inputs["b"] = f32({0.25f}, {1});
      code = error_of([&] { results = run(mir, inputs); }).code();
      if (code == "none") break;
    }
    ASSERT_EQ(code, "none") << name;
    for (std::size_t i = 0; i < good.results.size(); ++i)
      EXPECT_EQ(results.at(graph.outputs[i]).rank(), good.results[i].shape.size()) << name;

    FromMir stored;
    if (error_of([&] { stored = from_mir(mir); }).code() != "none") continue;
    EncodeOptions with_weights;
    with_weights.weights = true;
    TextOptions text;
    text.weights = true;
    const Graph read = decode(encode(stored.graph, with_weights)).graph;
    EXPECT_EQ(read, stored.graph) << name;
    EXPECT_EQ(parse_toml(to_toml(stored.graph, text)), stored.graph) << name;
    expect_same_bits(results, run(to_mir(read), inputs, stored.constants), name);
    ++compared;
  }
  EXPECT_GT(compared, 70u);
}

// The result of one node on given operands.
std::vector<float> result_of(Op op, const std::vector<Tensor>& operands, Attrs attrs = {}, std::size_t output = 0) {
  std::vector<Operand> specs;
  for (const Tensor& tensor : operands) specs.emplace_back(Shape(tensor.dims()), tensor.dtype());
  const Graph graph = one_node(std::move(op), specs, std::move(attrs));
  NamedTensors inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) inputs[graph.inputs[i].name] = operands[i];
  return values_of(run(to_mir(graph), inputs).at(graph.outputs[output]));
}

void expect_near(const std::vector<float>& found, const std::vector<double>& wanted, double tolerance = 1e-6) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], tolerance * std::max(1.0, std::abs(wanted[i]))) << "element " << i;
}

Tensor counting(const std::vector<std::int64_t>& dims, float first = 0) {
  Tensor tensor = Tensor::allocate(DType::f32, dims);
  for (float& value : tensor.mutable_values<float>()) value = first++;
  return tensor;
}

Tensor noise(const std::vector<std::int64_t>& dims, unsigned seed) {
  std::mt19937 random(seed);
  return random_tensor(random, dims, DType::f32, false);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(GraphIrRun, RopeOfBothLayouts) {
  const auto rope = [](std::uint32_t head_dim, std::uint32_t rope_dim) {
    return make_op(Tag::rope, {{"head_dim", head_dim}, {"rope_dim", rope_dim}, {"base", 1e4f}});
  };
  const Tensor pos = f32({1}, {1});
  expect_near(result_of(rope(4, 4), {counting({1, 4}, 1), pos}), {-1.984111, 1.959901, 2.462378, 4.019800});
  expect_near(result_of(rope(8, 4), {counting({1, 8}, 1), pos}), {-1.984111, 1.959901, 2.462378, 4.019800, 5, 6, 7, 8});
  expect_near(result_of(rope(8, 4), {counting({1, 8}, 1), pos}, {{"rope_layout", std::string("proportional")}}),
              {-3.667053, 1.391008, 3, 4, 3.542983, 6.169692, 7, 8});
}

TEST(GraphIrRun, RopeRowsTakeTheirPositions) {
  const Op op = make_op(Tag::rope, {{"head_dim", 4u}, {"base", 1e4f}});
  const Tensor x = noise({4, 8}, 3);
  // [tokens, heads * 4]: token t takes position t mod 2, so the second half repeats what one token at a time gives.
  const std::vector<float> packed = result_of(op, {x, f32({5, 9}, {2})});
  for (std::int64_t t = 0; t < 4; ++t) {
    const std::vector<float> alone = result_of(op, {x.rows(t, 1), f32({t % 2 == 0 ? 5.0f : 9.0f}, {1})});
    EXPECT_EQ(std::vector<float>(packed.begin() + t * 8, packed.begin() + (t + 1) * 8), alone);
  }
  // [rows, 4]: rows share positions in runs.
  const Tensor rows = x.reshaped({8, 4});
  const std::vector<float> shared = result_of(op, {rows, f32({5, 9}, {2})});
  for (std::int64_t r = 0; r < 8; ++r) {
    const std::vector<float> alone = result_of(op, {rows.rows(r, 1), f32({r < 4 ? 5.0f : 9.0f}, {1})});
    EXPECT_EQ(std::vector<float>(shared.begin() + r * 4, shared.begin() + (r + 1) * 4), alone);
  }
}

TEST(GraphIrRun, GatedUnits) {
  const Tensor x = noise({3, 8}, 1), gate = noise({5, 8}, 2), up = noise({5, 8}, 3), down = noise({2, 5}, 4);
  const auto product = [](const Tensor& a, const Tensor& b) {
    std::vector<double> y;
    for (std::int64_t i = 0; i < a.dim(0); ++i)
      for (std::int64_t j = 0; j < b.dim(0); ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < a.dim(1); ++k)
          sum += double{a.values<float>()[static_cast<std::size_t>(i * a.dim(1) + k)]} *
                 b.values<float>()[static_cast<std::size_t>(j * b.dim(1) + k)];
        y.push_back(sum);
      }
    return y;
  };
  const std::vector<double> g = product(x, gate), u = product(x, up);
  std::vector<float> silu, gelu;
  for (std::size_t i = 0; i < g.size(); ++i) {
    silu.push_back(static_cast<float>(g[i] * sigmoid(g[i]) * u[i]));
    gelu.push_back(static_cast<float>(0.5 * g[i] * (1 + std::erf(g[i] / std::sqrt(2.0))) * u[i]));
  }
  expect_near(result_of(make_op(Tag::swi_glu), {x, gate, up, down}), product(f32(silu, {3, 5}), down), 1e-5);
  expect_near(result_of(make_op(Tag::ge_glu), {x, gate, up, down}), product(f32(gelu, {3, 5}), down), 1e-5);
  expect_near(result_of(make_op(Tag::fused_swi_glu), {x, gate, up}), {silu.begin(), silu.end()}, 1e-5);

  const Tensor halves = f32({1, 2, 0.5f, -1}, {1, 4});
  const auto erf_gelu = [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); };
  expect_near(result_of(make_op(Tag::glu), {halves}), {sigmoid(0.5), 2 * sigmoid(-1)});
  expect_near(result_of(make_op(Tag::ge_glu), {halves}), {erf_gelu(0.5), 2 * erf_gelu(-1)});
  expect_near(result_of(make_op(Tag::swi_glu), {halves}), {sigmoid(1) * 0.5, -2 * sigmoid(2)});
  const Tensor a = f32({1, 2}, {2}), b = f32({0.5f, -1}, {2});
  expect_near(result_of(make_op(Tag::glu), {a, b}), {sigmoid(0.5), 2 * sigmoid(-1)});
  expect_near(result_of(make_op(Tag::ge_glu), {a, b}), {erf_gelu(1) * 0.5, -erf_gelu(2)});
  expect_near(result_of(make_op(Tag::swi_glu), {a, b}), {sigmoid(1) * 0.5, -2 * sigmoid(2)});
  expect_near(result_of(make_op(Tag::glu), {f32({1, 2, 0.5f, -1}, {2, 2})}, {{"dim", std::int64_t{0}}}),
              {sigmoid(0.5), 2 * sigmoid(-1)});
}

TEST(GraphIrRun, SmallUnits) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  expect_near(result_of(make_op(Tag::p_relu), {f32({1, -2, -3, 4}, {1, 2, 2}), f32({0.5f, 0.1f}, {2})}),
              {1, -1, -0.3, 4});
  const auto edges = result_of(make_op(Tag::p_relu), {f32({inf, -inf, nan}, {3}), f32({0.5f}, {1})});
  EXPECT_EQ(edges[0], inf);
  EXPECT_EQ(edges[1], -inf);
  EXPECT_TRUE(std::isnan(edges[2]));
  expect_near(result_of(make_op(Tag::kron), {f32({1, 2, 3, 4}, {2, 2}), f32({5, 7}, {1, 2})}),
              {5, 7, 10, 14, 15, 21, 20, 28});
  expect_near(result_of(make_op(Tag::lora_apply, {{"rank", 1u}, {"alpha", 3.0f}}),
                        {f32({10, 20}, {1, 2}), f32({1, 2}, {1, 2}), f32({1, 1}, {1, 2}), f32({2, -1}, {2, 1})}),
              {28, 11});
  expect_near(result_of(make_op(Tag::noise_schedule), {f32({0, 0.5f}, {2})}, {{"kind", std::string("cosine")}}),
              {0, 1});
  expect_near(result_of(make_op(Tag::noise_schedule), {f32({0.25f}, {1})},
                        {{"kind", std::string("linear")}, {"max_sigma", 80.0f}}),
              {20});
  expect_near(result_of(make_op(Tag::noise_schedule), {f32({0.25f}, {1})}), {0.25});
  expect_near(result_of(make_op(Tag::flow_step), {f32({1, 2}, {2}), f32({4, 8}, {2}), f32({0.5f}, {})}), {3, 6});
  const Tensor x = f32({3}, {1}), mean = f32({1}, {1}), log_scale = f32({std::log(2.0f)}, {1}), bias = f32({5}, {1});
  const auto moved = result_of(make_op(Tag::flow_step), {x, mean, log_scale, bias});
  expect_near(moved, {9});
  expect_near(result_of(make_op(Tag::flow_step), {f32(moved, {1}), mean, log_scale, bias}, {{"inverse", true}}), {3});
  EXPECT_TRUE(std::isnan(result_of(make_op(Tag::softmax, {{"dim", std::int32_t{-1}}}), {f32({-inf, -inf}, {2})})[0]));
  expect_near(result_of(make_op(Tag::argmax), {f32({1, 9, 9, 2, nan, 3}, {2, 3})}), {1, 1});
}

TEST(GraphIrRun, SinusoidsInEachOrder) {
  const double t = 3;
  const auto f = [](int j) { return std::exp(-j * std::log(10000.0) / 2); };
  const double s0 = std::sin(t * f(0)), s1 = std::sin(t * f(1)), c0 = std::cos(t * f(0)), c1 = std::cos(t * f(1));
  const Op op = make_op(Tag::sinusoidal_embed, {{"dim", 5u}});
  expect_near(result_of(op, {f32({3}, {})}), {s0, c0, s1, c1, 0});
  expect_near(result_of(op, {f32({3}, {1})}, {{"layout", std::string("sin_cos")}}), {s0, s1, c0, c1, 0});
  expect_near(result_of(op, {f32({3}, {1})}, {{"layout", std::string("cos_sin")}}), {c0, c1, s0, s1, 0});
  expect_near(result_of(make_op(Tag::sinusoidal_embed, {{"dim", 1u}}), {f32({3, 4}, {2})}), {0, 0});
}

// (v - mean) / sqrt(variance + eps) over the elements that `group` puts together.
std::vector<double> normalized(const Tensor& x, double eps, const std::function<std::int64_t(std::int64_t)>& group) {
  std::map<std::int64_t, std::pair<double, double>> sums;
  std::map<std::int64_t, double> counts;
  const auto values = x.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[group(static_cast<std::int64_t>(i))].first += values[i];
    counts[group(static_cast<std::int64_t>(i))] += 1;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto& [sum, squares] = sums[group(static_cast<std::int64_t>(i))];
    const double d = values[i] - sum / counts[group(static_cast<std::int64_t>(i))];
    squares += d * d;
  }
  std::vector<double> y;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t g = group(static_cast<std::int64_t>(i));
    y.push_back((values[i] - sums[g].first / counts[g]) / std::sqrt(sums[g].second / counts[g] + eps));
  }
  return y;
}

TEST(GraphIrRun, NormsOverGroupsAndBatches) {
  const Tensor x = noise({2, 4, 3}, 6), gain = noise({4}, 7), bias = noise({4}, 8);
  const auto channel = [](std::int64_t i) { return i / 3 % 4; };
  const auto affine = [&](std::vector<double> y) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto c = static_cast<std::size_t>(channel(static_cast<std::int64_t>(i)));
      y[i] = y[i] * gain.values<float>()[c] + bias.values<float>()[c];
    }
    return y;
  };
  const auto eps = std::pair<std::string_view, ParamValue>{"eps", 0.25f};
  expect_near(result_of(make_op(Tag::group_norm, {eps, {"num_groups", 2u}}), {x, gain, bias}),
              affine(normalized(x, 0.25, [](std::int64_t i) { return i / 6; })));
  expect_near(result_of(make_op(Tag::instance_norm, {eps}), {x}),
              normalized(x, 0.25, [](std::int64_t i) { return i / 3; }));
  const std::vector<double> batch = normalized(x, 0.25, channel);
  expect_near(result_of(make_op(Tag::batch_norm, {eps, {"momentum", 0.1f}}), {x, gain, bias}), affine(batch));
  expect_near(result_of(make_op(Tag::batch_norm, {eps, {"momentum", 0.1f}}), {x}), batch);
  const Tensor mean = noise({4}, 9), variance = f32({1, 2, 0.5f, 3}, {4});
  std::vector<double> running;
  for (std::size_t i = 0; i < 24; ++i) {
    const auto c = static_cast<std::size_t>(channel(static_cast<std::int64_t>(i)));
    running.push_back((x.values<float>()[i] - mean.values<float>()[c]) / std::sqrt(variance.values<float>()[c] + 0.25));
  }
  expect_near(result_of(make_op(Tag::batch_norm, {eps, {"momentum", 0.1f}}), {x, gain, bias, mean, variance}),
              affine(running));
}

TEST(GraphIrRun, AdaptiveNormReadsItsModulationBySample) {
  const Tensor x = noise({2, 3, 4}, 10), scale = noise({2, 4}, 11), shift = noise({4}, 12);
  std::vector<double> wanted = normalized(x, 1e-6, [](std::int64_t i) { return i / 4; });
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = wanted[i] * (1 + scale.values<float>()[i / 12 * 4 + i % 4]) + shift.values<float>()[i % 4];
  expect_near(result_of(make_op(Tag::ada_ln), {x, scale, shift}), wanted);
}

TEST(GraphIrRun, SkipNormGivesBothResults) {
  const Tensor x = noise({2, 4}, 13), skip = noise({2, 4}, 14), gain = noise({4}, 15);
  const Op op = make_op(Tag::fused_skip_norm, {{"eps", 0.5f}});
  std::vector<double> sum, normed;
  for (std::size_t i = 0; i < 8; ++i) sum.push_back(x.values<float>()[i] + skip.values<float>()[i]);
  for (std::size_t i = 0; i < 8; ++i) {
    double squares = 0;
    for (std::size_t k = 0; k < 4; ++k) squares += sum[i / 4 * 4 + k] * sum[i / 4 * 4 + k];
    normed.push_back(sum[i] / std::sqrt(squares / 4 + 0.5) * gain.values<float>()[i % 4]);
  }
  expect_near(result_of(op, {x, skip, gain}, {}, 0), normed);
  expect_near(result_of(op, {x, skip, gain}, {}, 1), sum);
}

TEST(GraphIrRun, PixelsMoveToTheirPlaces) {
  const Tensor x = counting({1, 8, 2, 3});
  const std::vector<float> y = result_of(make_op(Tag::pixel_shuffle, {{"upscale_factor", 2u}}), {x});
  // y[c, h*r + i, w*r + j] = x[c*r*r + i*r + j, h, w]
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t h = 0; h < 4; ++h)
      for (std::size_t w = 0; w < 6; ++w)
        EXPECT_EQ(y[(c * 4 + h) * 6 + w], static_cast<float>(((c * 4 + h % 2 * 2 + w % 2) * 2 + h / 2) * 3 + w / 2));
  EXPECT_EQ(result_of(make_op(Tag::pixel_unshuffle, {{"downscale_factor", 2u}}), {f32(y, {1, 2, 4, 6})}), values_of(x));
}

TEST(GraphIrRun, PatchesAreCutAndJoined) {
  const Tensor image = counting({1, 3, 4, 6});
  std::vector<float> identity(144);
  for (std::size_t i = 0; i < 12; ++i) identity[i * 13] = 1;
  const Op embed = make_op(Tag::patch_embed, {{"patch_size", 2u}});
  const std::vector<float> patches = result_of(embed, {image, f32(identity, {12, 3, 2, 2})});
  // The second patch of the first row of patches, channel by channel.
  EXPECT_EQ(std::vector<float>(patches.begin() + 12, patches.begin() + 24),
            (std::vector<float>{2, 3, 8, 9, 26, 27, 32, 33, 50, 51, 56, 57}));
  EXPECT_EQ(result_of(embed, {image, f32(identity, {12, 12})}), patches);
  const Attrs grid{{"patch_size", std::int64_t{2}}, {"grid_h", std::int64_t{2}}, {"grid_w", std::int64_t{3}}};
  EXPECT_EQ(result_of(make_op(Tag::unpatchify), {f32(patches, {1, 6, 12})}, grid), values_of(image));
  Attrs channels_last = grid;
  channels_last["order"] = std::string("ppc");
  const std::vector<float> other = result_of(make_op(Tag::unpatchify), {counting({1, 6, 12})}, channels_last);
  EXPECT_EQ(std::vector<float>(other.begin(), other.begin() + 6), (std::vector<float>{0, 3, 12, 15, 24, 27}));
}

// The code of the error that a run ends with, the same on both backends; "none" where it gives `dims`.
std::string ending(Op op, const std::vector<Operand>& operands, const std::vector<Tensor>& inputs,
                   const std::vector<std::int64_t>& dims, Attrs attrs = {}) {
  const Graph graph = one_node(std::move(op), operands, std::move(attrs));
  NamedTensors bindings;
  for (std::size_t i = 0; i < inputs.size(); ++i) bindings[graph.inputs[i].name] = inputs[i];
  std::string codes[2];
  for (const bool compiled : {false, true}) {
    ExecConfig config;
    if (!compiled) config.backend = "reference";
    GraphExecutor executor = GraphExecutor::prepare(to_mir(graph), weft::WeightMap(), config);
    codes[compiled ? 1 : 0] = error_of([&] { EXPECT_EQ(executor.run(bindings).at("y0").dims(), dims); }).code();
  }
  EXPECT_EQ(codes[0], codes[1]);
  return codes[0];
}

TEST(GraphIrRun, OpenSizesAreCheckedBeforeARun) {
  const Op conv =
      make_op(Tag::conv1d, {{"kernel", 3u}, {"stride", 2u}, {"padding", 0u}, {"dilation", 2u}, {"groups", 1u}});
  const Tensor w = noise({4, 3, 3}, 1);
  const std::vector<Operand> open_signal{{-1, 3, -1}, {4, 3, 3}};
  EXPECT_EQ(ending(conv, open_signal, {noise({2, 3, 9}, 2), w}, {2, 4, 3}), "none");
  EXPECT_EQ(ending(conv, open_signal, {noise({0, 3, 9}, 2), w}, {0, 4, 3}), "none");
  EXPECT_EQ(ending(conv, open_signal, {noise({2, 3, 4}, 2), w}, {}), "ShapeMismatch");
  EXPECT_EQ(ending(conv, {{2, -1, 9}, {4, 3, 3}}, {noise({2, 5, 9}, 2), w}, {}), "ShapeMismatch");
  const Op transposed =
      make_op(Tag::conv_transpose2d, {{"kernel", Words{2, 2}}, {"stride", Words{2, 2}}, {"padding", Words{1, 1}}});
  const std::vector<Operand> open_image{{1, 3, -1, -1}, {3, 2, 2, 2}};
  EXPECT_EQ(ending(transposed, open_image, {noise({1, 3, 3, 2}, 3), noise({3, 2, 2, 2}, 4)}, {1, 2, 4, 2}), "none");
  EXPECT_EQ(ending(transposed, open_image, {noise({1, 3, 1, 2}, 3), noise({3, 2, 2, 2}, 4)}, {}), "ShapeMismatch");
  const Op pool =
      make_op(Tag::pool,
              {{"mode", std::uint8_t{0}}, {"kernel", Words{3, 3}}, {"stride", Words{0, 2}}, {"padding", Words{0, 1}}});
  EXPECT_EQ(ending(pool, {{-1, 2, -1, -1}}, {noise({1, 2, 6, 5}, 5)}, {1, 2, 2, 3}), "none");
  EXPECT_EQ(ending(pool, {{-1, 2, -1, -1}}, {noise({1, 2, 2, 5}, 5)}, {}), "ShapeMismatch");
  const Op half = make_op(Tag::interpolate, {{"mode", std::uint8_t{2}}, {"scale", 0.5f}});
  EXPECT_EQ(ending(half, {{1, 2, -1}}, {noise({1, 2, 7}, 6)}, {1, 2, 3}), "none");
  EXPECT_EQ(ending(half, {{1, 2, -1}}, {noise({1, 2, 1}, 6)}, {}), "ShapeMismatch");
  const Op groups = make_op(Tag::group_norm, {{"eps", 1e-5f}, {"num_groups", 3u}});
  EXPECT_EQ(ending(groups, {{2, -1, 4}}, {noise({2, 6, 4}, 7)}, {2, 6, 4}), "none");
  EXPECT_EQ(ending(groups, {{2, -1, 4}}, {noise({2, 4, 4}, 7)}, {}), "ShapeMismatch");
  const Attrs grid{{"patch_size", std::int64_t{2}}, {"grid_h", std::int64_t{2}}, {"grid_w", std::int64_t{3}}};
  EXPECT_EQ(ending(make_op(Tag::unpatchify), {{1, -1, 8}}, {noise({1, 6, 8}, 8)}, {1, 2, 4, 6}, grid), "none");
  EXPECT_EQ(ending(make_op(Tag::unpatchify), {{1, -1, 8}}, {noise({1, 7, 8}, 8)}, {}, grid), "ShapeMismatch");
}

TEST(GraphIrRun, PatchesTakeTheirSizeFromTheGraphsOnlyEmbedding) {
  Graph graph;
  graph.inputs = {{"image", {{1, 3, 6, 6}, DType::f32, {}, {}}}, {"w", {{12, 3, 2, 2}, DType::f32, {}, {}}}};
  graph.nodes = {{0, make_op(Tag::patch_embed, {{"patch_size", 2u}}), {"image", "w"}, {"rows"}, {}, {}},
                 {1, make_op(Tag::unpatchify), {"rows"}, {"again"}, {}, {}}};
  graph.outputs = {"again"};
  std::vector<float> identity(144);
  for (std::size_t i = 0; i < 12; ++i) identity[i * 13] = 1;
  const NamedTensors inputs{{"image", counting({1, 3, 6, 6})}, {"w", f32(identity, {12, 3, 2, 2})}};
  const weft::Graph mir = to_mir(graph);
  const NamedTensors found = run(mir, inputs);
  EXPECT_EQ(values_of(found.at("again")), values_of(inputs.at("image")));
  // On the way back the node says what it had from elsewhere.
  graph.nodes[1].attrs["patch_size"] = std::int64_t{2};
  EXPECT_EQ(from_mir(mir).graph, graph);
}

TEST(GraphIrRun, CacheAndPositionsCarryOverRuns) {
  Graph graph;
  graph.inputs = {{"ids", {{-1}, DType::f32, {}, {}}}};
  graph.weights = {{"model.embed", {{8, 4}, DType::f32, {}, {}}}};
  const auto add = [&](Op op, std::vector<std::string> inputs, std::vector<std::string> outputs) {
    graph.nodes.push_back(
        {static_cast<std::uint32_t>(graph.nodes.size()), std::move(op), std::move(inputs), std::move(outputs), {}, {}});
  };
  add(make_op(Tag::token_embed), {"ids", "model.embed"}, {"x"});
  add(make_op(Tag::rope, {{"head_dim", 4u}, {"base", 1e4f}}), {"x", "pos"}, {"r"});
  add(make_op(Tag::kv_cache), {"r", "x"}, {"k", "v"});
  add(make_op(Tag::sdpa, {{"num_heads", 1u}, {"kv_heads", 1u}, {"head_dim", 4u}, {"causal", true}}), {"r", "k", "v"},
      {"y"});
  graph.outputs = {"y", "k"};
  const std::map<std::string, Tensor> weights{{"model.embed", noise({8, 4}, 20)}};
  ExecConfig config;
  config.backend = "reference";
  auto at_once = GraphExecutor::prepare(to_mir(graph), weft::WeightMap(weights), config);
  auto one_by_one = GraphExecutor::prepare(to_mir(decode(encode(graph), {.weights = &graph.weights}).graph),
                                           weft::WeightMap(weights), config);
  const NamedTensors all = at_once.run({{"ids", f32({3, 1, 4}, {3})}});
  std::vector<float> last;
  for (const float id : {3.0f, 1.0f, 4.0f}) last = values_of(one_by_one.run({{"ids", f32({id}, {1})}}).at("y"));
  const std::vector<float> y = values_of(all.at("y"));
  expect_near(last, {y.begin() + 8, y.end()}, 1e-6);
  EXPECT_EQ(at_once.past_length(), 3);
  EXPECT_EQ(one_by_one.past_length(), 3);
  EXPECT_EQ(error_of([&] { at_once.run({{"ids", f32({9}, {1})}}); }).code(), "IndexOutOfRange");
  EXPECT_EQ(error_of([&] { at_once.run({{"ids", f32({0.5f}, {1})}}); }).code(), "NonIntegralIndex");
}

// Keys and values that are kept in four bits a number attend nearly as those that are kept whole, over several runs.
TEST(GraphIrRun, CachesOfPackedRows) {
  const auto decoder = [](bool packed) {
    Graph graph;
    graph.inputs = {{"x", {{-1, 16}, DType::f32, {}, {}}}};
    const auto add = [&](Op op, std::vector<std::string> inputs, std::vector<std::string> outputs) {
      graph.nodes.push_back({static_cast<std::uint32_t>(graph.nodes.size()),
                             std::move(op),
                             std::move(inputs),
                             std::move(outputs),
                             {},
                             {}});
    };
    const auto codes = [](Tag tag) { return make_op(tag, {{"head_dim", 8u}, {"bits", 4u}}); };
    add(codes(Tag::kv_compress), {"x"}, {"packed"});
    add(make_op(Tag::kv_cache), {packed ? "packed" : "x", packed ? "packed" : "x"}, {"k kept", "v kept"});
    if (packed) add(codes(Tag::kv_decompress), {"k kept"}, {"k"});
    if (packed) add(codes(Tag::kv_decompress), {"v kept"}, {"v"});
    add(make_op(Tag::sdpa, {{"num_heads", 2u}, {"kv_heads", 2u}, {"head_dim", 8u}, {"causal", true}}),
        {"x", packed ? "k" : "k kept", packed ? "v" : "v kept"}, {"y"});
    graph.outputs = {"y"};
    return graph;
  };
  const auto last = [&](bool packed, const std::string& backend) {
    ExecConfig config;
    config.backend = backend;
    auto executor = GraphExecutor::prepare(to_mir(decoder(packed)), weft::WeightMap(), config);
    executor.run({{"x", noise({5, 16}, 31)}});
    executor.run({{"x", noise({1, 16}, 32)}});
    return values_of(executor.run({{"x", noise({2, 16}, 33)}}).at("y"));
  };
  const std::vector<float> whole = last(false, "reference"), packed = last(true, "reference");
  expect_near(last(true, ""), {packed.begin(), packed.end()}, 1e-5);
  double worst = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    worst = std::max(worst, std::abs(double{packed[i]} - double{whole[i]}));
  EXPECT_GT(worst, 1e-4);
  EXPECT_LT(worst, 0.5);
  const Graph stored = decoder(true);
  EXPECT_EQ(from_mir(to_mir(stored)).graph, stored);
}

}  // namespace
}  // namespace weft::graph_ir
