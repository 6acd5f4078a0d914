#include "weft/runtime/prepared_graph.h"

#include <algorithm>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/log.h"
#include "weft/base/random.h"
#include "weft/ir/no_state.h"
#include "weft/ir/verify.h"
#include "weft/runtime/compiled_program.h"
#include "weft/runtime/position_inputs.h"

namespace weft {

PreparedGraph::PreparedGraph(Graph source, const WeightSource& weights, ExecConfig settings)
    : config(std::move(settings)),
      graph(with_position_mode(std::move(source), config.position_mode)),
      liveness(graph),
      pool(config.pool ? config.pool : std::make_shared<ThreadPool>()),
      ready(graph.nodes().size()),
      folded(graph.nodes().size(), false) {
  bind_weights(weights);
  fold_decoded_weights();
  place_nodes();
}

void PreparedGraph::bind_weights(const WeightSource& weights) {
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    const auto at = static_cast<std::size_t>(i);
    if (node.schema->name == "Constant") {
      ready[at] = {std::get<Tensor>(node.attribute("value"))};
    } else if (node.schema->name == "Param") {
      ready[at] = {find_weight(graph, i, weights)};
    }
  }
}

// Norm gains, biases and the like become f32 once; matmul weights stay packed, since no graph decodes those.
void PreparedGraph::fold_decoded_weights() {
  NoState no_state;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.schema->name != "Decode" && node.schema->name != "Cast") continue;
    const auto from = static_cast<std::size_t>(node.inputs[0].node);
    if (ready[from].empty()) continue;
    const auto at = static_cast<std::size_t>(i);
    ready[at] = {Tensor::allocate(node.outputs[0].type.dtype, *node.outputs[0].type.shape.static_dims())};
    const Tensor& input = ready[from][static_cast<std::size_t>(node.inputs[0].port)];
    node.schema->reference(KernelContext(graph, i, {&input, 1}, ready[at], no_state, *pool));
    folded[at] = true;
  }
  // What only folded nodes read is not needed any more.
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (graph.node(i).schema->name != "Param") continue;
    const auto users = graph.users({i, 0});
    const bool needed = graph.use_count({i, 0}) != users.size() ||
                        std::any_of(users.begin(), users.end(),
                                    [&](Value user) { return !folded[static_cast<std::size_t>(user.node)]; });
    if (!needed) ready[at] = {};
    folded[at] = needed;
    if (needed) weight_bytes += ready[at][0].byte_size();
  }
}

const Backend* PreparedGraph::backend_named(const std::string& name) {
  for (const auto& backend : backends)
    if (backend->name() == name) return backend.get();
  backends.push_back(BackendRegistry::global().create(name));
  return backends.back().get();
}

void PreparedGraph::place_nodes() {
  BackendRegistry& registry = BackendRegistry::global();
  std::string preferred = config.backend;
  if (preferred.empty()) preferred = fallback_backend;
  backend_named(preferred);  // a forced backend that does not exist is refused even by an empty graph

  backend_of.resize(graph.nodes().size(), nullptr);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    const auto at = static_cast<std::size_t>(i);
    if (node.schema->op_class == OpClass::leaf || !ready[at].empty()) continue;
    std::string tried;
    const auto consider = [&](const std::string& name, const std::string& reason) {
      if (backend_of[at] != nullptr) return;
      if (!registry.has(name)) {
        tried += fmt::format("{}{}: not in this build", tried.empty() ? "" : "; ", name);
        return;
      }
      const Backend* backend = backend_named(name);
      const Support support = backend->supports(graph, i);
      if (!support.supported) {
        tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", name, support.reason);
        return;
      }
      backend_of[at] = backend;
      placements.push_back({i, node.backend_hint, name, tried.empty() ? reason : reason + " (" + tried + ")"});
    };
    if (config.backend.empty() && !node.backend_hint.empty()) consider(node.backend_hint, "hint");
    consider(preferred, config.backend.empty() ? "default" : "forced");
    if (preferred != fallback_backend) consider(std::string(fallback_backend), "fallback");
    if (backend_of[at] == nullptr)
      fail(ErrorKind::unsupported_op, "UnsupportedOp", graph.where(i), "no backend takes the op: {}", tried);
    log().debug("{} hint={} backend={} reason={}", graph.where(i), node.backend_hint.empty() ? "-" : node.backend_hint,
                placements.back().backend, placements.back().reason);
  }
}

}  // namespace weft
