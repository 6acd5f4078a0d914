#include "weft/text/charsmap.h"

#include <algorithm>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"

namespace weft::text {
namespace {

constexpr std::size_t no_unit = static_cast<std::size_t>(-1);
constexpr std::uint32_t value_mark = 0x80000000u;

std::uint32_t read_unit(const char* at) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(at[i]);
  return value;
}

bool ends_key(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::size_t base_of(std::size_t at, std::uint32_t unit) {
  const std::size_t offset = unit >> 10 & 0x1FFFFF;
  return at ^ ((unit >> 9 & 1) != 0 ? offset << 8 : offset);
}

}  // namespace

// Equal ends of keys may share units, so a unit is looked at once however many ways lead to it.
class Charsmap::Check {
 public:
  Check(const Charsmap& map, const std::string& where) : map_(map), where_(where), below_(map.units_.size(), unknown) {}

  // How many bytes keys go on for at most behind `unit`, which is `depth` bytes from the root.
  std::size_t bytes_below(std::size_t unit, std::size_t depth) {
    if (below_[unit] == open) refuse(unit, "the ways through the trie lead in a circle");
    if (below_[unit] == unknown) {
      below_[unit] = open;
      if (unit != 0 && ends_key(map_.units_[unit])) check_replacement(unit);
      std::size_t longest = 0;
      for (unsigned byte = 1; byte < 256; ++byte) {
        const std::size_t to = map_.child(unit, static_cast<unsigned char>(byte));
        if (to == no_unit) continue;
        if (depth == longest_entry) refuse(to, fmt::format("a key is longer than {} bytes", longest_entry));
        longest = std::max(longest, 1 + bytes_below(to, depth + 1));
      }
      below_[unit] = static_cast<std::uint16_t>(longest);
    }
    if (depth + below_[unit] > longest_entry) refuse(unit, fmt::format("a key is longer than {} bytes", longest_entry));
    return below_[unit];
  }

 private:
  static constexpr std::uint16_t unknown = 0xFFFF, open = 0xFFFE;

  [[noreturn]] void refuse(std::size_t unit, const std::string& reason) const {
    fail(ErrorKind::bad_file, "BadCharsmap", where_,
         "the character map is damaged at unit {} of its trie, {:#010x}: {}", unit, map_.units_[unit], reason);
  }
  void check_replacement(std::size_t unit) const {
    const std::string& replacements = map_.replacements_;
    const std::size_t base = base_of(unit, map_.units_[unit]);
    if (base >= map_.units_.size())
      refuse(unit, fmt::format("its replacement is told at unit {} of {}", base, map_.units_.size()));
    const std::size_t start = map_.units_[base] & ~value_mark;
    if ((map_.units_[base] & value_mark) == 0 || start >= replacements.size())
      refuse(base,
             fmt::format("expected bit 31 and a position below {}, where a replacement starts", replacements.size()));
    if ((static_cast<unsigned char>(replacements[start]) & 0xC0) == 0x80)
      refuse(base, fmt::format("the replacement at {} starts inside a character", start));
    if (replacements.find('\0', start) - start > longest_entry)
      refuse(base, fmt::format("the replacement at {} is longer than {} bytes", start, longest_entry));
  }

  const Charsmap& map_;
  const std::string& where_;
  std::vector<std::uint16_t> below_;
};

Charsmap::Charsmap(std::string_view bytes, const std::string& where) {
  if (bytes.empty()) return;
  const auto refuse = [&](const std::string& reason) {
    fail(ErrorKind::bad_file, "BadCharsmap", where, "the character map is damaged: {}", reason);
  };
  if (bytes.size() > most_bytes)
    fail(ErrorKind::bad_file, "LimitExceeded", where, "a character map of {} bytes, the limit is {}", bytes.size(),
         most_bytes);
  if (bytes.size() < 4)
    refuse(fmt::format("it begins with the size of its trie in 4 bytes, found {} bytes", bytes.size()));
  const std::size_t trie = read_unit(bytes.data());
  if (trie == 0 || trie % 4 != 0 || trie > bytes.size() - 4)
    refuse(fmt::format("its trie has {} bytes; expected a multiple of 4 from 4 to the {} that follow", trie,
                       bytes.size() - 4));
  units_.reserve(trie / 4);
  for (std::size_t at = 4; at < 4 + trie; at += 4) units_.push_back(read_unit(bytes.data() + at));
  replacements_ = bytes.substr(4 + trie);
  if (!replacements_.empty() && replacements_.back() != '\0')
    refuse(fmt::format("the last replacement has no NUL behind it, its last byte is {:#04x}",
                       static_cast<unsigned char>(replacements_.back())));
  if (const auto bad = find_invalid_utf8(replacements_))
    refuse(fmt::format("the replacements are no UTF-8 from their byte {} on", *bad));
  Check(*this, where).bytes_below(0, 0);
}

std::size_t Charsmap::child(std::size_t unit, unsigned char byte) const {
  const std::size_t to = base_of(unit, units_[unit]) ^ byte;
  // Bit 31 tells the values from the units of keys; a unit of zeros is a free place.
  return byte != 0 && to < units_.size() && (units_[to] & (value_mark | 0xFF)) == byte ? to : no_unit;
}

std::string_view Charsmap::replacement_at(std::size_t unit) const {
  return replacements_.data() + (units_[base_of(unit, units_[unit])] & ~value_mark);
}

Charsmap::Match Charsmap::longest(std::string_view text) const {
  Match match;
  if (units_.empty()) return match;
  std::size_t unit = 0, last = no_unit;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unit = child(unit, static_cast<unsigned char>(text[at]));
    if (unit == no_unit) break;
    if (!ends_key(units_[unit])) continue;
    match.length = at + 1;
    last = unit;
  }
  if (match.length != 0) match.replacement = replacement_at(last);
  return match;
}

Charsmap::Match Charsmap::shortest(std::string_view text) const {
  if (units_.empty()) return {};
  std::size_t unit = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unit = child(unit, static_cast<unsigned char>(text[at]));
    if (unit == no_unit) break;
    if (ends_key(units_[unit])) return {at + 1, replacement_at(unit)};
  }
  return {};
}

}  // namespace weft::text
