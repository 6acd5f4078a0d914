#include "weft/formats/graph_ir/to_mir.h"

#include <unordered_set>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/lower.h"
#include "weft/formats/graph_ir/names.h"
#include "weft/formats/graph_ir/op_table.h"
#include "weft/formats/graph_ir/problems.h"
#include "weft/formats/graph_ir/validate.h"

namespace weft::graph_ir {
namespace {

class Importer {
 public:
  Importer(const Graph& source, const ToMirOptions& options)
      : source_(source),
        options_(options),
        mir_(options.name),
        target_{source, uses_, mir_, {}, {}, {}, weft::Dim(1)} {}

  weft::Graph run() {
    for (std::size_t i = 0; i < source_.nodes.size(); ++i)
      for (std::size_t k = 0; k < source_.nodes[i].inputs.size(); ++k)
        uses_[source_.nodes[i].inputs[k]].push_back({i, k});
    for (const NamedSpec& input : source_.inputs) add_input(input);
    target_.tokens = tokens_of_run();
    for (std::size_t i = 0; i < source_.nodes.size(); ++i) {
      for (const std::string& name : source_.nodes[i].inputs) add_leaf(name);
      lower(source_.nodes[i], i);
    }
    for (const std::string& name : source_.outputs) {
      add_leaf(name);
      mir_.add_output(name, target_.values.at(name));
    }
    return std::move(mir_);
  }

 private:
  // A symbol's name takes letters, digits, '_' and '.', and starts with none of the digits.
  std::string symbol_name(const std::string& input, std::size_t axis) {
    std::string base;
    for (const char c : input) base += std::isalnum(static_cast<unsigned char>(c)) != 0 && c > 0 ? c : '_';
    if (std::isdigit(static_cast<unsigned char>(base.front())) != 0) base.insert(base.begin(), '_');
    std::string name = fmt::format("{}.{}", base, axis);
    while (!symbols_.insert(name).second) name += '_';
    return name;
  }

  void add_input(const NamedSpec& input) {
    weft::Shape dims;
    for (std::size_t axis = 0; axis < input.spec.shape.size(); ++axis) {
      const std::int64_t size = input.spec.shape[axis];
      dims.push_back(known(size) ? weft::Dim(size) : weft::Dim::symbol(symbol_name(input.name, axis)));
    }
    add_leaf_node("Input", input.name,
                  {{"name", std::string(input.name)}, {"shape", std::move(dims)}, {"dtype", input.spec.dtype}});
  }

  void add_leaf_node(std::string_view op, const std::string& name, const Attributes& attributes) {
    NodeOptions options;
    options.names = {name};
    options.origin = {.format = "graph_ir", .id = {}, .op = {}, .label = name};
    target_.values[name] = {mir_.add(op, {}, attributes, std::move(options)), 0};
  }

  // Weights and the position appear where they are first read.
  void add_leaf(const std::string& name) {
    if (target_.values.count(name) != 0) return;
    if (const auto key = weight_key(source_.weights, name)) {
      // The map's own key outlives the views in `values`.
      const auto& [owner, spec] = *source_.weights.find(*key);
      if (target_.values.count(owner) == 0)
        add_leaf_node("Param", owner, {{"name", owner}, {"shape", weft::Shape(spec.shape)}, {"dtype", spec.dtype}});
      target_.values[name] = target_.values.at(owner);
    } else {  // nothing else is known and comes from no node
      add_leaf_node("Input", name,
                    {{"name", name},
                     {"shape", weft::Shape{options_.scalar_position ? weft::Dim(1) : target_.tokens}},
                     {"source", "position"}});
    }
  }

  // How many positions a run has: the length of the first input that is looked up as token ids.
  weft::Dim tokens_of_run() {
    for (const NamedSpec& input : source_.inputs)
      if (const auto uses = uses_.find(input.name); uses != uses_.end())
        for (const Use& use : uses->second)
          if (source_.nodes[use.node].op.tag == Tag::token_embed && use.input == 0) {
            const weft::Shape& shape = mir_.type(target_.values.at(input.name)).shape;
            return shape.rank() == 0 ? weft::Dim(1) : shape.back();
          }
    return weft::Dim(1);
  }

  void lower(const Node& node, std::size_t index) {
    const OpDef& def = op_def(node.op.tag);
    LowerContext context(target_, node, index);
    if (def.lower == nullptr) context.unsupported("MIR has no op for it, nor ops that it is made of");
    try {
      def.lower(context);
    } catch (const Error& error) {
      if (error.where() == context.place()) throw;
      throw Error(error.kind(), error.code(), fmt::format("{}, as {}", context.place(), error.where()), error.message(),
                  error.details());
    }
  }

  const Graph& source_;
  const ToMirOptions& options_;
  weft::Graph mir_;
  Uses uses_;
  LowerTarget target_;
  std::unordered_set<std::string> symbols_;
};

}  // namespace

weft::Graph to_mir(const Graph& graph, const ToMirOptions& options) {
  ValidateOptions strict;
  strict.weights_indexed = true;
  validate(graph, strict);
  return Importer(graph, options).run();
}

}  // namespace weft::graph_ir
