#include "weft/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "weft/base/error.h"
#include "weft/text/test_vocabularies.h"

namespace weft {
namespace {

using testing::ElementsAre;
using text::byte_level_vocabulary;
using text::error_code;
using text::spm_vocabulary;
using Ids = std::vector<std::int32_t>;

const std::string visible = "\xE2\x96\x81";
const EncodeOptions bare{.parse_special = false, .add_bos = false, .add_eos = false};
const EncodeOptions special{.parse_special = true, .add_bos = false, .add_eos = false};

TEST(Tokenizer, MergesInOrderOfRank) {
  const auto tokenizer = Tokenizer::create(byte_level_vocabulary({{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"a", "a"}}));
  EXPECT_THAT(tokenizer->encode("abc"), ElementsAre(258));
  EXPECT_THAT(tokenizer->encode("ab"), ElementsAre(257));
  EXPECT_THAT(tokenizer->encode("aaa"), ElementsAre(259, 'a'));  // leftmost first
  EXPECT_THAT(tokenizer->encode("aabc"), ElementsAre('a', 258));
  EXPECT_EQ(tokenizer->token_bytes(258), "abc");
}

// The definition, word by word: find the best pair, merge it, again.
Ids merged_step_by_step(const Vocabulary& vocabulary, std::string_view text) {
  std::vector<std::string> symbols;
  for (const char c : text) symbols.push_back(text::to_alphabet({&c, 1}));
  for (;;) {
    std::size_t best = vocabulary.merges.size(), at = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto pair = std::make_pair(symbols[i], symbols[i + 1]);
      const auto found = std::find(vocabulary.merges.begin(), vocabulary.merges.end(), pair);
      const auto rank = static_cast<std::size_t>(found - vocabulary.merges.begin());
      if (rank < best) best = rank, at = i;
    }
    if (best == vocabulary.merges.size()) break;
    symbols[at] += symbols[at + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  Ids ids;
  for (const std::string& symbol : symbols)
    ids.push_back(std::find_if(vocabulary.entries.begin(), vocabulary.entries.end(), [&](const VocabularyEntry& entry) {
                    return entry.text == symbol;
                  })->id);
  return ids;
}

TEST(Tokenizer, AgreesWithTheDefinitionOnRandomMerges) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> known{"a", "b", "c"};
    std::vector<std::pair<std::string, std::string>> merges;
    for (int n = 0; n < 12; ++n) {
      merges.emplace_back(known[random() % known.size()], known[random() % known.size()]);
      known.push_back(merges.back().first + merges.back().second);
    }
    // Ranks need not follow the order in which symbols can come about.
    std::shuffle(merges.begin(), merges.end(), random);
    const Vocabulary vocabulary = byte_level_vocabulary(merges, "none");
    const auto tokenizer = Tokenizer::create(vocabulary);
    for (int n = 0; n < 10; ++n) {
      std::string text(1 + random() % 30, ' ');
      for (char& c : text) c = static_cast<char>('a' + random() % 3);
      EXPECT_EQ(tokenizer->encode(text), merged_step_by_step(vocabulary, text)) << text;
    }
  }
}

TEST(Tokenizer, OnlyLlama3TakesWholePiecesFirst) {
  for (const char* pre : {"gpt2", "llama3"}) {
    Vocabulary vocabulary = byte_level_vocabulary({{"a", "b"}}, pre);
    vocabulary.entries.push_back({500, "abc"});  // no merge leads here
    const Ids ids = Tokenizer::create(vocabulary)->encode("abc");
    EXPECT_EQ(ids, std::string_view(pre) == "llama3" ? (Ids{500}) : (Ids{256, 'c'}));
  }
}

TEST(Tokenizer, ScoresMergeTheHighestFirst) {
  const auto tokenizer = Tokenizer::create(
      spm_vocabulary({visible + "ab", "bc", "ab", visible + "a", "aa", visible, "a", "b", "c"}, false));
  const auto id = [&](const std::string& text) { return *tokenizer->find_token(text); };
  EXPECT_THAT(tokenizer->encode("abc", bare), ElementsAre(id(visible + "a"), id("bc")));
  EXPECT_THAT(tokenizer->encode("ab", bare), ElementsAre(id(visible + "ab")));
  EXPECT_THAT(tokenizer->encode("caaa", bare), ElementsAre(id(visible), id("c"), id("aa"), id("a")));
  EXPECT_THAT(tokenizer->encode("ab" + visible + "c", bare), ElementsAre(id(visible + "ab"), id(visible), id("c")));
}

TEST(Tokenizer, MergesWinOverScores) {
  Vocabulary vocabulary = spm_vocabulary({"bc", visible + "a", visible, "a", "b", "c"}, false);
  vocabulary.merges = {{visible, "a"}};
  const auto tokenizer = Tokenizer::create(vocabulary);
  EXPECT_EQ(tokenizer->encode("abc", bare).size(), 3u);
}

TEST(Tokenizer, TheSpacePrefixIsForTheStartOfTheText) {
  Vocabulary vocabulary = spm_vocabulary({visible, "a"});
  vocabulary.entries.push_back({900, "<u>", 0, TokenKind::user_defined});
  const auto tokenizer = Tokenizer::create(vocabulary);
  const std::int32_t space = *tokenizer->find_token(visible), a = *tokenizer->find_token("a");
  EXPECT_THAT(tokenizer->encode("a", bare), ElementsAre(space, a));
  EXPECT_THAT(tokenizer->encode("a<u>a", bare), ElementsAre(space, a, 900, a));
  EXPECT_THAT(tokenizer->encode("<u>a", bare), ElementsAre(900, a));
  EXPECT_THAT(tokenizer->encode("", bare), ElementsAre());
  // A BOS in the text and an added one give the same prompt.
  EXPECT_THAT(tokenizer->encode("<s>a", special), ElementsAre(1, space, a));
  EXPECT_THAT(tokenizer->encode("a</s>a", special), ElementsAre(space, a, 2, a));
  vocabulary.add_space_prefix = false;
  EXPECT_THAT(Tokenizer::create(vocabulary)->encode("a", bare), ElementsAre(a));
}

TEST(Tokenizer, UserDefinedRunsOfSpaces) {
  Vocabulary vocabulary = spm_vocabulary({visible, "a"});
  vocabulary.add_space_prefix = false;
  vocabulary.entries.push_back({900, "  ", 0, TokenKind::user_defined});
  vocabulary.entries.push_back({901, visible + visible + visible, 0, TokenKind::user_defined});
  const auto tokenizer = Tokenizer::create(vocabulary);
  const std::int32_t space = *tokenizer->find_token(visible), a = *tokenizer->find_token("a");
  for (const auto& [text, ids] : std::vector<std::pair<std::string, Ids>>{
           {"a  a", {a, 900, a}}, {"a   a", {a, 901, a}}, {"a    a", {a, 901, space, a}}, {"a     ", {a, 901, 900}}}) {
    EXPECT_EQ(tokenizer->encode(text, bare), ids) << text;
    EXPECT_EQ(tokenizer->decode(ids), text);
  }
}

TEST(Tokenizer, SpecialTokensOfATextAreMatchedOnlyOnRequest) {
  Vocabulary vocabulary = byte_level_vocabulary({{"<", "|"}, {"<|", "x"}});
  vocabulary.entries.push_back({300, "<|x|>", 0, TokenKind::control});
  vocabulary.entries.push_back({301, "<|x|>y", 0, TokenKind::control});
  vocabulary.entries.push_back({302, "xx", 0, TokenKind::user_defined});
  const auto tokenizer = Tokenizer::create(vocabulary);
  EXPECT_THAT(tokenizer->encode("<|x|>", bare), ElementsAre(256, 'x', '|', '>'));
  EXPECT_THAT(tokenizer->encode("<|x|><|x|>yz", special), ElementsAre(300, 301, 'z'));
  EXPECT_THAT(tokenizer->encode("xxx", bare), ElementsAre(302, 'x'));
  EXPECT_EQ(tokenizer->decode(Ids{300, 'a', 302}), "axx");
  EXPECT_EQ(tokenizer->decode(Ids{300, 'a', 302}, {.skip_special = false}), "<|x|>axx");
  EXPECT_TRUE(tokenizer->is_control(300));
  EXPECT_FALSE(tokenizer->is_control(302));
  EXPECT_FALSE(tokenizer->is_control(12345));
}

TEST(Tokenizer, TextNeverSpellsTheEndOfIt) {
  // "</s>" has the best score of all; joining pieces must not lead there.
  const auto tokenizer = Tokenizer::create(spm_vocabulary({"<", "/", "s", ">", "</", "s>", "</s", visible}));
  const Ids ids = tokenizer->encode("</s>", bare);
  EXPECT_THAT(ids, testing::Not(testing::Contains(2)));
  EXPECT_EQ(tokenizer->decode(ids), "</s>");
  EXPECT_THAT(tokenizer->encode("</s>", special), ElementsAre(2));
  // The same for an end that is stored as if it were an ordinary token.
  Vocabulary loose = spm_vocabulary({"<", "/", "s", ">", "</", "s>", "</s", visible});
  loose.entries[2].kind = TokenKind::normal;
  EXPECT_EQ(Tokenizer::create(loose)->encode("</s>", bare), ids);
}

TEST(Tokenizer, AnEndThatIsOrdinaryTextStaysText) {
  Vocabulary vocabulary = byte_level_vocabulary({{"a", "b"}});
  vocabulary.eos = {'\n', 256};
  const auto tokenizer = Tokenizer::create(vocabulary);
  EXPECT_THAT(tokenizer->encode("ab\n", bare), ElementsAre(256, '\n'));
  EXPECT_TRUE(tokenizer->is_eos('\n'));
  EXPECT_TRUE(tokenizer->is_eos(256));
  EXPECT_FALSE(tokenizer->is_eos('a'));
}

TEST(Tokenizer, BosAndEos) {
  Vocabulary vocabulary = spm_vocabulary({visible, "a"});
  vocabulary.add_eos = true;
  const auto tokenizer = Tokenizer::create(vocabulary);
  const std::int32_t space = *tokenizer->find_token(visible), a = *tokenizer->find_token("a");
  EXPECT_THAT(tokenizer->encode("a"), ElementsAre(1, space, a, 2));
  EXPECT_THAT(tokenizer->encode(""), ElementsAre(1, 2));
  EXPECT_THAT(tokenizer->encode("<s>a", {.parse_special = true}), ElementsAre(1, space, a, 2));
  EXPECT_THAT(tokenizer->encode("a", {.add_bos = false}), ElementsAre(space, a, 2));
  vocabulary.bos.reset();
  vocabulary.eos = {77777};  // no such token: as good as none
  const auto without = Tokenizer::create(vocabulary);
  EXPECT_THAT(without->encode("a"), ElementsAre(space, a));
  EXPECT_EQ(without->bos(), std::nullopt);
  EXPECT_TRUE(without->eos().empty());
  EXPECT_EQ(error_code([&] { without->encode("a", {.add_bos = true}); }), "UnknownSpecialToken");
  EXPECT_EQ(error_code([&] { without->encode("a", {.add_eos = true}); }), "UnknownSpecialToken");
}

TEST(Tokenizer, NothingIsDroppedSilently) {
  Vocabulary vocabulary = byte_level_vocabulary({{"a", "b"}, {"ab", "c"}});
  std::erase_if(vocabulary.entries, [](const VocabularyEntry& e) { return e.text == "abc" || e.text == "z"; });
  // A merge without a token of its own: back to characters, not to the symbols before.
  EXPECT_THAT(Tokenizer::create(vocabulary)->encode("abc"), ElementsAre('a', 'b', 'c'));
  EXPECT_EQ(error_code([&] { Tokenizer::create(vocabulary)->encode("az"); }), "UnencodableSymbol");
  vocabulary.unk = 'u';
  EXPECT_THAT(Tokenizer::create(vocabulary)->encode("az"), ElementsAre('a', 'u'));
  vocabulary.byte_fallback = true;
  vocabulary.entries.push_back({700, "<0x7A>", 0, TokenKind::byte});
  const auto tokenizer = Tokenizer::create(vocabulary);
  EXPECT_THAT(tokenizer->encode("az"), ElementsAre('a', 700));
  EXPECT_EQ(tokenizer->decode(Ids{'a', 700}), "az");

  const auto spm = Tokenizer::create(spm_vocabulary({visible, "a"}, false));
  EXPECT_THAT(spm->encode("a\xC3\xA9", bare), ElementsAre(3, 4, 0));
  Vocabulary no_unknown = spm_vocabulary({visible, "a"}, false);
  no_unknown.unk.reset();
  EXPECT_EQ(error_code([&] { Tokenizer::create(no_unknown)->encode("\xC3\xA9"); }), "UnencodableSymbol");
  const auto bytes = Tokenizer::create(spm_vocabulary({visible, "a"}));
  EXPECT_THAT(bytes->encode("\xC3\xA9", bare), ElementsAre(3 + 256, 3 + 0xC3, 3 + 0xA9));
}

TEST(Tokenizer, TextMustBeUtf8) {
  const auto tokenizer = Tokenizer::create(byte_level_vocabulary());
  try {
    tokenizer->encode("ab\xC3\xA9\xFF");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "InvalidUtf8");
    EXPECT_EQ(error.where(), "text@4");
    EXPECT_THAT(error.what(), testing::HasSubstr("0xff at offset 4"));
  }
}

