#include "weft/text/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <vector>

#include "weft/base/fail.h"
#include "weft/text/characters.h"

namespace weft {
namespace {

struct Pattern {
  std::string_view name;
  std::string_view regex;  // empty: the whole text is one piece
  bool whole_pieces_first;
};

constexpr std::array<Pattern, 5> patterns{{
    {"gpt2", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", false},
    {"llama3",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
     true},
    {"qwen2",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
     false},
    {"qwen35",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)"
     R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
     false},
    {"none", "", false},
}};

// White space is Unicode's property: PCRE2's own \s counts U+180E too, which the engines that the models were
// trained with do not.
std::string with_unicode_spaces(std::string_view regex) {
  return text::replace_all(text::replace_all(regex, R"(\s)", R"(\p{White_Space})"), R"(\S)", R"(\P{White_Space})");
}

struct GgufName {
  std::string_view gguf, weft;
};
constexpr std::array<GgufName, 6> gguf_names{{{"gpt-2", "gpt2"},
                                              {"llama-bpe", "llama3"},
                                              {"llama3", "llama3"},
                                              {"llama-v3", "llama3"},
                                              {"qwen2", "qwen2"},
                                              {"qwen35", "qwen35"}}};

template <class T>
std::string list_of(const T& table, std::string_view T::value_type::*name) {
  std::string names;
  for (const auto& entry : table) names.append(names.empty() ? "" : ", ").append(entry.*name);
  return names;
}

constexpr std::uint32_t heap_limit_kib = 64 * 1024;
// Steps of one match. A run of white space is walked back over once, so the limit grows with the text.
constexpr std::size_t least_match_limit = 10'000'000, match_limit_per_byte = 16;

struct Free {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

}  // namespace

std::string pre_tokenizer_from_gguf(std::string_view pre) {
  for (const GgufName& name : gguf_names)
    if (name.gguf == pre) return std::string(name.weft);
  fail(ErrorKind::unsupported, "UnsupportedPreTokenizer", "tokenizer.ggml.pre",
       "\"{}\" is not a known pre-tokenizer; known are {}", pre, list_of(gguf_names, &GgufName::gguf));
}

std::string pre_tokenizer_from_regex(std::string_view regex, bool whole_pieces_first) {
  for (const Pattern& pattern : patterns)
    if (pattern.regex == regex && pattern.whole_pieces_first == whole_pieces_first) return std::string(pattern.name);
  fail(ErrorKind::unsupported, "UnsupportedPreTokenizer", "pre_tokenizer",
       "the pattern {} is none of weft's pre-tokenizers: {}", regex, list_of(patterns, &Pattern::name));
}

namespace text {

struct PreTokenizer::State {
  const Pattern* pattern = nullptr;
  std::unique_ptr<pcre2_code, Free> code;  // nullptr: the whole text is one piece
};

PreTokenizer::PreTokenizer(std::string_view name) : state_(std::make_unique<State>()) {
  const auto found = std::find_if(patterns.begin(), patterns.end(), [&](const Pattern& p) { return p.name == name; });
  if (found == patterns.end())
    fail(ErrorKind::unsupported, "UnsupportedPreTokenizer", "vocabulary",
         "\"{}\" is not a known pre-tokenizer; known are {}", name, list_of(patterns, &Pattern::name));
  state_->pattern = &*found;
  if (found->regex.empty()) return;
  const std::string regex = with_unicode_spaces(found->regex);
  int code = 0;
  std::size_t offset = 0;
  // Anchored: some alternative matches at every character, so a piece starts where the last one ended.
  state_->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(regex.data()), regex.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &code, &offset, nullptr));
  if (!state_->code)
    fail(ErrorKind::unsupported, "PreTokenizerPattern", std::string(name),
         "this PCRE2 refuses the pattern at offset {}: {}", offset, message_of(code));
  // Without compiled code (no JIT here, or no executable memory) the interpreter gives the same matches.
  pcre2_jit_compile(state_->code.get(), PCRE2_JIT_COMPLETE);
}

PreTokenizer::~PreTokenizer() = default;

bool PreTokenizer::whole_pieces_first() const { return state_->pattern->whole_pieces_first; }

void PreTokenizer::split(std::string_view text, const std::function<void(std::string_view)>& visit) const {
  if (text.empty()) return;
  if (!state_->code) return visit(text);
  const std::unique_ptr<pcre2_match_data, Free> match(pcre2_match_data_create(1, nullptr));
  const std::unique_ptr<pcre2_match_context, Free> limits(pcre2_match_context_create(nullptr));
  if (!match || !limits) throw std::bad_alloc();
  pcre2_set_heap_limit(limits.get(), heap_limit_kib);
  pcre2_set_match_limit(limits.get(), static_cast<std::uint32_t>(std::clamp<std::size_t>(
                                          text.size() * match_limit_per_byte, least_match_limit, UINT32_MAX)));
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const std::size_t* ends = pcre2_get_ovector_pointer(match.get());
  for (std::size_t at = 0; at < text.size();) {
    // The caller has checked the text; checking it again at each piece would be quadratic.
    int result =
        pcre2_match(state_->code.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK, match.get(), limits.get());
    if (result == PCRE2_ERROR_JIT_STACKLIMIT)
      result = pcre2_match(state_->code.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match.get(),
                           limits.get());
    std::size_t end = 0;
    if (result >= 0) {
      end = ends[1];
    } else if (result != PCRE2_ERROR_NOMATCH) {
      fail(ErrorKind::out_of_memory, "LimitExceeded", fmt::format("text@{}", at),
           "pre-tokenizer {} gave up: {}; split the text", state_->pattern->name, message_of(result));
    }
    // A character that no alternative takes stands alone.
    if (end <= at) end = std::min(at + character_length(text[at]), text.size());
    visit(text.substr(at, end - at));
    at = end;
  }
}

}  // namespace text
}  // namespace weft
