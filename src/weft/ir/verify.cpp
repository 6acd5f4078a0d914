#include "weft/ir/verify.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "weft/base/fail.h"
#include "weft/ir/infer.h"

namespace weft {
namespace {

constexpr std::size_t max_problems = 32;

bool exists(const Graph& graph, Value value) {
  return value.node >= 0 && value.node < graph.size() && value.port >= 0 &&
         static_cast<std::size_t>(value.port) < graph.node(value.node).outputs.size();
}

// The strongly connected component of each node along its operands (Tarjan, with the stack on the heap).
class Components {
 public:
  explicit Components(const Graph& graph)
      : graph_(graph), order_(count(), unseen), low_(count(), 0), component_(count(), unseen) {
    for (std::int32_t i = 0; i < graph.size(); ++i)
      if (order_[index(i)] == unseen) walk(i);
  }

  bool same(std::int32_t a, std::int32_t b) const { return component_[index(a)] == component_[index(b)]; }

 private:
  struct Frame {
    std::int32_t node;
    std::size_t operand;
  };

  static std::size_t index(std::int32_t node) { return static_cast<std::size_t>(node); }
  std::size_t count() const { return graph_.nodes().size(); }

  void enter(std::int32_t node) {
    order_[index(node)] = low_[index(node)] = next_++;
    open_.push_back(node);
    frames_.push_back({node, 0});
  }

  void walk(std::int32_t root) {
    enter(root);
    while (!frames_.empty()) {
      const std::int32_t node = frames_.back().node;
      const auto& inputs = graph_.node(node).inputs;
      if (frames_.back().operand == inputs.size()) {
        frames_.pop_back();
        if (!frames_.empty()) lower(frames_.back().node, low_[index(node)]);
        if (low_[index(node)] == order_[index(node)]) close(node);
        continue;
      }
      const Value operand = inputs[frames_.back().operand++];
      if (!exists(graph_, operand)) continue;
      if (order_[index(operand.node)] == unseen)
        enter(operand.node);
      else if (component_[index(operand.node)] == unseen)
        lower(node, order_[index(operand.node)]);
    }
  }

  void lower(std::int32_t node, std::int32_t to) { low_[index(node)] = std::min(low_[index(node)], to); }

  void close(std::int32_t root) {
    std::int32_t node = -1;
    do {
      node = open_.back();
      open_.pop_back();
      component_[index(node)] = root;
    } while (node != root);
  }

  static constexpr std::int32_t unseen = -1;
  const Graph& graph_;
  std::vector<std::int32_t> order_, low_, component_, open_;
  std::vector<Frame> frames_;
  std::int32_t next_ = 0;
};

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  std::vector<Problem> run() {
    check_symbols();
    check_states();
    for (std::int32_t i = 0; i < graph_.size() && !full(); ++i) check_node(i);
    check_leaf_names();
    check_outputs();
    if (full()) problems_.resize(max_problems);
    return std::move(problems_);
  }

 private:
  bool full() const { return problems_.size() >= max_problems; }

  template <class... Args>
  void report(ErrorKind kind, const char* code, const std::string& where, fmt::format_string<Args...> message,
              Args&&... args) {
    problems_.push_back({kind, code, where, fmt::format(message, std::forward<Args>(args)...)});
  }
  void report(const Error& error, const std::string& where) {
    problems_.push_back({error.kind(), error.code(), error.where().empty() ? where : error.where(), error.message()});
  }

  void check_symbols() {
    for (const auto& [name, bounds] : graph_.symbols()) {
      const std::string where = "symbol " + name;
      try {
        Dim::symbol(name);
      } catch (const Error& error) {
        report(ErrorKind::invalid_graph, "BadSymbol", where, "{}", error.message());
      }
      if (bounds.low < 0 || bounds.low > bounds.high)
        report(ErrorKind::invalid_graph, "BadSymbol", where, "[{}, {}] is no range of sizes", bounds.low, bounds.high);
    }
  }

