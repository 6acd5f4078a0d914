// Chat templates that are cut off, damaged or mixed up: an error or a text, in bounded time, never a crash.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/text/jinja/json_value.h"
#include "weft/text/jinja/template.h"

namespace weft::jinja {
namespace {

constexpr TemplateLimits limits{.output_bytes = 1 << 20, .steps = 20'000, .work_bytes = 4 << 20};

class HostileTemplates : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream in(WEFT_SOURCE_DIR "/tests/data/chat/cases.json", std::ios::binary);
    const Value file = value_from_json(std::string{std::istreambuf_iterator<char>(in), {}});
    const auto part = [&](const char* name) {
      return file.mapping()->find(std::string_view(name))->mapping()->members();
    };
    for (const auto& [name, source] : part("templates")) {
      const bool is_snippet = name.text()->starts_with("snippet");
      (is_snippet ? snippets_ : templates_).push_back(*source.text());
    }
    for (const auto& [name, context] : part("contexts")) contexts_.push_back(context);
  }

  void render(const std::string& source) {
    const Value& context = contexts_[random_() % contexts_.size()];
    try {
      Template::compile(source, "t", limits).render(context);
      ++rendered_;
    } catch (const Error& error) {
      ++refused_;
      ASSERT_TRUE(error.code() == "InvalidTemplate" || error.code() == "TemplateLimit" ||
                  error.code() == "RefusedByTemplate")
          << error.code() << " " << error.what();
    }
  }

  std::vector<std::string> snippets_, templates_;
  std::vector<Value> contexts_;
  std::mt19937 random_{11};
  int rendered_ = 0, refused_ = 0;
};

TEST_F(HostileTemplates, CutAtEveryByte) {
  for (const std::string& source : templates_)
    for (std::size_t size = 0; size < source.size(); size += 3) render(source.substr(0, size));
  for (const std::string& source : snippets_)
    for (std::size_t size = 0; size < source.size(); size += 2) render(source.substr(0, size));
  EXPECT_GT(rendered_, 100);
  EXPECT_GT(refused_, 100);
}

TEST_F(HostileTemplates, BytesChangedDroppedAndMoved) {
  constexpr std::string_view bytes = "{}%#|()[]'\"\\-+.,:~=*/<> \n0aif";
  std::vector<std::string> all = snippets_;
  all.insert(all.end(), templates_.begin(), templates_.end());
  for (int round = 0; round < 4000; ++round) {
    std::string source = all[random_() % all.size()];
    if (random_() % 4 == 0) source += all[random_() % all.size()];
    for (unsigned changes = 1 + random_() % 4; changes > 0 && !source.empty(); --changes) {
      const std::size_t at = random_() % source.size(), size = 1 + random_() % 8;
      switch (random_() % 4) {
        case 0: source[at] = bytes[random_() % bytes.size()]; break;
        case 1: source.erase(at, size); break;
        case 2: source.insert(at, source.substr(random_() % source.size(), size)); break;
        default: source.insert(at, 1, bytes[random_() % bytes.size()]);
      }
    }
    render(source);
  }
  EXPECT_GT(rendered_, 100);
  EXPECT_GT(refused_, 100);
}

}  // namespace
}  // namespace weft::jinja
