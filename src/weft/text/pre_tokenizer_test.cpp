#include "weft/text/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/text/test_vocabularies.h"

namespace weft::text {
namespace {

using testing::ElementsAre;

std::vector<std::string> pieces(std::string_view name, std::string_view text) {
  std::vector<std::string> out;
  PreTokenizer(name).split(text, [&](std::string_view piece) { out.emplace_back(piece); });
  return out;
}

TEST(PreTokenizer, Gpt2) {
  EXPECT_THAT(pieces("gpt2", "I'll pay 1234 euros!!  \n\nNow"),
              ElementsAre("I", "'ll", " pay", " 1234", " euros", "!!", "  \n", "\n", "Now"));
  EXPECT_THAT(pieces("gpt2", "I'LL"), ElementsAre("I", "'", "LL"));
}

TEST(PreTokenizer, Llama3) {
  EXPECT_THAT(pieces("llama3", "I'LL pay 1234 euros!!\n\n  Now"),
              ElementsAre("I", "'LL", " pay", " ", "123", "4", " euros", "!!\n\n", " ", " Now"));
}

TEST(PreTokenizer, Qwen2) {
  EXPECT_THAT(pieces("qwen2", "x = 42;  \n \ty"), ElementsAre("x", " =", " ", "4", "2", ";", "  \n", " ", "\ty"));
}

// e with a combining acute, between letters and alone: a mark is a letter's part only for qwen35.
TEST(PreTokenizer, CombiningMarksTellQwen2FromQwen35) {
  EXPECT_THAT(pieces("qwen2", "re\xCC\x81sume\xCC\x81"), ElementsAre("re", "\xCC\x81sume", "\xCC\x81"));
  EXPECT_THAT(pieces("qwen35", "re\xCC\x81sume\xCC\x81"), ElementsAre("re\xCC\x81sume\xCC\x81"));
  EXPECT_THAT(pieces("qwen2", "!\xCC\x81"), ElementsAre("!\xCC\x81"));
  EXPECT_THAT(pieces("qwen35", "!!\xCC\x81"), ElementsAre("!!", "\xCC\x81"));
}

TEST(PreTokenizer, NoneKeepsTheTextWhole) {
  EXPECT_THAT(pieces("none", "a b\n1"), ElementsAre("a b\n1"));
  EXPECT_THAT(pieces("none", ""), ElementsAre());
}

// U+180E is no white space since Unicode 6.3, U+0085 and U+3000 are.
TEST(PreTokenizer, WhiteSpaceIsUnicodes) {
  EXPECT_THAT(pieces("gpt2", "!\xE1\xA0\x8E!"), ElementsAre("!\xE1\xA0\x8E!"));
  EXPECT_THAT(pieces("gpt2", "!\xC2\x85!"), ElementsAre("!", "\xC2\x85", "!"));
  EXPECT_THAT(pieces("gpt2", "!\xE3\x80\x80!"), ElementsAre("!", "\xE3\x80\x80", "!"));
}

TEST(PreTokenizer, PiecesCoverEveryText) {
  std::mt19937 random(11);
  for (const char* name : {"gpt2", "llama3", "qwen2", "qwen35", "none"}) {
    const PreTokenizer tokenizer(name);
    EXPECT_EQ(tokenizer.whole_pieces_first(), std::string_view(name) == "llama3");
    for (int round = 0; round < 100; ++round) {
      const std::string text = random_utf8(random, random() % 200);
      std::string joined;
      tokenizer.split(text, [&](std::string_view piece) {
        EXPECT_FALSE(piece.empty());
        joined += piece;
      });
      EXPECT_EQ(joined, text);
    }
  }
}

TEST(PreTokenizer, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  for (const char* name : {"", "gpt-2", "deepseek"}) {
    try {
      PreTokenizer tokenizer(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "UnsupportedPreTokenizer");
      EXPECT_THAT(error.what(), testing::HasSubstr("gpt2, llama3, qwen2, qwen35, none"));
    }
  }
}

TEST(PreTokenizer, GgufNames) {
  EXPECT_EQ(pre_tokenizer_from_gguf("gpt-2"), "gpt2");
  for (const char* name : {"llama-bpe", "llama3", "llama-v3"}) EXPECT_EQ(pre_tokenizer_from_gguf(name), "llama3");
  EXPECT_EQ(pre_tokenizer_from_gguf("qwen2"), "qwen2");
  EXPECT_EQ(pre_tokenizer_from_gguf("qwen35"), "qwen35");
  for (const char* name : {"default", "", "gpt2", "tekken"}) {
    try {
      pre_tokenizer_from_gguf(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "UnsupportedPreTokenizer");
      EXPECT_THAT(error.what(), testing::HasSubstr("gpt-2, llama-bpe, llama3, llama-v3, qwen2, qwen35"));
    }
  }
}

}  // namespace
}  // namespace weft::text
