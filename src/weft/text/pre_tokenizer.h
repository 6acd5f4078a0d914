// The cut of a text into the pieces that byte-level BPE never merges across, by a pattern that belongs to the model.
// Immutable; safe to share between threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/export.h"

namespace weft {

// weft's name for GGUF's tokenizer.ggml.pre. UnsupportedPreTokenizer, naming the known ones, for any other.
WEFT_API std::string pre_tokenizer_from_gguf(std::string_view pre);

// The same for a pattern as Hugging Face's files spell it. `whole_pieces_first`: their ignore_merges.
WEFT_API std::string pre_tokenizer_from_regex(std::string_view regex, bool whole_pieces_first);

namespace text {

class PreTokenizer {
 public:
  // gpt2, llama3, qwen2, qwen35 or none; UnsupportedPreTokenizer for any other name.
  explicit PreTokenizer(std::string_view name);
  ~PreTokenizer();
  PreTokenizer(const PreTokenizer&) = delete;
  PreTokenizer& operator=(const PreTokenizer&) = delete;

  // Whether a piece that is a token becomes that token before any merge.
  bool whole_pieces_first() const;
  // Calls visit with the pieces of `text`, which is well-formed UTF-8, in order; they cover all of it.
  void split(std::string_view text, const std::function<void(std::string_view piece)>& visit) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace text
}  // namespace weft
