#include "weft/formats/hex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/error.h"

namespace weft {
namespace {

template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::invalid_argument, "none", "", "nothing was thrown");
}

TEST(Hex, ReadsEitherCaseAndSkipsWhiteSpace) {
  const auto bytes = hex_decode(" 0a\tF\n\r0\v\f ff ");
  EXPECT_EQ(bytes, (std::vector{std::byte{0x0a}, std::byte{0xf0}, std::byte{0xff}}));
  EXPECT_EQ(hex_encode(bytes), "0af0ff");
  EXPECT_TRUE(hex_decode(" \n").empty());
  EXPECT_TRUE(is_hex("0aF \n"));
  EXPECT_FALSE(is_hex("[graph]"));
}

TEST(Hex, RefusesOtherDigitsAndOddCounts) {
  const Error bad = error_of([] { hex_decode("00 0g", "m.model"); });
  EXPECT_EQ(bad.code(), "HexBadDigit");
  EXPECT_EQ(bad.where(), "m.model@0x4");
  EXPECT_THAT(bad.what(), testing::HasSubstr("the byte 0x67"));
  const Error odd = error_of([] { hex_decode("00 1"); });
  EXPECT_EQ(odd.code(), "HexOddLength");
  EXPECT_THAT(odd.what(), testing::HasSubstr("3 digits"));
  EXPECT_EQ(error_of([] { hex_decode("\xc3\xa9"); }).code(), "HexBadDigit");
}

}  // namespace
}  // namespace weft
