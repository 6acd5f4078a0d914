// Lowers nodes to instructions that run CPU kernels of the level that base/cpu_features.h selects.
#pragma once

#include "weft/backend/backend.h"
#include "weft/base/cpu_features.h"

namespace weft::cpu {

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(CpuLevel level) : level_(level) {}
  std::string_view name() const override { return "cpu"; }
  Support supports(const Graph& graph, std::int32_t node) const override;
  bool lower(lir::ProgramBuilder& builder, std::int32_t node, const LowerOptions& options) const override;
  // A node by itself runs as its op's own kernel does.
  void execute(const KernelContext& context) const override;

 private:
  CpuLevel level_;
};

}  // namespace weft::cpu
