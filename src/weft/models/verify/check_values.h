// The values of weights: finite, and codes that mean something.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "weft/base/tensor.h"
#include "weft/models/verify/findings.h"

namespace weft {

class ThreadPool;

// NonFiniteWeights, ReservedTernaryCode, and ZeroTensor for a matrix of zeros alone.
void check_values(const std::string& name, const Tensor& tensor, ThreadPool& pool, Findings& findings);

}  // namespace weft
