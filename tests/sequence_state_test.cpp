// States of a sequence: saved, restored, forked and truncated, they go on as if nothing had happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "weft/formats/graph_ir/test_graphs.h"
#include "weft/formats/graph_ir/to_mir.h"
#include "weft/runtime/graph_executor.h"
#include "weft/runtime/session.h"

namespace weft {
namespace {

using graph_ir::error_of;
using graph_ir::make_op;
using graph_ir::Tag;
using testing::HasSubstr;

// ids -> rows of a table -> rope -> cache -> attention -> a drawn id, and a cache that is read as it is.
graph_ir::Graph decoder() {
  graph_ir::Graph graph;
  graph.inputs = {{"ids", {{-1}, DType::f32, {}, {}}}};
  graph.weights = {{"model.table", {{7, 8}, DType::f32, {}, {}}}};
  const auto add = [&](graph_ir::Op op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                       graph_ir::Attrs attrs = {}) {
    graph.nodes.push_back({static_cast<std::uint32_t>(graph.nodes.size()),
                           std::move(op),
                           std::move(inputs),
                           std::move(outputs),
                           std::move(attrs),
                           {}});
  };
  add(make_op(Tag::token_embed), {"ids", "model.table"}, {"x"});
  add(make_op(Tag::rope, {{"head_dim", 4u}, {"base", 1e4f}}), {"x", "pos"}, {"r"});
  add(make_op(Tag::kv_cache), {"r", "x"}, {"k", "v"});
  add(make_op(Tag::sdpa, {{"num_heads", 2u}, {"kv_heads", 2u}, {"head_dim", 4u}, {"causal", true}}), {"r", "k", "v"},
      {"y"});
  add(make_op(Tag::kv_cache), {"y", "x"}, {"past y", "past x"});
  add(make_op(Tag::sample, {{"method", std::uint8_t{1}}, {"temperature", 2.0f}}), {"y"}, {"drawn"},
      {{"seed", std::int64_t{3}}});
  graph.outputs = {"y", "past y", "drawn"};
  return graph;
}

Tensor ids(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::from(std::span<const float>(values), {count});
}

GraphExecutor executor(const std::string& backend, std::optional<DType> kv_dtype = {}, std::int64_t max_rows = 0) {
  Tensor table = Tensor::allocate(DType::f32, {7, 8});
  float next = -1.5f;
  for (float& value : table.mutable_values<float>()) value = next = next > 1 ? -1.7f : next + 0.23f;
  ExecConfig config;
  config.backend = backend;
  config.kv_dtype = kv_dtype;
  config.max_rows = max_rows;
  return GraphExecutor::prepare(graph_ir::to_mir(decoder()), WeightMap({{"model.table", table}}), config);
}

bool same(const NamedTensors& a, const NamedTensors& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.dims() == y.second.dims() &&
           std::ranges::equal(x.second.bytes(), y.second.bytes());
  });
}

struct Kind {
  const char* backend;
  std::optional<DType> kv_dtype;
};
const Kind kinds[] = {{"reference", {}}, {"", {}}, {"", DType::f16}, {"", DType::q8_0}};

TEST(SequenceState, SavedAndRestoredItGoesOnAlike) {
  for (const Kind& kind : kinds) {
    auto first = executor(kind.backend, kind.kv_dtype);
    std::vector<float> prompt(40);  // more rows than a panel of keys
    for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<float>(i * 5 % 7);
    first.run({{"ids", ids(prompt)}});
    const std::vector<std::byte> saved = first.save();
    EXPECT_EQ(first.save(), saved);
    const NamedTensors wanted = first.run({{"ids", ids({3, 1})}});

    auto second = executor(kind.backend, kind.kv_dtype);  // prepared by itself
    second.run({{"ids", ids({6})}});
    second.restore(saved);
    EXPECT_EQ(second.past_length(), 40);
    EXPECT_TRUE(same(second.run({{"ids", ids({3, 1})}}), wanted)) << kind.backend;
    first.restore(saved);  // back in time
    EXPECT_TRUE(same(first.run({{"ids", ids({3, 1})}}), wanted)) << kind.backend;
    EXPECT_EQ(first.save(), second.save());
  }
}

TEST(SequenceState, ForksGoTheirOwnWays) {
  for (const Kind& kind : kinds) {
    auto trunk = executor(kind.backend, kind.kv_dtype);
    trunk.run({{"ids", ids({1, 2, 3})}});
    auto branch = trunk.fork();
    EXPECT_EQ(branch.past_length(), 3);
    const NamedTensors a = trunk.run({{"ids", ids({4})}}), b = branch.run({{"ids", ids({5, 6})}});
    auto alone = executor(kind.backend, kind.kv_dtype);
    alone.run({{"ids", ids({1, 2, 3})}});
    EXPECT_TRUE(same(alone.run({{"ids", ids({5, 6})}}), b)) << kind.backend;
    EXPECT_FALSE(same(a, b));
    EXPECT_EQ(trunk.past_length(), 4);
  }
}

