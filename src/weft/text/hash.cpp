#include "weft/text/hash.h"

#include <array>
#include <cstring>
#include <random>

namespace weft::text {
namespace {

const std::array<std::uint64_t, 2>& secret() {
  static const std::array<std::uint64_t, 2> words = [] {
    std::random_device device;
    const auto word = [&] { return (std::uint64_t{device()} << 32 | device()) | 1; };
    return std::array<std::uint64_t, 2>{word(), word()};
  }();
  return words;
}

// Both halves of a 64 x 64 bit product, folded.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint64_t hash_bytes(std::string_view bytes) {
  const auto& [first, second] = secret();
  std::uint64_t hash = fold(bytes.size() ^ first, second);
  std::uint64_t word = 0;
  while (bytes.size() >= sizeof(word)) {
    std::memcpy(&word, bytes.data(), sizeof(word));
    hash = fold(word ^ first, hash ^ second);
    bytes.remove_prefix(sizeof(word));
  }
  word = 0;
  if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
  return fold(word ^ second, hash ^ first);
}

std::uint64_t hash_word(std::uint64_t word) {
  const auto& [first, second] = secret();
  return fold(fold(word ^ first, second), word ^ second);
}

}  // namespace weft::text
