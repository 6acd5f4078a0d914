#include "weft/ops/elementwise_region.h"

#include <gtest/gtest.h>

#include <random>

#include "infer_node.h"
#include "weft/ops/builder.h"

namespace weft {
namespace {

using test::error_text;
using test::inferred;

std::string region(const std::string& chain, const std::vector<std::string>& operands) {
  return inferred("ElementwiseRegion", operands, {{"chain", AttributeValue(chain)}});
}

TEST(Region, TextIsReadAndWrittenBack) {
  for (const char* chain :
       {"t0 = silu(x0)", "t0 = mul(x0, x1); t1 = add(t0, x15)", "t0 = lt(x0, x1); t1 = where(t0, x0, x1)",
        "t0 = cast[bf16](x0); t1 = elu[0.25](t0); t2 = leaky_relu(t1)", "t0 = not(x0)",
        "t0 = cast[i8](x0); t1 = bit_xor(t0, t0); t2 = atan2(t1, t0)", "t0 = elu[-1e-300](x0)"})
    EXPECT_EQ(region_text(parse_region(chain)), chain);
  const std::vector<RegionStep> steps = parse_region("t0 = cast[f16](x3); t1 = elu[0.5](t0)");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].op, RegionStep::Op::cast);
  EXPECT_EQ(steps[0].to, DType::f16);
  EXPECT_EQ(steps[0].operands, (std::vector<RegionOperand>{{false, 3}}));
  EXPECT_EQ(steps[1].kind, "elu");
  EXPECT_EQ(steps[1].alpha, 0.5);
  EXPECT_EQ(steps[1].operands, (std::vector<RegionOperand>{{true, 0}}));
}

TEST(Region, TextThatSaysNothingIsRefused) {
  for (const char* chain : {"",
                            "silu(x0)",
                            "t1 = silu(x0)",
                            "t0 = silu",
                            "t0 = silu(",
                            "t0 = silu(x0",
                            "t0 = silu(x0);",
                            "t0 = silu(x0); ",
                            "t0 = silu(x0) ",
                            "t0 = silu(x0, x1)",
                            "t0 = mul(x0)",
                            "t0 = frob(x0)",
                            "t0 = silu(y0)",
                            "t0 = silu(x)",
                            "t0 = silu(x00)",
                            "t0 = silu(x16)",
                            "t0 = silu(x-1)",
                            "t0 = silu(t0)",
                            "t0 = cast(x0)",
                            "t0 = cast[f99](x0)",
                            "t0 = cast[f16(x0)",
                            "t0 = mul[2](x0, x1)",
                            "t0 = elu[](x0)",
                            "t0 = elu[1x](x0)",
                            "t0 = where[1](x0, x1, x2)",
                            "t0 =  silu(x0)",
                            "t0 = silu(x99999999999999999999)"})
    EXPECT_EQ(test::error_code([&] { parse_region(chain); }), "BadAttribute") << chain;
  std::string many = "t0 = neg(x0)";
  for (int i = 1; i < 33; ++i) many += "; t" + std::to_string(i) + " = neg(x0)";
  EXPECT_EQ(test::error_code([&] { parse_region(many); }), "BadAttribute");
  EXPECT_NE(error_text([&] { parse_region("t0 = silu(x0); t1 = bogus(t0)"); }).find("character 20"), std::string::npos);
}

TEST(Region, AnyBytesAreReadOrRefused) {
  std::mt19937 random(1);
  const std::string letters = "t0123 =silumxadwherecast[f16](),; ";
  for (int i = 0; i < 20000; ++i) {
    std::string chain = "t0 = mul(x0, x1); t1 = cast[f16](t0)";
    for (int change = 0; change < 3; ++change) chain[random() % chain.size()] = letters[random() % letters.size()];
    try {
      EXPECT_EQ(region_text(parse_region(chain)), chain);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "BadAttribute");
    }
  }
}

TEST(Region, TypesAreThoseOfTheSteps) {
  EXPECT_EQ(region("t0 = silu(x0)", {"[n, 4] f32"}), "[n, 4] f32");
  EXPECT_EQ(region("t0 = gt(x0, x1)", {"[n, 4] f32", "[4] f32"}), "[n, 4] bool");
  EXPECT_EQ(region("t0 = cast[f16](x0); t1 = add(t0, x1)", {"[n, 4] f32", "[] f16"}), "[n, 4] f16");
  EXPECT_EQ(region("t0 = add(x0, x1); t1 = add(t0, x2)", {"[4] f32", "[1, 1] f32", "[2, n, 4] f32"}), "[2, n, 4] f32");
  EXPECT_EQ(region("t0 = add(x0, x1)", {"[n, 4] f32", "[n, 1] f32"}), "ShapeMismatch");
  EXPECT_EQ(region("t0 = add(x0, x1)", {"[n, 4] f32", "[4] f16"}), "DTypeMismatch");
  EXPECT_EQ(region("t0 = silu(x0)", {"[n, 4] i32"}), "DTypeMismatch");
  EXPECT_EQ(region("t0 = silu(x0)", {"[n, 4] f32", "[4] f32"}), "BadAttribute");
  EXPECT_EQ(region("t0 = add(x0, x1)", {"[n, 4] f32"}), "BadAttribute");
  EXPECT_EQ(region("t0 = silu(x0)", std::vector<std::string>(17, "[4] f32")), "BadAttribute");
  EXPECT_EQ(region("nonsense", {"[4] f32"}), "BadAttribute");
}

TEST(Region, AnErrorNamesTheNode) {
  Graph graph("g");
  const Var x = input(graph, "x", {4});
  EXPECT_NE(error_text([&] { elementwise_region({x}, "t0 = silu(x1)"); }).find("[ElementwiseRegion] node %1"),
            std::string::npos);
}

TEST(Region, Broadcasts) {
  const Dim n = Dim::symbol("n");
  EXPECT_EQ(region_broadcast({n, 4}, {n, 4}), RegionBroadcast::full);
  EXPECT_EQ(region_broadcast({}, {n, 4}), RegionBroadcast::scalar);
  EXPECT_EQ(region_broadcast({1, 1}, {n, 4}), RegionBroadcast::scalar);
  EXPECT_EQ(region_broadcast({4}, {n, 4}), RegionBroadcast::trailing);
  EXPECT_EQ(region_broadcast({1, 4}, {n, 4}), RegionBroadcast::trailing);
  EXPECT_EQ(region_broadcast({n, 4}, {2, n, 4}), RegionBroadcast::trailing);
  EXPECT_EQ(region_broadcast({n, 1}, {n, 4}), std::nullopt);
  EXPECT_EQ(region_broadcast({2, 1, 4}, {2, n, 4}), std::nullopt);
  EXPECT_EQ(region_broadcast({1, n, 4}, {n, 4}), std::nullopt);
  EXPECT_EQ(region_broadcast({Dim::symbol("m"), 4}, {n, 4}), std::nullopt);
}

}  // namespace
}  // namespace weft
