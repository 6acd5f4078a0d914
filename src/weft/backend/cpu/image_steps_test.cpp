// Convolutions, pooling, resizing and channel norms of the CPU backend against their ops, at every level, on ragged
// sizes, with weights that are packed beforehand and weights that a run brings along.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "step_problem.h"

namespace weft::cpu {
namespace {

using test::random_tensor;
using test::StepProblem;
using Sizes = std::vector<std::int64_t>;

Attributes lists(std::vector<std::pair<std::string, Sizes>> given) {
  Attributes attributes;
  for (auto& [name, sizes] : given) attributes.emplace_back(name, AttributeValue(std::move(sizes)));
  return attributes;
}

TEST(ImageSteps, ConvolutionsOfRaggedSizes) {
  const auto conv = [](Sizes x, Sizes w, Sizes stride, Sizes padding, Sizes dilation, std::int64_t groups = 1,
                       const char* pad_mode = "zeros") {
    Attributes attributes = lists(
        {{"kernel", Sizes(w.begin() + 2, w.end())}, {"stride", stride}, {"padding", padding}, {"dilation", dilation}});
    attributes.emplace_back("groups", groups);
    attributes.emplace_back("pad_mode", pad_mode);
    const Tensor bias = random_tensor({w[0]}, 3);
    StepProblem{"Conv", {random_tensor(x, 1), random_tensor(w, 2), bias}, attributes}.check(test::Rule::sum);
  };
  conv({2, 5, 67}, {7, 5, 3}, {1}, {1}, {1});
  conv({1, 3, 129}, {5, 3, 4}, {3}, {2}, {2});
  conv({1, 37, 70}, {9, 37, 5}, {1}, {4}, {1}, 1, "replicate");
  conv({2, 6, 70}, {6, 1, 4}, {1}, {3}, {1}, 6, "replicate");
  conv({1, 3, 13, 17}, {11, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1});
  conv({2, 4, 9, 31}, {6, 2, 3, 2}, {2, 1}, {2, 0}, {1, 3}, 2);
  conv({1, 19, 11, 11}, {300, 19, 1, 1}, {1, 1}, {0, 0}, {1, 1});  // more channels than one block takes
  conv({1, 3, 20, 9}, {5, 3, 7, 5}, {3, 2}, {3, 2}, {1, 1});
  conv({1, 2, 5, 6, 9}, {3, 2, 2, 3, 3}, {1, 2, 1}, {1, 1, 0}, {1, 1, 2});
  conv({3, 4, 1, 1}, {5, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1});
  conv({5, 200}, {3, 5, 9}, {1}, {4}, {1});
  // One input channel a group.
  conv({2, 3, 19, 35}, {3, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 3);
  conv({2, 3, 19, 67}, {6, 1, 5, 3}, {2, 2}, {2, 1}, {1, 2}, 3);
  conv({1, 2, 11, 40}, {4, 1, 2, 3}, {1, 3}, {0, 4}, {3, 1}, 2, "replicate");
  conv({1, 2, 4, 5, 18}, {2, 1, 3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 1}, 2);
  conv({1, 1, 130}, {7, 1, 31}, {5}, {15}, {1});
}

TEST(ImageSteps, TransposedConvolutionsOfRaggedSizes) {
  const auto transposed = [](Sizes x, Sizes w, Sizes stride, Sizes padding, Sizes dilation, Sizes extra,
                             std::int64_t groups = 1) {
    Attributes attributes = lists({{"kernel", Sizes(w.begin() + 2, w.end())},
                                   {"stride", stride},
                                   {"padding", padding},
                                   {"dilation", dilation},
                                   {"output_padding", extra}});
    attributes.emplace_back("groups", groups);
    const Tensor bias = random_tensor({w[1] * groups}, 3);
    StepProblem{"ConvTranspose", {random_tensor(x, 1), random_tensor(w, 2), bias}, attributes}.check(test::Rule::sum);
  };
  transposed({2, 5, 67}, {5, 7, 4}, {2}, {1}, {1}, {0});
  transposed({1, 5, 33}, {5, 3, 16}, {8}, {4}, {1}, {0});
  transposed({1, 4, 9, 11}, {4, 5, 3, 3}, {2, 3}, {1, 1}, {1, 1}, {1, 2});
  transposed({2, 6, 5, 9}, {6, 2, 3, 2}, {1, 2}, {2, 0}, {2, 3}, {0, 1}, 3);
  transposed({1, 2, 3, 4, 5}, {2, 3, 2, 3, 2}, {2, 1, 3}, {0, 1, 0}, {1, 1, 1}, {0, 0, 0});
  transposed({1, 3, 7, 7}, {3, 2, 2, 2}, {4, 4}, {0, 0}, {1, 1}, {0, 0});
}

TEST(ImageSteps, PoolsOfRaggedSizes) {
  const auto pool = [](Sizes x, Sizes kernel, Sizes stride, Sizes padding, bool ceil = false) {
    for (const char* kind : {"max", "mean"}) {
      Attributes attributes = lists({{"kernel", kernel}, {"stride", stride}, {"padding", padding}});
      attributes.emplace_back("kind", kind);
      attributes.emplace_back("ceil_mode", ceil);
      StepProblem{"Pool", {random_tensor(x)}, attributes}.check(kind[1] == 'a' ? test::Rule::exact : test::Rule::sum);
    }
  };
  pool({2, 3, 131}, {3}, {2}, {1});
  pool({1, 5, 13, 17}, {3, 3}, {2, 2}, {1, 1});
  pool({3, 21, 70}, {2, 5}, {1, 3}, {1, 2});
  pool({1, 2, 9, 11}, {9, 11}, {}, {});  // more taps than one tile takes
  pool({1, 2, 4, 9, 8}, {2, 3, 2}, {}, {});
  pool({2, 3, 132}, {3}, {2}, {1}, true);
  pool({1, 5, 12, 18}, {3, 3}, {2, 2}, {1, 1}, true);
  pool({3, 21, 70}, {2, 5}, {5, 3}, {1, 2}, true);
  pool({1, 2, 5, 9, 8}, {2, 3, 3}, {3, 2, 2}, {1, 1, 0}, true);
}

TEST(ImageSteps, ResizesOfRaggedSizes) {
  for (const char* mode : {"nearest", "linear", "area"})
    for (const Sizes& dims : {Sizes{2, 3, 67}, Sizes{1, 2, 9, 35}, Sizes{1, 2, 4, 3, 19}})
      for (const double scale : {2.0, 0.6, 1.37})
        for (const bool corners : {false, true})
          if (!corners || mode[0] == 'l')
            StepProblem{"Resize", {random_tensor(dims)}, {{"mode", mode}, {"scale", scale}, {"align_corners", corners}}}
                .check(mode[0] == 'n' ? test::Rule::exact : test::Rule::sum);
}

TEST(ImageSteps, ChannelNormsOfRaggedSizes) {
  for (const Sizes& dims : {Sizes{2, 6, 5, 13}, Sizes{3, 6, 131}, Sizes{5, 6}, Sizes{1, 6, 1, 1}}) {
    const Tensor x = random_tensor(dims), gain = random_tensor({6}, 2), bias = random_tensor({6}, 3),
                 mean = random_tensor({6}, 4);
    Tensor variance = random_tensor({6}, 5);
    for (float& value : variance.mutable_values<float>()) value = value * value + 0.1f;
    // A group of one or two equal elements is eps alone, which the rounding of an f32 mean would decide.
    if (dims.back() > 1 && dims.size() > 2) {
      StepProblem{"GroupNorm", {x, gain, bias}, {{"num_groups", 3}}}.check_norm();
      StepProblem{"GroupNorm", {x}, {}}.check_norm();
      StepProblem{"BatchNorm", {x, gain, bias}, {{"channel_axis", 1}}}.check_norm();
    }
    StepProblem{"GroupNorm", {x, gain, bias}, {{"num_groups", 1}, {"eps", 0.25}}}.check_norm();
    StepProblem{"BatchNormInference", {x, gain, bias, mean, variance}, {{"channel_axis", 1}}}.check_norm();
  }
  const Tensor x = random_tensor({2, 7, 67}), full = random_tensor({2, 7, 67}, 2), samples = random_tensor({2, 67}, 3),
               vector = random_tensor({67}, 4);
  for (const char* norm : {"layer_norm", "rms_norm"})
    for (const auto& [scale, shift] : {std::pair{full, samples}, std::pair{samples, vector}, std::pair{vector, full}})
      StepProblem{"AdaLayerNorm", {x, scale, shift}, {{"norm", norm}}}.check_norm();
}

TEST(ImageSteps, NumbersFromFilesMakeNothingLarge) {
  const auto result = [](const char* op, std::vector<Tensor> inputs, Attributes attributes, const char* backend) {
    Graph graph("hostile");
    NamedTensors bindings;
    std::vector<Value> operands;
    for (const Tensor& input : inputs) {
      const std::string name = "x" + std::to_string(operands.size());
      bindings[name] = input;
      operands.push_back(
          {graph.add("Input", {}, {{"name", name}, {"shape", Shape(input.dims())}, {"dtype", DType::f32}}), 0});
    }
    graph.add_output("y", {graph.add(op, operands, attributes), 0});
    ExecConfig config;
    config.backend = backend;
    return GraphExecutor::prepare(graph, weft::WeightMap(), config).run_first(bindings);
  };
  const auto same = [&](const char* op, const std::vector<Tensor>& inputs, const Attributes& attributes) {
    EXPECT_TRUE(test::same_bytes(result(op, inputs, attributes, ""), result(op, inputs, attributes, "reference")))
        << op;
  };
  constexpr std::int64_t huge = INT32_MAX;
  const Tensor x = random_tensor({1, 1, 3}), w = random_tensor({1, 1, 1}, 2);
  same("Conv", {x, w}, lists({{"kernel", {1}}, {"stride", {huge}}, {"padding", {huge}}}));
  same("Conv", {x, random_tensor({1, 1, 2}, 3)},
       lists({{"kernel", {2}}, {"padding", {huge}}, {"dilation", {huge}}, {"stride", {huge}}}));
  same("ConvTranspose", {random_tensor({1, 1, 1}), w}, lists({{"kernel", {1}}, {"stride", {huge}}}));
  Attributes pool = lists({{"kernel", {huge}}, {"padding", {huge / 2}}, {"stride", {huge}}});
  pool.emplace_back("kind", "max");
  same("Pool", {x}, pool);
}

TEST(ImageSteps, PatchesOfAnyElement) {
  for (const DType dtype : {DType::f32, DType::f16, DType::u8, DType::i64}) {
    Tensor x = Tensor::allocate(dtype, {2, 15, 24});
    for (std::size_t i = 0; i < x.byte_size(); ++i) x.mutable_bytes()[i] = static_cast<std::byte>(i * 7 % 251);
    for (const char* order : {"cpp", "ppc"})
      StepProblem{"Unpatchify", {x}, {{"patch", AttributeValue(Sizes{2, 4})}, {"grid_h", 3}, {"order", order}}}.check(
          test::Rule::exact);
  }
}

}  // namespace
}  // namespace weft::cpu
