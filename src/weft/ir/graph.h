// The MIR graph: nodes in an order that is a valid schedule, each one op with ordered inputs and one or more outputs.
// A Graph is a value: copying copies nodes and shares constant bytes. Node indices are stable, nodes are appended.
// Not thread-safe while being changed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/base/export.h"
#include "weft/base/shape.h"
#include "weft/ir/attribute.h"
#include "weft/ir/op_schema.h"

namespace weft {

// One output of a node. node < 0: no value (an optional input that is absent).
struct Value {
  std::int32_t node = -1;
  std::int32_t port = 0;
  bool defined() const { return node >= 0; }
  friend bool operator==(const Value&, const Value&) = default;
};

// Where a node came from; kept by every rewrite.
struct Origin {
  std::string format;                  // "gguf", "graph_ir", "c++", ...
  std::optional<std::int64_t> id;      // node id in that format
  std::string op;                      // op name in that format
  std::string label;                   // "layers.3.attention.q"
  std::vector<std::string> also = {};  // labels of nodes merged into this one
  bool empty() const { return format.empty() && !id && op.empty() && label.empty() && also.empty(); }
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct OutputInfo {
  TensorType type;
  std::string name;  // unique in the graph, or empty
};

// Two dims that had to be equal and could not be shown to be; checked before each run.
struct Constraint {
  Dim a, b;
  std::string what;
};

struct Node {
  const OpSchema* schema = nullptr;
  std::vector<Value> inputs;
  std::vector<AttributeValue> attributes;  // in the schema's order, defaults filled in
  std::vector<OutputInfo> outputs;
  Origin origin;
  std::string backend_hint;  // empty: none
  std::vector<Constraint> constraints;

  const AttributeValue& attribute(std::string_view name) const;
  bool boolean(std::string_view name) const { return std::get<bool>(attribute(name)); }
  std::int64_t integer(std::string_view name) const { return std::get<std::int64_t>(attribute(name)); }
  double real(std::string_view name) const { return std::get<double>(attribute(name)); }
  const std::string& text(std::string_view name) const { return std::get<std::string>(attribute(name)); }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return std::get<std::vector<std::int64_t>>(attribute(name));
  }
  DType dtype(std::string_view name) const { return std::get<DType>(attribute(name)); }
  const Shape& shape(std::string_view name) const { return std::get<Shape>(attribute(name)); }
  std::optional<std::int64_t> optional_integer(std::string_view name) const;
  std::optional<double> optional_real(std::string_view name) const;
};

// Persistent storage that outlives a run, owned by the runtime, one per sequence. `planes` are the row widths of the
// tensors that are appended together (K and V).
enum class StateKind : std::uint8_t { rows = 0, paged_rows = 1, fixed = 2 };

struct StateDecl {
  std::string name;
  StateKind kind = StateKind::rows;
  DType dtype = DType::f32;
  std::vector<std::int64_t> planes;
  Dim length;                            // rows held before the run, a symbol
  std::optional<std::int64_t> capacity;  // most rows, absent: unlimited
  friend bool operator==(const StateDecl&, const StateDecl&) = default;
};

struct GraphOutput {
  std::string name;
  Value value;
  friend bool operator==(const GraphOutput&, const GraphOutput&) = default;
};

// Names and provenance of a node that is being added.
struct NodeOptions {
  std::vector<std::string> names = {};  // per output, may be shorter
  Origin origin = {};
  std::string backend_hint = {};
};

class WEFT_API Graph {
 public:
  explicit Graph(std::string name = "main");

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  // Appends a node and infers its output types. Attributes may be in any order; what is left out gets its default.
  // Errors name the op and the node.
  std::int32_t add(const OpSchema& schema, std::vector<Value> inputs, const Attributes& attributes = {},
                   NodeOptions options = {});
  std::int32_t add(std::string_view op, std::vector<Value> inputs, const Attributes& attributes = {},
                   NodeOptions options = {});
  void add_output(std::string name, Value value);
  void set_outputs(std::vector<GraphOutput> outputs) { outputs_ = std::move(outputs); }
  void add_state(StateDecl state);
  // Bounds of a symbol. Each symbol that a shape mentions has at least [0, unbounded).
  void set_symbol(const std::string& name, Interval bounds);
  void set_name_of(Value value, std::string name);
  void set_origin(std::int32_t node, Origin origin) {
    nodes_[static_cast<std::size_t>(node)].origin = std::move(origin);
  }
  // For the readers of stored graphs and for passes: takes a node as it is. verify() is the caller's next step.
  std::int32_t append_unchecked(Node node);

  const std::vector<Node>& nodes() const { return nodes_; }
  std::int32_t size() const { return static_cast<std::int32_t>(nodes_.size()); }
  const Node& node(std::int32_t index) const { return nodes_[static_cast<std::size_t>(index)]; }
  const TensorType& type(Value value) const;
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  const std::vector<StateDecl>& states() const { return states_; }
  const StateDecl* state(std::string_view name) const;
  const DimBounds& symbols() const { return symbols_; }

  // Queries. Leaves are found by the name they are bound by, values by their own.
  std::optional<Value> find_value(std::string_view name) const;
  std::optional<std::int32_t> find_input(std::string_view name) const;
  std::optional<std::int32_t> find_param(std::string_view name) const;
  std::vector<std::int32_t> inputs() const;  // Input nodes in order
  std::vector<std::int32_t> params() const;
  std::vector<Value> users(Value value) const;  // {consuming node, index of the operand}
  // Edges: an op that uses a value twice counts twice, each graph output once.
  std::size_t use_count(Value value) const;
  // Nodes that some output or state depends on.
  std::vector<bool> live_nodes() const;
  bool is_dynamic() const;  // whether any shape holds a symbol

  // "%7", "%7#1", or the value's own name in front: `layers.0.q (%7)`.
  std::string label(Value value) const;
  std::string where(std::int32_t node) const;  // `[MatMul] node %7 "layers.0.q"`

 private:
  std::string name_;
  std::vector<Node> nodes_;
  std::vector<GraphOutput> outputs_;
  std::vector<StateDecl> states_;
  DimBounds symbols_;
  std::unordered_map<std::string, Value> by_name_;
  std::unordered_map<std::string, std::size_t> state_index_;
};

// Same structure: states, symbols, nodes with ops, attributes, inputs, types, names, origins and hints, outputs.
WEFT_API bool operator==(const Graph& a, const Graph& b);

inline constexpr std::int64_t unbounded = std::int64_t{1} << 48;

}  // namespace weft
