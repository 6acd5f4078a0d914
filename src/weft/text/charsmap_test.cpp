#include "weft/text/charsmap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/utf8.h"
#include "weft/text/normalizer.h"
#include "weft/text/test_charsmap.h"
#include "weft/text/test_vocabularies.h"
#include "weft/text/tokenizer.h"

namespace weft::text {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string message_of(const std::string& bytes) {
  try {
    const Charsmap map(bytes, "file@0x10 key");
  } catch (const Error& error) {
    return error.code() + ": " + error.what();
  }
  return "";
}

// "a" becomes "b": the base of the root is 1, that of the unit for 'a' is 2.
std::vector<std::uint32_t> a_to_b() {
  std::vector<std::uint32_t> units(0x61);
  units[0] = 1u << 10;
  units[1 ^ 'a'] = (0x60u ^ 2u) << 10 | 1u << 8 | 'a';
  units[2] = 0x80000000u;
  return units;
}

TEST(Charsmap, AMapWrittenByHand) {
  const Charsmap map(charsmap_bytes(a_to_b(), std::string("b\0", 2)), "x");
  EXPECT_EQ(map.longest("ab").length, 1u);
  EXPECT_EQ(map.longest("ab").replacement, "b");
  for (const char* text : {"", "b", "A", "\x80"}) EXPECT_EQ(map.longest(text).length, 0u);
}

TEST(Charsmap, OffsetsInUnitsOf256) {
  std::vector<std::uint32_t> units(512 + 0x62);
  units[0] = 2u << 10 | 1u << 9;  // the base is 512
  units[512 ^ 'a'] = 3u << 10 | 1u << 9 | 1u << 8 | 'a';
  const std::size_t base = (512u ^ 'a') ^ 768u;
  units[base] = 0x80000000u;
  const Charsmap map(charsmap_bytes(units, std::string("b\0", 2)), "x");
  EXPECT_EQ(map.longest("aa").replacement, "b");
}

TEST(Charsmap, TheLongestAndTheShortestKey) {
  const Charsmap map(small_charsmap(), "x");
  EXPECT_EQ(map.longest("xyxyxy").replacement, "w");
  EXPECT_EQ(map.longest("xyx").replacement, "z");
  EXPECT_EQ(map.longest("xyx").length, 2u);
  EXPECT_EQ(map.shortest("xyxy").replacement, "z");
  EXPECT_EQ(map.longest("x").length, 0u);
  EXPECT_EQ(map.longest("\x01").length, 1u);
  EXPECT_EQ(map.longest("\x01").replacement, "");
  EXPECT_EQ(Charsmap().longest("x").length, 0u);
  EXPECT_EQ(Charsmap("", "x").shortest("x").length, 0u);
}

TEST(Charsmap, WhatIsDamagedIsSaid) {
  EXPECT_THAT(message_of("abc"), AllOf(HasSubstr("BadCharsmap"), HasSubstr("file@0x10 key"), HasSubstr("3 bytes")));
  EXPECT_THAT(message_of(std::string(4, '\0')), HasSubstr("has 0 bytes"));
  EXPECT_THAT(message_of(charsmap_bytes({0, 0}, "").substr(0, 8)), AllOf(HasSubstr("8 bytes"), HasSubstr("4 that")));
  EXPECT_THAT(message_of(std::string("\3\0\0\0abc", 7)), HasSubstr("multiple of 4"));
  EXPECT_THAT(message_of(charsmap_bytes(a_to_b(), "b")), HasSubstr("NUL"));
  EXPECT_THAT(message_of(charsmap_bytes(a_to_b(), std::string("\xC3\0", 2))), HasSubstr("UTF-8"));
  EXPECT_THAT(message_of(charsmap_bytes(a_to_b(), "")), HasSubstr("below 0"));
  EXPECT_THAT(message_of(charsmap_bytes(a_to_b(), std::string(257, 'b') + '\0')), HasSubstr("longer than 256"));
  EXPECT_EQ(message_of(charsmap_bytes(a_to_b(), std::string(256, 'b') + '\0')), "");
  EXPECT_THAT(message_of(std::string(Charsmap::most_bytes + 1, '\0')), HasSubstr("LimitExceeded"));
  const auto damaged = [](std::size_t at, std::uint32_t unit, std::string replacements = std::string("b\0", 2)) {
    auto units = a_to_b();
    units[at] = unit;
    return message_of(charsmap_bytes(units, replacements));
  };
  EXPECT_THAT(damaged(2, 0), HasSubstr("bit 31"));
  EXPECT_THAT(damaged(2, 0x80000002u), HasSubstr("below 2"));
  EXPECT_THAT(damaged(2, 0x80000001u, std::string("\u00E9\0", 3)), HasSubstr("inside a character"));
  EXPECT_THAT(damaged(0x60, 0x1000u << 10 | 1u << 8 | 'a'), HasSubstr("of 97"));
  EXPECT_THAT(damaged(0x60, (0x60u ^ 1u) << 10 | 'a'), HasSubstr("circle"));  // "aaa..." without an end
}

TEST(Charsmap, LongKeysAreRefused) {
  EXPECT_EQ(message_of(charsmap_of({{std::string(256, 'a'), "b"}})), "");
  EXPECT_THAT(message_of(charsmap_of({{std::string(257, 'a'), "b"}})), HasSubstr("a key is longer than 256 bytes"));
}

// What is left of a map after damage is refused or works: nothing that it makes of a text is malformed.
void use(const std::string& bytes, int& accepted) {
  Vocabulary v = spm_vocabulary({"a", "\u2581"}, true);
  v.type = TokenizerType::unigram;
  v.normalizer = TextNormalizer::sentencepiece;
  v.charsmap = bytes;
  const std::string text = "a\uFB01 e\u0301xyxy\t\x01\uFF21\u212B\r\u3000 \U0001F600";
  try {
    const Charsmap map(bytes, "x");
    ++accepted;
    for (const auto& result :
         {normalize_sentencepiece(text, map, ExtraSpaces::remove, true, {}),
          normalize_sentencepiece(text + '\xE3', map, ExtraSpaces::keep, false, {}), normalize_precompiled(text, map)})
      ASSERT_FALSE(find_invalid_utf8(result));
    const auto tokenizer = Tokenizer::create(v);
    tokenizer->decode(tokenizer->encode(text));
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == "BadCharsmap" || error.code() == "UnencodableSymbol") << error.code();
  }
}

