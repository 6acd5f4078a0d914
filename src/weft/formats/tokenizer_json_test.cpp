#include "weft/formats/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/formats/base64.h"
#include "weft/text/test_charsmap.h"
#include "weft/text/test_vocabularies.h"
#include "weft/text/tokenizer.h"

namespace weft {
namespace {

using testing::ElementsAre;

std::vector<std::string> pieces_of(const Vocabulary& vocabulary, std::string_view text,
                                   const EncodeOptions& options = {}) {
  const auto tokenizer = Tokenizer::create(vocabulary);
  std::vector<std::string> pieces;
  for (const std::int32_t id : tokenizer->encode(text, options)) pieces.emplace_back(tokenizer->token_text(id));
  return pieces;
}

Vocabulary read(const std::string& json) { return read_tokenizer_json(json, "tokenizer.json"); }
std::string code_of(const std::string& json) {
  return text::error_code([&] { read(json); });
}

const std::string byte_level = R"({
  "added_tokens": [{"id": 4, "content": "<|end|>", "special": true}, {"id": 5, "content": "<tool>", "special": false}],
  "normalizer": {"type": "NFC"},
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
  "post_processor": {"type": "ByteLevel"},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120ab": 3, "\u0120": 6}, "merges": ["a b", ["\u0120", "ab"]]}
})";

TEST(TokenizerJson, ByteLevelBpe) {
  const Vocabulary v = read(byte_level);
  EXPECT_EQ(v.type, TokenizerType::byte_level_bpe);
  EXPECT_EQ(v.pre, "gpt2");
  EXPECT_EQ(v.normalizer, TextNormalizer::nfc);
  EXPECT_FALSE(v.add_bos || v.add_eos || v.add_space_prefix);
  EXPECT_THAT(pieces_of(v, "ab ab<tool>ba"), ElementsAre("ab", "Ġab", "<tool>", "b", "a"));
  EXPECT_THAT(pieces_of(v, "a<|end|>", {.parse_special = true}), ElementsAre("a", "<|end|>"));
}

TEST(TokenizerJson, PatternsAreToldByTheirText) {
  const auto with = [](const std::string& regex, bool ignore_merges) {
    return R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": ")" +
           regex +
           R"("}, "behavior": "Isolated", "invert": false}, {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
           "model": {"type": "BPE", "ignore_merges": )" +
           (ignore_merges ? "true" : "false") + R"(, "vocab": {"a": 0}, "merges": []}})";
  };
  const std::string llama =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)";
  EXPECT_EQ(read(with(llama, true)).pre, "llama3");
  EXPECT_EQ(code_of(with(llama, false)), "UnsupportedPreTokenizer");
  EXPECT_EQ(code_of(with("x", false)), "UnsupportedPreTokenizer");
}

TEST(TokenizerJson, SentencePieceBpe) {
  const Vocabulary v = read(R"({
    "added_tokens": [{"id": 0, "content": "<unk>", "special": true}, {"id": 1, "content": "<s>", "special": true}],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
                   {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
    "pre_tokenizer": null,
    "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                       {"Sequence": {"id": "A", "type_id": 0}}]},
    "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "merges": ["▁ a"],
              "vocab": {"<unk>": 0, "<s>": 1, "<0xC3>": 2, "<0xA9>": 3, "▁": 4, "a": 5, "▁a": 6}}})");
  EXPECT_EQ(v.type, TokenizerType::spm_bpe);
  EXPECT_TRUE(v.add_space_prefix && v.add_bos && v.byte_fallback);
  EXPECT_THAT(pieces_of(v, "a aé"), ElementsAre("<s>", "▁a", "▁a", "<0xC3>", "<0xA9>"));
}

TEST(TokenizerJson, Unigram) {
  const Vocabulary v = read(R"({
    "added_tokens": [{"id": 1, "content": "</s>", "special": true}],
    "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "</s>"}}]},
    "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["</s>", 0], ["▁", -2], ["▁the", -1.5], ["s", -3]]}})");
  EXPECT_EQ(v.type, TokenizerType::unigram);
  EXPECT_TRUE(v.has_scores && v.add_eos && v.add_space_prefix && !v.add_bos);
  EXPECT_THAT(pieces_of(v, "thes the?"), ElementsAre("▁the", "s", "▁the", "<unk>", "</s>"));
}

std::string with_steps(const std::string& normalizers, const std::string& pre_tokenizers) {
  return R"({"normalizer": {"type": "Sequence", "normalizers": [)" + normalizers +
         R"(]}, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" + pre_tokenizers + R"(]},
         "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁", -2], ["▁a", -1.5], ["fi", -3], ["é", -3]]}})";
}
std::string precompiled(const std::string& charsmap = text::small_charsmap()) {
  return R"({"type": "Precompiled", "precompiled_charsmap": ")" + base64_encode(charsmap) + R"("})";
}
const std::string strip = R"({"type": "Strip", "strip_left": false, "strip_right": true})";
const std::string merge = R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"})";
const std::string metaspace = R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true})";
const std::string words = R"({"type": "WhitespaceSplit"})";

