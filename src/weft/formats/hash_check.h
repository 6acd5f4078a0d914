// Comparing the SHA-256 of a range of bytes with the one a file declares, beside the work of its reader.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace weft {

// Starts at construction, on a thread of its own. Destroyed early, it stops within a few milliseconds.
class HashCheck {
 public:
  // `owner` keeps the bytes; `what` names them in the message ("section weights").
  HashCheck(std::shared_ptr<const void> owner, std::span<const std::byte> bytes, std::string expected,
            std::string where, std::string what);
  ~HashCheck();
  HashCheck(const HashCheck&) = delete;
  HashCheck& operator=(const HashCheck&) = delete;

  // Waits for the result. HashMismatch, now and at each later call. Safe to call from several threads.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The same at once.
void check_hash(std::span<const std::byte> bytes, const std::string& expected, const std::string& where,
                const std::string& what);

}  // namespace weft
