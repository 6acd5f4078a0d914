#include "weft/base/error.h"

#include <utility>

namespace weft {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument: return "invalid argument";
    case ErrorKind::io: return "io";
    case ErrorKind::bad_file: return "bad file";
    case ErrorKind::invalid_graph: return "invalid graph";
    case ErrorKind::invalid_config: return "invalid config";
    case ErrorKind::shape_mismatch: return "shape mismatch";
    case ErrorKind::dtype_mismatch: return "dtype mismatch";
    case ErrorKind::missing_tensor: return "missing tensor";
    case ErrorKind::unsupported_op: return "unsupported op";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::unsupported_backend: return "unsupported backend";
    case ErrorKind::out_of_memory: return "out of memory";
    case ErrorKind::out_of_range: return "out of range";
    case ErrorKind::not_representable: return "not representable";
    case ErrorKind::canceled: return "canceled";
  }
  return "unknown";
}

namespace {
std::string joined(const std::string& where, const std::string& message) {
  return where.empty() ? message : where + ": " + message;
}
}  // namespace

Error::Error(ErrorKind kind, std::string code, std::string where, std::string message, std::vector<std::string> details)
    : std::runtime_error(joined(where, message)),
      kind_(kind),
      code_(std::move(code)),
      where_(std::move(where)),
      message_(std::move(message)),
      details_(std::move(details)) {}

}  // namespace weft
