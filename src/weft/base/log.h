// weft's log, on stderr. The environment variable WEFT_LOG sets the level (trace, debug, info, warn, error, off);
// warn is the default. Internal: public headers do not include spdlog.
#pragma once

#include <spdlog/logger.h>

namespace weft {

spdlog::logger& log();

}  // namespace weft
