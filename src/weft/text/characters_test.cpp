#include "weft/text/characters.h"

#include <gtest/gtest.h>

#include "weft/base/utf8.h"

namespace weft::text {
namespace {

TEST(Characters, TheAlphabetIsABijectionWithTheBytes) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string written = to_alphabet(all);
  EXPECT_EQ(find_invalid_utf8(written), std::nullopt);
  EXPECT_EQ(from_alphabet(written), all);
  EXPECT_EQ(to_alphabet(" \n\xAD"), "\xC4\xA0\xC4\x8A\xC5\x83");  // U+0120, U+010A, U+0143
  EXPECT_EQ(to_alphabet("~!\xA1"), "~!\xC2\xA1");
}

TEST(Characters, TextOutsideTheAlphabetHasNoBytes) {
  EXPECT_EQ(from_alphabet(""), "");
  for (const std::string text : {" ", "a b", "\n", "\xC2\xAD", "\xC5\x84", "\xE2\x96\x81", "\xC4", "\xC4x", "\xFF"})
    EXPECT_EQ(from_alphabet(text), std::nullopt) << text;
}

TEST(Characters, RepairReplacesMaximalSubparts) {
  const auto repaired = [](std::string_view bytes) {
    std::string out;
    append_repaired(out, bytes);
    return out;
  };
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(repaired("caf\xC3\xA9"), "caf\xC3\xA9");
  // The example of Unicode's table 3-8.
  EXPECT_EQ(repaired("a\xF1\x80\x80\xE1\x80\xC2"
                     "b\x80"
                     "c\x80\xBF"
                     "d"),
            "a" + mark + mark + mark + "b" + mark + "c" + mark + mark + "d");
  EXPECT_EQ(repaired("\xED\xA0\x80"), mark + mark + mark);
  EXPECT_EQ(repaired("\xE2\x82"), mark);
}

TEST(Characters, ByteTokens) {
  EXPECT_EQ(byte_of_token("<0x00>"), 0);
  EXPECT_EQ(byte_of_token("<0xFf>"), 255);
  for (const char* text : {"<0xG0>", "<0x0>", "<0x000>", "0x00", "", "<0x00 ", "[0x00]"})
    EXPECT_EQ(byte_of_token(text), std::nullopt) << text;
}

TEST(Characters, ReplaceAll) {
  EXPECT_EQ(replace_all("a b  c ", " ", "__"), "a__b____c__");
  EXPECT_EQ(replace_all("", " ", "_"), "");
}

}  // namespace
}  // namespace weft::text
