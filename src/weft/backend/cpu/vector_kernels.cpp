#include "weft/backend/cpu/vector_kernels.h"

#include <algorithm>
#include <cstring>

#include "weft/backend/cpu/vector_families.h"

namespace weft::cpu {
namespace {

VectorKernels kernels_of(VectorTarget target) {
  VectorKernels kernels{};
  set_norm_kernels(target, kernels);
  set_elementwise_kernels(target, kernels);
  set_row_kernels(target, kernels);
  set_window_kernels(target, kernels);
  return kernels;
}

template <class T>
void copy_elements(const T* in, T* out, const StridedCopy& c) {
  for (std::int64_t i = 0; i < c.dims[0]; ++i) {
    const T* from = in + i * c.in_strides[0];
    T* to = out + i * c.out_strides[0];
    if (c.in_strides[2] == 1 && c.out_strides[2] == 1) {
      for (std::int64_t j = 0; j < c.dims[1]; ++j)
        std::memcpy(to + j * c.out_strides[1], from + j * c.in_strides[1],
                    static_cast<std::size_t>(c.dims[2]) * sizeof(T));
      continue;
    }
    // Squares, so that both sides stay in cache where one of them goes down columns.
    constexpr std::int64_t side = 16;
    for (std::int64_t j0 = 0; j0 < c.dims[1]; j0 += side)
      for (std::int64_t k0 = 0; k0 < c.dims[2]; k0 += side)
        for (std::int64_t j = j0; j < std::min(j0 + side, c.dims[1]); ++j)
          for (std::int64_t k = k0; k < std::min(k0 + side, c.dims[2]); ++k)
            to[j * c.out_strides[1] + k * c.out_strides[2]] = from[j * c.in_strides[1] + k * c.in_strides[2]];
  }
}

}  // namespace

const VectorKernels& vector_kernels(CpuLevel level) {
  static const VectorKernels baseline = kernels_of(VectorTarget::baseline);
  static const VectorKernels avx2 = kernels_of(VectorTarget::avx2);
  static const VectorKernels avx512 = kernels_of(VectorTarget::avx512);
  switch (vector_target(level)) {
    case VectorTarget::avx512: return avx512;
    case VectorTarget::avx2: return avx2;
    default: return baseline;
  }
}

void copy_strided(const std::byte* in, std::byte* out, const StridedCopy& copy) {
  const auto as = [&]<class T>(T) { copy_elements(reinterpret_cast<const T*>(in), reinterpret_cast<T*>(out), copy); };
  switch (copy.element_bytes) {
    case 1: return as(std::uint8_t{});
    case 2: return as(std::uint16_t{});
    case 4: return as(std::uint32_t{});
    default: return as(std::uint64_t{});
  }
}

}  // namespace weft::cpu
