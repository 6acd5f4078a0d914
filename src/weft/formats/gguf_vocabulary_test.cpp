#include "weft/formats/gguf_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "gguf_builder.h"
#include "temporary_directory.h"
#include "weft/base/error.h"
#include "weft/text/test_charsmap.h"
#include "weft/text/tokenizer.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::GgufBuilder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class GgufVocabularyTest : public ::testing::Test {
 protected:
  Vocabulary read(const GgufBuilder& builder) {
    builder.write(directory_ / "v.gguf");
    return read_gguf_vocabulary(GgufFile::open(directory_ / "v.gguf"));
  }
  std::pair<std::string, std::string> error_of(const GgufBuilder& builder) {
    try {
      read(builder);
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
    return {};
  }
  static GgufBuilder spm() {
    GgufBuilder builder;
    builder.set("tokenizer.ggml.model", "llama");
    builder.set("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "</s>", "<0x0A>", "▁a", "<extra>"});
    builder.set("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, 0, -1.5, -2});
    builder.set("tokenizer.ggml.token_type", std::vector<std::int32_t>{2, 3, 3, 6, 1, 4});
    return builder;
  }
  static GgufBuilder bpe(const char* pre, const std::vector<std::string>& tokens = {"a", "b", "ab", "<|im_end|>"}) {
    GgufBuilder builder;
    builder.set("tokenizer.ggml.model", "gpt2").set("tokenizer.ggml.tokens", tokens);
    builder.set("tokenizer.ggml.merges", std::vector<std::string>{"a b", "ab a"});
    if (pre != nullptr) builder.set("tokenizer.ggml.pre", pre);
    return builder;
  }

  static GgufBuilder t5(const std::string& charsmap = text::small_charsmap()) {
    GgufBuilder builder;
    builder.set("tokenizer.ggml.model", "t5").set("tokenizer.ggml.eos_token_id", 1u);
    builder.set("tokenizer.ggml.tokens",
                std::vector<std::string>{"<pad>", "</s>", "<unk>", "▁", "fi", "▁a", "<x>", "b", "<0xC3>", "A"});
    builder.set("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -2, -3, -1, 0, -5, 0, -4});
    builder.set("tokenizer.ggml.token_type", std::vector<std::int32_t>{3, 3, 2, 1, 1, 1, 4, 5, 3, 1});
    if (!charsmap.empty()) builder.raw("tokenizer.ggml.precompiled_charsmap", 9, bytes_array(GgufType::u8, charsmap));
    return builder;
  }
  static std::string bytes_array(GgufType type, const std::string& bytes) {
    return GgufBuilder::array_of(type, std::vector<char>(bytes.begin(), bytes.end()));
  }

  testing::TemporaryDirectory directory_;
};

TEST_F(GgufVocabularyTest, SentencePieceHasScoresKindsAndByteFallback) {
  GgufBuilder builder = spm();
  builder.set("tokenizer.ggml.bos_token_id", 1u).set("tokenizer.ggml.eos_token_id", 2u);
  builder.set("tokenizer.ggml.unknown_token_id", 0u).set("tokenizer.ggml.padding_token_id", 0u);
  const Vocabulary v = read(builder);
  EXPECT_EQ(v.type, TokenizerType::spm_bpe);
  ASSERT_EQ(v.entries.size(), 6u);
  EXPECT_EQ(v.entries[4].id, 4);
  EXPECT_EQ(v.entries[4].text, "▁a");
  EXPECT_EQ(v.entries[4].score, -1.5f);
  EXPECT_EQ(v.entries[3].kind, TokenKind::byte);
  EXPECT_EQ(v.entries[5].kind, TokenKind::user_defined);
  EXPECT_TRUE(v.has_scores && v.byte_fallback && v.add_bos && v.add_space_prefix);
  EXPECT_FALSE(v.add_eos);
  EXPECT_EQ(v.bos, 1);
  EXPECT_EQ(v.unk, 0);
  EXPECT_EQ(v.pad, 0);
  EXPECT_THAT(v.eos, ElementsAre(2));
}

TEST_F(GgufVocabularyTest, SettingsOfTheFileWin) {
  GgufBuilder builder = spm();
  builder.set("tokenizer.ggml.bos_token_id", 1u).set("tokenizer.ggml.eos_token_id", 2u);
  builder.set("tokenizer.ggml.add_bos_token", false).set("tokenizer.ggml.add_eos_token", true);
  builder.set("tokenizer.ggml.add_space_prefix", false);
  const Vocabulary v = read(builder);
  EXPECT_FALSE(v.add_bos || v.add_space_prefix);
  EXPECT_TRUE(v.add_eos);
}

TEST_F(GgufVocabularyTest, MissingSpecialsAreNotInvented) {
  const Vocabulary v = read(spm());
  EXPECT_FALSE(v.bos || v.unk || v.pad || v.add_bos);
  EXPECT_THAT(v.eos, IsEmpty());
  GgufBuilder builder = spm();
  EXPECT_EQ(error_of(builder.set("tokenizer.ggml.add_bos_token", true)).first, "BadVocab");
}

TEST_F(GgufVocabularyTest, ByteLevelBpeHasMergesAndAPreTokenizer) {
  const Vocabulary v = read(bpe("qwen2"));
  EXPECT_EQ(v.type, TokenizerType::byte_level_bpe);
  EXPECT_EQ(v.pre, "qwen2");
  EXPECT_THAT(v.merges, ElementsAre(Pair("a", "b"), Pair("ab", "a")));
  EXPECT_FALSE(v.has_scores || v.byte_fallback || v.add_bos || v.add_space_prefix);
  EXPECT_THAT(v.eos, IsEmpty());  // <|im_end|> is no control token here
}

TEST_F(GgufVocabularyTest, PreTokenizersGoByTheirPublicNames) {
  for (const auto& [name, pre] :
       {std::pair("gpt-2", "gpt2"), std::pair("llama-bpe", "llama3"), std::pair("llama3", "llama3"),
        std::pair("llama-v3", "llama3"), std::pair("qwen35", "qwen35")})
    EXPECT_EQ(read(bpe(name)).pre, pre);
  const auto [code, text] = error_of(bpe("falcon"));
  EXPECT_EQ(code, "UnsupportedPreTokenizer");
  EXPECT_THAT(text, AllOf(HasSubstr("v.gguf@0x"), HasSubstr("falcon"), HasSubstr("qwen2")));
  EXPECT_EQ(error_of(bpe(nullptr)).first, "UnsupportedPreTokenizer");
}

TEST_F(GgufVocabularyTest, BosIsAddedForLlama3AndWhereATokenBosExists) {
  EXPECT_TRUE(read(bpe("llama-bpe").set("tokenizer.ggml.bos_token_id", 0u)).add_bos);
  EXPECT_TRUE(read(bpe("qwen2", {"<bos>", "a"}).set("tokenizer.ggml.bos_token_id", 0u)).add_bos);
  EXPECT_FALSE(read(bpe("gpt-2").set("tokenizer.ggml.bos_token_id", 0u)).add_bos);
}

TEST_F(GgufVocabularyTest, EndOfTurnTokensEndATextWhenTheyAreControlTokens) {
  GgufBuilder builder = bpe("qwen2", {"a", "<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<turn|>", "<end_of_turn>"});
  builder.set("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 3, 3, 4, 3, 3});
  EXPECT_THAT(read(builder.set("tokenizer.ggml.eos_token_id", 1u)).eos, ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(read(builder.set("tokenizer.ggml.eot_token_id", 5u)).eos, ElementsAre(1, 5, 2, 4));
}

TEST_F(GgufVocabularyTest, AFileWithoutATokenizerHasNone) {
  const Vocabulary v = read(GgufBuilder().set("general.architecture", "llama"));
  EXPECT_EQ(v.type, TokenizerType::none);
  EXPECT_THAT(v.entries, IsEmpty());
}

TEST_F(GgufVocabularyTest, ContradictionsAreRefused) {
  EXPECT_THAT(error_of(GgufBuilder().set("tokenizer.ggml.model", "rwkv")).second,
              AllOf(HasSubstr("\"rwkv\""), HasSubstr("\"llama\""), HasSubstr("\"gpt2\""), HasSubstr("\"bert\""),
                    HasSubstr("\"t5\"")));
  EXPECT_EQ(error_of(GgufBuilder().set("tokenizer.ggml.model", "llama")).first, "MissingField");
  const auto tokens = [](const char* model, std::vector<std::string> texts) {
    GgufBuilder builder;
    return builder.set("tokenizer.ggml.model", model).set("tokenizer.ggml.tokens", texts);
  };
  EXPECT_EQ(error_of(tokens("llama", {"a"})).first, "MissingField");  // neither scores nor merges
  EXPECT_EQ(error_of(tokens("gpt2", {"a"})).first, "MissingField");   // no merges
  EXPECT_EQ(error_of(tokens("llama", {"\xff"})).first, "BadVocab");
  EXPECT_EQ(error_of(tokens("llama", {std::string(65537, 'a')})).first, "BadVocab");
  EXPECT_EQ(error_of(tokens("llama", {"a"}).set("tokenizer.ggml.scores", std::vector<float>{1, 2})).first, "BadVocab");
  EXPECT_EQ(error_of(tokens("llama", {"a"}).set("tokenizer.ggml.scores", std::vector<float>{NAN})).first, "BadVocab");
  EXPECT_EQ(error_of(tokens("gpt2", {"a"}).set("tokenizer.ggml.merges", std::vector<std::string>{"ab"})).first,
            "BadVocab");
  EXPECT_EQ(error_of(tokens("gpt2", {"a"}).set("tokenizer.ggml.merges", std::vector<std::string>{""})).first,
            "BadVocab");
  EXPECT_EQ(error_of(tokens("gpt2", {"a"}).set("tokenizer.ggml.token_type", std::vector<std::int32_t>{7})).first,
            "BadVocab");
  EXPECT_EQ(error_of(spm().set("tokenizer.ggml.eos_token_id", 6u)).first, "BadVocab");
  EXPECT_EQ(error_of(spm().set("tokenizer.ggml.bos_token_id", -1)).first, "BadVocab");
  EXPECT_EQ(error_of(spm().set("tokenizer.ggml.add_bos_token", 1u)).first, "InvalidField");
}

TEST_F(GgufVocabularyTest, T5IsUnigramWithSentencePiecesNormalizer) {
  const Vocabulary v =
      read(t5().set("tokenizer.ggml.add_space_prefix", true).set("tokenizer.ggml.remove_extra_whitespaces", true));
  EXPECT_EQ(v.type, TokenizerType::unigram);
  EXPECT_EQ(v.normalizer, TextNormalizer::sentencepiece);
  EXPECT_EQ(v.extra_spaces, ExtraSpaces::remove);
  EXPECT_EQ(v.charsmap, text::small_charsmap());
  EXPECT_TRUE(v.has_scores && v.add_eos && v.add_space_prefix);
  EXPECT_FALSE(v.add_bos || v.byte_fallback);
  EXPECT_EQ(v.unk, 2);  // by its type
  const auto tokenizer = Tokenizer::create(v);
  EXPECT_THAT(tokenizer->encode("  a\t\uFB01 <x> \uFF21 b? "), ElementsAre(5, 3, 4, 3, 6, 3, 9, 3, 2, 1));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("  a\t\uFB01 <x> \uFF21")), "a fi <x> A");
  // Control tokens cut a text into texts of their own.
  EXPECT_THAT(tokenizer->encode("a </s> a", {.parse_special = true}), ElementsAre(5, 1, 5, 1));
}

TEST_F(GgufVocabularyTest, T5KeepsSpacesAndPutsNoneWhereTheFileSaysNothing) {
  const Vocabulary v = read(t5().set("tokenizer.ggml.add_eos_token", false));
  EXPECT_FALSE(v.add_eos || v.add_space_prefix);
  EXPECT_EQ(v.extra_spaces, ExtraSpaces::keep);
  EXPECT_THAT(Tokenizer::create(v)->encode(" a  a"), ElementsAre(5, 3, 5));
  EXPECT_TRUE(read(t5("")).charsmap.empty());
}

TEST_F(GgufVocabularyTest, DamagedCharacterMapsAreRefusedWithTheirKey) {
  const auto [code, text] = error_of(t5(text::small_charsmap().substr(0, 50)));
  EXPECT_EQ(code, "BadCharsmap");
  EXPECT_THAT(text, AllOf(HasSubstr("v.gguf@0x"), HasSubstr("precompiled_charsmap"), HasSubstr("the 46 that follow")));
  const auto with = [](std::uint32_t type, const std::string& value) {
    return t5("").raw("tokenizer.ggml.precompiled_charsmap", type, value);
  };
  EXPECT_EQ(read(with(9, bytes_array(GgufType::i8, text::small_charsmap()))).charsmap, text::small_charsmap());
  EXPECT_EQ(error_of(with(9, GgufBuilder::array_of(GgufType::i32, std::vector<std::int32_t>{256}))).first,
            "BadCharsmap");
  EXPECT_EQ(error_of(with(8, GgufBuilder::text_of("abc"))).first, "InvalidField");
  GgufBuilder no_scores;
  no_scores.set("tokenizer.ggml.model", "t5").set("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  EXPECT_EQ(error_of(no_scores).first, "MissingField");
}

TEST(GgufVocabularyShared, PublicVocabulariesAreRead) {
  const std::filesystem::path directory = WEFT_SHARED_DIR "/tokenizers";
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << directory << " is not there";
  const auto read = [&](const char* name) {
    return read_gguf_vocabulary(GgufFile::open(directory / (std::string("ggml-vocab-") + name + ".gguf")));
  };
  EXPECT_EQ(read("gpt-2").merges.size(), 50000u);
  EXPECT_TRUE(read("llama-bpe").add_bos);
  EXPECT_TRUE(read("llama-spm").byte_fallback);
  const Vocabulary qwen = read("qwen35");
  EXPECT_EQ(qwen.entries.size(), 151936u);
  EXPECT_THAT(qwen.eos, ::testing::Contains(151643));
  const Vocabulary bert = read("bert-bge");
  EXPECT_EQ(bert.type, TokenizerType::wordpiece);
  EXPECT_TRUE(bert.add_bos && bert.add_eos && bert.lower_case && bert.continuation_prefix.empty());
  EXPECT_EQ(bert.bos, 101);
  EXPECT_THAT(bert.eos, ::testing::ElementsAre(102));
}

}  // namespace
}  // namespace weft
