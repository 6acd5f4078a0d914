#include "weft/formats/hash_check.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/sha256.h"

namespace weft {
namespace {

constexpr std::size_t chunk = std::size_t{4} << 20;

[[noreturn]] void refuse(const std::string& where, const std::string& what, const std::string& expected,
                         const std::string& found) {
  fail(ErrorKind::bad_file, "HashMismatch", where,
       "the SHA-256 of {} is {}, but the file declares {}; the file is damaged or was edited", what, found, expected);
}

}  // namespace

struct HashCheck::State {
  std::shared_ptr<const void> owner;
  std::string expected, where, what, found;
  std::atomic<bool> stop{false};
  std::mutex joining;
  std::thread worker;
};

HashCheck::HashCheck(std::shared_ptr<const void> owner, std::span<const std::byte> bytes, std::string expected,
                     std::string where, std::string what)
    : state_(std::make_unique<State>()) {
  state_->owner = std::move(owner);
  state_->expected = std::move(expected);
  state_->where = std::move(where);
  state_->what = std::move(what);
  state_->worker = std::thread([state = state_.get(), bytes] {
    Sha256 hash;
    for (std::size_t at = 0; at < bytes.size() && !state->stop; at += chunk)
      hash.update(bytes.subspan(at, std::min(chunk, bytes.size() - at)));
    state->found = hash.hex_digest();
  });
}

HashCheck::~HashCheck() {
  state_->stop = true;
  if (state_->worker.joinable()) state_->worker.join();
}

void HashCheck::finish() {
  {
    const std::lock_guard lock(state_->joining);
    if (state_->worker.joinable()) state_->worker.join();
  }
  if (state_->found != state_->expected) refuse(state_->where, state_->what, state_->expected, state_->found);
}

void check_hash(std::span<const std::byte> bytes, const std::string& expected, const std::string& where,
                const std::string& what) {
  const std::string found = sha256_hex(bytes);
  if (found != expected) refuse(where, what, expected, found);
}

}  // namespace weft
