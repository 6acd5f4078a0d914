// Public vocabularies against the token ids that their own project publishes for them.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "weft/base/utf8.h"
#include "weft/formats/gguf_file.h"
#include "weft/formats/gguf_vocabulary.h"
#include "weft/text/tokenizer.h"

namespace weft {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> pieces_before(const std::string& all, const std::string& separator) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0, end; (end = all.find(separator, at)) != std::string::npos; at = end + separator.size())
    pieces.push_back(all.substr(at, end - at));
  return pieces;
}

class TokenizerConformance : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    path_ = std::string(WEFT_SHARED_DIR "/tokenizers/ggml-vocab-") + GetParam() + ".gguf";
    if (!std::filesystem::exists(path_)) GTEST_SKIP() << path_ << " is absent";
    // Reading a large vocabulary for each test would be most of the tests' time.
    static std::map<std::string, std::shared_ptr<const Tokenizer>> loaded;
    auto& known = loaded[path_];
    if (!known) known = Tokenizer::create(read_gguf_vocabulary(GgufFile::open(path_)));
    tokenizer_ = known;
  }

  bool gives_texts_back() const { return tokenizer_->type() != TokenizerType::wordpiece; }

  std::string path_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

// Of this thread: other programs on the machine do not count.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr EncodeOptions bare{.parse_special = false, .add_bos = false, .add_eos = false};

TEST_P(TokenizerConformance, EveryPublishedCase) {
  const std::vector<std::string> inputs = pieces_before(contents(path_ + ".inp"), "\n__ggml_vocab_test__\n");
  const std::vector<std::string> outputs = pieces_before(contents(path_ + ".out"), "\n");
  ASSERT_EQ(inputs.size(), outputs.size());
  ASSERT_GE(inputs.size(), 40u);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::istringstream line(outputs[i]);
    const std::vector<std::int32_t> expected{std::istream_iterator<std::int32_t>(line), {}};
    const std::vector<std::int32_t> ids = tokenizer_->encode(inputs[i], bare);
    EXPECT_EQ(ids, expected) << "case " << i << ": " << inputs[i];
    if (gives_texts_back()) {
      EXPECT_EQ(tokenizer_->decode(ids), inputs[i]) << "case " << i;
    }
  }
}

// WordPiece drops white space, capitals and accents; what it gives back is as good to it as the text was.
TEST_P(TokenizerConformance, WhatIsDecodedEncodesToTheSameIds) {
  for (const std::string text : {"Hello, world! 42", "Äpfel und Birnen", "3333333 discards"}) {
    const std::vector<std::int32_t> ids = tokenizer_->encode(text, bare);
    EXPECT_EQ(tokenizer_->encode(tokenizer_->decode(ids), bare), ids) << text;
  }
}

TEST_P(TokenizerConformance, EveryTokenHasTheBytesThatItDecodesTo) {
  ASSERT_EQ(tokenizer_->id_limit(), static_cast<std::int64_t>(tokenizer_->vocab_size()));
  for (std::int32_t id = 0; id < tokenizer_->id_limit(); ++id) {
    const DecodeOptions options{.from = DecodeFrom::continuation, .skip_special = false};
    const std::string_view bytes = tokenizer_->token_bytes(id);
    if (find_invalid_utf8(bytes)) continue;
    ASSERT_EQ(tokenizer_->decode({&id, 1}, options), bytes) << id;
  }
}

TEST_P(TokenizerConformance, AMegabyteOfOneKindTakesUnderASecond) {
#ifdef __SANITIZE_ADDRESS__
  const double limit = 20;
#else
  const double limit = 1;
#endif
  const std::size_t size = 1'000'000;
  std::vector<std::string> texts;
  for (const std::string unit :
       {" ", "a", "\n", "7", "\xE3\x80\x80", "\xCC\x80", "'s", "The cat, it said: 42 times.\n"}) {
    std::string& repeated = texts.emplace_back();
    while (repeated.size() < size) repeated += unit;
  }
  texts.push_back(std::string(size, ' ') + "a");
  for (const std::string& text : texts) {
    const double begin = cpu_seconds();
    const std::vector<std::int32_t> ids = tokenizer_->encode(text, bare);
    EXPECT_LT(cpu_seconds() - begin, limit) << testing::PrintToString(text.substr(0, 8));
    if (gives_texts_back()) {
      EXPECT_EQ(tokenizer_->decode(ids), text);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Published, TokenizerConformance,
                         testing::Values("gpt-2", "llama-spm", "llama-bpe", "qwen35", "bert-bge"),
                         [](const auto& vocabulary) {
                           std::string name = vocabulary.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace weft
