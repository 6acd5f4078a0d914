// Writes small character maps for tests (the layout: charsmap.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

inline void append_little_endian(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xFF);
}

// The bytes of a map from units and replacements.
inline std::string charsmap_bytes(const std::vector<std::uint32_t>& units, std::string_view replacements) {
  std::string bytes;
  append_little_endian(bytes, static_cast<std::uint32_t>(4 * units.size()));
  for (const std::uint32_t unit : units) append_little_endian(bytes, unit);
  return bytes.append(replacements);
}

// Each node gets the first base that no other has and whose places are free. Keys are not empty.
inline std::string charsmap_of(const std::map<std::string, std::string>& entries) {
  std::vector<std::uint32_t> units{0};
  std::vector<bool> used{true};
  std::set<std::size_t> bases{0};
  std::string replacements;
  struct Node {
    std::size_t unit;
    std::string key;
  };
  std::vector<Node> nodes{{0, ""}};
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node node = nodes[n];
    std::set<unsigned char> labels;
    const auto found = entries.find(node.key);
    for (const auto& [key, replacement] : entries)
      if (key.size() > node.key.size() && key.starts_with(node.key))
        labels.insert(static_cast<unsigned char>(key[node.key.size()]));
    std::set<unsigned char> places = labels;
    if (found != entries.end()) places.insert(0);
    std::size_t base = 1;
    const auto fits = [&] {
      return bases.count(base) == 0 && std::none_of(places.begin(), places.end(), [&](unsigned char place) {
               return (base ^ place) < used.size() && used[base ^ place];
             });
    };
    while (!fits()) ++base;
    bases.insert(base);
    for (const unsigned char place : places) {
      units.resize(std::max(units.size(), (base ^ place) + 1));
      used.resize(units.size());
      used[base ^ place] = true;
    }
    units[node.unit] |= static_cast<std::uint32_t>((node.unit ^ base) << 10);
    if (found != entries.end()) {
      units[node.unit] |= 1u << 8;
      units[base] = 0x80000000u | static_cast<std::uint32_t>(replacements.size());
      replacements += found->second + '\0';
    }
    for (const unsigned char label : labels) {
      units[base ^ label] = label;
      nodes.push_back({base ^ label, node.key + static_cast<char>(label)});
    }
  }
  return charsmap_bytes(units, replacements);
}

// A ligature, a full-width letter, a letter with a mark and without, what becomes a space, and what goes.
inline std::string small_charsmap() {
  return charsmap_of({{"\uFB01", "fi"},
                      {"\uFF21", "A"},
                      {"e\u0301", "\u00E9"},
                      {"\u212B", "\u00C5"},
                      {"\t", " "},
                      {"\r", " "},
                      {"\u3000", " "},
                      {"\x01", ""},
                      {"xy", "z"},
                      {"xyxy", "w"}});
}

}  // namespace weft::text
