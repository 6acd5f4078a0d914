#include "weft/formats/config_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/error.h"
#include "weft/formats/toml_document.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ConfigTable read(std::string_view text, std::vector<Warning>& warnings) {
  return config_from_toml(parse_toml(text, {"t", "", 1}), "t", warnings);
}

TEST(ConfigToml, TablesBecomeDottedKeys) {
  std::vector<Warning> warnings;
  const ConfigTable config = read(
      "model_type = 'qwen3'\n[architecture]\nhidden_size = 64\nrope_theta = 1e6\n"
      "mixed = [1, 2.5]\n[architecture.text]\n\"odd key\" = ['a', 'b']\ntied = true\n",
      warnings);
  EXPECT_EQ(config.get_string("model_type"), "qwen3");
  EXPECT_EQ(config.get_int("architecture.hidden_size"), 64);
  EXPECT_EQ(config.get_number("architecture.rope_theta"), 1e6);
  EXPECT_THAT(*config.find_numbers("architecture.mixed"), ElementsAre(1, 2.5));
  EXPECT_THAT(*config.find_strings("architecture.text.\"odd key\""), ElementsAre("a", "b"));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(ConfigToml, WhatIsNoConfigurationIsNamed) {
  std::vector<Warning> warnings;
  const ConfigTable config = read("when = 1979-05-27\nx = [1, 'a']\ny = [[1]]\n[[z]]\na = 1\n", warnings);
  EXPECT_TRUE(config.empty());
  EXPECT_EQ(warnings.size(), 4u);
  EXPECT_THAT(warnings[0].message, HasSubstr("\"when\""));
}

TEST(ConfigToml, WritingAndReadingAgree) {
  ConfigTable config;
  config.set("name", std::string("a \"b\"\n~~~"));
  config.set("a.int", std::int64_t{-5});
  config.set("a.whole", 3.0);
  config.set("a.tiny", 1e-6);
  config.set("a.flags", std::vector<bool>{true, false});
  config.set("a.b.c", std::vector<double>{0.5, 2});
  config.set("a.b.\"x.y\"", std::vector<std::string>{"", "é"});
  config.set("d.none", std::vector<std::int64_t>{});
  const std::string text = config_to_toml(config);
  EXPECT_THAT(text, HasSubstr("[a.b]\nc = [0.5, 2.0]\n\"x.y\" = [\"\", \"é\"]\n"));
  std::vector<Warning> warnings;
  EXPECT_EQ(read(text, warnings), config);
}

TEST(ConfigToml, KeysThatAreNoneAreRefused) {
  for (const std::vector<std::string>& keys :
       {std::vector<std::string>{"a", "a.b"}, {""}, {"a b"}, {"a."}, {"x = 1\ny"}, {"a\"b"}, {"\"a\".b"}}) {
    ConfigTable config;
    for (const std::string& key : keys) config.set(key, std::int64_t{1});
    EXPECT_THROW(config_to_toml(config), Error) << keys[0];
  }
}

}  // namespace
}  // namespace weft
