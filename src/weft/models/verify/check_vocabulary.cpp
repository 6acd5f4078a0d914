#include "weft/models/verify/check_vocabulary.h"

#include <fmt/format.h>

#include <set>
#include <unordered_set>

#include "weft/models/vocabulary_check.h"
#include "weft/text/characters.h"

namespace weft {
namespace {

// The first few of what is wrong with a vocabulary, and how many there are.
class Examples {
 public:
  void add(std::string example) {
    if (++count_ <= 3) text_ += (count_ > 1 ? ", " : "") + std::move(example);
  }
  bool any() const { return count_ > 0; }
  std::string text() const { return fmt::format("{}: {}{}", count_, text_, count_ > 3 ? ", ..." : ""); }

 private:
  std::uint64_t count_ = 0;
  std::string text_;
};

void check_tokens(const Vocabulary& vocabulary, std::int64_t vocab_size, const std::string& where, Findings& findings) {
  Examples beyond, repeated;
  std::unordered_set<std::string_view> texts;
  std::int64_t within = 0;
  for (const VocabularyEntry& entry : vocabulary.entries) {
    if (entry.id >= vocab_size)
      beyond.add(std::to_string(entry.id));
    else
      ++within;
    if (!texts.insert(entry.text).second && entry.kind != TokenKind::unused)
      repeated.add(fmt::format("\"{}\"", entry.text));
  }
  if (beyond.any())
    findings.error("TokenOutOfRange", where,
                   fmt::format("ids that the embedding of {} rows has no row for, {}", vocab_size, beyond.text()));
  if (within < vocab_size)
    findings.warning(
        "TokensMissing", where,
        fmt::format("{} of the {} ids that the model can give have no token", vocab_size - within, vocab_size));
  if (repeated.any()) findings.warning("DuplicateToken", where, "texts of more than one token, " + repeated.text());
}

void check_merges(const Vocabulary& vocabulary, const std::string& where, Findings& findings) {
  std::unordered_set<std::string_view> texts;
  for (const VocabularyEntry& entry : vocabulary.entries) texts.insert(entry.text);
  Examples lost;
  for (const auto& [left, right] : vocabulary.merges)
    if (!texts.contains(left + right)) lost.add(fmt::format("\"{}\" + \"{}\"", left, right));
  if (lost.any()) findings.warning("MergeWithoutToken", where, "merges that give no token, " + lost.text());
  if (vocabulary.type != TokenizerType::byte_level_bpe || vocabulary.byte_fallback || vocabulary.unk) return;
  Examples bytes;
  for (int byte = 0; byte < 256; ++byte) {
    std::string character;
    text::append_alphabet_character(character, static_cast<std::uint8_t>(byte));
    if (!texts.contains(character)) bytes.add(fmt::format("{:#04x}", byte));
  }
  if (bytes.any())
    findings.warning("ByteWithoutToken", where,
                     "bytes that no token spells, so that some texts cannot be encoded, " + bytes.text());
}

// What a template writes in the form "<|...|>" is meant to be a token.
void check_template(const Vocabulary& vocabulary, std::string_view chat_template, const std::string& where,
                    Findings& findings) {
  std::unordered_set<std::string_view> texts;
  for (const VocabularyEntry& entry : vocabulary.entries) texts.insert(entry.text);
  std::set<std::string_view> told;
  for (std::size_t at = 0; (at = chat_template.find("<|", at)) != std::string_view::npos; at += 2) {
    const std::size_t end = chat_template.find("|>", at);
    const std::string_view token = chat_template.substr(at, end == std::string_view::npos ? end : end + 2 - at);
    const bool is_token = end != std::string_view::npos && token.size() <= 64 &&
                          token.find_first_of(" \n\"'{}") == std::string_view::npos;
    if (is_token && !texts.contains(token) && told.insert(token).second)
      findings.warning("UnknownSpecialToken", where,
                       fmt::format("the chat template writes {}, which the vocabulary lacks", token));
  }
}

}  // namespace

void check_vocabulary(const Vocabulary& vocabulary, std::int64_t vocab_size, std::string_view chat_template,
                      const std::string& where, Findings& findings) {
  check_tokens(vocabulary, vocab_size, where, findings);
  check_merges(vocabulary, where, findings);
  check_template(vocabulary, chat_template, where, findings);
  if (vocabulary.eos.empty())
    findings.warning("NoEndOfText", where, "no token ends a text: the model writes until it is stopped");
  findings.attempt([&] { expect_usable(vocabulary, vocab_size, where); });
}

}  // namespace weft
