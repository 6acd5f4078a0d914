// What a run of a Graph IR graph can get wrong: each run-time error of the format has its case, on the reference
// backend and on the compiled program, and none of them changes the state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>

#include "weft/formats/graph_ir/test_graphs.h"
#include "weft/formats/graph_ir/to_mir.h"
#include "weft/runtime/graph_executor.h"

namespace weft::graph_ir {
namespace {

using testing::HasSubstr;

Tensor counting(std::vector<std::int64_t> dims, float first = 0) {
  Tensor tensor = Tensor::allocate(DType::f32, std::move(dims));
  for (float& value : tensor.mutable_values<float>()) value = first++;
  return tensor;
}

Tensor number(float value) { return Tensor::from(std::span<const float>(&value, 1), {1}); }

struct RunCase {
  const char* code;
  const char* message;
  Graph graph;
  NamedTensors inputs;
  ExecConfig config = {};
  std::map<std::string, Tensor> weights = {};
  ErrorKind kind = ErrorKind::shape_mismatch;
};

Op sdpa(bool causal) {
  return make_op(Tag::sdpa, {{"num_heads", 2u}, {"kv_heads", 2u}, {"head_dim", 4u}, {"causal", causal}});
}

// ids -> rows of a table -> cache
Graph lookup_and_cache() {
  Graph graph;
  graph.inputs = {{"ids", {{-1}, DType::f32, {}, {}}}};
  graph.weights = {{"model.table", {{5, 8}, DType::f32, {}, {}}}};
  graph.nodes = {{0, make_op(Tag::token_embed), {"ids", "model.table"}, {"x"}, {}, {}},
                 {1, make_op(Tag::kv_cache), {"x", "x"}, {"k", "v"}, {}, {}},
                 {2, make_op(Tag::rope, {{"head_dim", 8u}, {"base", 1e4f}}), {"x", "pos"}, {"r"}, {}, {}}};
  graph.outputs = {"r", "k"};
  return graph;
}

std::vector<RunCase> run_cases() {
  const auto silu = [](Shape shape) { return one_node(make_op(Tag::silu), {Operand(std::move(shape))}); };
  const std::map<std::string, Tensor> table{{"model.table", counting({5, 8})}};
  const auto with = [](ExecConfig config, const std::function<void(ExecConfig&)>& change) {
    change(config);
    return config;
  };
  const auto limited = [&](MemoryRule rule, std::uint64_t bytes) {
    return with({}, [&](ExecConfig& c) {
      c.memory_rule = rule;
      c.memory_limit = bytes;
    });
  };
  Graph singular = one_node(make_op(Tag::matrix_inverse), {{2, 2}});
  Graph clash = one_node(make_op(Tag::add), {{-1}, {-1}});
  Graph batch = one_node(make_op(Tag::kv_cache), {{-1, 3, 2, 4}, {-1, 3, 2, 4}});
  Graph packed = one_node(make_op(Tag::kv_compress, {{"head_dim", 4u}, {"bits", 3u}}), {{2, 4}});
  Graph quantized = one_node(make_op(Tag::quantize, {{"dtype", DType::i8}}), {{2}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<RunCase> cases{
      {"MissingInput", "the run lacks it", silu({2}), {}, {}, {}, ErrorKind::invalid_argument},
      {"UnexpectedInput",
       "no input of this name",
       silu({2}),
       {{"a", counting({2})}, {"b", counting({2})}},
       {},
       {},
       ErrorKind::invalid_argument},
      {"UnexpectedInput",
       "the executor supplies it itself",
       lookup_and_cache(),
       {{"ids", counting({2})}, {"pos", counting({2})}},
       {},
       table,
       ErrorKind::invalid_argument},
      {"InputShapeMismatch", "declares [2, 3], found [2, 4]", silu({2, 3}), {{"a", counting({2, 4})}}},
      {"InputShapeMismatch", "declares [2, 3], found [6]", silu({2, 3}), {{"a", counting({6})}}},
      {"InputDtypeMismatch",
       "f32",
       silu({2}),
       {{"a", Tensor::allocate(DType::f16, {2})}},
       {},
       {},
       ErrorKind::dtype_mismatch},
      {"ShapeMismatch", "", clash, {{"a", counting({2})}, {"b", counting({3})}}},
      {"ShapeMismatch",
       "must be",
       one_node(make_op(Tag::chunk, {{"axis", 0u}, {"chunks", 2u}}), {{-1, 2}}),
       {{"a", counting({3, 2})}}},
      {"ShapeMismatch",
       "5 queries over 4 keys",
       one_node(sdpa(true), {{1, 2, -1, 4}, {1, 2, -1, 4}, {1, 2, -1, 4}}),
       {{"a", counting({1, 2, 5, 4})}, {"b", counting({1, 2, 4, 4})}, {"c", counting({1, 2, 4, 4})}}},
      {"ShapeMismatch", "", batch, {{"a", counting({2, 3, 2, 4})}, {"b", counting({2, 3, 2, 4})}}},
      {"IndexOutOfRange", "index 5", lookup_and_cache(), {{"ids", number(5)}}, {}, table, ErrorKind::out_of_range},
      {"IndexOutOfRange", "index -1", lookup_and_cache(), {{"ids", number(-1)}}, {}, table, ErrorKind::out_of_range},
      {"NonIntegralIndex",
       "1.5 at element 0",
       lookup_and_cache(),
       {{"ids", number(1.5f)}},
       {},
       table,
       ErrorKind::out_of_range},
      {"NonIntegralIndex", "nan", lookup_and_cache(), {{"ids", number(nan)}}, {}, table, ErrorKind::out_of_range},
      {"ContextOverflow",
       "",
       lookup_and_cache(),
       {{"ids", counting({4})}},
       with({}, [](ExecConfig& c) { c.max_rows = 3; }),
       table,
       ErrorKind::out_of_range},
      {"EmptyReduction", "has no elements", one_node(make_op(Tag::argmax), {{2, -1}}), {{"a", counting({2, 0})}}},
      {"EmptyReduction",
       "no entries",
       one_node(make_op(Tag::noise_schedule), {{2}, {-1}}),
       {{"a", counting({2})}, {"b", counting({0})}}},
      {"SingularMatrix",
       "has no inverse",
       singular,
       {{"a", Tensor::zeros(DType::f32, {2, 2})}},
       {},
       {},
       ErrorKind::invalid_argument},
      {"QuantNaN",
       "",
       packed,
       {{"a", Tensor::from(std::vector<float>{1, nan, 2, 3, 4, 5, 6, 7}, {2, 4})}},
       {},
       {},
       ErrorKind::invalid_argument},
      {"QuantNaN",
       "",
       quantized,
       {{"a", Tensor::from(std::vector<float>{1, nan}, {2})}},
       {},
       {},
       ErrorKind::invalid_argument},
      {"NonFiniteOutput",
       "element 0",
       one_node(make_op(Tag::div), {{1}, {1}}),
       {{"a", number(1)}, {"b", number(0)}},
       with({}, [](ExecConfig& c) { c.check_finite = true; }),
       {},
       ErrorKind::out_of_range},
      {"MemoryLimitExceeded",
       "",
       silu({1000}),
       {{"a", counting({1000})}},
       limited(MemoryRule::peak, 5000),
       {},
       ErrorKind::out_of_memory},
      {"MemoryLimitExceeded",
       "",
       silu({1000}),
       {{"a", counting({1000})}},
       limited(MemoryRule::sum, 5000),
       {},
       ErrorKind::out_of_memory},
      {"OutOfMemory",
       "",
       one_node(make_op(Tag::kron), {{-1}, {-1}}),
       {{"a", counting({1 << 21})}, {"b", counting({1 << 21})}},
       {},
       {},
       ErrorKind::out_of_memory},
  };
  return cases;
}

TEST(GraphIrErrors, EachRunTimeErrorHasItsCode) {
  for (const char* backend : {"reference", ""})
    for (RunCase& at : run_cases()) {
      SCOPED_TRACE(std::string(at.code) + " on " + (*backend != 0 ? backend : "the program"));
      at.config.backend = backend;
      auto executor = GraphExecutor::prepare(to_mir(at.graph), weft::WeightMap(at.weights), at.config);
      const Error error = error_of([&] { executor.run(at.inputs); });
      EXPECT_EQ(error.code(), at.code) << error.what();
      EXPECT_EQ(error.kind(), at.kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(at.message));
      EXPECT_FALSE(error.where().empty());
      EXPECT_EQ(executor.past_length(), 0);
    }
}

TEST(GraphIrErrors, EachPreparationErrorHasItsCode) {
  const auto code = [](const Graph& graph, const std::map<std::string, Tensor>& weights, std::string backend = "") {
    return error_of([&] {
             ExecConfig config;
             config.backend = std::move(backend);
             GraphExecutor::prepare(to_mir(graph), weft::WeightMap(weights), config);
           })
        .code();
  };
  const Graph graph = lookup_and_cache();
  EXPECT_EQ(code(graph, {{"model.table", counting({5, 8})}}), "none");
  EXPECT_EQ(code(graph, {}), "MissingTensor");
  EXPECT_EQ(code(graph, {{"model.table", counting({5, 7})}}), "WeightFormatMismatch");
  EXPECT_EQ(code(graph, {{"model.table", Tensor::allocate(DType::f16, {5, 8})}}), "WeightFormatMismatch");
  EXPECT_EQ(code(graph, {{"model.table", counting({5, 8})}}, "nox"), "UnknownBackend");
  Graph no_index = graph;
  no_index.weights.clear();
  EXPECT_EQ(code(no_index, {}), "WeightMissing");
  EXPECT_EQ(code(one_node(make_op(Tag::concat, {{"axis", 0u}}), {{2}, {{2}, DType::i32}}), {}), "DtypeMismatch");
  EXPECT_EQ(code(one_node(make_op(Tag::silu), {{{2}, DType::i32}}), {}), "UnsupportedDtype");
  EXPECT_EQ(code(one_node(make_op(Tag::matmul), {{2, 4}, {4}}), {}), "RankMismatch");
  EXPECT_EQ(code(one_node(make_op(Tag::kv_cache), {{2, 3, 2, 4}, {2, 3, 2, 4}}), {}), "KvBatch");
  Graph uneven;
  uneven.inputs = {{"k", {{3, 4}, DType::f32, {}, {}}}, {"q", {{1, 8}, DType::f32, {}, {}}}};
  uneven.nodes = {{0, make_op(Tag::kv_cache), {"k", "k"}, {"kf", "vf"}, {}, {}},
                  {1, sdpa(false), {"q", "kf", "vf"}, {"y"}, {}, {}}};
  uneven.outputs = {"y"};
  EXPECT_EQ(code(uneven, {}), "KvRowWidthChanged");
}

TEST(GraphIrErrors, AFailedRunChangesNothing) {
  const std::map<std::string, Tensor> table{{"model.table", counting({5, 8})}};
  for (const char* backend : {"reference", ""}) {
    ExecConfig config;
    config.backend = backend;
    config.max_rows = 5;
    auto failing = GraphExecutor::prepare(to_mir(lookup_and_cache()), weft::WeightMap(table), config);
    auto sound = failing.another();
    for (auto* executor : {&failing, &sound}) executor->run({{"ids", counting({3})}});
    for (const float id : {9.0f, 0.5f}) EXPECT_NE(error_of([&] { failing.run({{"ids", number(id)}}); }).code(), "none");
    EXPECT_EQ(error_of([&] { failing.run({{"ids", counting({3})}}); }).code(), "ContextOverflow");
    EXPECT_EQ(failing.past_length(), 3);
    const NamedTensors a = failing.run({{"ids", number(2)}}), b = sound.run({{"ids", number(2)}});
    for (const auto& [name, tensor] : a) EXPECT_TRUE(std::ranges::equal(tensor.bytes(), b.at(name).bytes())) << name;
  }
}

}  // namespace
}  // namespace weft::graph_ir
