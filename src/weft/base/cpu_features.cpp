#include "weft/base/cpu_features.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>

#include "weft/base/cpu_quota.h"
#include "weft/base/fail.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#endif

namespace weft {
namespace {

struct LevelInfo {
  CpuLevel level;
  std::string_view name;
  std::vector<std::string_view> needs;
};

const std::vector<LevelInfo>& levels() {
  static const std::vector<LevelInfo> all = {
      {CpuLevel::portable, "portable", {}},
      {CpuLevel::avx2, "avx2", {"avx2", "fma", "f16c"}},
      {CpuLevel::avx_vnni, "avx-vnni", {"avx2", "fma", "f16c", "avx_vnni"}},
      {CpuLevel::avx512, "avx512", {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"}},
      {CpuLevel::avx512_vnni,
       "avx512-vnni",
       {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"}},
      {CpuLevel::amx,
       "amx",
       {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "amx_tile", "amx_int8",
        "amx_bf16"}},
  };
  return all;
}

const LevelInfo& info_of(CpuLevel level) { return levels()[static_cast<std::size_t>(level)]; }

#ifdef __x86_64__

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

// The register states that the system saves for a thread; a feature without its state is not usable.
std::uint64_t enabled_states() {
  constexpr unsigned osxsave = 1u << 27;
  if ((cpuid(1).ecx & osxsave) == 0) return 0;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low | std::uint64_t{high} << 32;
}

// Linux hands out the 8 KB of tile registers only to a process that asks.
bool request_tiles() {
  constexpr int request_permission = 0x1023, tile_data = 18;
  return ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

std::vector<std::string> find_features() {
  constexpr std::uint64_t avx_states = 0x6, avx512_states = 0xe6, tile_states = 0x60000;
  const std::uint64_t states = enabled_states();
  const bool avx = (states & avx_states) == avx_states;
  const bool avx512 = (states & avx512_states) == avx512_states;
  const Registers one = cpuid(1), seven = cpuid(7), seven_one = seven.eax >= 1 ? cpuid(7, 1) : Registers();
  std::vector<std::string> found;
  const auto look = [&](const char* name, bool usable, unsigned word, int bit) {
    if (usable && (word >> bit & 1) != 0) found.emplace_back(name);
  };
  look("avx2", avx, seven.ebx, 5);
  look("fma", avx, one.ecx, 12);
  look("f16c", avx, one.ecx, 29);
  look("avx_vnni", avx, seven_one.eax, 4);
  look("avx512f", avx512, seven.ebx, 16);
  look("avx512bw", avx512, seven.ebx, 30);
  look("avx512dq", avx512, seven.ebx, 17);
  look("avx512vl", avx512, seven.ebx, 31);
  look("avx512_vnni", avx512, seven.ecx, 11);
  look("avx512_vbmi", avx512, seven.ecx, 1);
  look("avx512_bf16", avx512, seven_one.eax, 5);
  constexpr int tile_bit = 24;
  const bool tiles =
      (states & tile_states) == tile_states && (seven.edx >> tile_bit & 1) != 0 && avx512 && request_tiles();
  look("amx_tile", tiles, seven.edx, tile_bit);
  look("amx_int8", tiles, seven.edx, 25);
  look("amx_bf16", tiles, seven.edx, 22);
  return found;
}

std::string brand_string() {
  constexpr unsigned first = 0x80000002, last = 0x80000004;
  if (__get_cpuid_max(0x80000000, nullptr) < last) return "";
  std::string brand;
  for (unsigned leaf = first; leaf <= last; ++leaf) {
    const Registers r = cpuid(leaf);
    for (const unsigned word : {r.eax, r.ebx, r.ecx, r.edx}) {
      char bytes[sizeof(word)];
      std::memcpy(bytes, &word, sizeof(word));
      brand.append(bytes, sizeof(word));
    }
  }
  brand.resize(std::min(brand.find('\0'), brand.size()));
  return brand;
}

#else

std::vector<std::string> find_features() { return {}; }
std::string brand_string() { return ""; }

#endif

// As the kernel calls it, which is what other programs report too; else as the processor does.
std::string find_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos && (line.starts_with("model name") || line.starts_with("Model")))
      return line.substr(colon + 2);
  }
  return brand_string();
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

// The CPUs that the scheduler may put this process on; the set has no bound on machines with more than 1024.
int affinity_cpus(int otherwise) {
  for (int room = 1024; room <= 1 << 20; room *= 4) {
    std::vector<cpu_set_t> sets(static_cast<std::size_t>(room) / (8 * sizeof(cpu_set_t)));
    const std::size_t bytes = sets.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, sets.data()) == 0) return std::max(1, CPU_COUNT_S(bytes, sets.data()));
  }
  return otherwise;
}

std::int64_t cache_size(int name) { return std::max<std::int64_t>(::sysconf(name), 0); }

CpuInfo find_info() {
  CpuInfo info;
  info.model = trimmed(find_model());
  if (info.model.empty()) info.model = "unknown";
  info.features = find_features();
  info.l1d_bytes = cache_size(_SC_LEVEL1_DCACHE_SIZE);
  info.l2_bytes = cache_size(_SC_LEVEL2_CACHE_SIZE);
  info.l3_bytes = cache_size(_SC_LEVEL3_CACHE_SIZE);
  info.logical_cpus = static_cast<int>(std::max<long>(::sysconf(_SC_NPROCESSORS_ONLN), 1));
  info.usable_cpus = affinity_cpus(info.logical_cpus);
  if (const auto quota = cgroup_cpu_quota(); quota && *quota < info.usable_cpus)
    info.usable_cpus = std::max(1, static_cast<int>(std::ceil(*quota)));
  return info;
}

}  // namespace

std::string_view to_string(CpuLevel level) { return info_of(level).name; }

std::vector<CpuLevel> all_cpu_levels() {
  std::vector<CpuLevel> all;
  for (const LevelInfo& level : levels()) all.push_back(level.level);
  return all;
}

std::string missing_for_cpu_level(CpuLevel level) {
  const std::vector<std::string>& found = cpu_info().features;
  std::string missing;
  for (const std::string_view need : info_of(level).needs)
    if (std::find(found.begin(), found.end(), need) == found.end())
      missing.append(missing.empty() ? "" : ", ").append(need);
  return missing;
}

bool cpu_supports(CpuLevel level) {
  static const auto supported = [] {
    std::vector<bool> flags;
    for (const LevelInfo& each : levels()) flags.push_back(missing_for_cpu_level(each.level).empty());
    return flags;
  }();
  return supported[static_cast<std::size_t>(level)];
}

std::vector<CpuLevel> supported_cpu_levels() {
  std::vector<CpuLevel> supported = all_cpu_levels();
  std::erase_if(supported, [](CpuLevel level) { return !cpu_supports(level); });
  return supported;
}

CpuLevel cpu_level_named(std::string_view name) {
  std::string names;
  for (const LevelInfo& level : levels()) {
    names.append(names.empty() ? "" : ", ").append(level.name);
    if (level.name != name) continue;
    if (!cpu_supports(level.level))
      fail(ErrorKind::unsupported, "UnsupportedCpuLevel", "WEFT_CPU",
           "this machine does not run level {}: it lacks {}; its highest level is {}", name,
           missing_for_cpu_level(level.level), to_string(supported_cpu_levels().back()));
    return level.level;
  }
  fail(ErrorKind::invalid_argument, "UnknownCpuLevel", "WEFT_CPU", "there is no level \"{}\"; the levels are {}", name,
       names);
}

CpuLevel selected_cpu_level() {
  static const CpuLevel selected = [] {
    const char* forced = std::getenv("WEFT_CPU");
    return forced == nullptr || *forced == '\0' ? supported_cpu_levels().back() : cpu_level_named(forced);
  }();
  return selected;
}

const CpuInfo& cpu_info() {
  static const CpuInfo info = find_info();
  return info;
}

}  // namespace weft
