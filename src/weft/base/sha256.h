// SHA-256 (FIPS 180-4), by libcrypto. One Sha256 belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weft/base/export.h"

namespace weft {

class WEFT_API Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  // The digest of all bytes so far, as 64 lower-case hex digits. Ends the computation; call it once.
  std::string hex_digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

WEFT_API std::string sha256_hex(std::span<const std::byte> bytes);
WEFT_API std::string sha256_hex(std::string_view text);

}  // namespace weft
