// Throwing an Error with a formatted message. Internal: public headers do not include fmt.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "weft/base/error.h"

namespace weft {

template <class... Args>
[[noreturn]] void fail(ErrorKind kind, const char* code, std::string where, fmt::format_string<Args...> message,
                       Args&&... args) {
  throw Error(kind, code, std::move(where), fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace weft
