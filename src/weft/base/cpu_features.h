// What this machine's processor can do, and the kernel level that follows from it. Immutable after the first call;
// safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"

namespace weft {

// Instruction sets that kernels are written for, each beyond the ones before it.
enum class CpuLevel : std::uint8_t {
  portable,     // the compiler's baseline, through Highway
  avx2,         // AVX2, FMA, F16C
  avx_vnni,     // and AVX-VNNI
  avx512,       // AVX-512 F, BW, DQ, VL
  avx512_vnni,  // and AVX-512 VNNI
  amx,          // and AMX tiles, int8 and bf16, which the system has to grant
};
WEFT_API std::string_view to_string(CpuLevel level);  // "avx512-vnni"
WEFT_API std::vector<CpuLevel> all_cpu_levels();

// Whether this machine runs kernels of a level.
WEFT_API bool cpu_supports(CpuLevel level);
// The levels that this machine has, ascending.
WEFT_API std::vector<CpuLevel> supported_cpu_levels();
// The level of that name: UnknownCpuLevel for another word, UnsupportedCpuLevel, with what is missing, when this
// machine does not run it.
WEFT_API CpuLevel cpu_level_named(std::string_view name);
// The highest one, or what WEFT_CPU names: UnknownCpuLevel for another word, UnsupportedCpuLevel when the CPU lacks it.
WEFT_API CpuLevel selected_cpu_level();
// What this machine lacks for a level, "amx_tile, amx_int8"; empty: nothing.
WEFT_API std::string missing_for_cpu_level(CpuLevel level);

struct CpuInfo {
  std::string model;                  // "AMD EPYC"
  std::vector<std::string> features;  // of the instruction sets that weft uses, by the kernel's names: "avx2", ...
  std::int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // of one core, of one core, shared; 0: unknown
  int logical_cpus = 0;                                    // of the machine
  int usable_cpus = 0;  // by this process: affinity and cgroup limits applied, at least 1
};
WEFT_API const CpuInfo& cpu_info();

}  // namespace weft
