// Hashing for tables whose keys come from files. The secret differs from process to process, so a file cannot be
// written to make its keys collide; nothing that weft computes depends on the order in such a table.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::text {

std::uint64_t hash_bytes(std::string_view bytes);
std::uint64_t hash_word(std::uint64_t word);

}  // namespace weft::text