TEST(Tokenizer, UnusedTokensAreReadButNotWritten) {
  Vocabulary vocabulary = byte_level_vocabulary({{"a", "b"}});
  vocabulary.entries.back().kind = TokenKind::unused;
  const auto tokenizer = Tokenizer::create(vocabulary);
  EXPECT_THAT(tokenizer->encode("ab"), ElementsAre('a', 'b'));
  EXPECT_EQ(tokenizer->decode(Ids{256}), "ab");
}

TEST(Tokenizer, OfEqualStringsTheLowestIdEncodes) {
  Vocabulary vocabulary = byte_level_vocabulary({{"a", "b"}});
  vocabulary.entries.push_back({400, "ab"});
  vocabulary.entries.insert(vocabulary.entries.begin(), {399, "ab"});  // order does not matter
  vocabulary.entries.push_back({500, "<s>", 0, TokenKind::control});
  vocabulary.entries.push_back({501, "<s>", 0, TokenKind::control});
  const auto tokenizer = Tokenizer::create(vocabulary);
  EXPECT_THAT(tokenizer->encode("ab<s>", special), ElementsAre(256, 500));
  EXPECT_EQ(tokenizer->find_token("ab"), 256);
  EXPECT_EQ(tokenizer->decode(Ids{256, 399, 400}), "ababab");
}

