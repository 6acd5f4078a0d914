#include "weft/models/vocabulary_check.h"

#include "weft/base/fail.h"
#include "weft/text/tokenizer.h"

namespace weft {

void expect_usable(const Vocabulary& vocabulary, std::int64_t vocab_size, const std::string& where) {
  const auto check = [&](const char* what, std::int32_t id) {
    if (id < 0 || id >= vocab_size)
      fail(ErrorKind::bad_file, "BadVocab", where, "the {} id {} is outside the vocabulary of {}", what, id,
           vocab_size);
  };
  for (const std::int32_t id : vocabulary.eos) check("end-of-text", id);
  if (vocabulary.bos) check("begin-of-text", *vocabulary.bos);
  const auto tokenizer = Tokenizer::create(vocabulary);
  const std::string text = "The quick brown fox: 42, twice.";
  EncodeOptions plain;
  plain.add_bos = plain.add_eos = false;
  const bool changes =
      vocabulary.normalizer == TextNormalizer::sentencepiece || vocabulary.normalizer == TextNormalizer::precompiled;
  std::string back;
  try {
    const auto ids = tokenizer->encode(text, plain);
    back = tokenizer->decode(ids);
    // A character map may take capitals away; then the text that comes back is as good as the one that went in.
    if (changes && tokenizer->encode(back, plain) == ids) return;
  } catch (const Error&) {
    return;  // a vocabulary of another script cannot spell this text
  }
  if (back.find("quick") != std::string::npos && back != text)
    fail(ErrorKind::bad_file, "BadVocab", where, "a text comes back from the vocabulary as \"{}\"", back);
}

}  // namespace weft