  void check_states() {
    for (const StateDecl& state : graph_.states()) {
      const auto refuse = [&](const char* reason) {
        report(ErrorKind::invalid_graph, "BadState", "state @" + state.name, "{}", reason);
      };
      if (state.name.empty()) refuse("a state needs a name");
      if (state.planes.empty()) refuse("it has no planes");
      if (std::any_of(state.planes.begin(), state.planes.end(), [](std::int64_t width) { return width < 1; }))
        refuse("a plane is narrower than 1 value");
      if (state.capacity && *state.capacity < 1) refuse("its capacity is less than 1 row");
      if (state.kind != StateKind::fixed && state.length.is_static())
        refuse("its length is the symbol of the rows held before a run, found a number");
      for (const std::int64_t width : state.planes) check_declared({Shape{width}, state.dtype}, "state @" + state.name);
    }
  }

  void check_node(std::int32_t index) {
    const Node& node = graph_.node(index);
    if (node.schema == nullptr) {
      report(ErrorKind::unsupported_op, "UnknownOp", fmt::format("node %{}", index), "the node has no op");
      return;
    }
    const std::string where = graph_.where(index);
    // What follows reads attributes by the schema's positions and the types of operands.
    bool sound = true;
    if (node.attributes.size() != node.schema->attributes.size()) {
      report(ErrorKind::invalid_argument, "BadAttribute", where, "{} attributes are stored, the op has {}",
             node.attributes.size(), node.schema->attributes.size());
      sound = false;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) sound &= check_operand(index, i, where);
    if (sound) sound = check_slots(node, where);
    for (std::size_t i = 0; i < node.attributes.size(); ++i)
      if (const auto* tensor = std::get_if<Tensor>(&node.attributes[i])) sound &= check_tensor(*tensor, where);
    const std::size_t before = problems_.size();
    for (const OutputInfo& output : node.outputs) check_declared(output.type, where);
    if (sound && problems_.size() == before) check_inference(node, where);
  }

  bool check_operand(std::int32_t index, std::size_t operand, const std::string& where) {
    const Value value = graph_.node(index).inputs[operand];
    if (value == Value{}) return true;  // absent; its arity is for inference to judge
    if (!exists(graph_, value)) {
      report(ErrorKind::invalid_graph, "UndefinedInput", where,
             "input {} is %{}#{}, which does not exist in a graph of {} nodes", operand, value.node, value.port,
             graph_.size());
      return false;
    }
    if (value.node < index) return true;
    if (!components_) components_.emplace(graph_);
    if (components_->same(index, value.node))
      report(ErrorKind::invalid_graph, "Cycle", where, "input {} is {}, which depends on this node", operand,
             graph_.label(value));
    else
      report(ErrorKind::invalid_graph, "NotTopological", where, "input {} is {}, which comes later: reorder the nodes",
             operand, graph_.label(value));
    return false;
  }

  bool check_slots(const Node& node, const std::string& where) {
    bool sound = true;
    for (const std::string& slot : node.schema->effects.slots) {
      const auto* name = std::get_if<std::string>(&node.attribute(slot));
      if (name == nullptr || name->empty() || graph_.state(*name) != nullptr) continue;
      report(ErrorKind::invalid_graph, "UnknownState", where, "the graph declares no state @{}", *name);
      sound = false;
    }
    return sound;
  }

  bool check_tensor(const Tensor& tensor, const std::string& where) {
    try {
      const std::uint64_t expected = byte_size(tensor.dtype(), tensor.dims());
      if (tensor.byte_size() == expected) return true;
      report(ErrorKind::invalid_graph, "TensorSizeMismatch", where, "a constant {} of {} has {} bytes, found {}",
             to_string(tensor.dtype()), dims_text(tensor.dims()), expected, tensor.byte_size());
    } catch (const Error& error) {
      report(error, where);
    }
    return false;
  }

  void check_declared(const TensorType& type, const std::string& where) {
    try {
      check_type(type, graph_.symbols());
    } catch (const Error& error) {
      report(error, where);
    }
  }

