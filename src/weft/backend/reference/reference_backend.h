// Runs every op by the kernel of its own schema. Nothing here knows an op.
#pragma once

#include "weft/backend/backend.h"

namespace weft {

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  Support supports(const Graph& graph, std::int32_t node) const override;
  void execute(const KernelContext& context) const override;
};

}  // namespace weft
