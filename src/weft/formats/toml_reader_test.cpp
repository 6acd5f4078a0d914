#include "weft/formats/toml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <toml++/toml.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <sstream>

#include "weft/base/error.h"
#include "weft/base/utf8.h"
#include "weft/formats/toml_document.h"
#include "weft/formats/toml_text.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

// Canonical text of a value, for comparison with another reader's.
std::string shown(const TomlValue& value) {
  struct {
    std::string operator()(const std::string& x) const { return "s" + toml_quoted(x); }
    std::string operator()(std::int64_t x) const { return "i" + std::to_string(x); }
    std::string operator()(double x) const { return "f" + toml_number(std::isnan(x) ? NAN : x); }
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(const TomlDateTime&) const { return "date"; }
    std::string operator()(const TomlArray& x) const {
      std::string out = "[";
      for (const TomlValue& item : x) out += shown(item) + ",";
      return out + "]";
    }
    std::string operator()(const TomlTable& x) const {
      std::vector<std::string> members;
      for (const TomlMember& member : x) members.push_back(toml_quoted(member.key) + ":" + shown(member.value) + ",");
      std::sort(members.begin(), members.end());
      std::string out = "{";
      for (const std::string& member : members) out += member;
      return out + "}";
    }
  } show;
  return std::visit(show, value.data);
}

std::string shown(const toml::node& node) {
  if (const auto* x = node.as_string()) return "s" + toml_quoted(x->get());
  if (const auto* x = node.as_integer()) return "i" + std::to_string(x->get());
  if (const auto* x = node.as_floating_point()) return "f" + toml_number(x->get());
  if (const auto* x = node.as_boolean()) return x->get() ? "true" : "false";
  if (const auto* x = node.as_array()) {
    std::string out = "[";
    for (const toml::node& item : *x) out += shown(item) + ",";
    return out + "]";
  }
  if (const auto* x = node.as_table()) {
    std::vector<std::string> members;
    for (const auto& [key, item] : *x) members.push_back(toml_quoted(key.str()) + ":" + shown(item) + ",");
    std::sort(members.begin(), members.end());
    std::string out = "{";
    for (const std::string& member : members) out += member;
    return out + "}";
  }
  return "date";
}

// What each reader makes of a text; nothing where it refuses.
std::optional<std::string> ours(std::string_view text) {
  try {
    return shown(TomlValue{parse_toml(text, {"t", "", 1})});
  } catch (const Error&) {
    return std::nullopt;
  }
}
std::optional<std::string> theirs(std::string_view text) {
  try {
    return shown(toml::parse(text));
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

std::string value_of(std::string_view text) {
  const std::string line = "x = " + std::string(text);
  return shown(parse_toml(line, {"t", "", 1})[0].value);
}
bool refused(std::string_view text) {
  return code_of([&] { value_of(text); }) == "Toml";
}

TEST(TomlReader, Strings) {
  EXPECT_EQ(value_of(R"("a\tb\n\"\\\u00e9\U0001F600")"), shown({std::string("a\tb\n\"\\é😀")}));
  EXPECT_EQ(value_of(R"('C:\new')"), shown({std::string("C:\\new")}));
  EXPECT_EQ(value_of("\"\"\"\none\n  two \\\n   \n  three\"\"\"\""), shown({std::string("one\n  two three\"")}));
  EXPECT_EQ(value_of("'''\n''x'' '''''"), shown({std::string("''x'' ''")}));
  EXPECT_EQ(value_of("\"\"\"\"\"\"\"\""), shown({std::string("\"\"")}));
  EXPECT_EQ(value_of("\"\""), shown({std::string()}));
  for (const char* bad : {"\"a", "'a", "\"\"\"a\"\"", "\"\\q\"", "\"\\u12\"", "\"\\uD800\"", "\"\\U00110000\"",
                          "\"a\nb\"", "\"\x01\"", "'\x7f'", "\"\\ \"", "\"\"\"a \\ b\"\"\""})
    EXPECT_TRUE(refused(bad)) << bad;
}

