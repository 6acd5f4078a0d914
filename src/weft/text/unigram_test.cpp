#include "weft/text/unigram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "weft/text/test_vocabularies.h"
#include "weft/text/tokenizer.h"

namespace weft::text {
namespace {

using testing::ElementsAre;

Vocabulary unigram_vocabulary(const std::vector<std::pair<std::string, float>>& pieces, bool bytes = false) {
  Vocabulary vocabulary = spm_vocabulary({}, bytes);
  vocabulary.type = TokenizerType::unigram;
  vocabulary.add_bos = false;
  vocabulary.add_space_prefix = false;
  for (const auto& [text, score] : pieces)
    vocabulary.entries.push_back({static_cast<std::int32_t>(vocabulary.entries.size()), text, score});
  return vocabulary;
}

std::vector<std::string> pieces_of(const Vocabulary& vocabulary, std::string_view text) {
  const auto tokenizer = Tokenizer::create(vocabulary);
  std::vector<std::string> pieces;
  for (const std::int32_t id : tokenizer->encode(text)) pieces.emplace_back(tokenizer->token_text(id));
  return pieces;
}

TEST(Unigram, TheHighestSumWins) {
  const Vocabulary v = unigram_vocabulary({{"a", -1}, {"b", -1}, {"c", -1}, {"ab", -1.5}, {"bc", -1.2}});
  EXPECT_THAT(pieces_of(v, "abc"), ElementsAre("a", "bc"));
  EXPECT_THAT(pieces_of(v, "abcab"), ElementsAre("a", "bc", "ab"));
  EXPECT_TRUE(pieces_of(v, "").empty());
}

TEST(Unigram, OfEqualSumsTheLongerLastPiece) {
  const Vocabulary v = unigram_vocabulary({{"a", -1}, {"ab", -1}, {"b", -1}, {"bc", -1}, {"c", -1}});
  EXPECT_THAT(pieces_of(v, "abc"), ElementsAre("a", "bc"));
}

TEST(Unigram, UnknownCharactersAreOneTokenOrBytes) {
  const std::vector<std::pair<std::string, float>> pieces{{"a", -1}, {"\u2581", -2}};
  EXPECT_THAT(pieces_of(unigram_vocabulary(pieces), "aéßa ?"), ElementsAre("a", "<unk>", "a", "\u2581", "<unk>"));
  EXPECT_THAT(pieces_of(unigram_vocabulary(pieces, true), "aé"), ElementsAre("a", "<0xC3>", "<0xA9>"));
}

TEST(Unigram, SpacesAreVisible) {
  Vocabulary v = unigram_vocabulary({{"\u2581", -3}, {"\u2581the", -1}, {"\u2581cat", -1}, {"the", -1}, {"s", -1}});
  v.add_space_prefix = true;
  EXPECT_THAT(pieces_of(v, "the cats"), ElementsAre("\u2581the", "\u2581cat", "s"));
  const auto tokenizer = Tokenizer::create(v);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("the cats")), "the cats");
}

TEST(Unigram, EqualsTheBestOfAllCuts) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<std::string, float>> pieces{{"x", -3}, {"y", -3}};
    for (int i = 0; i < 6; ++i) {
      std::string text;
      for (unsigned n = 1 + random() % 3; n > 0; --n) text += "xyz"[random() % 3];
      const bool known = std::any_of(pieces.begin(), pieces.end(), [&](const auto& p) { return p.first == text; });
      if (!known) pieces.emplace_back(text, -static_cast<float>(random() % 32) / 8);
    }
    std::string text;
    for (int i = 0; i < 9; ++i) text += "xyz"[random() % 3];
    float lowest = 0;
    for (const auto& [piece, score] : pieces) lowest = std::min(lowest, score);
    const auto score_of = [&](const std::string& piece) {
      for (const auto& [known, score] : pieces)
        if (known == piece) return static_cast<double>(score);
      return piece.size() == 1 ? lowest - 10.0 : -1e9;
    };
    double best = -1e9;
    for (unsigned cuts = 0; cuts < 256; ++cuts) {
      double sum = 0;
      std::string piece;
      for (unsigned i = 0; i < 9; ++i) {
        piece += text[i];
        if (i == 8 || (cuts >> i & 1) != 0) sum += score_of(std::exchange(piece, {}));
      }
      best = std::max(best, sum);
    }
    const Vocabulary vocabulary = unigram_vocabulary(pieces);
    const TokenTable tokens(vocabulary);
    double sum = 0;
    std::string joined;
    Unigram(tokens).cut(text, [&](std::string_view piece, std::int32_t) {
      sum += score_of(std::string(piece));
      joined += piece;
    });
    EXPECT_EQ(joined, text);
    EXPECT_EQ(sum, best) << text;
  }
}

TEST(Unigram, WhatCannotBeOneIsRefused) {
  Vocabulary v = unigram_vocabulary({{"a", -1}});
  v.has_scores = false;
  for (VocabularyEntry& entry : v.entries) entry.score = 0;
  EXPECT_EQ(error_code([&] { Tokenizer::create(v); }), "BadVocab");
  EXPECT_EQ(error_code([&] {
              Tokenizer::create(unigram_vocabulary({{std::string(2000, 'a'), -1}}));
            }),
            "LimitExceeded");
}

}  // namespace
}  // namespace weft::text
