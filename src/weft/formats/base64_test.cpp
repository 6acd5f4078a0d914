#include "weft/formats/base64.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "weft/text/test_vocabularies.h"

namespace weft {
namespace {

// The vectors of RFC 4648, section 10.
TEST(Base64, PublishedVectors) {
  for (const auto& [bytes, text] :
       {std::pair("", ""), std::pair("f", "Zg=="), std::pair("fo", "Zm8="), std::pair("foo", "Zm9v"),
        std::pair("foob", "Zm9vYg=="), std::pair("fooba", "Zm9vYmE="), std::pair("foobar", "Zm9vYmFy")}) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text, "x"), bytes);
  }
}

TEST(Base64, EveryByteComesBack) {
  std::mt19937 random(3);
  for (std::size_t size = 0; size < 300; ++size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(random());
    EXPECT_EQ(base64_decode(base64_encode(bytes), "x"), bytes);
  }
}

TEST(Base64, WhatIsNoneIsRefused) {
  const auto code = [](std::string_view text) { return text::error_code([&] { base64_decode(text, "x"); }); };
  EXPECT_EQ(code("Zg="), "Bad64Length");
  EXPECT_EQ(code("Zm9v\n"), "Bad64Length");
  for (const char* text : {"Zm9\n", "Zm-v", "=m9v", "Z=9v", "====", "Zg==Zg==", "Zh==", "Zm9="})
    EXPECT_EQ(code(text), "Bad64Digit") << text;
}

}  // namespace
}  // namespace weft
