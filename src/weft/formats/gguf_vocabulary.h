// The vocabulary that a GGUF file carries in its tokenizer.ggml.* metadata.
#pragma once

#include "weft/base/export.h"
#include "weft/formats/gguf_file.h"
#include "weft/formats/vocabulary_limits.h"
#include "weft/text/vocabulary.h"

namespace weft {

// Models "llama" (SentencePiece, merged by scores), "gpt2" (byte-level BPE), "bert" (WordPiece; its [CLS] and [SEP]
// are BOS and EOS) and "t5" (SentencePiece Unigram with its normalizer); without tokenizer.ggml.model the result has
// type none and no entries. Settings that the file leaves out get their defaults: BOS for SentencePiece merged by
// scores and for WordPiece, for the Llama 3 pre-tokenizer and where a token "<bos>" exists; EOS for WordPiece and
// Unigram; a space in front only for SentencePiece merged by scores; spaces of "t5" stay as they are. The end-of-turn
// tokens of chat models end a text too, where they are control tokens of this vocabulary.
//
// Errors: UnsupportedTokenizer, UnsupportedPreTokenizer, BadVocab, BadCharsmap, MissingField, InvalidField,
// LimitExceeded.
WEFT_API Vocabulary read_gguf_vocabulary(const GgufFile& file, const VocabularyLimits& limits = {});

}  // namespace weft