TEST(Charsmap, CutAnywhereOrWithAnyByteChangedItIsRefusedOrWorks) {
  const std::string whole = small_charsmap();
  int cut = 0, changed = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) use(whole.substr(0, size), cut);
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const unsigned flip : {0x01u, 0x80u, 0xFFu}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ flip);
      use(bytes, changed);
    }
  EXPECT_GE(cut, 2);  // none at all is a map, too
  EXPECT_GT(changed, 100);
}

TEST(Charsmap, RandomUnitsAreRefusedOrWork) {
  std::mt19937 random(9);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::uint32_t> units(1 + random() % 300);
    for (std::uint32_t& unit : units)
      unit = random() % 2 != 0 ? static_cast<std::uint32_t>(random())
                               : static_cast<std::uint32_t>((random() % 512) << 10 | random() % 512);
    use(charsmap_bytes(units, std::string("b\0 \0\0", 5)), accepted);
  }
  EXPECT_GT(accepted, 0);
}

std::string normalized(std::string_view text, ExtraSpaces spaces = ExtraSpaces::remove, bool prefix = true,
                       const std::vector<std::string>& user_defined = {}) {
  std::vector<SpecialMatcher::Entry> entries;
  for (const std::string& token : user_defined) entries.push_back({token, 0});
  return normalize_sentencepiece(text, Charsmap(small_charsmap(), "x"), spaces, prefix, SpecialMatcher(entries));
}

TEST(SentencePieceNormalizer, ReplacesTheLongestKeyAndKeepsOtherCharacters) {
  EXPECT_EQ(normalized("\uFB01xyxyxyx e\u0301 e \u4E16\U0001F600"), " fiwzx \u00E9 e \u4E16\U0001F600");
  EXPECT_EQ(normalized(""), "");
}

