#include "weft/text/normalizer.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"
#include "weft/text/characters.h"
#include "weft/text/code_points.h"

namespace weft::text {
namespace {

constexpr int longest_combining_run = 1024;

void check_combining_runs(std::string_view text) {
  int run = 0;
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t code_point = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                                     static_cast<utf8proc_ssize_t>(text.size() - at), &code_point);
    if (length <= 0) return;  // utf8proc_map reports it
    run = utf8proc_get_property(code_point)->combining_class != 0 ? run + 1 : 0;
    if (run > longest_combining_run)
      fail(ErrorKind::out_of_memory, "LimitExceeded", fmt::format("text@{}", at),
           "a run of more than {} combining marks cannot be normalized", longest_combining_run);
    at += static_cast<std::size_t>(length);
  }
}

constexpr std::size_t longest_result = 0x7FFFFFFF;
constexpr std::string_view replacement_character = "\xEF\xBF\xBD";  // U+FFFD

// Python's strip() takes four control characters more.
bool has_white_space_property(char32_t c) { return is_white_space(c) && !(c >= 0x1C && c <= 0x1F); }

void check_length(const std::string& result) {
  if (result.size() > longest_result)
    fail(ErrorKind::out_of_memory, "LimitExceeded", "text", "more than {} bytes once it is normalized", longest_result);
}

// What SentencePiece makes of a text, one step at a time.
class Steps {
 public:
  Steps(std::string_view text, const Charsmap& map, const SpecialMatcher& user_defined)
      : text_(text), map_(map), user_defined_(user_defined) {
    find_token();
    find_malformed();
  }

  bool done() const { return at_ == text_.size(); }

  // What stands for the text at the position, which moves on.
  std::string_view next() {
    if (token_ && token_->begin < at_) find_token();
    if (token_ && token_->begin == at_) return take(token_->end - at_);
    const Charsmap::Match match = map_.longest(text_.substr(at_));
    if (match.length != 0) {
      at_ += match.length;
      return match.replacement;
    }
    if (malformed_ < at_) find_malformed();
    // A key may have ended inside a character.
    const bool inside = (static_cast<unsigned char>(text_[at_]) & 0xC0) == 0x80;
    if (!inside && malformed_ != at_) return take(character_length(text_[at_]));
    ++at_;
    return replacement_character;
  }

 private:
  std::string_view take(std::size_t length) {
    at_ += length;
    return text_.substr(at_ - length, length);
  }
  void find_token() { token_ = user_defined_.find(text_, at_); }
  void find_malformed() { malformed_ = at_ + find_invalid_utf8(text_.substr(at_)).value_or(text_.size() - at_); }

  std::string_view text_;
  const Charsmap& map_;
  const SpecialMatcher& user_defined_;
  std::size_t at_ = 0, malformed_ = 0;          // the first malformed byte that is not passed, or the end
  std::optional<SpecialMatcher::Match> token_;  // the next one
};

}  // namespace

std::string normalize(std::string_view text, TextNormalizer form) {
  if (form == TextNormalizer::none || text.empty()) return std::string(text);
  check_combining_runs(text);
  const int compatibility = form == TextNormalizer::nfkc ? UTF8PROC_COMPAT : 0;
  utf8proc_uint8_t* out = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &out, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | compatibility));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(out, &std::free);
  if (length < 0) fail(ErrorKind::invalid_argument, "NormalizationFailed", "text", "{}", utf8proc_errmsg(length));
  return std::string(reinterpret_cast<const char*>(out), static_cast<std::size_t>(length));
}

std::string normalize_sentencepiece(std::string_view text, const Charsmap& map, ExtraSpaces spaces,
                                    bool add_space_prefix, const SpecialMatcher& user_defined) {
  const bool remove = spaces == ExtraSpaces::remove;
  std::string out;
  bool begun = false, after_space = remove;
  for (Steps steps(text, map, user_defined); !steps.done();) {
    std::string_view step = steps.next();
    // Nothing but spaces is no text, and nothing is put before it.
    if (!begun && remove && step == " ") continue;
    if (!begun && add_space_prefix) out += ' ';
    begun = true;
    while (after_space && step.starts_with(' ')) step.remove_prefix(1);
    if (step.empty()) continue;
    out += step;
    check_length(out);
    after_space = remove && step.back() == ' ';
  }
  while (remove && (out.ends_with(' ') || out.ends_with(spm_space)))
    out.resize(out.size() - (out.back() == ' ' ? 1 : spm_space.size()));
  return out.find(spm_space) == std::string::npos ? out : replace_all(out, spm_space, " ");
}

std::string normalize_precompiled(std::string_view text, const Charsmap& map) {
  constexpr std::size_t shortest_long_cluster = 6;  // bytes
  std::string out;
  const auto change = [&](std::string_view part) {
    const Charsmap::Match match = map.shortest(part);
    if (match.length != 0) out += match.replacement;
    return match.length != 0;
  };
  for (std::size_t begin = 0; begin < text.size();) {
    utf8proc_int32_t state = 0, last = 0, c = 0;
    std::size_t end = begin;
    while (end < text.size()) {
      const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + end,
                                                       static_cast<utf8proc_ssize_t>(text.size() - end), &c);
      if (length <= 0) fail(ErrorKind::invalid_argument, "InvalidUtf8", fmt::format("text@{}", end), "it is no UTF-8");
      if (end != begin && utf8proc_grapheme_break_stateful(last, c, &state)) break;
      last = c;
      end += static_cast<std::size_t>(length);
    }
    const std::string_view cluster = text.substr(begin, end - begin);
    if (cluster.size() >= shortest_long_cluster || !change(cluster)) {
      for (std::size_t at = 0; at < cluster.size(); at += character_length(cluster[at])) {
        const std::string_view character = cluster.substr(at, character_length(cluster[at]));
        if (!change(character)) out += character;
      }
    }
    check_length(out);
    begin = end;
  }
  return out;
}

std::string reduce_spaces(std::string_view text, ExtraSpaces spaces) {
  const std::u32string characters = to_code_points(text);
  std::size_t size = characters.size();
  while (spaces == ExtraSpaces::merge_and_strip && size > 0 && has_white_space_property(characters[size - 1])) --size;
  std::string out;
  bool in_word = false;
  for (std::size_t at = 0; at < size; ++at) {
    const char32_t c = characters[at];
    if (spaces == ExtraSpaces::words) {
      const bool space = has_white_space_property(c);
      if (!space && !in_word) out += ' ';
      if (!space) append_utf8(out, c);
      in_word = !space;
    } else if (c != ' ' || at == 0 || characters[at - 1] != ' ') {
      append_utf8(out, c);
    }
  }
  return out;
}

}  // namespace weft::text