TEST(TomlReader, Numbers) {
  EXPECT_EQ(value_of("+1_000"), "i1000");
  EXPECT_EQ(value_of("-9223372036854775808"), "i-9223372036854775808");
  EXPECT_EQ(value_of("0xDEAD_beef"), "i3735928559");
  EXPECT_EQ(value_of("0o17"), "i15");
  EXPECT_EQ(value_of("0b1010"), "i10");
  EXPECT_EQ(value_of("6.26e-3_4"), "f6.26e-34");
  EXPECT_EQ(value_of("-0.0"), "f-0.0");
  EXPECT_EQ(value_of("5E+2"), "f500.0");
  EXPECT_EQ(value_of("-inf"), "f-inf");
  EXPECT_EQ(value_of("+nan"), "fnan");
  EXPECT_EQ(value_of("1979-05-27 07:32:00"), "date");
  for (const char* bad : {"01",
                          "+",
                          "1__0",
                          "_1",
                          "1_",
                          "1.",
                          ".5",
                          "1.e3",
                          "1e",
                          "0x",
                          "0x_1",
                          "0b2",
                          "9223372036854775808",
                          "1e999",
                          "infinity",
                          "True",
                          "-0x1",
                          "1979-02-30",
                          "25:00:00",
                          "1 2",
                          ""})
    EXPECT_TRUE(refused(bad)) << bad;
}

TEST(TomlReader, ArraysAndInlineTables) {
  EXPECT_EQ(value_of("[1, # one\n 'a', [],\n]"), "[i1,s\"a\",[],]");
  EXPECT_EQ(value_of("{ a.b = 1, a.c = { }, 'd e' = [2] }"), "{\"a\":{\"b\":i1,\"c\":{},},\"d e\":[i2,],}");
  for (const char* bad : {"[1 2]", "[,]", "[1", "{a=1", "{a=1,}", "{a=1 b=2}", "{\na=1}", "{a=1, a=2}",
                          "{a={b=1}, a.c=2}", "{a.b=1, a=2}", "{a}", "[1]]"})
    EXPECT_TRUE(refused(bad)) << bad;
}

TEST(TomlReader, ItemsComeInOrderWithTheirPlaces) {
  TomlReader reader("a = 1 # x\n\n[b.\"c d\"]\n  e.f = 'g'\n[[h]]\n", {"m.model", "vocab", 10});
  ASSERT_EQ(reader.next(), TomlReader::Item::key);
  EXPECT_THAT(reader.path(), ElementsAre("a"));
  std::string text;
  EXPECT_FALSE(reader.read_string(text));
  EXPECT_EQ(shown(reader.read_value()), "i1");
  ASSERT_EQ(reader.next(), TomlReader::Item::table);
  EXPECT_THAT(reader.path(), ElementsAre("b", "c d"));
  ASSERT_EQ(reader.next(), TomlReader::Item::key);
  EXPECT_THAT(reader.path(), ElementsAre("e", "f"));
  EXPECT_EQ(reader.where(), "m.model:13:3 (section vocab)");
  EXPECT_TRUE(reader.read_string(text));
  EXPECT_EQ(text, "g");
  ASSERT_EQ(reader.next(), TomlReader::Item::table_array);
  ASSERT_EQ(reader.next(), TomlReader::Item::end);
  ASSERT_EQ(reader.next(), TomlReader::Item::end);
}

TEST(TomlReader, PairsOfStringsAreReadInPlace) {
  std::string pair[2];
  const auto read = [&](std::string_view text) {
    TomlReader reader(text, {"t", "", 1});
    reader.next();
    const bool array = reader.read_strings(pair, 2);
    reader.next();
    return array;
  };
  EXPECT_TRUE(read("0 = [\"a,]\", 'b']"));
  EXPECT_EQ(pair[0], "a,]");
  EXPECT_EQ(pair[1], "b");
  EXPECT_TRUE(read("0 = [ # c\n 'x'\n,\n'y',\n]"));
  EXPECT_FALSE(read("0 = 1"));
  for (const char* bad :
       {"0 = ['a']", "0 = ['a', 'b', 'c']", "0 = ['a', 1]", "0 = ['a' 'b']", "0 = [", "0 = ['a', 'b'] x"})
    EXPECT_EQ(code_of([&] { read(bad); }), "Toml") << bad;
}

