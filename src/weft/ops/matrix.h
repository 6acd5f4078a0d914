// What the kernels of matrix ops share. Internal to ops and backends.
#pragma once

#include <cstdint>

namespace weft::ops {

// Turns n rows of 2 n, [A | I], into [I | A^-1] by elimination with partial pivoting, and leaves them anyhow where A is
// singular: false.
bool invert(double* rows, std::int64_t n);

}  // namespace weft::ops