TEST(SentencePieceNormalizer, Spaces) {
  EXPECT_EQ(normalized(" \t a\u3000 \tb  "), " a b");
  EXPECT_EQ(normalized(" \t \u3000"), "");
  EXPECT_EQ(normalized("\x01 a \x01 b \x01"), " a b");
  EXPECT_EQ(normalized("a\u2581 b\u2581"), " a  b");  // only plain spaces are merged
  EXPECT_EQ(normalized(" a  b ", ExtraSpaces::remove, false), "a b");
  EXPECT_EQ(normalized(" a \tb ", ExtraSpaces::keep, true), "  a  b ");
  EXPECT_EQ(normalized(" ", ExtraSpaces::keep, false), " ");
}

TEST(SentencePieceNormalizer, UserDefinedTokensStayAsTheyAre) {
  EXPECT_EQ(normalized("a <\uFF21>  \uFF21 xy", ExtraSpaces::remove, true, {"<\uFF21>", "xy"}), " a <\uFF21> A xy");
  EXPECT_EQ(normalized("xyxyxy", ExtraSpaces::remove, true, {"yx"}), " wz");  // a key that began before it wins
}

TEST(SentencePieceNormalizer, EachMalformedByteIsOneReplacementCharacter) {
  EXPECT_EQ(normalized("a\xFF\uFB01\xE4\xB8z\xC3"), " a\uFFFDfi\uFFFD\uFFFDz\uFFFD");
  EXPECT_EQ(normalized("\xED\xA0\x80\xC0\xAF"), " \uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(normalize_sentencepiece("\xE4\xB8\x96", Charsmap(charsmap_of({{"\xE4", "x"}}), "x"), ExtraSpaces::keep,
                                    false, {}),
            "x\uFFFD\uFFFD");
}

TEST(SentencePieceNormalizer, ALongTextTakesLinearTime) {
  const std::string text(1'000'000, '\xFF');
  EXPECT_EQ(normalized(text).size(), 3 * text.size() + 1);
  EXPECT_EQ(normalized(std::string(1'000'000, ' ')), "");
}

TEST(PrecompiledNormalizer, GraphemeClustersFirst) {
  const Charsmap map(small_charsmap(), "x");
  EXPECT_EQ(normalize_precompiled("\uFB01 xy\t\x01", map), "fi xy ");  // a key of two clusters is never found
  EXPECT_EQ(normalize_precompiled("e\u0301", map), "\u00E9");
  // The mark behind a replaced letter is lost with the cluster of 5 bytes; one of 6 is taken letter by letter.
  EXPECT_EQ(normalize_precompiled("\uFF21\u0301", map), "A");
  EXPECT_EQ(normalize_precompiled("\uFF21\u0301\u0301", map), "A\u0301\u0301");
  EXPECT_EQ(normalize_precompiled("e\u0301\u0308\u0323", map), "e\u0301\u0308\u0323");
  EXPECT_EQ(normalize_precompiled("\r\n", map), " ");  // one cluster
  EXPECT_EQ(normalize_precompiled("", map), "");
}

TEST(ReduceSpaces, MergesAndStrips) {
  EXPECT_EQ(reduce_spaces("  a  b\t ", ExtraSpaces::merge), " a b\t ");
  EXPECT_EQ(reduce_spaces("  a  b\t\u3000 ", ExtraSpaces::merge_and_strip), " a b");
  EXPECT_EQ(reduce_spaces("a\x1C", ExtraSpaces::merge_and_strip), "a\x1C");
  EXPECT_EQ(reduce_spaces(" \n ", ExtraSpaces::merge_and_strip), "");
  EXPECT_EQ(reduce_spaces("a\u00A0 b\nc ", ExtraSpaces::words), " a b c");
  EXPECT_EQ(reduce_spaces(" ", ExtraSpaces::words), "");
}

}  // namespace
}  // namespace weft::text
