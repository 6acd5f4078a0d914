#include "weft/models/chat_template.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/log.h"

namespace weft {
namespace {

struct Format {
  std::string_view name;
  std::string_view end_of_turn;  // the token that shows that a model was trained on it
  std::string_view source;
};

// In the order in which a vocabulary is asked for them.
constexpr std::array<Format, 5> known_formats{{
    {"chatml", "<|im_end|>",
     R"({% for m in messages %}{{ '<|im_start|>' ~ m.role ~ '\n' ~ m.content ~ '<|im_end|>\n' }}{% endfor %})"
     R"({% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})"},
    {"llama-3", "<|eot_id|>",
     R"({% macro head(role) %}{{ '<|start_header_id|>' ~ role ~ '<|end_header_id|>\n\n' }}{% endmacro %})"
     R"(<|begin_of_text|>{% for m in messages %}{{ head(m.role) ~ m.content ~ '<|eot_id|>' }}{% endfor %})"
     R"({% if add_generation_prompt %}{{ head('assistant') }}{% endif %})"},
    {"gemma4", "<|turn>",
     R"({% macro head(role) %}{{ '<|turn>' ~ ('model' if role == 'assistant' else role) ~ '\n' }}{% endmacro %})"
     R"(<bos>{% for m in messages %}{{ head(m.role) ~ m.content ~ '<turn|>\n' }}{% endfor %})"
     R"({% if add_generation_prompt %}{{ head('assistant') }}{% endif %})"},
    {"gemma", "<start_of_turn>",
     R"({% macro head(role) %}{{ '<start_of_turn>' ~ ('model' if role == 'assistant' else role) ~ '\n' }}{% endmacro %})"
     R"({% for m in messages %}{{ head(m.role) ~ m.content ~ '<end_of_turn>\n' }}{% endfor %})"
     R"({% if add_generation_prompt %}{{ head('assistant') }}{% endif %})"},
    {"plain", "", R"({{ messages|map(attribute='content')|join('\n') }})"},
}};

const Format& format_named(std::string_view name, const std::string& where) {
  if (name == "llama-3-instruct") name = "llama-3";
  for (const Format& format : known_formats)
    if (format.name == name) return format;
  fail(ErrorKind::unsupported, "UnknownChatFormat", where, "\"{}\" is none of weft's chat formats: {}", name,
       fmt::join(ChatTemplate::formats(), ", "));
}

const Format& format_of(const Tokenizer& tokenizer) {
  return *std::find_if(known_formats.begin(), known_formats.end(), [&](const Format& format) {
    return format.end_of_turn.empty() || tokenizer.find_token(format.end_of_turn).has_value();
  });
}

void warn_of_unknown_tokens(std::string_view source, const Tokenizer& tokenizer, const std::string& where) {
  std::vector<std::string> unknown;
  for (std::size_t at = source.find("<|"); at != std::string_view::npos; at = source.find("<|", at + 2)) {
    const std::size_t end = source.find_first_of("<>{}'\" \n", at + 2);
    if (end == std::string_view::npos || source[end] != '>' || source[end - 1] != '|' || end - at < 4) continue;
    std::string token(source.substr(at, end + 1 - at));
    if (!tokenizer.find_token(token) && std::find(unknown.begin(), unknown.end(), token) == unknown.end())
      unknown.push_back(std::move(token));
  }
  if (!unknown.empty())
    log().warn("UnknownSpecialToken: {}: the chat template spells {}, which the vocabulary lacks", where,
               fmt::join(unknown, ", "));
}

jinja::Value special_tokens(const Tokenizer& tokenizer) {
  std::vector<std::pair<jinja::Value, jinja::Value>> tokens;
  const auto add = [&](const char* name, std::optional<std::int32_t> id) {
    tokens.emplace_back(name, id ? std::string(tokenizer.token_text(*id)) : std::string());
  };
  add("bos_token", tokenizer.bos());
  add("eos_token", tokenizer.eos().empty() ? std::nullopt : std::optional(tokenizer.eos().front()));
  add("unk_token", tokenizer.unk());
  add("pad_token", tokenizer.pad());
  return jinja::Value::mapping(std::move(tokens));
}

// A character that no message has: it breaks up what looks like a control token inside one.
std::string guard_for(std::span<const ChatMessage> messages) {
  for (char last = '\x90'; last < '\xB0'; ++last) {
    const std::string noncharacter = {'\xEF', '\xB7', last};  // U+FDD0 and the 31 behind it
    const bool used = std::any_of(messages.begin(), messages.end(), [&](const ChatMessage& message) {
      return message.content.find(noncharacter) != std::string::npos;
    });
    if (!used) return noncharacter;
  }
  fail(ErrorKind::invalid_argument, "InvalidMessage", "messages", "they hold every noncharacter from U+FDD0 to U+FDEF");
}

}  // namespace

std::vector<std::string_view> ChatTemplate::formats() {
  std::vector<std::string_view> names;
  for (const Format& format : known_formats) names.push_back(format.name);
  return names;
}

ChatTemplate::ChatTemplate(jinja::Template compiled, std::string origin, const ChatSettings& settings,
                           const Tokenizer& tokenizer)
    : template_(std::move(compiled)),
      origin_(std::move(origin)),
      system_default_(settings.system_default),
      bos_(settings.bos),
      special_tokens_(special_tokens(tokenizer)) {}

ChatTemplate ChatTemplate::create(const ChatSettings& settings, const Tokenizer& tokenizer, const std::string& where) {
  const std::string name = where + ", chat template";
  if (!settings.template_text.empty()) {
    warn_of_unknown_tokens(settings.template_text, tokenizer, where);
    return {jinja::Template::compile(settings.template_text, name), "the file's template", settings, tokenizer};
  }
  const Format& format = settings.format.empty() ? format_of(tokenizer) : format_named(settings.format, where);
  if (!settings.format.empty()) warn_of_unknown_tokens(format.source, tokenizer, where);
  return {jinja::Template::compile(format.source, name), std::string(format.name), settings, tokenizer};
}

std::string ChatTemplate::render(std::span<const ChatMessage> messages, const Options& options) const {
  const auto value_of = [](const std::string& role, const std::string& content) {
    return jinja::Value::mapping({{"role", role}, {"content", content}});
  };
  std::vector<jinja::Value> list;
  if (!system_default_.empty() && (messages.empty() || messages[0].role != "system"))
    list.push_back(value_of("system", system_default_));
  for (const ChatMessage& message : messages) list.push_back(value_of(message.role, message.content));
  std::vector<std::pair<jinja::Value, jinja::Value>> context = special_tokens_.mapping()->members();
  context.emplace_back("messages", jinja::Value::list(std::move(list)));
  context.emplace_back("add_generation_prompt", options.add_generation_prompt);
  context.emplace_back("system_default", system_default_);
  // Where there are none, transformers says so: templates ask whether they are none.
  context.emplace_back("tools", jinja::None());
  context.emplace_back("documents", jinja::None());
  if (const jinja::Mapping* further = options.variables.mapping())
    for (const auto& member : further->members()) context.push_back(member);
  return bos_ + template_.render(jinja::Value::mapping(std::move(context)), options.clock);
}

std::vector<std::int32_t> ChatTemplate::encode(std::span<const ChatMessage> messages, const Tokenizer& tokenizer,
                                               const Options& options) const {
  const std::string guard = guard_for(messages);
  std::vector<ChatMessage> guarded(messages.begin(), messages.end());
  for (ChatMessage& message : guarded) message.content = tokenizer.guard_control(message.content, guard);
  EncodeOptions encode;
  encode.parse_special = true;
  encode.guard = guard;
  encode.add_eos = false;
  return tokenizer.encode(render(guarded, options), encode);
}

}  // namespace weft
