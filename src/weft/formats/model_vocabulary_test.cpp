#include "weft/formats/model_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "weft/base/error.h"
#include "weft/formats/config_toml.h"
#include "weft/formats/gguf_vocabulary.h"
#include "weft/formats/toml_document.h"
#include "weft/text/test_charsmap.h"

namespace weft {

// For comparisons in these tests; found by argument-dependent lookup.
static bool operator==(const VocabularyEntry& a, const VocabularyEntry& b) {
  return a.id == b.id && a.text == b.text && a.score == b.score && a.kind == b.kind;
}

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Vocabulary read(std::string_view text, std::string_view config_text = "", std::vector<Warning>* warnings = nullptr) {
  std::vector<Warning> unread;
  std::vector<Warning>& out = warnings != nullptr ? *warnings : unread;
  const ConfigTable config = config_from_toml(parse_toml(config_text, {"m", "config", 1}), "m, section config", out);
  return read_model_vocabulary(text, {"m", "vocab", 1}, config, out);
}

std::string code_of(std::string_view text, std::string_view config = "") {
  try {
    read(text, config);
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

void expect_round_trip(const Vocabulary& v) {
  ConfigTable config("m, section config");
  const std::string text = write_model_vocabulary(v, config);
  std::vector<Warning> warnings;
  const Vocabulary back = read(text, config_to_toml(config), &warnings);
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_EQ(back.type, v.type);
  EXPECT_EQ(back.pre, v.pre);
  EXPECT_EQ(back.normalizer, v.normalizer);
  EXPECT_EQ(back.extra_spaces, v.extra_spaces);
  EXPECT_EQ(back.charsmap, v.charsmap);
  EXPECT_EQ(back.lower_case, v.lower_case);
  EXPECT_EQ(back.continuation_prefix, v.continuation_prefix);
  EXPECT_TRUE(back.entries == v.entries);
  EXPECT_TRUE(back.merges == v.merges);
  EXPECT_EQ(back.has_scores, v.has_scores);
  EXPECT_EQ(back.byte_fallback, v.byte_fallback);
  EXPECT_EQ(back.add_bos, v.add_bos);
  EXPECT_EQ(back.add_eos, v.add_eos);
  EXPECT_EQ(back.add_space_prefix, v.add_space_prefix);
  EXPECT_EQ(back.bos, v.bos);
  EXPECT_EQ(back.unk, v.unk);
  EXPECT_EQ(back.pad, v.pad);
  EXPECT_EQ(back.eos, v.eos);
}

TEST(ModelVocabulary, AnyVocabularyComesBackAsItWas) {
  const std::vector<std::string> pieces{"a",    "▁", "\"", "\\",         "\n",     "]", ",", "~~~weights",
                                        "\x01", "Ġ", "é",  "<|im_end|>", "<0x0A>", "=", "#"};
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 generator(seed);
    const auto below = [&](unsigned n) { return generator() % n; };
    const auto text = [&] {
      std::string out;
      for (unsigned n = below(4); n > 0; --n) out += pieces[below(15)];
      return out;
    };
    Vocabulary v;
    v.type = static_cast<TokenizerType>(below(3));
    v.pre = std::vector<std::string>{"none", "gpt2", "qwen2"}[below(3)];
    v.normalizer = static_cast<TextNormalizer>(below(3));
    v.has_scores = below(2) != 0;
    std::int32_t id = 0;
    for (unsigned n = below(30); n > 0; --n) {
      id += 1 + static_cast<std::int32_t>(below(10) == 0 ? below(100000) : 0);
      const float score = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
      v.entries.push_back(
          {id, text(), v.has_scores && score == score ? score : 0, static_cast<TokenKind>(1 + below(6))});
    }
    for (unsigned n = below(20); n > 0; --n) v.merges.emplace_back(text(), text());
    v.byte_fallback = below(2) != 0;
    v.add_bos = below(2) != 0;
    v.add_eos = below(2) != 0;
    v.add_space_prefix = below(2) != 0;
    for (const VocabularyEntry& entry : v.entries) {
      if (below(5) == 0) v.eos.push_back(entry.id);
      if (below(5) == 0) v.bos = entry.id;
      if (below(5) == 0) v.unk = entry.id;
      if (below(5) == 0) v.pad = entry.id;
    }
    expect_round_trip(v);
  }
}

TEST(ModelVocabulary, PublicVocabulariesComeBackFast) {
  const std::filesystem::path directory = WEFT_SHARED_DIR "/tokenizers";
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << directory << " is not there";
  for (const char* name : {"gpt-2", "llama-bpe", "llama-spm", "qwen35", "bert-bge"})
    expect_round_trip(read_gguf_vocabulary(GgufFile::open(directory / (std::string("ggml-vocab-") + name + ".gguf"))));
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

TEST(ModelVocabulary, ALargeVocabularyIsReadQuicklyAndInLittleMemory) {
  // As large as Qwen's: 152 thousand tokens and as many merges.
  Vocabulary v;
  v.type = TokenizerType::byte_level_bpe;
  v.pre = "qwen2";
  for (std::int32_t id = 0; id < 152000; ++id) v.entries.push_back({id, "Ġtoken" + std::to_string(id)});
  for (int rank = 0; rank < 151000; ++rank) v.merges.emplace_back("Ġt" + std::to_string(rank), "ok");
  ConfigTable config;
  const std::string text = write_model_vocabulary(v, config);
  v = {};
  std::vector<Warning> warnings;
  const std::size_t before = mallinfo2().uordblks;
  const auto read = [&] { return read_model_vocabulary(text, {"m", "vocab", 1}, config, warnings); };
  double start = thread_seconds();
  const Vocabulary back = read();
  double seconds = thread_seconds() - start;
  const std::size_t held = mallinfo2().uordblks - before;
  // A neighbor on the core takes cache as well as time: the best of a few reads counts.
  for (int again = 0; again < 3 && seconds > 0.1; ++again) {
    start = thread_seconds();
    read();
    seconds = std::min(seconds, thread_seconds() - start);
  }
  EXPECT_EQ(back.entries.size(), 152000u);
  EXPECT_EQ(back.merges.size(), 151000u);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LE(seconds, 0.15);
  EXPECT_LE(held, 40u << 20);
#else
  (void)seconds;
  (void)held;
#endif
}

TEST(ModelVocabulary, OtherWritersFilesAreRead) {
  const Vocabulary v = read(
      "type = \"bpe\"\nvocab_size = 5\n[merges]\n1 = [\"b\", \"c\"]\n0 = ['a,b', \"\\u00e9\"]\n[tokens]\n3 = "
      "\"<|end|>\"\n"
      "0 = 'a'\n1 = \"\\\"\"\n2 = \"Ġ\"\n7 = \"<|im_end|>\"\n[scores]\n0 = -1\n2 = 2.5\n",
      "[tokenizer]\neos_token = \"<|end|>\"\npre = \"llama3\"\nbos_id = 3\n");
  EXPECT_EQ(v.type, TokenizerType::byte_level_bpe);
  EXPECT_EQ(v.pre, "llama3");
  EXPECT_THAT(v.merges, ElementsAre(Pair("a,b", "é"), Pair("b", "c")));
  ASSERT_EQ(v.entries.size(), 5u);
  EXPECT_EQ(v.entries[4].id, 7);
  EXPECT_EQ(v.entries[1].text, "\"");
  EXPECT_EQ(v.entries[3].kind, TokenKind::control);  // by its form
  EXPECT_EQ(v.entries[0].score, -1.f);
  EXPECT_TRUE(v.has_scores && v.add_bos);
  EXPECT_THAT(v.eos, ElementsAre(3, 7));
  EXPECT_EQ(v.bos, 3);
}

TEST(ModelVocabulary, AListOfSpecialsWinsOverTheirForm) {
  const Vocabulary v = read("[tokens]\n0 = \"<|a|>\"\n1 = \"b\"\n[special]\nids = [1]\n");
  EXPECT_EQ(v.entries[0].kind, TokenKind::normal);
  EXPECT_EQ(v.entries[1].kind, TokenKind::control);
}

TEST(ModelVocabulary, EveryWayToWriteATableIsRead) {
  const Vocabulary v = read("tokens = { 0 = 'a', 1 = 'b' }\nmerges.0 = ['a', 'b']\nscores.1 = 2\nspecial.ids = [0]\n");
  EXPECT_EQ(v.entries.size(), 2u);
  EXPECT_THAT(v.merges, ElementsAre(Pair("a", "b")));
  EXPECT_EQ(v.entries[1].score, 2.f);
  EXPECT_EQ(v.entries[0].kind, TokenKind::control);
}

TEST(ModelVocabulary, BpeWithSentencePieceSpacesIsSentencePiece) {
  const std::string config = "[tokenizer]\ntype = \"bpe\"\n";
  EXPECT_EQ(read("[tokens]\n0 = \"▁a\"\n", config).type, TokenizerType::spm_bpe);
  EXPECT_EQ(read("[tokens]\n0 = \"▁a\"\n1 = \"xĠ\"\n", config).type, TokenizerType::byte_level_bpe);
}

TEST(ModelVocabulary, UnigramAndWordPieceHaveTheirDefaults) {
  const Vocabulary unigram = read("type = 'unigram'\nbos_id = 0\n[tokens]\n0 = '<s>'\n1 = '▁a'\n[scores]\n1 = -1\n");
  EXPECT_EQ(unigram.type, TokenizerType::unigram);
  EXPECT_TRUE(unigram.add_bos && unigram.add_space_prefix && !unigram.add_eos);
  const std::string bert = "[tokens]\n0 = '[CLS]'\n1 = '[SEP]'\n2 = 'the'\n3 = '##re'\n[special]\nids = [0, 1]\n";
  const Vocabulary wordpiece = read(bert, "[tokenizer]\ntype = 'wordpiece'\nbos_id = 0\neos_id = 1\n");
  EXPECT_EQ(wordpiece.type, TokenizerType::wordpiece);
  EXPECT_TRUE(wordpiece.add_bos && wordpiece.add_eos && wordpiece.lower_case);
  EXPECT_EQ(wordpiece.continuation_prefix, "##");
  EXPECT_FALSE(read(bert, "[tokenizer]\ntype = 'wordpiece'\nlowercase = false\n").lower_case);
}

TEST(ModelVocabulary, TheConfigurationWins) {
  std::vector<Warning> warnings;
  const Vocabulary v = read(
      "type = 'spm_bpe'\neos_id = 1\nbos_id = 0\nvocab_size = 3\n[tokens]\n0 = 'a'\n1 = 'b'\n[tokenizer]\npre = 'x'\n",
      "[tokenizer]\ntype = \"byte_level_bpe\"\nbos_id = 1\n", &warnings);
  EXPECT_EQ(v.type, TokenizerType::byte_level_bpe);
  EXPECT_EQ(v.bos, 1);
  EXPECT_THAT(v.eos, ElementsAre(1));
  EXPECT_EQ(v.pre, "x");
  EXPECT_EQ(warnings.size(), 3u);
  EXPECT_THAT(warnings[0].message, HasSubstr("vocab_size"));
}

TEST(ModelVocabulary, NormalizersOfSentencePieceComeBack) {
  Vocabulary v;
  v.type = TokenizerType::unigram;
  v.pre = "none";
  v.has_scores = true;
  v.entries = {{0, "a", -1}};
  v.charsmap = text::small_charsmap();
  for (const auto& [normalizer, spaces] :
       {std::pair(TextNormalizer::sentencepiece, ExtraSpaces::remove),
        std::pair(TextNormalizer::sentencepiece, ExtraSpaces::keep),
        std::pair(TextNormalizer::precompiled, ExtraSpaces::merge), std::pair(TextNormalizer::none, ExtraSpaces::words),
        std::pair(TextNormalizer::precompiled, ExtraSpaces::merge_and_strip)}) {
    v.normalizer = normalizer;
    v.extra_spaces = spaces;
    expect_round_trip(v);
  }
  v.charsmap.clear();
  expect_round_trip(v);
}

TEST(ModelVocabulary, DamagedCharacterMapsAreRefused) {
  EXPECT_EQ(code_of("precompiled_charsmap = 'AAA='\n[tokens]\n0 = 'a'\n"), "BadCharsmap");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n", "[tokenizer]\nprecompiled_charsmap = 'A'\n"), "Bad64Length");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n", "[tokenizer]\nextra_spaces = 'x'\n"), "BadVocab");
}

TEST(ModelVocabulary, ContradictionsAreRefused) {
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n0 = 'b'\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n00 = 'b'\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\nx = 'a'\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n-1 = 'a'\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n2147483648 = 'a'\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n2147483647 = 'a'\n"), "");
  EXPECT_EQ(code_of("[tokens]\n0 = 1\n"), "Toml");
  EXPECT_EQ(code_of("[tokens]\n[tokens]\n"), "Toml");
  EXPECT_EQ(code_of("[[tokens]]\n"), "Toml");
  EXPECT_EQ(code_of("tokens = 1\n"), "Toml");
  EXPECT_EQ(code_of("[tokens]\n0.1 = 'a'\n"), "Toml");
  EXPECT_EQ(code_of("[merges]\n0 = ['a']\n"), "Toml");
  EXPECT_EQ(code_of("[merges]\n0 = 'a b'\n"), "Toml");
  EXPECT_EQ(code_of("[merges]\n0 = ['a', 'b']\n0 = ['a', 'c']\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n[scores]\n1 = 2\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n[scores]\n0 = nan\n"), "Toml");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n[scores]\n0 = 1\n0 = 2\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n[special]\nids = [1]\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n[special]\nids = [0, 0]\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n[special]\nids = ['a']\n"), "Toml");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n", "[tokenizer]\nbos_token_id = 5\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n", "[tokenizer]\neos_token_ids = [0, 7]\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n", "[tokenizer]\neos_token = 'x'\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n", "[tokenizer]\nnormalizer = 'x'\n"), "BadVocab");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n", "[tokenizer]\ntype = 'morse'\n"), "UnsupportedTokenizer");
  EXPECT_EQ(code_of("[tokens]\n0 = 'a'\n", "[tokenizer]\nadd_bos_token = 1\n"), "InvalidConfig");
}

TEST(ModelVocabulary, WhatNoReaderAcceptsIsNotWritten) {
  ConfigTable config;
  Vocabulary v;
  v.entries = {{1, "a"}, {0, "b"}};
  EXPECT_THROW(write_model_vocabulary(v, config), Error);
  v.entries = {{0, "\xff"}};
  EXPECT_THROW(write_model_vocabulary(v, config), Error);
  v.entries = {{0, "a", 1.5f}};
  EXPECT_THROW(write_model_vocabulary(v, config), Error);
  v.has_scores = true;
  EXPECT_NO_THROW(write_model_vocabulary(v, config));
}

}  // namespace
}  // namespace weft
