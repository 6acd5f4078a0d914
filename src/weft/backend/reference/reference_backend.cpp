#include "weft/backend/reference/reference_backend.h"

#include "weft/ir/op_schema.h"

namespace weft {

Support ReferenceBackend::supports(const Graph& graph, std::int32_t node) const {
  if (graph.node(node).schema->reference) return {};
  return {false, "the op has no reference kernel"};
}

void ReferenceBackend::execute(const KernelContext& context) const { context.node().schema->reference(context); }

}  // namespace weft
