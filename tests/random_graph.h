// Random valid graphs for tests of forms and passes: any registered op, with attributes drawn from its schema, that
// inference accepts. The same seed gives the same graph as long as the same ops are registered.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/ir/graph.h"
#include "weft/ir/op_schema.h"

namespace weft::test {

class GraphGenerator {
 public:
  explicit GraphGenerator(std::uint32_t seed) : random_(seed) {}

  // Leaves first, then whatever ops take them.
  Graph graph(int leaves, int attempts) {
    Graph graph(text());
    if (coin()) graph.add_state({"k v", StateKind::rows, DType::f16, {4, 8}, Dim::symbol("past"), 64});
    if (coin()) graph.add_state({"s", StateKind::fixed, DType::f32, {16}, Dim(1), std::nullopt});
    if (coin()) graph.set_symbol("n", {1, 512});
    if (coin()) graph.set_symbol("unused", {0, unbounded});
    for (int i = 0; i < leaves; ++i) leaf(graph, i);
    const auto ops = OpRegistry::global().all();
    for (int i = 0; i < attempts; ++i)
      if (const OpSchema& schema = *pick(ops); schema.op_class != OpClass::leaf) attempt(graph, schema);
    for (std::uint32_t i = below(4); i > 0; --i)
      graph.add_output("out" + std::to_string(i) + (coin() ? "" : text()), any_value(graph));
    return graph;
  }

  std::string text() {
    const std::vector<std::string> parts{"a",  "layers.0", "\"",  "\\", "\n", "\t", "\x01", "\xc3\xa9", " ",
                                         "//", "{}",       "x-1", "#",  "%0", "=",  ",",    "\x7f",     "0"};
    std::string out;
    for (std::uint32_t i = below(4); i > 0; --i) out += pick(parts);
    return out;
  }

  Tensor tensor() {
    const DTypeInfo& info = pick(std::vector<DTypeInfo>(all_dtypes().begin(), all_dtypes().end()));
    std::vector<std::int64_t> dims;
    for (std::uint32_t i = below(3); i > 0; --i) dims.push_back(below(5));
    if (info.block > 1 || coin()) dims.push_back(static_cast<std::int64_t>(info.block) * (1 + below(3)));
    Tensor tensor = Tensor::allocate(info.dtype, dims);
    for (std::byte& byte : tensor.mutable_bytes()) byte = static_cast<std::byte>(below(4) == 0 ? 0xff : below(256));
    // Half of them with values that have a short text.
    if (info.dtype == DType::f32 && coin())
      for (float& value : tensor.mutable_values<float>()) value = static_cast<float>(below(100)) / 8 - 4;
    if (info.dtype == DType::boolean && coin())
      for (std::byte& byte : tensor.mutable_bytes()) byte &= std::byte{1};
    return tensor;
  }

 private:
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(random_()) % count; }
  bool coin() { return below(2) == 0; }
  template <class T>
  T pick(const std::vector<T>& from) {
    return from[below(static_cast<std::uint32_t>(from.size()))];
  }

  Dim dim() {
    const Dim n = Dim::symbol("n"), past = Dim::symbol("past");
    return pick(std::vector<Dim>{1, 2, 3, 4, 4, 4, 8, 32, 0, n, n, past + n, n * 2, floor_div(n + 1, 2),
                                 broadcast(n, Dim::symbol("m")), max(n, past) * 3 + 1});
  }
  Shape shape(bool static_only) {
    Shape out;
    for (std::uint32_t i = below(4); i > 0; --i) {
      Dim size = dim();
      while (static_only && !size.is_static()) size = dim();
      out.push_back(std::move(size));
    }
    return out;
  }
  DType dtype() {
    // Mostly f32, so that values meet ops that take them.
    return coin() ? DType::f32 : pick(std::vector<DTypeInfo>(all_dtypes().begin(), all_dtypes().end())).dtype;
  }

  void leaf(Graph& graph, int index) {
    const std::string name = "leaf " + std::to_string(index);
    try {
      switch (below(4)) {
        case 0: graph.add("Constant", {}, {{"value", tensor()}}, options()); break;
        case 1: graph.add("Param", {}, {{"name", name}, {"shape", shape(true)}, {"dtype", dtype()}}, options()); break;
        default: graph.add("Input", {}, {{"name", name}, {"shape", shape(false)}, {"dtype", dtype()}}, options());
      }
    } catch (const Error&) {
      // A block dtype whose last dim is no whole block.
    }
  }

  NodeOptions options() {
    NodeOptions options;
    // The number keeps names unique.
    if (coin()) options.names.push_back("v" + std::to_string(names_++) + text());
    if (below(3) == 0) {
      options.origin = {text(), std::nullopt, text(), text(), {}};
      if (coin()) options.origin.id = static_cast<std::int64_t>(random_()) - (std::int64_t{1} << 31);
      if (coin()) options.origin.also = {text(), text()};
    }
    if (below(4) == 0) options.backend_hint = text();
    return options;
  }

  Value any_value(const Graph& graph) {
    if (graph.size() == 0) return {};
    const auto node = static_cast<std::int32_t>(below(static_cast<std::uint32_t>(graph.size())));
    const auto ports = static_cast<std::uint32_t>(graph.node(node).outputs.size());
    return {node, static_cast<std::int32_t>(below(ports))};
  }

  double real() {
    return pick(std::vector<double>{0.0, -0.0, 0.5, 1e-6, -3, 1e300, 5e-324, 0.1,
                                    std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                                    std::bit_cast<double>(0x7ff8000000000001),
                                    std::bit_cast<double>(0xfff8000000000000)});
  }

  AttributeValue attribute(const Graph& graph, const AttributeSpec& spec) {
    switch (spec.type) {
      case AttributeType::boolean: return coin();
      case AttributeType::integer: return static_cast<std::int64_t>(below(6)) - 2;
      case AttributeType::real: return real();
      case AttributeType::text:
        if (!graph.states().empty() && coin()) return pick(graph.states()).name;
        return text();
      case AttributeType::choice: return pick(spec.choices);
      case AttributeType::integers: {
        std::vector<std::int64_t> values;
        for (std::uint32_t i = below(4); i > 0; --i) values.push_back(static_cast<std::int64_t>(below(6)) - 1);
        return values;
      }
      case AttributeType::reals: return std::vector<double>{real(), real()};
      case AttributeType::dtype: return dtype();
      case AttributeType::shape: return shape(coin());
      case AttributeType::tensor: return tensor();
    }
    return {};
  }

  void attempt(Graph& graph, const OpSchema& schema) {
    Attributes attributes;
    for (const AttributeSpec& spec : schema.attributes)
      if (spec.required || below(3) == 0) attributes.emplace_back(spec.name, attribute(graph, spec));
    std::vector<Value> inputs;
    for (const InputSpec& input : schema.inputs) {
      if (input.presence == Presence::variadic)
        for (std::uint32_t i = below(3); i > 0; --i) inputs.push_back(any_value(graph));
      // The same operand again makes shapes agree more often.
      else if (input.presence == Presence::optional && coin())
        inputs.push_back({});
      else
        inputs.push_back(!inputs.empty() && coin() ? inputs.front() : any_value(graph));
    }
    while (!inputs.empty() && !inputs.back().defined()) inputs.pop_back();
    try {
      graph.add(schema, std::move(inputs), attributes, options());
    } catch (const Error&) {
      // Most draws fit no op; the ones that do make the graph.
    }
  }

  std::mt19937 random_;
  int names_ = 0;
};

}  // namespace weft::test
