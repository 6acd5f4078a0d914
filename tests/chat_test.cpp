// Conversations with the bundled model: what a turn reuses changes nothing of what is said.
#include "weft/models/chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/models/checkpoint.h"

namespace weft {
namespace {

const GenerateOptions greedy{.max_tokens = 12, .sampling = {.temperature = 0}};
const char* const letters =
    "{% for m in messages %}{{ m.role|title }} wrote: {{ m.content|trim }}\n{% if m.content == 'forbidden' %}"
    "{{ raise_exception('no such letters') }}{% endif %}{% endfor %}{% if add_generation_prompt %}Assistant wrote:"
    "{% endif %}";

class ChatTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path path = WEFT_SOURCE_DIR "/models/demo.model";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
    model_ = std::make_unique<LanguageModel>(LanguageModel::open(path));
    other_ = std::make_unique<LanguageModel>(model_->another());
  }
  Chat chat(ChatOptions options = {}) const {
    return {*model_, ChatTemplate::create({.template_text = letters}, model_->tokenizer(), "letters"),
            std::move(options)};
  }
  // What a model says that reads the whole prompt at once.
  std::vector<std::int32_t> said_anew(const ChatReply& reply) const {
    return other_->generate_ids(reply.generation.prompt_ids, greedy).ids;
  }

  std::unique_ptr<LanguageModel> model_, other_;
};

TEST_F(ChatTest, EachTurnComputesOnlyWhatIsNew) {
  Chat chat = this->chat({.system = "A polite society."});
  std::int64_t known = 0;
  for (const char* text : {"Good morning, sir.", "  How do you do? ", "It is a fine day \u2014 is it not?"}) {
    const ChatReply reply = chat.say(text, greedy);
    const auto prompt = static_cast<std::int64_t>(reply.generation.prompt_ids.size());
    EXPECT_EQ(reply.generation.ids, said_anew(reply)) << text;
    EXPECT_GE(reply.reused_tokens, known > 0 ? known / 2 : 0);
    EXPECT_LT(reply.reused_tokens, prompt);
    EXPECT_EQ(reply.reused_tokens > 0, known > 0);
    known = prompt;
  }
  EXPECT_EQ(chat.messages().size(), 7u);
  EXPECT_EQ(chat.messages()[2].role, "assistant");
}

TEST_F(ChatTest, ChangesOfThePastAreNoticed) {
  Chat chat = this->chat();
  chat.say("Good morning.", greedy);
  chat.set_system("Another society.");
  const ChatReply reply = chat.say("Good evening.", greedy);
  EXPECT_EQ(reply.generation.ids, said_anew(reply));
  EXPECT_EQ(chat.messages().front().content, "Another society.");
  chat.set_system("");
  EXPECT_EQ(chat.messages().front().role, "user");
  chat.reset();
  EXPECT_TRUE(chat.messages().empty());
  EXPECT_EQ(chat.say("Good morning.", greedy).reused_tokens, 0);
}

TEST_F(ChatTest, WhatFailsLeavesTheConversationAsItWas) {
  Chat chat = this->chat();
  chat.say("Good morning.", greedy);
  const auto code = [&](const std::string& text) {
    try {
      chat.say(text, greedy);
    } catch (const Error& error) {
      return error.code();
    }
    return std::string();
  };
  EXPECT_EQ(code("forbidden"), "RefusedByTemplate");
  std::string endless;
  while (endless.size() < 200000) endless += "word ";
  EXPECT_EQ(code(endless), "PromptTooLong");
  EXPECT_EQ(chat.messages().size(), 2u);
  const ChatReply reply = chat.say("And now?", greedy);
  EXPECT_EQ(reply.generation.ids, said_anew(reply));
  EXPECT_GT(reply.reused_tokens, 0);
}

TEST_F(ChatTest, StopStringsEndAReplyAndAnInterruptedOneStays) {
  Chat chat = this->chat();
  const std::string whole = chat.say("Good morning.", greedy).generation.text;
  ASSERT_GT(whole.size(), 8u);
  chat.reset();
  GenerateOptions options = greedy;
  options.stop = {whole.substr(4, 3)};
  const ChatReply stopped = chat.say("Good morning.", options);
  EXPECT_EQ(stopped.generation.stop, StopReason::stop);
  EXPECT_EQ(stopped.generation.text, whole.substr(0, whole.find(options.stop[0])));
  chat.reset();
  const ChatReply interrupted = chat.say("Good morning.", greedy, [](std::string_view) { return false; });
  EXPECT_EQ(interrupted.generation.stop, StopReason::canceled);
  EXPECT_EQ(chat.messages().back().content, interrupted.generation.text);
  const ChatReply next = chat.say("Pray go on.", greedy);
  EXPECT_EQ(next.generation.ids, said_anew(next));
}

}  // namespace
}  // namespace weft
