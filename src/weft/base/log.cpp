#include "weft/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <cstdlib>
#include <memory>

namespace weft {

spdlog::logger& log() {
  static const auto logger = [] {
    auto created = std::make_shared<spdlog::logger>("weft", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    const char* level = std::getenv("WEFT_LOG");
    created->set_level(level == nullptr ? spdlog::level::warn : spdlog::level::from_str(level));
    created->set_pattern("weft %l: %v");
    return created;
  }();
  return *logger;
}

}  // namespace weft
