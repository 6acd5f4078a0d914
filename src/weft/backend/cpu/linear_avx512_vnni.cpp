// The linear kernels for AVX-512 with VNNI.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/backend/cpu/linear_levels.h"
#include "weft/backend/cpu/packed_layout.h"
#include "weft/base/target.h"

WEFT_BEGIN_TARGET("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#include "weft/backend/cpu/avx512_vnni_operations-inl.h"
#include "weft/backend/cpu/linear_kernels-inl.h"

namespace weft::cpu {
namespace {

constexpr LinearKernels table = Linear<Avx512Vnni>::kernels(CpuLevel::avx512_vnni);

}  // namespace
WEFT_END_TARGET

constinit const LinearKernels avx512_vnni_linear = table;

}  // namespace weft::cpu
#endif
