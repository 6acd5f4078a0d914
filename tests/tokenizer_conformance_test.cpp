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
#include <variant>
#include <vector>

#include "weft/base/byte_reader.h"
#include "weft/base/mapped_file.h"
#include "weft/base/utf8.h"
#include "weft/text/pre_tokenizer.h"
#include "weft/text/stream_decoder.h"
#include "weft/text/tokenizer.h"

namespace weft {
namespace {

// The metadata of a GGUF file, numbers widened: only what a vocabulary needs.
using Value = std::variant<double, std::string, std::vector<double>, std::vector<std::string>>;

double number(ByteReader& in, std::uint32_t type) {
  switch (type) {
    case 0: return in.read<std::uint8_t>("value");
    case 1: return in.read<std::int8_t>("value");
    case 2: return in.read<std::uint16_t>("value");
    case 3: return in.read<std::int16_t>("value");
    case 4: return in.read<std::uint32_t>("value");
    case 5: return in.read<std::int32_t>("value");
    case 6: return in.read<float>("value");
    case 7: return in.read<std::uint8_t>("value");
    case 10: return static_cast<double>(in.read<std::uint64_t>("value"));
    case 11: return static_cast<double>(in.read<std::int64_t>("value"));
    default: return in.read<double>("value");
  }
}

std::string text(ByteReader& in) {
  const auto length = in.read<std::uint64_t>("length");
  return std::string(in.text(length, "text"));
}

Value value(ByteReader& in) {
  const auto type = in.read<std::uint32_t>("type");
  if (type == 8) return text(in);
  if (type != 9) return number(in, type);
  const auto item = in.read<std::uint32_t>("type");
  const auto count = in.read<std::uint64_t>("count");
  std::vector<std::string> texts;
  std::vector<double> numbers;
  for (std::uint64_t i = 0; i < count; ++i) item == 8 ? texts.push_back(text(in)) : numbers.push_back(number(in, item));
  if (item == 8) return texts;
  return numbers;
}

Vocabulary read_vocabulary(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  ByteReader in(file->bytes(), path.string());
  in.skip(16, "magic, version, tensors");
  std::map<std::string, Value> metadata;
  for (auto left = in.read<std::uint64_t>("count"); left > 0; --left) {
    std::string key = text(in);
    metadata.emplace(std::move(key), value(in));
  }
  const auto get = [&]<class T>(const char* key, T otherwise) -> T {
    const auto found = metadata.find(std::string("tokenizer.ggml.") + key);
    return found == metadata.end() ? otherwise : std::get<T>(found->second);
  };
  Vocabulary vocabulary;
  const bool spm = get("model", std::string()) == "llama";
  vocabulary.type = spm ? TokenizerType::spm_bpe : TokenizerType::byte_level_bpe;
  vocabulary.byte_fallback = spm;
  vocabulary.add_bos = get("add_bos_token", double(spm)) != 0;
  if (!spm) vocabulary.pre = pre_tokenizer_from_gguf(get("pre", std::string()));
  const auto tokens = get("tokens", std::vector<std::string>());
  const auto scores = get("scores", std::vector<double>());
  const auto kinds = get("token_type", std::vector<double>(tokens.size(), 1));
  vocabulary.has_scores = !scores.empty();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    vocabulary.entries.push_back({static_cast<std::int32_t>(i), tokens[i],
                                  scores.empty() ? 0.0f : static_cast<float>(scores[i]),
                                  static_cast<TokenKind>(kinds.at(i))});
  }
  for (const std::string& merge : get("merges", std::vector<std::string>())) {
    const std::size_t space = merge.find(' ', 1);
    vocabulary.merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  if (const double id = get("bos_token_id", -1.0); id >= 0) vocabulary.bos = static_cast<std::int32_t>(id);
  if (const double id = get("unknown_token_id", -1.0); id >= 0) vocabulary.unk = static_cast<std::int32_t>(id);
  if (const double id = get("eos_token_id", -1.0); id >= 0) vocabulary.eos.push_back(static_cast<std::int32_t>(id));
  return vocabulary;
}

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
    if (!known) known = Tokenizer::create(read_vocabulary(path_));
    tokenizer_ = known;
  }

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
    EXPECT_EQ(tokenizer_->decode(ids), inputs[i]) << "case " << i;
  }
}

TEST_P(TokenizerConformance, AMegabyteOfOneKindTakesUnderASecond) {
  const std::size_t size = 1'000'000;
  std::vector<std::string> texts;
  for (const std::string unit :
       {" ", "a", "\n", "7", "<", " a", "\xE3\x80\x80", "\xCC\x80", " \n", "'s", "The cat, it said: 42 times.\n"}) {
    std::string& repeated = texts.emplace_back();
    while (repeated.size() < size) repeated += unit;
  }
  texts.push_back(std::string(size, ' ') + "a");
  for (const std::string& text : texts) {
    const double begin = cpu_seconds();
    const std::vector<std::int32_t> ids = tokenizer_->encode(text, bare);
    EXPECT_LT(cpu_seconds() - begin, 1.0) << testing::PrintToString(text.substr(0, 8));
    EXPECT_EQ(tokenizer_->decode(ids), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Published, TokenizerConformance, testing::Values("gpt-2", "llama-spm", "llama-bpe", "qwen35"),
                         [](const auto& vocabulary) {
                           std::string name = vocabulary.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace weft
