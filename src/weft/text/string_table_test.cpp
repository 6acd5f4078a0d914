#include "weft/text/string_table.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::text {
namespace {

TEST(StringTable, NumbersComeInOrderAndStay) {
  StringTable table;
  EXPECT_EQ(table.find("x"), StringTable::none);
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t i = 0; i < 5000; ++i) ASSERT_EQ(table.intern("string " + std::to_string(i)), i);
  EXPECT_EQ(table.size(), 5000u);
  EXPECT_EQ(table[4999], "string 4999");
  EXPECT_EQ(table.find("string 77"), 77u);
  EXPECT_EQ(table.find("string 5000"), StringTable::none);
}

TEST(StringTable, HoldsTheEmptyStringAndZeroBytes) {
  StringTable table;
  table.reserve(3);
  EXPECT_EQ(table.intern(""), 0u);
  EXPECT_EQ(table.intern(std::string("\0", 1)), 1u);
  EXPECT_EQ(table.intern(std::string("\0\0", 2)), 2u);
  EXPECT_EQ(table.intern(""), 0u);
  EXPECT_EQ(table[0], "");
  EXPECT_EQ(table[2], std::string("\0\0", 2));
}

}  // namespace
}  // namespace weft::text
