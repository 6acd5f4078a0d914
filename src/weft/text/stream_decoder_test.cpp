#include "weft/text/stream_decoder.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "weft/base/utf8.h"
#include "weft/text/test_vocabularies.h"

namespace weft {
namespace {

using text::byte_level_vocabulary;
using text::spm_vocabulary;

const std::string visible = "\xE2\x96\x81";  // U+2581
const std::string replacement = "\xEF\xBF\xBD";

struct Streamed {
  std::vector<std::string> chunks;
  std::string rest, all;
};

Streamed stream(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids, DecodeOptions options = {}) {
  StreamDecoder decoder(tokenizer, options);
  Streamed out;
  for (const std::int32_t id : ids) {
    out.chunks.push_back(decoder.push(id));
    EXPECT_EQ(find_invalid_utf8(out.chunks.back()), std::nullopt);
    out.all += out.chunks.back();
  }
  out.rest = decoder.finish();
  EXPECT_EQ(find_invalid_utf8(out.rest), std::nullopt);
  out.all += out.rest;
  return out;
}

TEST(StreamDecoder, ACharacterComesWithItsLastByte) {
  const auto tokenizer = Tokenizer::create(byte_level_vocabulary());
  for (const std::string character : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\xA6\x99"}) {
    const Streamed out = stream(*tokenizer, tokenizer->encode("a" + character + "b"));
    ASSERT_EQ(out.chunks.size(), character.size() + 2);
    for (std::size_t i = 1; i < character.size(); ++i) EXPECT_EQ(out.chunks[i], "");
    EXPECT_EQ(out.chunks[character.size()], character);
    EXPECT_EQ(out.chunks.back(), "b");
    EXPECT_EQ(out.rest, "");
  }
}

// Every way of cutting a text of long characters into tokens gives the text.
TEST(StreamDecoder, EverySplitOfCharacters) {
  const std::string all = "\xC3\xA9\xE2\x82\xAC\xF0\x9F\xA6\x99";
  for (unsigned cuts = 0; cuts < 1u << (all.size() - 1); ++cuts) {
    Vocabulary vocabulary = byte_level_vocabulary();
    std::vector<std::int32_t> ids;
    std::string piece;
    for (std::size_t i = 0; i < all.size(); ++i) {
      piece += all[i];
      if (i + 1 < all.size() && (cuts >> i & 1) == 0) continue;
      ids.push_back(1000 + static_cast<std::int32_t>(i));
      vocabulary.entries.push_back({ids.back(), text::to_alphabet(piece)});
      piece.clear();
    }
    EXPECT_EQ(stream(*Tokenizer::create(vocabulary), ids).all, all);
  }
}

TEST(StreamDecoder, AnUnfinishedCharacterIsReplacedAtTheEnd) {
  const auto tokenizer = Tokenizer::create(byte_level_vocabulary());
  for (const std::vector<std::int32_t>& bytes :
       {std::vector<std::int32_t>{0xC3}, {0xE2}, {0xE2, 0x82}, {0xF0}, {0xF0, 0x9F}, {0xF0, 0x9F, 0xA6}}) {
    const Streamed out = stream(*tokenizer, bytes);
    for (const std::string& chunk : out.chunks) EXPECT_EQ(chunk, "");
    EXPECT_EQ(out.rest, replacement);
  }
}

TEST(StreamDecoder, WhatCannotBecomeACharacterIsReplacedAtOnce) {
  const auto tokenizer = Tokenizer::create(byte_level_vocabulary());
  EXPECT_EQ(stream(*tokenizer, {'a', 0xFF, 'b'}).chunks, (std::vector<std::string>{"a", replacement, "b"}));
  EXPECT_EQ(stream(*tokenizer, {0xE2, 0x82, 'b'}).chunks, (std::vector<std::string>{"", "", replacement + "b"}));
  EXPECT_EQ(stream(*tokenizer, {0xC3, 0xC3, 0xA9}).chunks, (std::vector<std::string>{"", replacement, "\xC3\xA9"}));
}

TEST(StreamDecoder, AnyIdsGiveWellFormedText) {
  const auto tokenizer = Tokenizer::create(byte_level_vocabulary());
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int32_t> ids(random() % 40);
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % 256);
    EXPECT_EQ(stream(*tokenizer, ids).all, tokenizer->decode(ids));
  }
}

TEST(StreamDecoder, OnlyTheStartOfATextDropsTheSpace) {
  const auto tokenizer = Tokenizer::create(spm_vocabulary({visible + "hi", visible, "hi", "h", "i"}));
  const std::vector<std::int32_t> hi = tokenizer->encode("hi", {.add_bos = false});
  const std::vector<std::int32_t> two = tokenizer->encode("hi hi");  // with a BOS
  ASSERT_EQ(hi.size(), 1u);
  ASSERT_EQ(two.size(), 3u);
  EXPECT_EQ(stream(*tokenizer, hi).all, "hi");
  EXPECT_EQ(stream(*tokenizer, two).all, "hi hi");
  EXPECT_EQ(stream(*tokenizer, two, {.skip_special = false}).all, "<s>hi hi");
  EXPECT_EQ(stream(*tokenizer, hi, {.from = DecodeFrom::continuation}).all, " hi");
  // A space that the text itself began with stays.
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("  hi")), "  hi");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(" ")), " ");
  // After the end of another text nothing was put before this one.
  EXPECT_EQ(stream(*tokenizer, {2, hi[0]}).all, " hi");
}

TEST(StreamDecoder, FinishStartsAnew) {
  const auto tokenizer = Tokenizer::create(spm_vocabulary({visible + "hi"}));
  StreamDecoder decoder(*tokenizer);
  const std::int32_t hi = *tokenizer->find_token(visible + "hi");
  EXPECT_EQ(decoder.push(hi), "hi");
  EXPECT_EQ(decoder.push(hi), " hi");
  decoder.finish();
  EXPECT_EQ(decoder.push(hi), "hi");
}

// No piece for U+2581 itself: its three bytes are a space all the same.
TEST(StreamDecoder, TheVisibleSpaceFromBytesIsASpace) {
  const auto tokenizer = Tokenizer::create(spm_vocabulary({"a"}));
  const std::vector<std::int32_t> ids = tokenizer->encode("a a", {.add_bos = false});
  EXPECT_EQ(ids.size(), 8u);
  EXPECT_EQ(tokenizer->decode(ids), "a a");
}

TEST(StreamDecoder, AnIdWithoutATokenIsAnErrorAndHarmless) {
  const auto tokenizer = Tokenizer::create(byte_level_vocabulary());
  StreamDecoder decoder(*tokenizer);
  EXPECT_EQ(decoder.push(0xC3), "");
  for (const std::int32_t id : {-1, 256, 0x7FFFFFFF})
    EXPECT_EQ(text::error_code([&] { decoder.push(id); }), "UnknownId");
  EXPECT_EQ(decoder.push(0xA9), "\xC3\xA9");
}

}  // namespace
}  // namespace weft
