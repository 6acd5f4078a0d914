// A conversation with a language model. The model keeps what it has read: each turn only what is new is computed.
// One conversation at a time per model, used by one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"
#include "weft/models/chat_template.h"
#include "weft/models/language_model.h"

namespace weft {

struct ChatReply {
  Generation generation;           // prompt_ids: those of the whole conversation so far
  std::int64_t reused_tokens = 0;  // of the prompt, known from the turns before
};

struct ChatOptions {
  std::string system = {};      // the system message; empty for none but the file's default
  jinja::Value variables = {};  // further ones of the template, a mapping
};

class WEFT_API Chat {
 public:
  // `model` must outlive the chat.
  Chat(LanguageModel& model, ChatTemplate chat_template, ChatOptions options = {});

  // Adds the user's message and the model's reply to the conversation. The reply ends before an end-of-turn token, a
  // text of the file's or one of options.stop. Where nothing comes of it (the template refuses, the context is full)
  // the conversation stays as it was. An interrupted reply stays as far as it came.
  ChatReply say(std::string text, const GenerateOptions& options = {}, const TextSink& sink = {});

  // The text that say() would make of the conversation with this message.
  std::string prompt(std::string text) const;

  void reset();  // forgets all but the system message
  void set_system(std::string text);
  const std::vector<ChatMessage>& messages() const { return messages_; }
  const ChatTemplate& chat_template() const { return template_; }

 private:
  std::vector<ChatMessage> with(std::string text) const;

  LanguageModel& model_;
  ChatTemplate template_;
  ChatOptions options_;
  std::vector<ChatMessage> messages_;
  std::vector<std::int32_t> known_;  // the ids that the model's context holds
};

}  // namespace weft
