#include "weft/text/special_matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace weft::text {
namespace {

std::optional<SpecialMatcher::Match> by_trying_all(const std::vector<SpecialMatcher::Entry>& entries,
                                                   std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size(); ++at) {
    const SpecialMatcher::Entry* best = nullptr;
    for (const auto& entry : entries) {
      if (!text.substr(at).starts_with(entry.text)) continue;
      if (best == nullptr || entry.text.size() > best->text.size() ||
          (entry.text.size() == best->text.size() && entry.id < best->id))
        best = &entry;
    }
    if (best != nullptr) return SpecialMatcher::Match{at, at + best->text.size(), best->id};
  }
  return std::nullopt;
}

TEST(SpecialMatcher, AgreesWithTryingEveryEntryEverywhere) {
  std::mt19937 random(3);
  const auto word = [&](std::size_t longest) {
    std::string out(1 + random() % longest, ' ');
    for (char& c : out) c = static_cast<char>(random() % 3 == 0 ? 0xC3 : 'a' + random() % 2);
    return out;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<SpecialMatcher::Entry> entries;
    for (std::size_t n = random() % 12; n > 0; --n)
      entries.push_back({word(round % 2 == 0 ? 6 : 20), static_cast<std::int32_t>(random() % 100)});
    const SpecialMatcher matcher(entries);
    const std::string text = word(40);
    for (std::size_t from = 0; from <= text.size(); ++from) {
      const auto found = matcher.find(text, from), expected = by_trying_all(entries, text, from);
      ASSERT_EQ(found.has_value(), expected.has_value());
      if (!found) continue;
      EXPECT_EQ(found->begin, expected->begin);
      EXPECT_EQ(found->end, expected->end);
      EXPECT_EQ(found->id, expected->id);
    }
  }
}

TEST(SpecialMatcher, LongEntriesThatNearlyMatch) {
  const std::string run(5000, 'a');
  const SpecialMatcher matcher({{run + "b", 1}, {run, 2}, {"aab", 3}});
  const auto in_short = matcher.find(run.substr(1) + "b", 0);
  ASSERT_TRUE(in_short);
  EXPECT_EQ(in_short->id, 3);
  EXPECT_EQ(in_short->begin, 4997u);
  EXPECT_EQ(matcher.find(run + "ab", 0)->id, 2);
  EXPECT_EQ(matcher.find(run + "b", 0)->id, 1);
}

TEST(SpecialMatcher, NothingMatchesWithoutEntries) {
  EXPECT_FALSE(SpecialMatcher().find("text", 0));
  EXPECT_FALSE(SpecialMatcher(std::vector<SpecialMatcher::Entry>()).find("", 0));
}

}  // namespace
}  // namespace weft::text
