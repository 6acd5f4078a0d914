#include "weft/passes/pipeline.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/base/fail.h"
#include "weft/ir/verify.h"
#include "weft/passes/passes.h"

namespace weft {
namespace {

Graph as_it_is(Graph graph, PassReport&) { return graph; }

const Pass list[] = {
    {.name = "verify",
     .doc = "checks every rule of the graph, as is done after each pass that changed it",
     .run = as_it_is},
    {.name = "fold",
     .doc = "computes what only constants decide, by the reference kernels, up to 16 MiB a result",
     .run = passes::fold_constants},
    {.name = "simplify",
     .doc = "x * 1, x + 0, casts, reshapes and slices that change nothing",
     .run = passes::simplify},
    {.name = "layout",
     .doc = "transposes of transposes, reshapes of reshapes, transposes that a product does by itself",
     .run = passes::layout},
    {.name = "legalize", .doc = "products read packed weights as they are stored", .run = passes::legalize},
    {.name = "cse", .doc = "merges nodes that compute the same", .run = passes::merge_equal_nodes},
    {.name = "dce", .doc = "drops nodes that no output and no state depends on", .run = passes::drop_dead_nodes},
    {.name = "flash-attention",
     .doc = "softmax(q k' * scale + mask) v",
     .makes = "Attention",
     .run = passes::flash_attention},
    {.name = "matmul-bias",
     .doc = "a product and the bias added to it",
     .makes = "FusedMatMulBiasAct",
     .run = passes::matmul_bias},
    {.name = "gated-matmul",
     .doc = "act(x Wg) * (x Wu): gate and up projection of one input",
     .makes = "FusedGatedMatMul",
     .run = passes::gated_matmul},
    {.name = "swiglu",
     .doc = "up * silu(gate) over the two halves of one tensor",
     .makes = "FusedSwiGLU",
     .run = passes::swiglu},
    {.name = "matmul-epilogue",
     .doc = "a product, the activation after it and the residual added to it",
     .makes = "FusedMatMulBiasAct",
     .run = passes::matmul_epilogue},
    {.name = "shared-matmul",
     .doc = "several projections of one input, as q, k and v",
     .makes = "FusedSharedMatMul",
     .run = passes::shared_matmul},
    {.name = "residual-rms-norm",
     .doc = "a sum and the RmsNorm that reads it",
     .makes = "FusedResidualRmsNorm",
     .run = passes::residual_rms_norm},
    {.name = "residual-layer-norm",
     .doc = "a sum and the LayerNorm that reads it",
     .makes = "FusedResidualLN",
     .run = passes::residual_layer_norm},
    {.name = "norm-matmul",
     .doc = "an RmsNorm and the product, or the shared or gated products, that alone read it",
     .makes = "FusedMatMulBiasAct",
     .run = passes::norm_matmul},
    {.name = "elementwise",
     .doc = "chains of elementwise ops, run in tiles",
     .makes = "ElementwiseRegion",
     .run = passes::elementwise_region},
    {.name = "dce-again", .doc = "drops what the fusions left without a reader", .run = passes::drop_dead_nodes},
};

void require_known(const std::string& name, const char* option) {
  std::string names;
  for (const Pass& pass : list) {
    if (name == pass.name) return;
    names += (names.empty() ? "" : ", ") + std::string(pass.name);
  }
  fail(ErrorKind::invalid_argument, "UnknownPass", option, "no pass is called \"{}\"; there are {}", name, names);
}

bool contains(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::span<const Pass> pipeline() { return list; }

Graph run_pipeline(Graph graph, const PipelineOptions& options, PipelineReport* report) {
  for (const std::string& name : options.without) require_known(name, "--without");
  for (const std::string& name : options.only) require_known(name, "--only");
  if (!options.after.empty() && options.after != "all") require_known(options.after, "--after");
  verify(graph);
  for (const Pass& pass : list) {
    PassReport at;
    at.name = pass.name;
    at.nodes_before = graph.nodes().size();
    const bool wanted =
        !contains(options.without, pass.name) && (options.only.empty() || contains(options.only, pass.name));
    const bool claimed = *pass.makes == '\0' || !options.claims || options.claims(pass.makes);
    if (wanted && !claimed) at.misses.push_back({"NotClaimed", std::string("[") + pass.makes + "]"});
    if (wanted && claimed) {
      const auto start = std::chrono::steady_clock::now();
      graph = pass.run(std::move(graph), at);
      at.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      at.ran = true;
      // A pass that found nothing hands the graph back as it was.
      if (at.matches > 0) verify(graph);
    }
    at.nodes_after = graph.nodes().size();
    if (report != nullptr) report->push_back(std::move(at));
    if (options.after == pass.name) break;
  }
  return graph;
}

}  // namespace weft
