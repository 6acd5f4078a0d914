// Functions of one real that the standard library lacks, to f64 accuracy.
#pragma once

namespace weft::ops {

// Derivative of ln Gamma. NaN at 0, -1, -2, ... except digamma(0) = -inf (and +inf at -0), as PyTorch.
double digamma(double x);

// The inverse of erf on (-1, 1); +-inf at +-1, NaN outside.
double erf_inv(double y);

// ln|Gamma(x)|, without the global sign of the C library.
double log_gamma(double x);

}  // namespace weft::ops