TEST(TokenizerJson, PrecompiledCharacterMaps) {
  const Vocabulary v = read(with_steps(precompiled(), metaspace));
  EXPECT_EQ(v.normalizer, TextNormalizer::precompiled);
  EXPECT_EQ(v.charsmap, text::small_charsmap());
  EXPECT_THAT(pieces_of(v, "a\uFB01e\u0301 \t a"), ElementsAre("▁a", "fi", "é", "▁", "▁", "▁a"));
  EXPECT_THAT(pieces_of(v, " a "), ElementsAre("▁a", "▁"));
  const Vocabulary merging = read(with_steps(precompiled() + ", " + merge, metaspace));
  EXPECT_EQ(merging.extra_spaces, ExtraSpaces::merge);
  EXPECT_THAT(pieces_of(merging, "  a \t a "), ElementsAre("▁a", "▁a", "▁"));
  const Vocabulary stripping = read(with_steps(precompiled() + ", " + strip + ", " + merge, metaspace));
  EXPECT_EQ(stripping.extra_spaces, ExtraSpaces::merge_and_strip);
  EXPECT_THAT(pieces_of(stripping, "  a \t a \t"), ElementsAre("▁a", "▁a"));
  const Vocabulary split = read(with_steps(precompiled(), words + ", " + metaspace));
  EXPECT_EQ(split.extra_spaces, ExtraSpaces::words);
  EXPECT_THAT(pieces_of(split, " a\n\n a"), ElementsAre("▁a", "▁a"));
  EXPECT_TRUE(pieces_of(split, " \n").empty());
}

TEST(TokenizerJson, WhatIsNotDoneExactlyIsRefused) {
  EXPECT_EQ(code_of(with_steps(precompiled("abc"), metaspace)), "BadCharsmap");
  EXPECT_EQ(code_of(with_steps(R"({"type": "Precompiled", "precompiled_charsmap": "?"})", metaspace)), "Bad64Length");
  EXPECT_EQ(code_of(with_steps(R"({"type": "Precompiled", "precompiled_charsmap": 1})", metaspace)), "InvalidField");
  for (const std::string& steps :
       {merge + ", " + precompiled(), precompiled() + R"(, {"type": "NFKC"})", strip, precompiled() + ", " + strip,
        merge + ", " + strip, std::string(R"({"type": "Strip"}, )") + merge,
        std::string(R"({"type": "Replace", "pattern": {"Regex": " {3,}"}, "content": " "})")})
    EXPECT_EQ(code_of(with_steps(steps, metaspace)), "UnsupportedNormalizer") << steps;
  EXPECT_EQ(code_of(with_steps(precompiled(), words)), "UnsupportedPreTokenizer");
  EXPECT_EQ(code_of(with_steps(precompiled(), metaspace + ", " + words)), "UnsupportedPreTokenizer");
  try {
    read(with_steps(precompiled("abc"), metaspace));
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("tokenizer.json normalizer.precompiled_charsmap"));
  }
}

TEST(TokenizerJson, WordPiece) {
  const Vocabulary v = read(R"({
    "added_tokens": [{"id": 0, "content": "[UNK]", "special": true}, {"id": 1, "content": "[CLS]", "special": true},
                     {"id": 2, "content": "[SEP]", "special": true}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
                   "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "play": 3, "##ing": 4}}})");
  EXPECT_EQ(v.type, TokenizerType::wordpiece);
  EXPECT_THAT(pieces_of(v, "Playing x"), ElementsAre("[CLS]", "play", "##ing", "[UNK]", "[SEP]"));
}

TEST(TokenizerJson, WhatIsWrongIsSaid) {
  EXPECT_EQ(code_of(""), "BadJson");
  EXPECT_EQ(code_of("[]"), "MissingField");
  EXPECT_EQ(code_of("{}"), "MissingField");
  EXPECT_EQ(code_of(R"({"model": {"type": "WordLevel", "vocab": {}}})"), "UnsupportedTokenizer");
  EXPECT_EQ(code_of(R"({"model": {"vocab": {"a": -1}, "merges": []}})"), "InvalidField");
  EXPECT_EQ(code_of(R"({"model": {"vocab": {"a": 1.5}, "merges": []}})"), "InvalidField");
  EXPECT_EQ(code_of(R"({"model": {"vocab": {"a": 1, "b": 1}, "merges": []}})"), "BadVocab");
  EXPECT_EQ(code_of(R"({"model": {"vocab": {"a": 1}, "merges": ["a"]}})"), "InvalidField");
  EXPECT_EQ(code_of(R"({"model": {"vocab": {"a": 1}, "merges": [], "unk_token": "u"}})"), "BadVocab");
  EXPECT_EQ(code_of(R"({"normalizer": {"type": "Lowercase"}, "model": {"vocab": {"a": 1}, "merges": []}})"),
            "UnsupportedNormalizer");
  EXPECT_EQ(code_of(R"({"pre_tokenizer": {"type": "Digits"}, "model": {"vocab": {"a": 1}, "merges": []}})"),
            "UnsupportedPreTokenizer");
  EXPECT_EQ(code_of(R"({"model": {"type": "Unigram", "vocab": [["a", "b"]]}})"), "InvalidField");
  EXPECT_EQ(code_of(R"({"model": {"type": "Unigram", "unk_id": 7, "vocab": [["a", 1]]}})"), "InvalidField");
  // Cut anywhere: an error, never a crash.
  for (std::size_t size = 0; size < byte_level.size(); ++size) EXPECT_NE(code_of(byte_level.substr(0, size)), "");
}

TEST(TokenizerJson, DamagedFilesAreRefusedOrRead) {
  std::mt19937 random(5);
  int read_well = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string json = byte_level;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % json.size();
      switch (random() % 3) {
        case 0: json[at] = "0123456789{}[],:\"aeu-."[random() % 23]; break;
        case 1: json.erase(at, 1 + random() % 6); break;
        default: json.insert(at, json.substr(random() % json.size(), 1 + random() % 12));
      }
    }
    try {
      pieces_of(read(json), "ab ab<tool>b");
      ++read_well;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), "");
    }
  }
  EXPECT_GT(read_well, 10);
}

}  // namespace
}  // namespace weft
