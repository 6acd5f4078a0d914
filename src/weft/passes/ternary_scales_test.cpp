#include "weft/passes/ternary_scales.h"

#include <gtest/gtest.h>

#include <map>

#include "weft/base/error.h"
#include "weft/ir/verify.h"
#include "weft/ops/builder.h"
#include "weft/runtime/graph_executor.h"

namespace weft {
namespace {

using Types = std::map<std::string, TensorType>;

Graph scaled(const Graph& graph, const Types& types) {
  Graph result = with_ternary_scales(graph, [&](const std::string& name) -> std::optional<TensorType> {
    const auto found = types.find(name);
    return found == types.end() ? std::nullopt : std::optional(found->second);
  });
  verify(result);
  return result;
}

// Rows of a table, and a product with it.
Graph tied() {
  Graph graph("test");
  const Var ids = input(graph, "ids", {Dim::symbol("n")}, DType::i32);
  const Var table = param(graph, "table", {3, 4}, DType::ternary);
  const Var rows = gather(table, ids, {.wrap_negative = false});
  graph.add_output("rows", rows.value());
  graph.add_output("products", matmul(rows, table, {.transpose_b = true}).value());
  return graph;
}

NamedTensors run(const Graph& graph, const Tensor& scale) {
  const std::byte codes[] = {std::byte{0b01'10'00'01}, std::byte{0b00'00'00'01}, std::byte{0b10'10'10'10}};
  const WeightMap weights({{"table", Tensor::copy_bytes(codes, DType::ternary, {3, 4})}, {"table.scale", scale}});
  auto executor = GraphExecutor::prepare(graph, weights, {.backend = "reference"});
  return executor.run({{"ids", Tensor::from(std::vector<std::int32_t>{2, 0}, {2})}});
}

std::vector<float> values(const Tensor& tensor) {
  return {tensor.values<float>().begin(), tensor.values<float>().end()};
}

TEST(TernaryScales, RowsAndProductsAreMultiplied) {
  const Graph by_row = scaled(tied(), {{"table.scale", {{3}, DType::f32}}});
  const auto results = run(by_row, Tensor::from(std::vector<float>{2, 3, 5}, {3}));
  // Row 0 of the codes is 1 0 -1 1, row 1 is 1 0 0 0, row 2 is -1 -1 -1 -1.
  EXPECT_EQ(values(results.at("rows")), (std::vector<float>{-5, -5, -5, -5, 2, 0, -2, 2}));
  EXPECT_EQ(values(results.at("products")), (std::vector<float>{-10, -15, 100, 12, 6, -10}));
  const Graph by_one = scaled(tied(), {{"table.scale", {{1}, DType::f32}}});
  EXPECT_EQ(values(run(by_one, Tensor::from(std::vector<float>{2}, {1})).at("products")),
            (std::vector<float>{-4, -4, 16, 12, 4, -4}));
  // Two dims, and a type that is packed.
  const Graph packed = scaled(tied(), {{"table.scale", {{3, 1}, DType::fx16_16}}});
  EXPECT_EQ(packed.type({*packed.find_param("table.scale"), 0}).dtype, DType::fx16_16);
  // A graph that has its scale already, and one without.
  EXPECT_EQ(scaled(by_row, {{"table.scale", {{3}, DType::f32}}}), by_row);
  EXPECT_EQ(scaled(tied(), {}), tied());
}

TEST(TernaryScales, WhatCannotBeScaledIsRefused) {
  const auto code_of = [](const Graph& graph, const Types& types) -> std::string {
    try {
      scaled(graph, types);
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  };
  EXPECT_EQ(code_of(tied(), {{"table.scale", {{4}, DType::f32}}}), "ShapeMismatch");
  Graph other("other");
  other.add_output("y", decode(param(other, "w", {2, 4}, DType::ternary)).value());
  EXPECT_EQ(code_of(other, {{"w.scale", {{2}, DType::f32}}}), "UnsupportedOp");
  EXPECT_EQ(code_of(other, {}), "");
}

}  // namespace
}  // namespace weft
