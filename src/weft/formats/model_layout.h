// The parts of a `.model` file: frontmatter, text sections, weights. Internal to formats/.
//
//   frontmatter (TOML), then for each section a line "~~~name" and its text, at last "~~~weights" and the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/model_limits.h"

namespace weft {

struct ModelSection {
  std::string name;
  std::string_view text;   // from the line after the delimiter to the next one
  std::size_t line = 0;    // of the text's first line in the file
  std::size_t offset = 0;  // of the text's first byte
};

struct ModelText {
  std::string_view all;  // everything before the line "~~~weights"
  std::string_view frontmatter;
  std::uint64_t weights_offset = 0;
};

// Finds the text part and its frontmatter. TooSmall, NotAModel, NoWeightsMarker, HeaderTooLarge, CrlfDelimiter,
// NotUtf8, LimitExceeded.
ModelText find_model_text(std::span<const std::byte> file, const std::string& source, const ModelLimits& limits);

// Cuts what follows the frontmatter into sections. `declared` are the names of the frontmatter's [[files]].
// UnknownSection, DuplicateSection, CrlfDelimiter, LimitExceeded.
std::vector<ModelSection> split_model_text(const ModelText& text, const std::vector<std::string>& declared,
                                           const std::string& source, const ModelLimits& limits);

// [a-z][a-z0-9_-]{0,31}
bool is_section_name(std::string_view name);
// card, config, program, graph, tensors, vocab, chat, eval, mir, weights.
bool is_known_section(std::string_view name);

}  // namespace weft
