// Loads that widen to f32, compiled once for each Highway target: include it after vector_math_inl.h.

#if defined(WEFT_BACKEND_CPU_VECTOR_MEMORY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_BACKEND_CPU_VECTOR_MEMORY_INL_H
#undef WEFT_BACKEND_CPU_VECTOR_MEMORY_INL_H
#else
#define WEFT_BACKEND_CPU_VECTOR_MEMORY_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "weft/backend/cpu/vector_math_inl.h"
#include "weft/base/half.h"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

// Elements [first, first + lanes) of an array of f32, f16, bf16 or i8.
template <class Element>
HWY_INLINE VF load_as_f32(const std::byte* array, std::int64_t first) {
  if constexpr (std::is_same_v<Element, float>) {
    return hn::LoadU(f32, reinterpret_cast<const float*>(array) + first);
  } else if constexpr (std::is_same_v<Element, std::int8_t>) {
    const hn::Rebind<std::int8_t, F32> i8;
    return hn::ConvertTo(f32, hn::PromoteTo(i32, hn::LoadU(i8, reinterpret_cast<const std::int8_t*>(array) + first)));
  } else {
    const hn::Rebind<std::uint16_t, F32> u16;
    const auto bits = hn::LoadU(u16, reinterpret_cast<const std::uint16_t*>(array) + first);
    if constexpr (std::is_same_v<Element, hwy::bfloat16_t>) {
      return hn::BitCast(f32, hn::ShiftLeft<16>(hn::PromoteTo(u32, bits)));
    } else {
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM
      return hn::PromoteTo(f32, hn::BitCast(hn::Rebind<hwy::float16_t, F32>(), bits));
#elif HWY_TARGET == HWY_SCALAR
      return constant(weft::f16_to_f32(hn::GetLane(bits)));
#else
      // As f16_to_f32 does it.
      const auto wide = hn::BitCast(i32, hn::PromoteTo(u32, bits));
      const VI magnitude = hn::ShiftLeft<13>(hn::And(wide, hn::Set(i32, 0x7FFF)));
      const VI sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(i32, 0x8000)));
      const VI rebias = hn::Set(i32, 112 << 23);
      const VI special = hn::And(hn::VecFromMask(i32, hn::Gt(magnitude, hn::Set(i32, 0x0F7FFFFF))), rebias);
      const VI normal = hn::Add(hn::Add(magnitude, rebias), special);
      const VF small = hn::Sub(hn::BitCast(f32, hn::Add(magnitude, hn::Set(i32, 113 << 23))), constant(0x1p-14f));
      const auto is_small = hn::Lt(magnitude, hn::Set(i32, 0x00800000));
      return hn::BitCast(f32, hn::Or(hn::IfThenElse(is_small, hn::BitCast(i32, small), normal), sign));
#endif
    }
  }
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
