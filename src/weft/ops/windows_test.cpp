#include "weft/ops/windows.h"

#include <gtest/gtest.h>

#include "infer_node.h"
#include "random_tensor.h"
#include "run_threads.h"
#include "weft/ops/builder.h"

namespace weft::ops {
namespace {

using test::inferred;
using test::random_tensor;
using Sizes = std::vector<std::int64_t>;

Attributes lists(std::initializer_list<std::pair<const char*, Sizes>> given) {
  Attributes attributes;
  for (const auto& [name, sizes] : given) attributes.emplace_back(name, AttributeValue(sizes));
  return attributes;
}

TEST(Conv, Infers) {
  const Attributes three = lists({{"kernel", {3}}});
  EXPECT_EQ(inferred("Conv", {"[2, 4, 9] f32", "[6, 4, 3] f32", "[6] f32"}, three), "[2, 6, 7] f32");
  EXPECT_EQ(inferred("Conv", {"[4, 9] f16", "[6, 4, 3] f32"}, three), "[6, 7] f16");
  EXPECT_EQ(inferred("Conv", {"[n, 4, 9, 8] f32", "[6, 4, 3, 3] f32"},
                     lists({{"kernel", {3, 3}}, {"stride", {2, 1}}, {"padding", {1, 0}}})),
            "[n, 6, 5, 6] f32");
  EXPECT_EQ(inferred("Conv", {"[1, 4, l] f32", "[6, 4, 3] f32"}, three), "[1, 6, l - 2] f32 if max(1, l - 2) == l - 2");
  EXPECT_EQ(inferred("Conv", {"[1, 4, 9] f32", "[6, 4, 3] f32"}, lists({{"kernel", {3}}, {"padding_hi", {4}}})),
            "[1, 6, 11] f32");
  EXPECT_EQ(inferred("Conv", {"[2, 5, 9] f32", "[6, 4, 3] f32"}, three), "ShapeMismatch");
  EXPECT_EQ(inferred("Conv", {"[2, 4, 2] f32", "[6, 4, 3] f32"}, three), "ShapeMismatch");
  EXPECT_EQ(inferred("Conv", {"[2, 4, 9] f32", "[6, 4, 3] f32", "[5] f32"}, three), "ShapeMismatch");
  EXPECT_EQ(inferred("Conv", {"[2, 4, 9] f32", "[6, 4, 5] f32"}, three), "ShapeMismatch");
  EXPECT_EQ(inferred("Conv", {"[2, 4, 9] i32", "[6, 4, 3] f32"}, three), "DTypeMismatch");
  EXPECT_EQ(inferred("Conv", {"[2, 4, 9] f32", "[6, 4, 3] f16"}, three), "DTypeMismatch");
  EXPECT_EQ(inferred("Conv", {"[2, 4, 9] f32", "[6, 4, 3] f32"}, lists({{"kernel", {3}}, {"stride", {0}}})),
            "BadAttribute");
  EXPECT_EQ(inferred("Conv", {"[2, 4, 9] f32", "[6, 4, 3] f32"}, lists({{"kernel", {3}}, {"padding", {1, 1}}})),
            "BadAttribute");
  EXPECT_EQ(inferred("Conv", {"[2, 4, 9] f32", "[6, 4, 3] f32"}, lists({{"kernel", {}}})), "BadAttribute");
  Attributes groups = three;
  groups.emplace_back("groups", 2);
  EXPECT_EQ(inferred("Conv", {"[2, 8, 9] f32", "[6, 4, 3] f32"}, groups), "[2, 6, 7] f32");
  EXPECT_EQ(inferred("Conv", {"[2, 8, 9] f32", "[5, 4, 3] f32"}, groups), "ShapeMismatch");
  groups.back() = {"groups", 0};
  EXPECT_EQ(inferred("Conv", {"[2, 8, 9] f32", "[6, 4, 3] f32"}, groups), "BadAttribute");
}

TEST(ConvTranspose, Infers) {
  const Attributes two = lists({{"kernel", {4}}, {"stride", {2}}, {"padding", {1}}});
  EXPECT_EQ(inferred("ConvTranspose", {"[2, 4, 9] f32", "[4, 6, 4] f32", "[6] f32"}, two), "[2, 6, 18] f32");
  EXPECT_EQ(inferred("ConvTranspose", {"[n, 4, l] f32", "[4, 6, 4] f32"}, two),
            "[n, 6, 2*l] f32 if max(1, 2*l) == 2*l");
  EXPECT_EQ(inferred("ConvTranspose", {"[2, 4, 9] f32", "[5, 6, 4] f32"}, two), "ShapeMismatch");
  EXPECT_EQ(inferred("ConvTranspose", {"[2, 4, 0] f32", "[4, 6, 4] f32"}, two), "ShapeMismatch");
  EXPECT_EQ(inferred("ConvTranspose", {"[2, 4, 1] f32", "[4, 6, 2] f32"}, lists({{"kernel", {2}}, {"padding", {1}}})),
            "ShapeMismatch");
  EXPECT_EQ(inferred("ConvTranspose", {"[2, 4, 9] f32", "[4, 6, 4] f32"},
                     lists({{"kernel", {4}}, {"stride", {2}}, {"output_padding", {2}}})),
            "BadAttribute");
}

TEST(Pool, Infers) {
  Attributes attributes = lists({{"kernel", {2, 3}}, {"stride", {0, 1}}, {"padding", {1, 1}}});
  attributes.emplace_back("kind", "max");
  EXPECT_EQ(inferred("Pool", {"[2, 3, 8, 9] f32"}, attributes), "[2, 3, 5, 9] f32");
  EXPECT_EQ(inferred("Pool", {"[3, 8, 9] bf16"}, attributes), "[3, 5, 9] bf16");
  EXPECT_EQ(inferred("Pool", {"[8, 9] f32"}, attributes), "ShapeMismatch");
  EXPECT_EQ(inferred("Pool", {"[2, 3, 8, 0] f32"}, attributes), "ShapeMismatch");
  attributes[0] = {"kernel", AttributeValue(Sizes{1 << 20, 1 << 20})};
  EXPECT_EQ(inferred("Pool", {"[2, 3, 8, 9] f32"}, attributes), "BadAttribute");
  attributes[0] = {"kernel", AttributeValue(Sizes{2, 3})};
  attributes[2] = {"padding", AttributeValue(Sizes{2, 1})};
  EXPECT_EQ(inferred("Pool", {"[2, 3, 8, 9] f32"}, attributes), "BadAttribute");
}

TEST(Conv, TheSameBitsAtAnyNumberOfThreads) {
  const std::vector<Tensor> operands{random_tensor({2, 6, 13, 9}, 1), random_tensor({10, 3, 3, 2}, 2),
                                     random_tensor({10}, 3)};
  Attributes attributes = lists({{"kernel", {3, 2}}, {"stride", {2, 1}}, {"padding", {1, 1}}});
  attributes.emplace_back("groups", 2);
  const Tensor alone = test::run_with_threads(1, "Conv", operands, attributes);
  EXPECT_TRUE(test::same_bytes(alone, test::run_with_threads(4, "Conv", operands, attributes)));
}

TEST(Builder, ImagesAndSignals) {
  Graph graph("image");
  const auto leaf = [&](const char* name, Shape shape) {
    return emit(graph, "Input", {}, {{"name", name}, {"shape", std::move(shape)}, {"dtype", DType::f32}});
  };
  const Var x = leaf("x", {2, 4, 8, 8}), vector = leaf("v", {4});
  const Var y = conv(x, leaf("w", {6, 2, 3, 3}), leaf("b", {6}), {.stride = {2, 2}, .padding = {1, 1}, .groups = 2});
  EXPECT_EQ(y.type().text(), "[2, 6, 4, 4] f32");
  EXPECT_EQ(conv_transpose(y, leaf("u", {6, 4, 2, 2}), {}, {.stride = {2, 2}}).type().text(), "[2, 4, 8, 8] f32");
  EXPECT_EQ(max_pool(x, {.kernel = {2, 2}}).type().text(), "[2, 4, 4, 4] f32");
  EXPECT_EQ(mean_pool(x, {.kernel = {8, 8}}).type().text(), "[2, 4, 1, 1] f32");
  EXPECT_EQ(resize(x, "linear", 1.5).type().text(), "[2, 4, 12, 12] f32");
  for (const Var& norm : {group_norm(x, 2, vector, vector), instance_norm(x), batch_norm(x, vector, vector, {1}),
                          batch_norm_inference(x, vector, vector, vector, vector, {1})})
    EXPECT_EQ(norm.type().text(), x.type().text());
  const Var rows = leaf("rows", {2, 4, 12});
  EXPECT_EQ(ada_layer_norm(rows, leaf("scale", {2, 12}), leaf("shift", {12})).type().text(), "[2, 4, 12] f32");
  EXPECT_EQ(unpatchify(rows, {.patch = {2, 2}}).type().text(), "[2, 3, 4, 4] f32");
  EXPECT_EQ(unpatchify(rows, {.image = leaf("image", {2, 3, 4, 4})}).type().text(), "[2, 3, 4, 4] f32");
}

}  // namespace
}  // namespace weft::ops
