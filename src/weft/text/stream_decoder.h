// Token ids to text, one at a time. What is handed out is always well-formed UTF-8 and never taken back: bytes that
// may still become a character are held until they do. One decoder per stream, used by one thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/export.h"
#include "weft/text/tokenizer.h"

namespace weft {

class WEFT_API StreamDecoder {
 public:
  // The tokenizer must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer, const DecodeOptions& options = {});

  // The text that is complete with this token. UnknownId for an id without a token; the decoder is then unchanged.
  std::string push(std::int32_t id);
  // What was held back, as U+FFFD. Afterwards the decoder is as new.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  std::string pending_;      // the bytes of an unfinished character
  bool drop_space_ = false;  // the next character, if it is a space, is the one that encoding put first
};

}  // namespace weft
