#include "weft/base/cpu_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "weft/base/error.h"

namespace weft {
namespace {

// The flags that the kernel lists for the first CPU; empty where it lists none.
std::vector<std::string> kernel_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

TEST(CpuFeatures, AreThoseThatTheKernelLists) {
  const std::vector<std::string> flags = kernel_flags();
  if (flags.empty()) GTEST_SKIP() << "the kernel lists no flags here";
  for (const std::string& feature : cpu_info().features)
    // /proc/cpuinfo spells this one differently.
    EXPECT_TRUE(contains(flags, feature == "avx512_vbmi" ? "avx512vbmi" : feature)) << feature;
  for (const char* feature :
       {"avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16"})
    EXPECT_EQ(contains(cpu_info().features, feature), contains(flags, feature)) << feature;
}

TEST(CpuFeatures, InfoIsPlausible) {
  const CpuInfo& info = cpu_info();
  EXPECT_FALSE(info.model.empty());
  EXPECT_GE(info.usable_cpus, 1);
  EXPECT_LE(info.usable_cpus, info.logical_cpus);
  for (const std::int64_t bytes : {info.l1d_bytes, info.l2_bytes, info.l3_bytes}) EXPECT_GE(bytes, 0);
  EXPECT_EQ(&info, &cpu_info());
}

TEST(CpuFeatures, LevelsAscendAndStartWithPortable) {
  const auto supported = supported_cpu_levels();
  ASSERT_FALSE(supported.empty());
  EXPECT_EQ(supported.front(), CpuLevel::portable);
  EXPECT_TRUE(std::is_sorted(supported.begin(), supported.end()));
  const auto all = all_cpu_levels();
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(static_cast<std::size_t>(all[i]), i);
  for (const CpuLevel level : all) {
    EXPECT_EQ(cpu_supports(level), std::count(supported.begin(), supported.end(), level) == 1);
    EXPECT_EQ(cpu_supports(level), missing_for_cpu_level(level).empty());
  }
  // What AMX and VNNI kernels take for granted.
  const auto implies = [](CpuLevel level, CpuLevel other) { return !cpu_supports(level) || cpu_supports(other); };
  EXPECT_TRUE(implies(CpuLevel::amx, CpuLevel::avx512_vnni));
  EXPECT_TRUE(implies(CpuLevel::avx512_vnni, CpuLevel::avx512));
  EXPECT_TRUE(implies(CpuLevel::avx512, CpuLevel::avx2));
}

TEST(CpuFeatures, ALevelIsNamedOrRefusedWithItsReason) {
  for (const CpuLevel level : all_cpu_levels()) {
    if (cpu_supports(level)) {
      EXPECT_EQ(cpu_level_named(to_string(level)), level);
      continue;
    }
    try {
      cpu_level_named(to_string(level));
      ADD_FAILURE() << to_string(level) << " is not supported";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "UnsupportedCpuLevel");
      EXPECT_NE(error.message().find(missing_for_cpu_level(level)), std::string::npos) << error.what();
    }
  }
  for (const char* name : {"", "AVX2", "sse9", "avx512_vnni"}) {
    try {
      cpu_level_named(name);
      ADD_FAILURE() << name << " is no level";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "UnknownCpuLevel");
      for (const CpuLevel level : all_cpu_levels())
        EXPECT_NE(error.message().find(to_string(level)), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace weft
