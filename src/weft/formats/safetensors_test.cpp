#include "weft/formats/safetensors.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <utility>

#include "weft/base/error.h"

namespace weft {
namespace {

std::string file_of(std::string_view index, std::string_view data) {
  std::string file;
  for (unsigned i = 0; i < 8; ++i) file += static_cast<char>(index.size() >> 8 * i & 0xFF);
  return file + std::string(index) + std::string(data);
}

std::map<std::string, Tensor> read(std::string_view bytes) {
  auto owner = std::make_shared<const std::string>(bytes);
  const auto span = std::as_bytes(std::span(*owner));
  return read_safetensors({std::move(owner), span}, "w.safetensors");
}

std::string code_of(std::string_view bytes) {
  try {
    read(bytes);
    return "";
  } catch (const Error& error) {
    return error.code();
  }
}

const std::string index_text =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I32","shape":[],"data_offsets":[8,12]},)"
    R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"e":{"dtype":"BF16","shape":[0,3],"data_offsets":[12,12]}})";
const std::string data("\0\0\x80\x3f\0\0\0\xc0\x07\0\0\0", 12);

TEST(Safetensors, TensorsOfAllKinds) {
  const auto tensors = read(file_of(index_text, data));
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors.at("a").dims(), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(tensors.at("a").values<float>()[0], 1);
  EXPECT_EQ(tensors.at("a").values<float>()[1], -2);
  EXPECT_EQ(tensors.at("b").values<std::int32_t>()[0], 7);
  EXPECT_EQ(tensors.at("b").rank(), 0u);
  EXPECT_EQ(tensors.at("e").dtype(), DType::bf16);
}

TEST(Safetensors, CutAnywhereIsAnError) {
  const std::string file = file_of(index_text, data);
  for (std::size_t size = 0; size < file.size(); ++size) EXPECT_NE(code_of(file.substr(0, size)), "") << size;
}

TEST(Safetensors, AnyByteMayBeWrong) {
  const std::string file = file_of(index_text, data);
  for (std::size_t i = 0; i < file.size(); ++i)
    for (const char flip : {'\x01', '\x20', '\x80'}) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      code_of(changed);  // an Error or tensors; anything else ends the test
    }
}

TEST(Safetensors, WrongFilesAreRefused) {
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = index_text;
    return code_of(file_of(changed.replace(changed.find(from), from.size(), to), data));
  };
  EXPECT_EQ(code_of(""), "Truncated");
  EXPECT_EQ(code_of(std::string(7, '\xff') + '\x7f'), "LimitExceeded");
  EXPECT_EQ(code_of(file_of("[1]", "")), "InvalidField");
  EXPECT_EQ(code_of(file_of("{", "")), "InvalidJson");
  EXPECT_EQ(code_of(file_of(std::string(100000, '['), "")), "InvalidField");
  EXPECT_EQ(code_of(file_of(index_text, data + "x")), "TensorSizeMismatch");
  EXPECT_EQ(with("I32", "F8_E4M3"), "UnsupportedSourceType");
  EXPECT_EQ(with("\"b\"", "\"a\""), "DuplicateTensor");
  EXPECT_EQ(with("[2,1]", "[2,2]"), "TensorSizeMismatch");
  EXPECT_EQ(with("[2,1]", "[-2,1]"), "InvalidField");
  EXPECT_EQ(with("[2,1]", "[9223372036854775807,3]"), "InvalidField");
  EXPECT_EQ(with("[2,1]", "[4611686018427387904,4]"), "SizeOverflow");
  EXPECT_EQ(with("[8,12]", "[12,8]"), "InvalidField");
  EXPECT_EQ(with("[8,12]", "[4,8]"), "TensorOverlap");
  EXPECT_EQ(with("[12,12]", "[9,9]"), "TensorOverlap");
  EXPECT_EQ(with("[0,8]", "[0,8,8]"), "InvalidField");
}

}  // namespace
}  // namespace weft
