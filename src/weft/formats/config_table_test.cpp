#include "weft/formats/config_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/error.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ConfigTable, KeepsOrderAndReplacesInPlace) {
  ConfigTable table;
  table.set("a.x", std::int64_t{1});
  table.set("b", std::string("text"));
  table.set("c", true);
  table.set("a.x", 2.5);
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table.entries()[0].first, "a.x");
  EXPECT_EQ(table.get_number("a.x"), 2.5);
  EXPECT_TRUE(table.erase("a.x"));
  EXPECT_FALSE(table.erase("a.x"));
  EXPECT_EQ(table.entries()[0].first, "b");
  EXPECT_EQ(table.get_string("b"), "text");
  EXPECT_TRUE(table.get_bool("c"));
}

TEST(ConfigTable, IntegersAreNumbersAndEmptyListsAreAnyList) {
  ConfigTable table;
  table.set("i", std::int64_t{7});
  table.set("is", std::vector<std::int64_t>{1, 2});
  table.set("none", std::vector<std::int64_t>{});
  EXPECT_EQ(table.get_number("i"), 7.0);
  EXPECT_THAT(*table.find_numbers("is"), ElementsAre(1.0, 2.0));
  EXPECT_THAT(*table.find_strings("none"), IsEmpty());
  EXPECT_FALSE(table.find_int("absent"));
}

TEST(ConfigTable, OtherTypesAreNamed) {
  ConfigTable table("m.model, section config");
  table.set("x", std::string("seven"));
  table.set("d", 1.5);
  const auto text = [&](auto action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      return error.code() + " " + error.what();
    }
    return "";
  };
  EXPECT_EQ(text([&] { table.get_int("x"); }),
            "InvalidConfig m.model, section config: \"x\" must be an integer, found a string");
  EXPECT_THAT(text([&] { table.find_int("d"); }), HasSubstr("found a number"));
  EXPECT_THAT(text([&] { table.find_strings("x"); }), HasSubstr("a list of strings"));
  EXPECT_EQ(text([&] { table.get_bool("y"); }), "MissingField m.model, section config: \"y\" is missing");
}

}  // namespace
}  // namespace weft
