// SentencePiece's precompiled character map: which byte strings of a text are replaced by which others. Its bytes are
// a little-endian u32, the size of the trie in bytes, a multiple of 4; the trie of the keys, which hold no NUL, a
// double array of little-endian u32 units as darts-clone lays it out; and up to the end the replacements, UTF-8, each
// ended by a NUL. A unit holds in bits 0-7 the byte that leads to it, in bit 8 whether a key ends at it, in bits 10-30
// an offset, which is 256 times as much where bit 9 is set. The base of unit i is i ^ offset; the unit for the next
// byte b is at base ^ b. Where a key ends, the unit at the base itself has bit 31 set and holds in the others where the
// replacement starts. Units may be shared by keys with equal ends. (Sources: the public sources of SentencePiece,
// normalizer.cc, and of darts-clone, darts.h.) Immutable; safe to share between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

class Charsmap {
 public:
  // Of a key and of a replacement; real maps stay below 40. Longer ones are refused: they would make the time and the
  // space that a text takes quadratic.
  static constexpr std::size_t longest_entry = 256;
  static constexpr std::size_t most_bytes = std::size_t{16} << 20;

  struct Match {
    std::size_t length = 0;        // of the key in bytes; 0: no key starts the text
    std::string_view replacement;  // well-formed UTF-8, possibly empty; lives as long as the map
  };

  Charsmap() = default;  // no keys
  // No bytes at all are a map without keys. The whole map is checked, so that no lookup can fail or leave it.
  // BadCharsmap at `where` with what was expected and what was found; LimitExceeded beyond `most_bytes`.
  Charsmap(std::string_view bytes, const std::string& where);

  Match longest(std::string_view text) const;   // the longest key that `text` starts with
  Match shortest(std::string_view text) const;  // the shortest one

 private:
  class Check;
  std::size_t child(std::size_t unit, unsigned char byte) const;
  std::string_view replacement_at(std::size_t unit) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace weft::text
