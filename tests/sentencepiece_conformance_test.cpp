// Vocabularies, texts, ids and texts again that tests/program/sentencepiece_test.py got from SentencePiece. It names
// the folder that it wrote in WEFT_SENTENCEPIECE_CASES: NAME.gguf with a vocabulary, NAME.txt with its cases.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "weft/formats/gguf_vocabulary.h"
#include "weft/formats/hex.h"
#include "weft/text/tokenizer.h"

namespace weft {
namespace {

std::string from_hex(std::string_view text) {
  const std::vector<std::byte> bytes = hex_decode(text);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(SentencePieceConformance, IdsAndTextsAreThoseOfSentencePiece) {
  const char* folder = std::getenv("WEFT_SENTENCEPIECE_CASES");
  if (folder == nullptr) GTEST_SKIP() << "tests/program/sentencepiece_test.py runs this with cases from SentencePiece";
  int vocabularies = 0, wrong = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".gguf") continue;
    ++vocabularies;
    const Vocabulary vocabulary = read_gguf_vocabulary(GgufFile::open(entry.path()));
    const auto tokenizer = Tokenizer::create(vocabulary);
    EXPECT_TRUE(tokenizer->adds_eos() && !tokenizer->adds_bos());
    std::ifstream in(std::filesystem::path(entry.path()).replace_extension(".txt"));
    int cases = 0;
    for (std::string line; std::getline(in, line); ++cases) {
      const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
      ASSERT_NE(second, std::string::npos);
      const std::string text = from_hex(line.substr(1, first - 1));
      std::istringstream numbers(line.substr(first + 1, second - first - 1));
      const std::vector<std::int32_t> expected{std::istream_iterator<std::int32_t>(numbers), {}};
      const std::vector<std::int32_t> ids = tokenizer->encode(text, {.add_bos = false, .add_eos = false});
      const std::string name = entry.path().stem().string() + ": " + testing::PrintToString(text);
      const bool same = ids == expected;
      EXPECT_EQ(ids, expected) << name;
      const std::string back = line.substr(second + 1);
      const std::string decoded = back == "-" ? "" : tokenizer->decode(expected);
      const std::string text_again = back == "-" ? "" : from_hex(back.substr(1));
      EXPECT_EQ(decoded, text_again) << name;
      if (!same || decoded != text_again) ++wrong;
      ASSERT_LT(wrong, 12);
    }
    EXPECT_GT(cases, 100) << entry.path();
  }
  EXPECT_GT(vocabularies, 0) << folder;
}

}  // namespace
}  // namespace weft