TEST(Tokenizer, HostileVocabularies) {
  const auto create = [](Vocabulary vocabulary) { return Tokenizer::create(std::move(vocabulary)); };
  Vocabulary empty;
  for (const TokenizerType type : {TokenizerType::byte_level_bpe, TokenizerType::spm_bpe}) {
    empty.type = type;
    empty.pre = "gpt2";
    const auto tokenizer = create(empty);
    EXPECT_EQ(tokenizer->vocab_size(), 0u);
    EXPECT_EQ(tokenizer->id_limit(), 0);
    EXPECT_THAT(tokenizer->encode(""), ElementsAre());
    EXPECT_EQ(error_code([&] { tokenizer->encode("a"); }), "UnencodableSymbol");
    EXPECT_EQ(error_code([&] { tokenizer->decode(Ids{0}); }), "UnknownId");
  }
  // Merges of what is no token, of nothing, of itself, twice, and outside the alphabet.
  const auto merges = create(byte_level_vocabulary(
      {{"q", "r"}, {"qr", "s"}, {"", "a"}, {"a", ""}, {"", ""}, {"a", "a"}, {"a", "a"}, {" ", "x"}, {"\xFF", "x"}}));
  EXPECT_THAT(merges->encode("qrs aax"), ElementsAre(257, ' ', 261, 'x'));

  Vocabulary far = byte_level_vocabulary();
  far.entries.push_back({1000000, "far", 0, TokenKind::user_defined});
  far.entries.push_back({0x7FFFFFFF, "last", 0, TokenKind::user_defined});
  const auto gaps = create(far);
  EXPECT_THAT(gaps->encode("farlast"), ElementsAre(1000000, 0x7FFFFFFF));
  EXPECT_EQ(gaps->decode(Ids{0x7FFFFFFF, 1000000}), "lastfar");
  EXPECT_EQ(gaps->id_limit(), 0x80000000);
  EXPECT_FALSE(gaps->has_token(1000001));
  EXPECT_FALSE(gaps->has_token(-1));

  Vocabulary twice = byte_level_vocabulary();
  twice.entries.push_back({65, "again"});
  EXPECT_EQ(error_code([&] { create(twice); }), "BadVocab");
  Vocabulary negative = byte_level_vocabulary();
  negative.entries.push_back({-1, "below"});
  EXPECT_EQ(error_code([&] { create(negative); }), "BadVocab");
  Vocabulary kind = byte_level_vocabulary();
  kind.entries.back().kind = static_cast<TokenKind>(7);
  EXPECT_EQ(error_code([&] { create(kind); }), "BadVocab");
  Vocabulary byte = byte_level_vocabulary();
  byte.entries.back().kind = TokenKind::byte;
  EXPECT_EQ(error_code([&] { create(byte); }), "BadVocab");
  Vocabulary unranked = spm_vocabulary({"a"});
  unranked.has_scores = false;
  EXPECT_EQ(error_code([&] { create(unranked); }), "BadVocab");
  Vocabulary large = byte_level_vocabulary();
  large.entries.push_back({600, std::string(64 * 1024 + 1, 'a')});
  EXPECT_EQ(error_code([&] { create(large); }), "LimitExceeded");
  Vocabulary unknown_pre = byte_level_vocabulary({}, "klingon");
  EXPECT_EQ(error_code([&] { create(unknown_pre); }), "UnsupportedPreTokenizer");

  // Tokens that are no UTF-8, empty or nothing but spaces; scores that are no numbers.
  Vocabulary odd = spm_vocabulary({visible, "a", "", " ", "\xC3", "\xA9", "aa"});
  odd.entries.push_back({800, "\xA9", 0, TokenKind::user_defined});
  odd.entries.push_back({801, "", 0, TokenKind::user_defined});
  for (VocabularyEntry& entry : odd.entries) entry.score = std::numeric_limits<float>::quiet_NaN();
  const auto tokenizer = create(odd);
  for (const std::string text : {"aaa a", "\xC3\xA9", "  "})
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);

  EXPECT_EQ(error_code([&] { create({})->encode("a"); }), "MissingTokenizer");
}

