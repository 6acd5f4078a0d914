// weft chat: a conversation. Messages are lines on standard input, replies stream to standard output; on a terminal it
// asks for each message, otherwise it reads to the end.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "weft/base/fail.h"
#include "weft/cli/interrupt.h"
#include "weft/cli/json_output.h"
#include "weft/cli/program.h"
#include "weft/cli/sampling.h"
#include "weft/cli/text_input.h"
#include "weft/models/chat.h"
#include "weft/models/checkpoint.h"
#include "weft/models/language_model.h"
#include "weft/text/jinja/json_value.h"

namespace weft::cli {
namespace {

constexpr std::string_view commands =
    "/system TEXT  set the system message, or remove it\n"
    "/reset        forget the conversation, keep the system message\n"
    "/exit         end\n"
    "/help         this list\n";

ChatTemplate chosen_template(const LanguageModel& model, const std::string& chosen) {
  ChatSettings settings = model.checkpoint().chat();
  std::string where = model.checkpoint().path().string();
  if (!chosen.empty()) {
    const auto formats = ChatTemplate::formats();
    const bool known = std::find(formats.begin(), formats.end(), chosen) != formats.end();
    settings.format = known ? chosen : "";
    settings.template_text = known ? "" : read_text(chosen);
    if (!known) where = chosen;
  }
  return ChatTemplate::create(settings, model.tokenizer(), where);
}

class Conversation {
 public:
  Conversation(const ChatArguments& arguments, LanguageModel& model, Chat& chat)
      : arguments_(arguments), terminal_(::isatty(STDIN_FILENO) == 1), chat_(chat) {
    options_ = {.max_tokens = arguments.max_tokens,
                .sampling = sampling_options(model.checkpoint(), arguments.sampling),
                .stop = arguments.stop};
  }

  int run() {
    if (terminal_) fmt::print(stderr, "{} · /help lists the commands\n", chat_.chat_template().origin());
    while (const auto message = read_message()) {
      if (message->empty()) continue;
      if (message->starts_with('/')) {
        if (!command(*message)) return 0;
      } else if (const int status = answer(*message); status != 0) {
        return status;
      }
    }
    if (terminal_) fmt::print("\n");
    return 0;
  }

 private:
  // Lines up to one that does not end with a backslash; nothing at the end of the input.
  std::optional<std::string> read_message() const {
    std::string message, line;
    for (bool first = true;; first = false) {
      if (terminal_) {
        fmt::print("{}", first ? "> " : "… ");
        std::fflush(stdout);
      }
      if (!std::getline(std::cin, line)) return first ? std::nullopt : std::optional(message);
      if (line.ends_with('\r')) line.pop_back();
      const bool more = line.ends_with('\\');
      if (more) line.back() = '\n';
      message += line;
      if (!more) return message;
    }
  }

  // False ends the conversation.
  bool command(const std::string& line) {
    const std::string name = line.substr(0, line.find(' '));
    const std::string text = name.size() < line.size() ? line.substr(name.size() + 1) : "";
    if (name == "/exit" || name == "/quit") return false;
    if (name == "/system")
      chat_.set_system(text);
    else if (name == "/reset")
      chat_.reset();
    else if (name == "/help")
      fmt::print(stderr, "{}", commands);
    else
      fmt::print(stderr, "{} is no command; these are:\n{}", name, commands);
    return true;
  }

  int answer(const std::string& message) {
    const InterruptGuard guard;
    const auto stream = [this](std::string_view text) {
      if (!arguments_.json) std::fwrite(text.data(), 1, text.size(), stdout);
      return std::fflush(stdout) == 0 && !InterruptGuard::interrupted();
    };
    try {
      if (arguments_.render) {
        fmt::print("{}\n", chat_.prompt(message));
        return 0;
      }
      const ChatReply reply = chat_.say(message, options_, stream);
      fmt::print("{}\n", arguments_.json ? reply_json(reply) : "");
      if (reply.generation.stop == StopReason::context)
        fmt::print(stderr, "the context is full; /reset begins anew, --ctx makes it larger\n");
    } catch (const Error& error) {
      // A person can go on; a script should hear of it.
      if (!terminal_) throw;
      fmt::print(stderr, "weft: {}\n", error.what());
    }
    std::fflush(stdout);
    return InterruptGuard::interrupted() && !terminal_ ? interrupted_status : 0;
  }

  const ChatArguments& arguments_;
  bool terminal_;
  Chat& chat_;
  GenerateOptions options_;
};

}  // namespace

int chat(const ChatArguments& arguments) {
  LanguageModel model = LanguageModel::open(arguments.model, {.context = arguments.context,
                                                              .threads = arguments.threads,
                                                              .backend = arguments.backend,
                                                              .kv_type = *dtype_from_name(arguments.kv_type),
                                                              .canceled = InterruptGuard::interrupted});
  jinja::Value variables;
  if (!arguments.variables.empty()) variables = jinja::value_from_json(arguments.variables, "--vars");
  if (!arguments.variables.empty() && variables.mapping() == nullptr)
    fail(ErrorKind::invalid_argument, "InvalidArgument", "--vars", "expected a JSON object");
  Chat chat(model, chosen_template(model, arguments.chat_template),
            {.system = arguments.system, .variables = std::move(variables)});
  return Conversation(arguments, model, chat).run();
}

}  // namespace weft::cli