TEST(TomlReader, ErrorsHaveLineAndColumn) {
  try {
    parse_toml("a = 1\nb = \"\\q\"\n", {"m.model", "config", 7});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "Toml");
    EXPECT_THAT(error.what(), HasSubstr("m.model:8:7 (section config): "));
  }
}

TEST(TomlReader, NestingAndSizeAreLimited) {
  const auto code = [](const std::string& text) { return code_of([&] { parse_toml(text, {"t", "", 1}); }); };
  EXPECT_EQ(code("a = " + std::string(100000, '[')), "LimitExceeded");
  std::string braces = "a = ", path = "a", keys;
  for (int i = 0; i < 40; ++i) braces += "{a=", path += ".a";
  EXPECT_EQ(code(braces), "LimitExceeded");
  EXPECT_EQ(code(path + " = 1"), "LimitExceeded");
  EXPECT_EQ(code("[" + path + "]"), "LimitExceeded");
  EXPECT_EQ(code("a = [" + std::string(31, '[') + std::string(31, ']') + "]"), "");
  const auto within = [](const std::string& text) {
    return code_of([&] { parse_toml(text, {"t", "", 1}, {.nesting = 32, .values = 8}); });
  };
  EXPECT_EQ(within("a = [0,0,0,0,0,0,0]"), "");
  EXPECT_EQ(within("a = [0,0,0,0,0,0,0,0]"), "LimitExceeded");
  EXPECT_EQ(within("a=0\nb=0\nc=0\nd=0\ne=0\nf=0\ng=0\nh=0"), "");
  EXPECT_EQ(within("a=0\nb=0\nc=0\nd=0\ne=0\nf=0\ng=0\nh=0\ni=0"), "LimitExceeded");
}

TEST(TomlDocument, NothingIsDefinedTwice) {
  for (const char* bad :
       {"a = 1\na = 2", "[a]\n[a]", "a = 1\n[a]", "[a]\nb = 1\n[a.b]", "a.b = 1\n[a]", "[[a]]\n[a]", "[a]\n[[a]]",
        "a = [1]\n[[a]]", "a = {b = 1}\n[a.c]", "a.b = 1\na.b.c = 2", "[a.b]\n[a]\nb.c = 1", "[a]\nb.c = 1\n[a.b]"})
    EXPECT_EQ(ours(bad), std::nullopt) << bad;
  for (const char* good : {"[a.b]\nx = 1\n[a]\ny = 2", "[[a]]\nx = 1\n[[a]]\n[a.b]\ny = 2",
                           "[a]\nb.c = 1\n[a.b.d]\ne = 1", "'' = 1", "a.b = 1\na.c = 2", "\"a.b\" = 1\na.b = 2"}) {
    ASSERT_TRUE(ours(good)) << good;
    EXPECT_EQ(ours(good), theirs(good)) << good;
  }
}

// A random document out of everything that TOML has.
class RandomToml {
 public:
  explicit RandomToml(unsigned seed) : generator_(seed) {}

  std::string document() {
    std::string text = lines(3);
    for (int i = below(5); i > 0; --i)
      text += (below(3) == 0 ? "[[" + key(i) + "]]" : "[ " + key(below(3)) + " . " + key(i + 3) + "]") + blank() +
              comment() + "\n" + lines(5);
    return text;
  }