TEST(Tokenizer, ThousandsOfSpecialTokensStayFast) {
  Vocabulary vocabulary = byte_level_vocabulary();
  for (std::int32_t i = 0; i < 5000; ++i)
    vocabulary.entries.push_back({1000 + i, "<|reserved_" + std::to_string(i) + "|>", 0, TokenKind::control});
  const auto tokenizer = Tokenizer::create(vocabulary);
  std::string text;
  while (text.size() < 2'000'000) text += "<|reserved_77|>< <|reserved_x ";
  const Ids ids = tokenizer->encode(text, special);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 1077), static_cast<std::ptrdiff_t>(text.size() / 30));
  EXPECT_EQ(tokenizer->decode(ids, {.skip_special = false}), text);
}

TEST(Tokenizer, RandomTextSurvivesTheRoundTrip) {
  std::mt19937 random(9);
  std::vector<std::shared_ptr<const Tokenizer>> tokenizers;
  for (const char* pre : {"gpt2", "llama3", "qwen2", "qwen35", "none"})
    tokenizers.push_back(Tokenizer::create(byte_level_vocabulary({{"a", "b"}, {"\xC4\xA0", "a"}, {"1", "2"}}, pre)));
  tokenizers.push_back(Tokenizer::create(spm_vocabulary({visible, "a", "b", visible + "a", "ab"})));
  tokenizers.push_back(Tokenizer::create(spm_vocabulary({"a"})));
  Vocabulary bare_spm = spm_vocabulary({visible + visible, visible, "a"});
  bare_spm.add_space_prefix = false;
  tokenizers.push_back(Tokenizer::create(bare_spm));
  for (int round = 0; round < 200; ++round) {
    const std::string text = text::random_utf8(random, random() % 100) + (round % 2 == 0 ? "" : "  ab a 12");
    for (const auto& tokenizer : tokenizers) EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

TEST(Tokenizer, NormalizesWhatTheVocabularyAsksFor) {
  Vocabulary vocabulary = byte_level_vocabulary();
  vocabulary.normalizer = TextNormalizer::nfc;
  EXPECT_THAT(Tokenizer::create(vocabulary)->encode("e\xCC\x81"), ElementsAre(0xC3, 0xA9));
}

TEST(Tokenizer, ThreadsShareOne) {
  const auto tokenizer = Tokenizer::create(byte_level_vocabulary({{"a", "b"}}, "qwen2"));
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "ab ba \xC3\xA9 12\n";
  const Ids expected = tokenizer->encode(text);
  std::vector<Ids> results(4);
  std::vector<std::thread> threads;
  for (Ids& result : results) threads.emplace_back([&] { result = tokenizer->encode(text); });
  for (std::thread& thread : threads) thread.join();
  for (const Ids& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace weft
