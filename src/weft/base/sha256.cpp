#include "weft/base/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "weft/base/fail.h"

namespace weft {
namespace {

void expect(int result) {
  // Only a lack of memory or a library without SHA-256 gets here.
  if (result != 1) fail(ErrorKind::out_of_memory, "Sha256", "", "libcrypto cannot compute a SHA-256");
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  expect(state_->context != nullptr ? 1 : 0);
  expect(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  if (!bytes.empty()) expect(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()));
}

void Sha256::update(std::string_view text) { update(std::as_bytes(std::span(text))); }

std::string Sha256::hex_digest() {
  std::array<unsigned char, 32> digest{};
  unsigned size = 0;
  expect(EVP_DigestFinal_ex(state_->context, digest.data(), &size));
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex_digest();
}

std::string sha256_hex(std::string_view text) { return sha256_hex(std::as_bytes(std::span(text))); }

}  // namespace weft
