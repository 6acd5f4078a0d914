// How a conversation becomes a prompt: the template that a model's file carries, or one of weft's own formats.
// Immutable; safe to share between threads.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"
#include "weft/models/chat_settings.h"
#include "weft/text/jinja/template.h"
#include "weft/text/tokenizer.h"

namespace weft {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
};

class WEFT_API ChatTemplate {
 public:
  // The template of `settings`, else its format, else the format whose end-of-turn token the vocabulary has:
  // <|im_end|>, <|eot_id|>, <|turn>, <start_of_turn>, in this order; else "plain". `where` stands in errors. A token
  // that the template spells and the vocabulary lacks is logged as a warning. UnknownChatFormat, InvalidTemplate.
  static ChatTemplate create(const ChatSettings& settings, const Tokenizer& tokenizer, const std::string& where);
  static std::vector<std::string_view> formats();  // chatml, llama-3, gemma, gemma4, plain

  const std::string& origin() const { return origin_; }  // "the file's template", "chatml"

  struct Options {
    bool add_generation_prompt = true;  // end with what opens the model's turn
    // Further variables of the template, a mapping: tools, enable_thinking, ...
    jinja::Value variables = {};
    std::function<std::tm()> clock = jinja::Template::local_time;
  };
  // InvalidTemplate, TemplateLimit, and RefusedByTemplate where the template does not take such a conversation.
  std::string render(std::span<const ChatMessage> messages, const Options& options) const;
  // The ids of the same text. What spells a control token inside a message stays plain text.
  std::vector<std::int32_t> encode(std::span<const ChatMessage> messages, const Tokenizer& tokenizer,
                                   const Options& options) const;

 private:
  ChatTemplate(jinja::Template compiled, std::string origin, const ChatSettings& settings, const Tokenizer& tokenizer);

  jinja::Template template_;
  std::string origin_, system_default_, bos_;
  jinja::Value special_tokens_;  // bos_token, eos_token, ...
};

}  // namespace weft