TEST(SequenceState, TruncatedItForgetsTheRest) {
  for (const Kind& kind : kinds) {
    auto cut = executor(kind.backend, kind.kv_dtype);
    cut.run({{"ids", ids({1, 2, 3, 4, 5})}});
    cut.truncate(2);
    EXPECT_EQ(cut.past_length(), 2);
    auto plain = executor(kind.backend, kind.kv_dtype);
    plain.run({{"ids", ids({1, 2})}});
    NamedTensors a = cut.run({{"ids", ids({6})}}), b = plain.run({{"ids", ids({6})}});
    a.erase("drawn");  // five numbers were drawn there, two here
    b.erase("drawn");
    EXPECT_TRUE(same(a, b)) << kind.backend;
    cut.reset();
    plain.reset();
    EXPECT_TRUE(same(cut.run({{"ids", ids({6, 1})}}), plain.run({{"ids", ids({6, 1})}})));
  }
}

TEST(SequenceState, OfACompiledGraph) {
  CompiledGraph first = Session().compile(graph_ir::to_mir(decoder()));
  first.set_params(WeightMap({{"model.table", Tensor::zeros(DType::f32, {7, 8})}}));
  first.run({{"ids", ids({1, 2, 3})}});
  CompiledGraph second = first.clone();
  second.restore(first.save());
  EXPECT_EQ(second.past_length(), 3);
  EXPECT_TRUE(same(first.run({{"ids", ids({4})}}), second.run({{"ids", ids({4})}})));
}

TEST(SequenceState, WhatDoesNotFitIsRefused) {
  auto small = executor("", {}, 4);
  small.run({{"ids", ids({1, 2})}});
  const std::vector<std::byte> before = small.save();
  const auto code = [&](const std::vector<std::byte>& state) {
    const Error error = error_of([&] { small.restore(state); });
    EXPECT_EQ(small.save(), before) << error.what();
    return error.code();
  };
  auto reference = executor("reference");
  reference.run({{"ids", ids({1})}});
  EXPECT_EQ(code(reference.save()), "StateMismatch");
  auto halves = executor("", DType::f16);
  halves.run({{"ids", ids({1})}});
  EXPECT_EQ(code(halves.save()), "StateMismatch");
  auto longer = executor("");
  longer.run({{"ids", ids({1, 2, 3, 4, 5})}});
  EXPECT_EQ(code(longer.save()), "ContextOverflow");
  EXPECT_EQ(code({}), "BadState");
  std::vector<std::byte> changed = before;
  changed[0] = std::byte{'X'};
  EXPECT_EQ(code(changed), "BadState");
  changed = before;
  changed.push_back(std::byte{0});
  EXPECT_EQ(code(changed), "BadState");
  for (std::size_t length = 0; length < before.size(); length += 7)
    EXPECT_EQ(code({before.begin(), before.begin() + static_cast<std::ptrdiff_t>(length)}), "BadState");
  // Any one byte may be wrong: the state is refused or taken, and the executor works on.
  for (std::size_t at = 0; at < before.size(); ++at) {
    changed = before;
    changed[at] ^= std::byte{0xff};
    const Error error = error_of([&] { small.restore(changed); });
    EXPECT_THAT(error.code(), testing::AnyOf("none", "BadState", "StateMismatch", "ContextOverflow"));
    small.restore(before);
  }
  EXPECT_NO_THROW(small.run({{"ids", ids({3})}}));
}

TEST(SequenceState, PositionsFollowTheirMode) {
  const auto last_position = [](PositionMode mode) {
    graph_ir::Graph graph = decoder();
    graph.nodes.resize(1);
    graph.nodes.push_back({1, make_op(Tag::clamp), {"pos"}, {"p"}, {}, {}});
    graph.outputs = {"x", "p"};
    ExecConfig config;
    config.position_mode = mode;
    graph_ir::ToMirOptions options;
    options.scalar_position = mode == PositionMode::seed_scalar;
    auto running = GraphExecutor::prepare(graph_ir::to_mir(graph, options),
                                          WeightMap({{"model.table", Tensor::zeros(DType::f32, {7, 8})}}), config);
    running.run({{"ids", ids({1, 2, 3})}});
    const Tensor positions = running.run({{"ids", ids({1, 2})}}).at("p");
    const auto values = positions.values<float>();
    return std::pair(std::vector<float>(values.begin(), values.end()), running.past_length());
  };
  EXPECT_EQ(last_position(PositionMode::per_row), std::pair(std::vector<float>{3, 4}, std::int64_t{5}));
  EXPECT_EQ(last_position(PositionMode::seed_scalar), std::pair(std::vector<float>{1}, std::int64_t{2}));
}

}  // namespace
}  // namespace weft
