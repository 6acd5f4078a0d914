#include "weft/text/word_piece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/text/test_vocabularies.h"
#include "weft/text/tokenizer.h"

namespace weft::text {
namespace {

using testing::ElementsAre;

// [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, then the pieces.
Vocabulary word_piece_vocabulary(const std::vector<std::string>& pieces, std::string continuation = "##") {
  Vocabulary vocabulary;
  vocabulary.type = TokenizerType::wordpiece;
  vocabulary.pre = "none";
  vocabulary.bos = 2;
  vocabulary.eos = {3};
  vocabulary.unk = 1;
  vocabulary.add_bos = vocabulary.add_eos = true;
  vocabulary.lower_case = true;
  vocabulary.continuation_prefix = std::move(continuation);
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"})
    vocabulary.entries.push_back({static_cast<std::int32_t>(vocabulary.entries.size()), name, 0, TokenKind::control});
  for (const std::string& piece : pieces)
    vocabulary.entries.push_back({static_cast<std::int32_t>(vocabulary.entries.size()), piece});
  return vocabulary;
}

const EncodeOptions bare{.parse_special = false, .add_bos = false, .add_eos = false};

std::vector<std::string> pieces_of(const Vocabulary& vocabulary, std::string_view text,
                                   const EncodeOptions& options = bare) {
  const auto tokenizer = Tokenizer::create(vocabulary);
  std::vector<std::string> pieces;
  for (const std::int32_t id : tokenizer->encode(text, options)) pieces.emplace_back(tokenizer->token_text(id));
  return pieces;
}

const std::vector<std::string> english{"un", "##aff", "##able", "want", "##want", "##ed", "runn", "##ing", ",", "the"};

TEST(WordPiece, TheLongestPiecesFromTheLeft) {
  const Vocabulary v = word_piece_vocabulary(english);
  EXPECT_THAT(pieces_of(v, "UNwanted,running"), ElementsAre("un", "##want", "##ed", ",", "runn", "##ing"));
  EXPECT_THAT(pieces_of(v, "unaffable  \t\n the"), ElementsAre("un", "##aff", "##able", "the"));
}

TEST(WordPiece, AWordWithoutPiecesIsUnknownAsAWhole) {
  const Vocabulary v = word_piece_vocabulary(english);
  EXPECT_THAT(pieces_of(v, "unwantedX the"), ElementsAre("[UNK]", "the"));
  EXPECT_THAT(pieces_of(v, std::string(101, 'a')), ElementsAre("[UNK]"));
  Vocabulary without = v;
  without.unk = std::nullopt;
  EXPECT_EQ(error_code([&] { pieces_of(without, "qqq"); }), "UnencodableSymbol");
}

TEST(WordPiece, AccentsCapitalsAndIdeographs) {
  Vocabulary v = word_piece_vocabulary({"apfel", "我", "是", "a", "##b"});
  EXPECT_THAT(pieces_of(v, "ÄPFEL a我是ab"), ElementsAre("apfel", "a", "我", "是", "a", "##b"));
  v.lower_case = false;
  EXPECT_THAT(pieces_of(v, "Äpfel"), ElementsAre("[UNK]"));
}

TEST(WordPiece, ControlCharactersGoAndSpacesSeparate) {
  const Vocabulary v = word_piece_vocabulary({"a", "b", "##b"});
  EXPECT_THAT(pieces_of(v, std::string("a\0b a\u200bb a\u00a0b", 14)), ElementsAre("a", "##b", "a", "##b", "a", "b"));
}

TEST(WordPiece, SpecialTokensStandAround) {
  const Vocabulary v = word_piece_vocabulary(english);
  EXPECT_THAT(pieces_of(v, "the", {}), ElementsAre("[CLS]", "the", "[SEP]"));
  EXPECT_THAT(pieces_of(v, "[SEP]the", {.parse_special = true, .add_bos = false, .add_eos = false}),
              ElementsAre("[SEP]", "the"));
}

TEST(WordPiece, BothSpellingsOfTheMark) {
  const Vocabulary v = word_piece_vocabulary({"\u2581un", "want", "\u2581want", "ed"}, "");
  EXPECT_THAT(pieces_of(v, "unwanted wanted"), ElementsAre("\u2581un", "want", "ed", "\u2581want", "ed"));
  const auto tokenizer = Tokenizer::create(v);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("unwanted wanted")), "unwanted wanted");
}

TEST(WordPiece, UncasedShowsInTheVocabulary) {
  EXPECT_TRUE(is_uncased(word_piece_vocabulary({"the", "##ing"})));
  EXPECT_FALSE(is_uncased(word_piece_vocabulary({"The", "##ing"})));
}

}  // namespace
}  // namespace weft::text
