#include "weft/passes/param_dtypes.h"

#include <gtest/gtest.h>

#include "weft/base/error.h"
#include "weft/ir/verify.h"
#include "weft/ops/builder.h"

namespace weft {
namespace {

// A table that is gathered from and multiplied by, as a tied head is, and a gain.
Graph small_graph(DType table_dtype) {
  Graph graph("test");
  const Dim n = Dim::symbol("n");
  const Var ids = input(graph, "ids", {n}, DType::i32);
  const Var table = param(graph, "table", {64, 32}, table_dtype);
  Var x = gather(table, ids, {.wrap_negative = false});
  if (x.dtype() != DType::f32) x = decode(x);
  x = rms_norm(x, param(graph, "gain", {32}, DType::f32), {.eps = 1e-5}).named("rows");
  graph.add_output("y", matmul(x, table, {.transpose_b = true}).value());
  return graph;
}

DType param_dtype(const Graph& graph, const char* name) { return graph.type({*graph.find_param(name), 0}).dtype; }

TEST(ParamDtypes, StoresWeightsOtherwise) {
  for (const DType from : {DType::f32, DType::f16, DType::q8_0})
    for (const DType to : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0}) {
      const Graph graph = with_param_dtypes(small_graph(from), {{"table", to}, {"absent", DType::q4_0}});
      verify(graph);
      EXPECT_EQ(param_dtype(graph, "table"), to);
      EXPECT_EQ(param_dtype(graph, "gain"), DType::f32);
      EXPECT_EQ(graph.type(graph.outputs()[0].value).dtype, DType::f32);
      EXPECT_EQ(graph.type(*graph.find_value("rows")).dtype, DType::f32);
    }
  // Gathered f16 rows stay f16, as those of the table were f32 before: one node more.
  EXPECT_EQ(with_param_dtypes(small_graph(DType::f32), {{"table", DType::f16}}).size(),
            small_graph(DType::f32).size() + 1);
}

TEST(ParamDtypes, WhatReadsNumbersGetsNumbers) {
  const Graph graph = with_param_dtypes(small_graph(DType::f32), {{"gain", DType::fx16_16}});
  verify(graph);
  EXPECT_EQ(param_dtype(graph, "gain"), DType::fx16_16);
  EXPECT_EQ(graph.size(), small_graph(DType::f32).size() + 1);
  // And back: the decoder of what is f32 again changes nothing.
  verify(with_param_dtypes(graph, {{"gain", DType::f32}}));
}

TEST(ParamDtypes, ChangesNothingWhenNothingIsAsked) {
  EXPECT_EQ(with_param_dtypes(small_graph(DType::q8_0), {}), small_graph(DType::q8_0));
  EXPECT_EQ(with_param_dtypes(small_graph(DType::f32), {{"table", DType::f32}}), small_graph(DType::f32));
}

TEST(ParamDtypes, RefusesARowThatIsNoWholeNumberOfBlocks) {
  EXPECT_THROW(with_param_dtypes(small_graph(DType::f32), {{"table", DType::q4_k}}), Error);
}

}  // namespace
}  // namespace weft
