#include "weft/base/cpu_quota.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace weft {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

bool list_contains(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<double> ratio(std::string_view quota, std::string_view period) {
  const auto q = number(quota), p = number(period);
  return q && p && *q > 0 && *p > 0 ? std::optional(*q / *p) : std::nullopt;
}

// "max 100000" or "150000 100000".
std::optional<double> quota_v2(const fs::path& folder) {
  std::ifstream file(folder / "cpu.max");
  std::string quota, period;
  file >> quota >> period;
  return ratio(quota, period);
}

std::optional<double> quota_v1(const fs::path& folder) {
  std::string quota, period;
  std::ifstream(folder / "cpu.cfs_quota_us") >> quota;  // -1: none
  std::ifstream(folder / "cpu.cfs_period_us") >> period;
  return ratio(quota, period);
}

struct Hierarchy {
  std::string mount_root, mount_point;  // the cgroup that the mount shows, and where
  bool v2 = false;
};

// A line is "36 35 98:0 /root /mount/point options [tags...] - type source super-options".
std::vector<Hierarchy> hierarchies(const fs::path& root) {
  std::vector<Hierarchy> found;
  for (const std::string& line : lines_of(root / "proc/self/mountinfo")) {
    std::istringstream words(line);
    std::string skipped, type, source, options;
    Hierarchy hierarchy;
    words >> skipped >> skipped >> skipped >> hierarchy.mount_root >> hierarchy.mount_point;
    while (words >> skipped && skipped != "-") {
    }
    words >> type >> source >> options;
    hierarchy.v2 = type == "cgroup2";
    if (hierarchy.v2 || (type == "cgroup" && list_contains(options, "cpu"))) found.push_back(std::move(hierarchy));
  }
  return found;
}

// The process's cgroup in a hierarchy: a line is "4:cpu,cpuacct:/path", of version 2 "0::/path".
std::string cgroup_path(const fs::path& root, bool v2) {
  for (const std::string& line : lines_of(root / "proc/self/cgroup")) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : list_contains(controllers, "cpu")) return line.substr(second + 1);
  }
  return "/";
}

}  // namespace

std::optional<double> cgroup_cpu_quota(const fs::path& root) {
  std::optional<double> tightest;
  for (const Hierarchy& hierarchy : hierarchies(root)) {
    const fs::path top = root / fs::path(hierarchy.mount_point).relative_path();
    // Inside a container the path may be told from outside the mount; then only the mount's top is visible.
    const fs::path below = fs::path(cgroup_path(root, hierarchy.v2)).lexically_relative(hierarchy.mount_root);
    const bool visible = !below.empty() && *below.begin() != "..";
    fs::path folder = top;
    const auto look = [&] {
      const auto quota = hierarchy.v2 ? quota_v2(folder) : quota_v1(folder);
      if (quota) tightest = std::min(tightest.value_or(*quota), *quota);
    };
    look();
    if (!visible) continue;
    for (const fs::path& part : below) {
      folder /= part;
      look();
    }
  }
  return tightest;
}

}  // namespace weft
