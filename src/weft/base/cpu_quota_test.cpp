#include "weft/base/cpu_quota.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "temporary_directory.h"

namespace weft {
namespace {

class CpuQuota : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const auto file = root / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }

  testing::TemporaryDirectory directory;
  std::filesystem::path root = directory.path();
};

TEST_F(CpuQuota, NothingThereLimitsNothing) { EXPECT_FALSE(cgroup_cpu_quota(root)); }

TEST_F(CpuQuota, VersionTwoTakesTheTightestOnThePath) {
  write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate");
  write("proc/self/cgroup", "0::/work/job");
  EXPECT_FALSE(cgroup_cpu_quota(root));
  write("sys/fs/cgroup/work/job/cpu.max", "max 100000");
  EXPECT_FALSE(cgroup_cpu_quota(root));
  write("sys/fs/cgroup/work/cpu.max", "150000 100000");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota(root).value(), 1.5);
  write("sys/fs/cgroup/work/job/cpu.max", "400000 100000");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota(root).value(), 1.5);
  write("sys/fs/cgroup/work/job/cpu.max", "50000 100000");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota(root).value(), 0.5);
}

TEST_F(CpuQuota, VersionOneReadsQuotaAndPeriodOfTheCpuController) {
  write("proc/self/mountinfo",
        "40 32 0:35 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "41 32 0:36 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct");
  write("proc/self/cgroup", "5:cpuset:/elsewhere\n4:cpu,cpuacct:/job");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(cgroup_cpu_quota(root));
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "250000");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota(root).value(), 2.5);
}

TEST_F(CpuQuota, AContainersMountShowsItsOwnPartOfThePath) {
  write("proc/self/mountinfo", "41 32 0:36 /docker/1f /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu");
  write("proc/self/cgroup", "4:cpu:/docker/1f/inner");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota(root).value(), 3);
  write("sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "100000");
  write("sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota(root).value(), 1);
  write("proc/self/cgroup", "4:cpu:/somewhere/else");
  EXPECT_DOUBLE_EQ(cgroup_cpu_quota(root).value(), 3);
}

TEST_F(CpuQuota, NonsenseLimitsNothing) {
  write("proc/self/mountinfo", "30 23\n30 23 0:26 / /cg rw - cgroup2 cgroup2 rw");
  write("proc/self/cgroup", "0::\nbroken\n0::/");
  for (const char* text : {"", "abc 100000", "0 100000", "100000 0", "-5 100", "1e", "100000"}) {
    write("cg/cpu.max", text);
    EXPECT_FALSE(cgroup_cpu_quota(root)) << text;
  }
}

}  // namespace
}  // namespace weft
