// Whole models through LanguageModel: batching, state, reuse, and what a token costs.
#include "weft/models/language_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>

#include "allocation_count.h"
#include "weft/base/error.h"
#include "weft/models/checkpoint.h"

namespace weft {
namespace {

using testing::ElementsAre;

const std::vector<std::int32_t> ids{1, 300, 417, 261, 333, 480, 290, 350, 12, 77, 5, 401};

std::vector<std::filesystem::path> models() {
  std::vector<std::filesystem::path> found{WEFT_SOURCE_DIR "/models/demo.model"};
  for (const char* name : {"nano-qwen3-q4_0", "nano-qwen2-q4_0", "nano-llama-f32"})
    found.push_back(std::filesystem::path(WEFT_SHARED_DIR "/models") / (std::string(name) + ".gguf"));
  std::erase_if(found, [](const auto& path) { return !std::filesystem::exists(path); });
  return found;
}

std::vector<float> values_of(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

// The logits of all ids, fed in pieces of these sizes.
std::vector<float> fed_as(LanguageModel& model, const std::vector<std::size_t>& sizes) {
  model.reset();
  std::vector<float> all;
  std::span<const std::int32_t> rest(ids);
  for (const std::size_t size : sizes) {
    const auto part = values_of(model.logits(rest.first(size)));
    all.insert(all.end(), part.begin(), part.end());
    rest = rest.subspan(size);
  }
  EXPECT_TRUE(rest.empty());
  return all;
}

double relative_error(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double{a[i]} - double{b[i]}, 2);
    norm += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / norm);
}

TEST(LanguageModel, LogitsDoNotDependOnHowTokensAreBatched) {
  for (const auto& path : models()) {
    LanguageModel model = LanguageModel::open(path);
    const auto whole = fed_as(model, {12});
    for (const auto& sizes :
         std::vector<std::vector<std::size_t>>{std::vector<std::size_t>(12, 1), {1, 3, 8}, {5, 7}}) {
      const auto pieces = fed_as(model, sizes);
      ASSERT_EQ(pieces.size(), whole.size());
      EXPECT_LE(relative_error(pieces, whole), 1e-5) << path;
    }
    EXPECT_EQ(fed_as(model, {12}), whole) << "a reset repeats to the bit";
  }
}

TEST(LanguageModel, ThreadsDoNotChangeABit) {
  for (const auto& path : models()) {
    LanguageModel one = LanguageModel::open(path, {.threads = 1}), four = LanguageModel::open(path, {.threads = 4});
    EXPECT_EQ(fed_as(one, {12}), fed_as(four, {12})) << path;
  }
}

TEST(LanguageModel, ALongPromptIsCutIntoChunks) {
  for (const auto& path : models()) {
    LanguageModel small = LanguageModel::open(path, {.chunk = 5}), large = LanguageModel::open(path);
    EXPECT_EQ(values_of(small.last_logits(ids)), values_of(large.last_logits(ids))) << path;
    EXPECT_EQ(small.past_length(), 12);
  }
}

TEST(LanguageModel, AnotherRunsBesideTheFirst) {
  LanguageModel first = LanguageModel::open(models().front());
  LanguageModel second = first.another();
  const GenerateOptions greedy{.max_tokens = 12, .sampling = {.temperature = 0}, .ignore_eos = true};
  const auto alone = first.generate_ids(ids, greedy).ids;
  std::vector<std::int32_t> beside;
  std::thread other([&] { beside = second.generate_ids(ids, greedy).ids; });
  const auto again = first.generate_ids(ids, greedy).ids;
  other.join();
  EXPECT_EQ(alone, again);
  EXPECT_EQ(alone, beside);
}

TEST(LanguageModel, TokenTwoThousandCostsWhatTokenTwentyDoes) {
  for (const auto& path : models()) {
    LanguageModel model = LanguageModel::open(path, {.context = 2048, .threads = 1});
    const std::int32_t id = 300;
    std::vector<std::int32_t> many(18, id);
    const auto cost = [&] {
      const RunCounters before = model.executor().counters();
      const auto heap = test::allocations();
      model.last_logits({&id, 1});
      const auto heap_after = test::allocations();
      const RunCounters after = model.executor().counters();
      return std::array{heap_after.bytes - heap.bytes,
                        heap_after.calls - heap.calls,
                        after.allocated_bytes - before.allocated_bytes,
                        after.allocations - before.allocations,
                        after.state_appended_bytes - before.state_appended_bytes,
                        after.state_moved_bytes - before.state_moved_bytes};
    };
    model.last_logits(many);
    cost();  // token 19
    const auto twentieth = cost();
    many.assign(1978, id);
    model.last_logits(many);
    cost();
    ASSERT_EQ(model.past_length(), 1999);
    EXPECT_EQ(cost(), twentieth) << path;
    EXPECT_EQ(twentieth.back(), 0u);
  }
}

TEST(LanguageModel, GenerationStopsWhereItIsTold) {
  LanguageModel model = LanguageModel::open(models().front(), {.context = 64});
  const GenerateOptions options{.max_tokens = -1, .sampling = {.seed = 7}, .ignore_eos = true};
  const Generation all = model.generate("She was", options);
  EXPECT_EQ(all.stop, StopReason::context);
  EXPECT_EQ(all.prompt_ids.size() + all.ids.size(), 65u) << "the last token needs no place";

  std::string streamed;
  std::size_t pieces = 0;
  GenerateOptions short_options = options;
  const Generation cut = model.generate("She was", short_options, [&](std::string_view piece) {
    streamed += piece;
    return ++pieces < 5;
  });
  EXPECT_EQ(cut.stop, StopReason::canceled);
  EXPECT_EQ(cut.text, streamed);
  EXPECT_EQ(pieces, 5u);
}

TEST(LanguageModel, BadTokensAndPromptsAreRefused) {
  LanguageModel model = LanguageModel::open(models().front(), {.context = 16});
  const auto code = [&](const std::vector<std::int32_t>& prompt) -> std::string {
    try {
      model.generate_ids(prompt);
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  };
  EXPECT_EQ(code({1, 1000000}), "TokenOutOfRange");
  EXPECT_EQ(code({-1}), "TokenOutOfRange");
  EXPECT_EQ(code({}), "EmptyPrompt");
  EXPECT_EQ(code(std::vector<std::int32_t>(17, 1)), "PromptTooLong");
}

}  // namespace
}  // namespace weft
