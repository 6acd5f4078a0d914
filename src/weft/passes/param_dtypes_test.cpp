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
  x = rms_norm(x.named("rows"), param(graph, "gain", {32}, DType::f32), {.eps = 1e-5});
  graph.add_output("y", matmul(x, table, {.transpose_b = true}).value());
  return graph;
}

DType param_dtype(const Graph& graph, const char* name) { return graph.type({*graph.find_param(name), 0}).dtype; }

TEST(ParamDtypes, PacksWhatWasPlain) {
  const Graph graph = with_param_dtypes(small_graph(DType::f32), {{"table", DType::q8_0}});
  verify(graph);
  EXPECT_EQ(param_dtype(graph, "table"), DType::q8_0);
  EXPECT_EQ(param_dtype(graph, "gain"), DType::f32);
  EXPECT_EQ(graph.size(), small_graph(DType::f32).size() + 1);  // the rows are decoded
  EXPECT_EQ(graph.type(graph.outputs()[0].value).dtype, DType::f32);
}

TEST(ParamDtypes, RepacksAndUnpacks) {
  for (const DType dtype : {DType::q4_0, DType::f32, DType::f16}) {
    const Graph graph = with_param_dtypes(small_graph(DType::q8_0), {{"table", dtype}, {"absent", DType::q4_0}});
    verify(graph);
    EXPECT_EQ(param_dtype(graph, "table"), dtype);
    EXPECT_EQ(graph.size(), small_graph(DType::q8_0).size());
    EXPECT_EQ(graph.type(graph.outputs()[0].value).dtype, DType::f32);
  }
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
