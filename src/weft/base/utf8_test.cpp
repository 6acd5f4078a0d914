#include "weft/base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

TEST(Utf8, AcceptsTheFirstAndLastCharacterOfEachLength) {
  const std::string all =
      std::string("\0\x7F", 2) +
      "\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF";
  EXPECT_EQ(find_invalid_utf8(all), std::nullopt);
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
}

TEST(Utf8, FindsTheOffsetOfWhatIsNotACharacter) {
  const std::vector<std::string> bad = {
      "\x80",
      "\xBF",  // a continuation without its lead
      "\xC0\x80",
      "\xC1\xBF",  // overlong, two bytes
      "\xE0\x80\x80",
      "\xE0\x9F\xBF",  // overlong, three bytes
      "\xF0\x80\x80\x80",
      "\xF0\x8F\xBF\xBF",  // overlong, four bytes
      "\xED\xA0\x80",
      "\xED\xBF\xBF",  // surrogates
      "\xF4\x90\x80\x80",
      "\xF5\x80\x80\x80",  // beyond U+10FFFF
      "\xFE",
      "\xFF",  // never used
      "\xC3",
      "\xE2\x82",
      "\xF0\x9F\xA6",  // cut short at the end of the text
      "\xC3(",
      "\xE2\x82(",
      "\xF0\x9F\xA6(",
      "\xE2("  // cut short by another character
  };
  for (const std::string& bytes : bad) {
    EXPECT_EQ(find_invalid_utf8(bytes), 0u) << testing::PrintToString(bytes);
    EXPECT_EQ(find_invalid_utf8("a\xC3\xA9" + bytes), 3u) << testing::PrintToString(bytes);
    EXPECT_EQ(find_invalid_utf8("a\xC3\xA9" + bytes + "b"), 3u) << testing::PrintToString(bytes);
  }
}

TEST(Utf8, APrefixNeverEndsInsideACharacter) {
  const std::string before = "x\xC3\xA9";
  for (const std::string character : {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\xA6\x99"}) {
    for (std::size_t n = 0; n <= character.size(); ++n) {
      const std::size_t expected = n == character.size() ? before.size() + n : before.size();
      EXPECT_EQ(complete_utf8_prefix(before + character.substr(0, n)), expected);
    }
  }
}

TEST(Utf8, ATailThatCannotBecomeACharacterIsComplete) {
  for (const std::string tail : {"\x80", "\xFF", "\xE0\x80", "\xED\xA0", "\xF4\x90", "\xC3(", "\xE2\x82("}) {
    EXPECT_EQ(complete_utf8_prefix("a" + tail), 1 + tail.size()) << testing::PrintToString(tail);
  }
}

}  // namespace
}  // namespace weft
