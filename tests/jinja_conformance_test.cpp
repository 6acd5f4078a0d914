// weft's Jinja against Jinja2's own answers, which tests/data/generate_chat.py stores. WEFT_CHAT_CASES names a further
// file of such cases, made of templates that are no part of the repository.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "weft/base/error.h"
#include "weft/text/jinja/json_value.h"
#include "weft/text/jinja/template.h"

namespace weft::jinja {
namespace {

std::tm generators_clock() {
  std::tm now{};
  now.tm_year = 2026 - 1900;
  now.tm_mon = 6;
  now.tm_mday = 4;
  now.tm_hour = 9;
  now.tm_min = 5;
  now.tm_sec = 3;
  now.tm_wday = 6;
  now.tm_yday = 184;
  return now;
}

const Value& member(const Value& mapping, const char* key) { return *mapping.mapping()->find(std::string_view(key)); }

// What comes of a template: its text, or "refused: " and why.
std::string outcome(const std::string& name, const std::string& source, const Value& context) {
  try {
    return Template::compile(source, name).render(context, generators_clock);
  } catch (const Error& error) {
    return "refused: " + std::string(error.what());
  }
}

void compare(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(in), {}};
  const Value file = value_from_json(json, path);
  std::size_t compared = 0;
  for (const Value& each : member(file, "cases").sequence()->items) {
    const std::string& name = *member(each, "name").text();
    const std::string& source = *member(member(file, "templates"), member(each, "template").text()->c_str()).text();
    const Value& context = member(member(file, "contexts"), member(each, "context").text()->c_str());
    const std::string found = outcome(name, source, context);
    ++compared;
    if (each.mapping()->find(std::string_view("error")) != nullptr)
      EXPECT_THAT(found, testing::StartsWith("refused: ")) << name << " of " << source.substr(0, 300) << "\n"
                                                           << *member(each, "error").text();
    else
      EXPECT_EQ(found, *member(each, "expected").text()) << name << " of " << source.substr(0, 300);
  }
  EXPECT_GT(compared, 0u);
}

TEST(JinjaConformance, EqualsJinja2) { compare(WEFT_SOURCE_DIR "/tests/data/chat/cases.json"); }

TEST(JinjaConformance, EqualsJinja2OnFurtherCases) {
  const char* path = std::getenv("WEFT_CHAT_CASES");
  if (path == nullptr) GTEST_SKIP() << "WEFT_CHAT_CASES names no file";
  compare(path);
}

}  // namespace
}  // namespace weft::jinja
