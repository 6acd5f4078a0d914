// How much of the machine's processors a cgroup lets this process use.
#pragma once

#include <filesystem>
#include <optional>

namespace weft {

// CPUs' worth of time, such as 1.5; none: no limit. The tightest of the process's cgroup and those above it, version 2
// or 1. `root` stands for / (tests give a made-up tree); what cannot be read limits nothing.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root = "/");

}  // namespace weft
