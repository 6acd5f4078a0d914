#include "weft/runtime/compiled_program.h"

#include <algorithm>
#include <utility>

#include "weft/backend/generic_step.h"
#include "weft/base/fail.h"
#include "weft/base/log.h"
#include "weft/base/system_memory.h"
#include "weft/ir/no_state.h"
#include "weft/lir/program_builder.h"
#include "weft/passes/pipeline.h"
#include "weft/runtime/position_inputs.h"

namespace weft {

CompiledProgram::CompiledProgram(Graph source, ExecConfig settings)
    : config(std::move(settings)), pool(config.pool ? config.pool : std::make_shared<ThreadPool>()) {
  const std::string preferred = config.backend.empty() ? "cpu" : config.backend;
  graph = optimized(with_position_mode(std::move(source), config.position_mode), backend_named(preferred));
  lir::ProgramBuilder builder(graph);
  const LowerOptions options{.kv_dtype = config.kv_dtype};
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.schema->op_class == OpClass::leaf || node.outputs.empty()) continue;
    if (builder.is_weight({i, 0})) continue;
    const Backend& backend = place(i, preferred);
    if (!backend.lower(builder, i, options)) emit_generic(builder, i, backend);
  }
  program = builder.finish();
  bound_symbols();
}

Graph CompiledProgram::optimized(Graph source, const Backend& backend) {
  PipelineOptions options;
  options.without = config.without_passes;
  Graph fused = run_pipeline(std::move(source), options, &pass_reports);
  // A fused op that the backend has no kernel for is better off in its parts.
  return unfuse(fused, [&](const Node& node) {
    const auto index = static_cast<std::int32_t>(&node - fused.nodes().data());
    return node.schema->unfuse.state == Rule::State::built && !backend.supports(fused, index).supported;
  });
}

const Backend& CompiledProgram::backend_named(const std::string& name) {
  for (const auto& backend : backends)
    if (backend->name() == name) return *backend;
  backends.push_back(BackendRegistry::global().create(name));
  return *backends.back();
}

const Backend& CompiledProgram::place(std::int32_t index, const std::string& preferred) {
  const BackendRegistry& registry = BackendRegistry::global();
  const Node& node = graph.node(index);
  const Backend* chosen = nullptr;
  std::string tried;
  const auto consider = [&](const std::string& name, const std::string& reason) {
    if (chosen != nullptr) return;
    std::string refusal = "not in this build";
    if (registry.has(name)) {
      const Backend& backend = backend_named(name);
      const Support support = backend.supports(graph, index);
      if (support.supported) {
        chosen = &backend;
        placements.push_back({index, node.backend_hint, name, tried.empty() ? reason : reason + " (" + tried + ")"});
        return;
      }
      refusal = support.reason;
    }
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", name, refusal);
  };
  // State is the program's own, so what appends to it always is too.
  const bool stateful = !node.schema->effects.slots.empty();
  if (config.backend.empty() && !node.backend_hint.empty()) {
    if (!stateful || node.backend_hint == preferred)
      consider(node.backend_hint, "hint");
    else
      tried = fmt::format("{}: what appends to a state runs with the program", node.backend_hint);
  }
  consider(preferred, config.backend.empty() ? "default" : "forced");
  if (preferred != fallback_backend) consider(std::string(fallback_backend), "fallback");
  if (chosen == nullptr)
    fail(ErrorKind::unsupported_op, "UnsupportedOp", graph.where(index), "no backend takes the op: {}", tried);
  log().debug("{} hint={} backend={} reason={}", graph.where(index),
              node.backend_hint.empty() ? "-" : node.backend_hint, placements.back().backend, placements.back().reason);
  return *chosen;
}