 private:
  int below(int n) { return static_cast<int>(generator_() % static_cast<unsigned>(n)); }
  std::string blank() { return std::string(static_cast<std::size_t>(below(3)), below(2) != 0 ? ' ' : '\t'); }
  std::string comment() { return below(4) == 0 ? "# note \xE2\x96\x81 \"" : ""; }
  std::string lines(int most) {
    std::string text;
    for (int i = below(most + 1); i > 0; --i)
      text += blank() + key(i + 10) + (below(4) == 0 ? blank() + "." + blank() + key(i) : "") + blank() + "=" +
              blank() + value(0) + blank() + comment() + (below(4) == 0 ? "\n\n" : "\n");
    return text;
  }
  // `number` makes most keys of one table differ.
  std::string key(int number) {
    const std::string suffix = std::to_string(number);
    switch (below(4)) {
      case 0: return "k-_" + suffix;
      case 1: return toml_quoted(text() + suffix);
      case 2: return "'lit " + suffix + "'";
      default: return suffix;
    }
  }
  std::string text() {
    static constexpr const char* pieces[] = {"a", " ",   "\"",   "\\",   "\n", "\t", "é", "▁",
                                             "😀", "~~~", "\x01", "\x7f", "]",  "#",  ","};
    std::string out;
    for (int i = below(8); i > 0; --i) out += pieces[below(15)];
    return out;
  }
  std::string string_value() {
    switch (below(5)) {
      case 0: return "'plain \\ \" text'";
      case 1: return toml_multiline(text());
      case 2: return "'''\nliteral ' '' \\n \"\"\"\n'''";
      case 3: return "\"\\u2581\\U0001F600 \\b\\f\"";
      default: return toml_quoted(text());
    }
  }
  std::string value(int depth) {
    switch (below(depth < 4 ? 9 : 6)) {
      case 0: return std::to_string(static_cast<std::int64_t>(generator_()) - (std::int64_t{1} << 31));
      case 1: return toml_number(std::ldexp(static_cast<double>(generator_()), below(200) - 100));
      case 2: return below(2) != 0 ? "true" : "false";
      case 3: return below(2) != 0 ? "0xFF_ff" : "1_000.5e-1_0";
      case 4: return below(2) != 0 ? "1979-05-27T07:32:00.25-07:00" : "07:32:00";
      case 5: return string_value();
      case 6: {
        std::string out = "{" + blank();
        for (int i = below(4); i > 0; --i) {
          out += key(i) + blank() + "=" + blank() + value(depth + 1) + blank();
          if (i > 1) out += "," + blank();
        }
        return out + "}";
      }
      default: {
        std::string out = "[";
        for (int i = below(4); i > 0; --i)
          out +=
              (below(4) == 0 ? "\n" : "") + blank() + value(depth + 1) + blank() + (i > 1 || below(2) != 0 ? "," : "");
        return out + (below(3) == 0 ? " # end\n]" : "]");
      }
    }
  }

  std::mt19937 generator_;
};

TEST(TomlDocument, AgreesWithTomlPlusPlusOnRandomDocuments) {
  int accepted = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const std::string text = RandomToml(seed).document();
    const auto expected = theirs(text);
    accepted += expected.has_value() ? 1 : 0;
    ASSERT_EQ(ours(text), expected) << "seed " << seed << "\n" << text;
  }
  EXPECT_GT(accepted, 1500);
}

TEST(TomlDocument, AgreesWithTomlPlusPlusOnDamagedDocuments) {
  // Where one byte is changed, both still read the same or both refuse.
  std::mt19937 generator(99);
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::string text = RandomToml(seed % 500).document();
    if (text.empty()) continue;
    text[generator() % text.size()] = "\"'[]{}=.,#\\ \n0a_-+e"[generator() % 20];
    if (find_invalid_utf8(text)) continue;  // the reader is given valid UTF-8
    EXPECT_EQ(ours(text), theirs(text)) << "seed " << seed << "\n" << text;
  }
}

TEST(TomlText, WhatIsWrittenReadsTheSame) {
  std::mt19937 generator(5);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (unsigned n = generator() % 12; n > 0; --n)
      text += std::vector<std::string>{"\"", "\\", "\n", "~~~", "\r", "\t", "x", "é", "\x02"}[generator() % 9];
    EXPECT_EQ(value_of(toml_quoted(text)), shown({text}));
    EXPECT_EQ(value_of(toml_multiline(text)), shown({text}));
    EXPECT_EQ(("\n" + toml_multiline(text)).find("\n~~~"), std::string::npos);
    const TomlTable keyed = parse_toml(toml_key(text) + " = 1", {"t", "", 1});
    EXPECT_EQ(keyed[0].key, text);
    const float number = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
    const auto* read = std::get_if<double>(&parse_toml("x = " + toml_number(number), {"t", "", 1})[0].value.data);
    ASSERT_NE(read, nullptr);
    if (!std::isnan(number)) {
      EXPECT_EQ(static_cast<float>(*read), number);
    }
  }
}

}  // namespace
}  // namespace weft
