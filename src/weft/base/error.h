// The one exception type of weft. Thrown for everything that input, files or the machine can get wrong;
// bugs of weft itself are asserts. Copyable; safe to pass between threads.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"

namespace weft {

enum class ErrorKind {
  invalid_argument,  // a caller passed something unusable
  io,                // the operating system refused (missing, unreadable, unwritable)
  bad_file,          // the bytes of a file contradict its format
  invalid_graph,     // a graph breaks a structural rule
  invalid_config,    // a model's configuration contradicts itself or its tensors
  shape_mismatch,
  dtype_mismatch,
  missing_tensor,
  unsupported_op,
  unsupported,  // a known but unbuilt feature: architecture, tensor type, rope scaling, ...
  unsupported_backend,
  out_of_memory,      // a declared limit would be exceeded, or the machine's
  out_of_range,       // an index, token id or position outside its range
  not_representable,  // a value that the target format has no room for
  canceled,           // the caller asked to stop
};

WEFT_API std::string_view to_string(ErrorKind kind);

// `where` places the error ("model.gguf@0x1a40", "[MatMul] node %17 \"layers.3.q\""); `code` is the stable name
// of the rule that was broken ("TensorOutOfRange"); `what()` reads "where: message".
class WEFT_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string code, std::string where, std::string message,
        std::vector<std::string> details = {});

  ErrorKind kind() const { return kind_; }
  const std::string& code() const { return code_; }
  const std::string& where() const { return where_; }
  const std::string& message() const { return message_; }
  // Further diagnostics of the same stage, at most 31; the first is in message().
  const std::vector<std::string>& details() const { return details_; }

 private:
  ErrorKind kind_;
  std::string code_, where_, message_;
  std::vector<std::string> details_;
};

}  // namespace weft
