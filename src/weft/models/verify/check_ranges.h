// Where the weights of a `.model` lie, beyond what reading it already insists on.
#pragma once

#include "weft/formats/model_file.h"
#include "weft/models/verify/findings.h"

namespace weft {

// Warnings: MisalignedTensor for tensors that begin at no multiple of 64 in the file, NonZeroPadding for bytes between
// tensors that are not zero.
void check_ranges(const ModelFile& file, Findings& findings);

}  // namespace weft
