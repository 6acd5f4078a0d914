#include "weft/formats/vocabulary_defaults.h"

#include <algorithm>
#include <array>

namespace weft {

bool has_token(const Vocabulary& vocabulary, std::string_view text) {
  return std::any_of(vocabulary.entries.begin(), vocabulary.entries.end(),
                     [&](const VocabularyEntry& entry) { return entry.text == text; });
}

bool adds_bos_by_default(const Vocabulary& vocabulary) {
  return is_sentencepiece(vocabulary.type) || vocabulary.type == TokenizerType::wordpiece ||
         vocabulary.pre == "llama3" || has_token(vocabulary, "<bos>");
}

bool adds_eos_by_default(const Vocabulary& vocabulary) { return vocabulary.type == TokenizerType::wordpiece; }

std::string continuation_prefix_by_default(const Vocabulary& vocabulary) {
  const bool marked =
      std::any_of(vocabulary.entries.begin(), vocabulary.entries.end(),
                  [](const VocabularyEntry& entry) { return entry.text.size() > 2 && entry.text.starts_with("##"); });
  return marked ? "##" : "";
}

void add_eos(Vocabulary& vocabulary, std::int32_t id) {
  if (std::find(vocabulary.eos.begin(), vocabulary.eos.end(), id) == vocabulary.eos.end()) vocabulary.eos.push_back(id);
}

void add_turn_ends(Vocabulary& vocabulary) {
  constexpr std::array<std::string_view, 4> turn_ends{"<|im_end|>", "<end_of_turn>", "<turn|>", "<|eot_id|>"};
  for (const VocabularyEntry& entry : vocabulary.entries)
    if (entry.kind == TokenKind::control &&
        std::find(turn_ends.begin(), turn_ends.end(), entry.text) != turn_ends.end())
      add_eos(vocabulary, entry.id);
}

}  // namespace weft
