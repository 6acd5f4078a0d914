#include "weft/text/normalizer.h"

#include <gtest/gtest.h>

#include "weft/text/test_vocabularies.h"

namespace weft::text {
namespace {

TEST(Normalizer, Forms) {
  const std::string text = "e\xCC\x81 \xEF\xAC\x81";  // e, combining acute, space, ligature fi
  EXPECT_EQ(normalize(text, TextNormalizer::none), text);
  EXPECT_EQ(normalize(text, TextNormalizer::nfc), "\xC3\xA9 \xEF\xAC\x81");
  EXPECT_EQ(normalize(text, TextNormalizer::nfkc), "\xC3\xA9 fi");
  EXPECT_EQ(normalize("", TextNormalizer::nfc), "");
  EXPECT_EQ(normalize(std::string("a\0b", 3), TextNormalizer::nfc), std::string("a\0b", 3));
}

TEST(Normalizer, AnEndlessRunOfMarksIsRefused) {
  std::string marks = "a";
  for (int i = 0; i < 1024; ++i) marks += i % 2 == 0 ? "\xCC\x81" : "\xCC\xA3";
  EXPECT_NE(normalize(marks, TextNormalizer::nfc), "");
  EXPECT_EQ(error_code([&] { normalize(marks + "\xCC\x81", TextNormalizer::nfc); }), "LimitExceeded");
  EXPECT_EQ(normalize(marks + "\xCC\x81", TextNormalizer::none), marks + "\xCC\x81");
}

}  // namespace
}  // namespace weft::text
