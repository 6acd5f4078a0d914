// Text from a file or from standard input, byte for byte.
#pragma once

#include <string>

namespace weft::cli {

// "-" is standard input. NotFound, IsDirectory, Io, LimitExceeded above 1 GiB.
std::string read_text(const std::string& path);

}  // namespace weft::cli
