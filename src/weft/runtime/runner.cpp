#include "weft/runtime/runner.h"

#include "weft/base/fail.h"

namespace weft {

Error node_error(const Error& error, std::string_view backend, const std::string& where) {
  if (error.kind() == ErrorKind::unsupported_op)
    return Error(
        ErrorKind::unsupported_backend, "BackendFailure", where,
        fmt::format("backend {} said that it takes this node, and refuses to run it: {}", backend, error.message()),
        error.details());
  if (!error.where().empty()) return error;
  return Error(error.kind(), error.code(), where, error.message(), error.details());
}

void refuse_input(ErrorKind kind, const char* code, const std::string& name, std::string message) {
  throw Error(kind, code, "input \"" + name + "\"", std::move(message));
}

}  // namespace weft
