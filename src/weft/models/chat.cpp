#include "weft/models/chat.h"

#include <algorithm>
#include <utility>

#include "weft/models/checkpoint.h"

namespace weft {

Chat::Chat(LanguageModel& model, ChatTemplate chat_template, ChatOptions options)
    : model_(model), template_(std::move(chat_template)), options_(std::move(options)) {
  reset();
}

void Chat::reset() {
  messages_.clear();
  if (!options_.system.empty()) messages_.push_back({"system", options_.system});
  known_.clear();
  model_.reset();
}

void Chat::set_system(std::string text) {
  options_.system = std::move(text);
  if (!messages_.empty() && messages_.front().role == "system") messages_.erase(messages_.begin());
  if (!options_.system.empty()) messages_.insert(messages_.begin(), {"system", options_.system});
}

std::vector<ChatMessage> Chat::with(std::string text) const {
  std::vector<ChatMessage> asked = messages_;
  asked.push_back({"user", std::move(text)});
  return asked;
}

std::string Chat::prompt(std::string text) const {
  return template_.render(with(std::move(text)), {.variables = options_.variables});
}

ChatReply Chat::say(std::string text, const GenerateOptions& options, const TextSink& sink) {
  std::vector<ChatMessage> asked = with(std::move(text));
  const std::vector<std::int32_t> prompt =
      template_.encode(asked, model_.tokenizer(), {.variables = options_.variables});
  model_.expect_fits(prompt);

  const auto differ = std::mismatch(known_.begin(), known_.end(), prompt.begin(), prompt.end()).second;
  // The last token is always computed: its logits begin the reply.
  const auto reused = std::min<std::ptrdiff_t>(differ - prompt.begin(), static_cast<std::ptrdiff_t>(prompt.size()) - 1);
  model_.truncate(std::max<std::ptrdiff_t>(reused, 0));
  known_.resize(static_cast<std::size_t>(std::max<std::ptrdiff_t>(reused, 0)));

  GenerateOptions turn = options;
  const std::vector<std::string>& ends = model_.checkpoint().chat().eos_sequences;
  turn.stop.insert(turn.stop.end(), ends.begin(), ends.end());
  ChatReply reply{.generation = model_.continue_ids(std::span(prompt).subspan(known_.size()), turn, sink),
                  .reused_tokens = static_cast<std::int64_t>(known_.size())};
  known_ = prompt;
  known_.insert(known_.end(), reply.generation.ids.begin(), reply.generation.ids.end());
  known_.resize(static_cast<std::size_t>(model_.past_length()));
  reply.generation.prompt_ids = prompt;
  asked.push_back({"assistant", reply.generation.text});
  messages_ = std::move(asked);
  return reply;
}

}  // namespace weft