void CompiledProgram::bound_symbols() {
  const std::vector<std::string>& symbols = program.sizes.symbols();
  symbol_bounds.resize(symbols.size());
  symbol_lows.assign(symbols.size(), 0);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (const auto declared = graph.symbols().find(symbols[i]); declared != graph.symbols().end()) {
      symbol_lows[i] = declared->second.low;
      if (declared->second.high < unbounded) symbol_bounds[i] = declared->second.high;
    }
    if (const auto given = config.bounds.find(symbols[i]); given != config.bounds.end())
      symbol_bounds[i] = given->second;
  }
  for (const lir::Slot& slot : program.slots) {
    auto& bound = symbol_bounds[static_cast<std::size_t>(slot.length_symbol)];
    if (capacity(slot) > 0) bound = bound ? std::min(*bound, capacity(slot)) : capacity(slot);
  }
}

Tensor find_weight(const Graph& graph, std::int32_t param, const WeightSource& source) {
  const Node& node = graph.node(param);
  const std::string& name = node.text("name");
  const auto user = [&] {
    const auto users = graph.users({param, 0});
    return users.empty() ? "nothing" : graph.where(users.front().node);
  };
  Tensor tensor = source.find(name);
  if (!tensor.defined())
    fail(ErrorKind::missing_tensor, "MissingTensor", name, "the weight is missing; {} needs it", user());
  const TensorType& declared = node.outputs[0].type;
  if (tensor.dtype() != declared.dtype || Shape(tensor.dims()) != declared.shape)
    fail(ErrorKind::shape_mismatch, "WeightFormatMismatch", name,
         "the graph declares {}, the weight is {} {}; {} needs it", declared.text(), dims_text(tensor.dims()),
         to_string(tensor.dtype()), user());
  return tensor;
}

namespace {

// Values that follow from the weights alone, each computed once by its op's own kernel. What the source gives is not
// kept: it may be a copy.
class WeightValues {
 public:
  WeightValues(const CompiledProgram& compiled, const WeightSource& source) : compiled_(compiled), source_(source) {}

  Tensor get(Value value) {
    const Node& node = compiled_.graph.node(value.node);
    if (node.schema->name == "Param") return find_weight(compiled_.graph, value.node, source_);
    if (node.schema->name == "Constant") return std::get<Tensor>(node.attribute("value"));
    std::vector<Tensor>& outputs = computed_[value.node];
    if (outputs.empty()) outputs = compute(value.node);
    return outputs[static_cast<std::size_t>(value.port)];
  }

 private:
  std::vector<Tensor> compute(std::int32_t index) {
    const Graph& graph = compiled_.graph;
    const Node& node = graph.node(index);
    std::vector<Tensor> inputs, results;
    for (const Value& input : node.inputs) inputs.push_back(input.defined() ? get(input) : Tensor());
    for (const OutputInfo& output : node.outputs)
      results.push_back(Tensor::allocate(output.type.dtype, output.type.shape.eval({})));
    NoState no_state;
    node.schema->reference(KernelContext(graph, index, inputs, results, no_state, *compiled_.pool));
    return results;
  }

  const CompiledProgram& compiled_;
  const WeightSource& source_;
  std::map<std::int32_t, std::vector<Tensor>> computed_;
};

}  // namespace

BoundWeights::BoundWeights(const CompiledProgram& compiled, const WeightSource& source) {
  WeightValues values(compiled, source);
  std::uint64_t fresh = 0;
  for (const lir::Weight& weight : compiled.program.weights) {
    const std::uint64_t bytes = weight.form->byte_size(compiled.graph.type(weight.value));
    bytes_ += bytes;
    if (weight.form != lir::stored_form()) fresh += bytes;
  }
  if (const auto available = available_memory(); available && fresh > *available)
    fail(ErrorKind::out_of_memory, "OutOfMemory", compiled.graph.name(),
         "the packed weights take {} bytes, {} are available", fresh, *available);
  for (const lir::Weight& weight : compiled.program.weights)
    prepared_.push_back(weight.form->prepare(values.get(weight.value), *compiled.pool));
}

const std::byte* BoundWeights::stored(lir::WeightId id) const {
  return static_cast<const Tensor*>(prepared_[static_cast<std::size_t>(id)].get())->bytes().data();
}

}  // namespace weft
