#include "weft/text/stop_strings.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "weft/text/test_vocabularies.h"

namespace weft {
namespace {

using Strings = std::vector<std::string>;

TEST(StopStrings, HoldsBackWhatMayBeTheStart) {
  StopStrings stops({"<end>"});
  EXPECT_EQ(stops.push("Hello <"), "Hello ");
  EXPECT_EQ(stops.push("e"), "");
  EXPECT_EQ(stops.push("x <<en"), "<ex <");
  EXPECT_EQ(stops.push("d>tail"), "");
  EXPECT_EQ(stops.stopped_by(), 0u);
  EXPECT_EQ(stops.push("more"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, TheEndReleasesWhatWasHeld) {
  StopStrings stops({"\n\nUser:"});
  EXPECT_EQ(stops.push("Bye.\n\nUs"), "Bye.");
  EXPECT_EQ(stops.stopped_by(), std::nullopt);
  EXPECT_EQ(stops.finish(), "\n\nUs");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, AStartWithinAStartIsFound) {
  StopStrings stops({"aab"});
  EXPECT_EQ(stops.push("aaaab!"), "aa");
  EXPECT_EQ(stops.stopped_by(), 0u);
}

TEST(StopStrings, TheFirstToBeCompleteWins) {
  StopStrings stops({"long stop", "stop", "g s"});
  EXPECT_EQ(stops.push("a long stop"), "a lon");
  EXPECT_EQ(stops.stopped_by(), 2u);
  // Complete at the same byte: the longest, that is the one that began first.
  StopStrings nested({"stop", "long stop"});
  EXPECT_EQ(nested.push("a long stop"), "a ");
  EXPECT_EQ(nested.stopped_by(), 1u);
}

TEST(StopStrings, NoneLetsEverythingPass) {
  StopStrings stops({});
  EXPECT_EQ(stops.push("text"), "text");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, UnusableStringsAreRefused) {
  EXPECT_EQ(text::error_code([] { StopStrings stops({"a", ""}); }), "EmptyStopString");
  EXPECT_EQ(text::error_code([] { StopStrings stops({"\xC3"}); }), "InvalidUtf8");
}

// However the stream is cut, the result is that of looking at the whole text.
TEST(StopStrings, CutsOfTheStreamHaveNoInfluence) {
  std::mt19937 random(5);
  const auto word = [&](std::size_t least, std::size_t more) {
    std::string out(least + random() % more, ' ');
    for (char& c : out) c = static_cast<char>('a' + random() % 2);
    return out;
  };
  for (int round = 0; round < 2000; ++round) {
    Strings strings;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) strings.push_back(word(2, 5));
    const std::string text = word(1, 20);
    std::size_t end = std::string::npos, begin = text.size();
    for (const std::string& stop : strings) {
      const std::size_t at = text.find(stop);
      if (at == std::string::npos) continue;
      if (at + stop.size() < end || (at + stop.size() == end && at < begin)) end = at + stop.size(), begin = at;
    }
    StopStrings stops(strings);
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = 1 + random() % 4;
      out += stops.push(text.substr(at, length));
      at += length;
    }
    out += stops.finish();
    EXPECT_EQ(out, text.substr(0, begin));
    EXPECT_EQ(stops.stopped_by().has_value(), end != std::string::npos);
  }
}

}  // namespace
}  // namespace weft
