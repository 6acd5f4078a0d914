#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "infer_node.h"
#include "random_tensor.h"
#include "run_threads.h"

namespace weft::ops {
namespace {

using test::inferred;
using test::random_tensor;

TEST(RmsNorm, Infers) {
  EXPECT_EQ(inferred("RmsNorm", {"[n, 8] f32"}), "[n, 8] f32");
  EXPECT_EQ(inferred("RmsNorm", {"[n, 8] f32", "[8] f32"}), "[n, 8] f32");
  EXPECT_EQ(inferred("RmsNorm", {"[n, 8] f32", "", "[8] f32"}), "[n, 8] f32");
  EXPECT_EQ(inferred("RmsNorm", {"[n, 8] f16", "[8] f32", "[8] f16"}), "[n, 8] f16");
  EXPECT_EQ(inferred("RmsNorm", {"[n, d] f32", "[8] f32"}), "[n, d] f32 if 8 == d");
  EXPECT_EQ(inferred("RmsNorm", {"[8] bf16"}), "[8] bf16");
  EXPECT_EQ(inferred("RmsNorm", {"[n, 8] f32", "[7] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("RmsNorm", {"[n, 8] f32", "[1, 8] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("RmsNorm", {"[] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("RmsNorm", {"[n, 8] i32"}), "DTypeMismatch");
  EXPECT_EQ(inferred("RmsNorm", {"[n, 8] f32", "[8] f16"}), "DTypeMismatch");
  EXPECT_EQ(inferred("RmsNorm", {"[n, 8] f32"}, {{"eps", -1e-6}}), "BadAttribute");
  EXPECT_EQ(inferred("RmsNorm", {"[n, 8] f32"}, {{"eps", std::nan("")}}), "BadAttribute");
}

TEST(LayerNorm, Infers) {
  EXPECT_EQ(inferred("LayerNorm", {"[n, 3, 8] f32", "[8] f32", "[8] f32"}), "[n, 3, 8] f32");
  EXPECT_EQ(inferred("LayerNorm", {"[n, 3, 8] f32", "[3, 8] f32"}, {{"axis", 1}}), "[n, 3, 8] f32");
  EXPECT_EQ(inferred("LayerNorm", {"[n, 3, 8] f32", "[3, 8] f32"}, {{"axis", -2}}), "[n, 3, 8] f32");
  EXPECT_EQ(inferred("LayerNorm", {"[n, 3, 8] f32", "[8] f32"}, {{"axis", 1}}), "ShapeMismatch");
  EXPECT_EQ(inferred("LayerNorm", {"[n, 3, 8] f32"}, {{"axis", 3}}), "BadAttribute");
  EXPECT_EQ(inferred("LayerNorm", {"[n, 3, 8] f32"}, {{"axis", -4}}), "BadAttribute");
  EXPECT_EQ(inferred("LayerNorm", {"[] f32"}), "BadAttribute");
}

TEST(Norm, BitsDependOnNeitherThreadsNorRows) {
  const Tensor x = random_tensor({200, 384}), gain = random_tensor({384}, 2);
  for (const char* op : {"RmsNorm", "LayerNorm"}) {
    const Tensor one = test::run_with_threads(1, op, {x, gain}, {});
    EXPECT_TRUE(test::same_bytes(test::run_with_threads(5, op, {x, gain}, {}), one)) << op;
    EXPECT_TRUE(test::same_bytes(test::run_with_threads(2, op, {x.rows(7, 1), gain}, {}), one.rows(7, 1))) << op;
  }
}

TEST(Norm, NotANumberFillsItsRowAlone) {
  Tensor x = random_tensor({3, 16});
  x.mutable_values<float>()[20] = std::numeric_limits<float>::quiet_NaN();
  for (const char* op : {"RmsNorm", "LayerNorm"}) {
    const Tensor y = test::run_node(op, {x})[0];
    for (std::size_t i = 0; i < 48; ++i) EXPECT_EQ(std::isnan(y.values<float>()[i]), i / 16 == 1) << op << " " << i;
  }
}

}  // namespace
}  // namespace weft::ops
