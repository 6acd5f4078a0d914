// An instruction that runs a node as its backend's execute() does: for ops that have no kernel of the program's own.
#pragma once

#include <memory>
#include <vector>

#include "weft/backend/backend.h"
#include "weft/lir/program.h"

namespace weft {

// Emits the node as one instruction on `backend`; both outlive the program. Views stay views where sizes are static.
void emit_generic(lir::ProgramBuilder& builder, std::int32_t node, const Backend& backend);

}  // namespace weft
