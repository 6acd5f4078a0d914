// A program adds an op of its own in one definition, outside the library: it is then verified, printed, parsed, stored
// and run like any other.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "infer_node.h"
#include "run_node.h"
#include "weft/cli/program.h"
#include "weft/ir/binary.h"
#include "weft/ir/infer.h"
#include "weft/ir/text.h"
#include "weft/ir/verify.h"
#include "weft/ops/builder.h"
#include "weft/runtime/graph_executor.h"

namespace weft {
namespace {

const OpRegistration log_mean_exp{{
    .name = "TestLogMeanExp",
    .tag = 900001,
    .family = "test_extension",
    .maths = "y = ln(mean(e^(x / t))) t over the last axis.",
    .attributes = {{.name = "t", .type = AttributeType::real, .default_value = 1.0, .doc = "temperature, above 0"}},
    .inputs = {{.name = "x"}},
    .op_class = OpClass::reduction,
    .infer =
        [](InferContext& context) {
          context.require_dtype(0, {DType::f32});
          context.require_rank(0, 1, 8);
          if (!(context.node().real("t") > 0)) context.fail_attribute("t", "it must be above 0");
          const Shape& x = context.shape(0);
          context.output(Shape(std::vector<Dim>(x.begin(), x.end() - 1)), DType::f32);
        },
    .reference =
        [](const KernelContext& context) {
          const auto x = context.input(0).values<float>();
          const double t = context.node().real("t");
          const auto width = static_cast<std::size_t>(context.input(0).dims().back());
          auto y = context.output(0).mutable_values<float>();
          for (std::size_t row = 0; row < y.size(); ++row) {
            double sum = 0;
            for (std::size_t i = 0; i < width; ++i) sum += std::exp(static_cast<double>(x[row * width + i]) / t);
            y[row] = static_cast<float>(std::log(sum / static_cast<double>(width)) * t);
          }
        },
}};

Graph built() {
  Graph graph("extended");
  const Var x = input(graph, "x", {Dim::symbol("n"), 4});
  const Var y = emit(graph, "TestLogMeanExp", {relu(x)}, {{"t", 0.5}}).named("y");
  output(graph, "y", y);
  return graph;
}

TEST(ExtensionOp, Infers) {
  EXPECT_EQ(test::inferred("TestLogMeanExp", {"[n, 4] f32"}), "[n] f32");
  EXPECT_EQ(test::inferred("TestLogMeanExp", {"[n, 4] f16"}), "DTypeMismatch");
  EXPECT_EQ(test::inferred("TestLogMeanExp", {"[n, 4] f32"}, {{"t", -1.0}}), "BadAttribute");
}

TEST(ExtensionOp, IsVerified) { EXPECT_TRUE(find_problems(built()).empty()); }

TEST(ExtensionOp, IsPrintedAndParsed) {
  const Graph graph = built();
  const std::string text = to_text(graph);
  EXPECT_NE(text.find("TestLogMeanExp{t=0.5}"), std::string::npos) << text;
  EXPECT_TRUE(graph_from_text(text) == graph);
}

TEST(ExtensionOp, IsStoredAndRead) {
  const Graph graph = built();
  EXPECT_TRUE(graph_from_binary(to_binary(graph)) == graph);
}

TEST(ExtensionOp, Runs) {
  const float values[] = {1, 1, 1, 1, 0, 0, -5, 1};
  const Tensor y = test::run_graph(built(), {{"x", Tensor::from(values, {2, 4})}})[0];
  EXPECT_FLOAT_EQ(y.values<float>()[0], 1.0f);
  EXPECT_FLOAT_EQ(y.values<float>()[1], static_cast<float>(0.5 * std::log((3 + std::exp(2.0)) / 4)));
}

TEST(ExtensionOp, RunsOnTheReferenceBackend) {
  auto executor = GraphExecutor::prepare(graph_from_text(to_text(built())), WeightMap());
  const float values[] = {1, 1, 1, 1};
  const Tensor y = executor.run_first({{"x", Tensor::from(values, {1, 4})}});
  EXPECT_FLOAT_EQ(y.values<float>()[0], 1.0f);
  EXPECT_EQ(executor.placements().back().backend, "reference");
}

TEST(ExtensionOp, ShowsInWeftOps) {
  const auto printed = [](std::vector<const char*> arguments) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(cli::run_program(static_cast<int>(arguments.size()), arguments.data()), 0);
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_NE(printed({"weft", "ops"}).find("TestLogMeanExp(x) -> y"), std::string::npos);
  const std::string detail = printed({"weft", "ops", "TestLogMeanExp"});
  EXPECT_NE(detail.find("tag 900001"), std::string::npos) << detail;
  EXPECT_NE(detail.find("temperature, above 0"), std::string::npos) << detail;
}

}  // namespace
}  // namespace weft
