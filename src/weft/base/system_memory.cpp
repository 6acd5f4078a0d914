#include "weft/base/system_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace weft {
namespace {

std::optional<std::uint64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// What a version 2 cgroup has left: its limit less what it holds, its file cache not counted, which the system takes
// back when it must.
std::optional<std::uint64_t> cgroup_memory() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  std::optional<std::uint64_t> least;
  while (std::getline(groups, line)) {
    if (line.rfind("0::", 0) != 0) continue;
    for (std::string path = line.substr(3);; path.resize(path.find_last_of('/'))) {
      const std::string folder = "/sys/fs/cgroup" + path;
      const auto limit = read_number(folder + "/memory.max"), used = read_number(folder + "/memory.current");
      if (limit && used) {
        std::uint64_t cache = 0, value = 0;
        std::ifstream stat(folder + "/memory.stat");
        for (std::string key; stat >> key >> value;)
          if (key == "file") cache = value;
        const std::uint64_t held = *used - std::min(*used, cache), left = *limit - std::min(*limit, held);
        least = least ? std::min(*least, left) : left;
      }
      if (path.find('/') == std::string::npos) break;
    }
  }
  return least;
}

}  // namespace

std::optional<std::uint64_t> available_memory() {
  std::optional<std::uint64_t> available;
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    std::uint64_t kib = 0;
    if (key == "MemAvailable:" && file >> kib) available = kib * 1024;
    file.ignore(256, '\n');
  }
  if (const auto group = cgroup_memory()) available = available ? std::min(*available, *group) : *group;
  return available;
}

}  // namespace weft