  void check_inference(const Node& node, const std::string& where) {
    Node copy = node;
    try {
      infer_node(graph_, copy, where);
    } catch (const Error& error) {
      report(error, where);
      return;
    }
    for (std::size_t i = 0; i < node.attributes.size(); ++i)
      if (!same_value(node.attributes[i], copy.attributes[i]))
        report(ErrorKind::invalid_argument, "BadAttribute", where, "{} is stored unresolved: inference sets it to {}",
               node.schema->attributes[i].name, attribute_text(copy.attributes[i], node.schema->attributes[i].type));
    if (node.outputs.size() != copy.outputs.size()) {
      report(ErrorKind::invalid_graph, "BadOutputCount", where, "{} outputs are declared, inferred are {}",
             node.outputs.size(), copy.outputs.size());
      return;
    }
    for (std::size_t port = 0; port < node.outputs.size(); ++port) {
      const TensorType &declared = node.outputs[port].type, &inferred = copy.outputs[port].type;
      if (declared == inferred) continue;
      const bool shapes = declared.shape != inferred.shape;
      report(shapes ? ErrorKind::shape_mismatch : ErrorKind::dtype_mismatch, shapes ? "ShapeMismatch" : "DTypeMismatch",
             where, "output {}: declared {}, inferred {}", port, declared.text(), inferred.text());
    }
  }

  void check_leaf_names() {
    std::unordered_map<std::string, std::int32_t> seen;
    for (std::int32_t i = 0; i < graph_.size() && !full(); ++i) {
      const Node& node = graph_.node(i);
      if (node.schema == nullptr || (node.schema->name != "Input" && node.schema->name != "Param")) continue;
      const auto name_index = node.schema->attribute_index("name");
      if (!name_index || *name_index >= node.attributes.size()) continue;
      const auto* name = std::get_if<std::string>(&node.attributes[*name_index]);
      if (name == nullptr) continue;
      const auto [it, fresh] = seen.try_emplace(*name, i);
      if (fresh) continue;
      const char* code = graph_.node(it->second).schema != node.schema ? "ShadowedName"
                         : node.schema->name == "Input"                ? "DuplicateInput"
                                                                       : "DuplicateParam";
      report(ErrorKind::invalid_graph, code, graph_.where(i), "{} is bound by the name {} too",
             graph_.where(it->second), quoted(*name));
    }
  }

  void check_outputs() {
    std::unordered_set<std::string> names;
    for (std::size_t i = 0; i < graph_.outputs().size() && !full(); ++i) {
      const GraphOutput& output = graph_.outputs()[i];
      const std::string where = fmt::format("graph output {} {}", i, quoted(output.name));
      if (!exists(graph_, output.value))
        report(ErrorKind::invalid_graph, "OutputUndefined", where, "%{}#{} does not exist in a graph of {} nodes",
               output.value.node, output.value.port, graph_.size());
      if (output.name.empty())
        report(ErrorKind::invalid_graph, "EmptyName", where, "a graph output needs a name");
      else if (!names.insert(output.name).second)
        report(ErrorKind::invalid_graph, "DuplicateOutput", where, "an earlier output has this name");
    }
  }

  const Graph& graph_;
  std::vector<Problem> problems_;
  std::optional<Components> components_;  // only of graphs that are out of order
};

}  // namespace

std::vector<Problem> find_problems(const Graph& graph) { return Verifier(graph).run(); }

void verify(const Graph& graph) {
  std::vector<Problem> problems = find_problems(graph);
  if (problems.empty()) return;
  std::vector<std::string> details;
  for (std::size_t i = 1; i < problems.size(); ++i)
    details.push_back(fmt::format("{}: {}", problems[i].where, problems[i].message));
  Problem& first = problems.front();
  throw Error(first.kind, std::move(first.code), std::move(first.where), std::move(first.message), std::move(details));
}

}  // namespace weft
