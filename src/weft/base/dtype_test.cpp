#include "weft/base/dtype.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/base/error.h"

namespace weft {
namespace {

TEST(DType, EveryTypeIsFoundByItsTagAndName) {
  for (const DTypeInfo& info : all_dtypes()) {
    EXPECT_EQ(&dtype_info(info.dtype), &info) << info.name;
    EXPECT_EQ(dtype_from_name(info.name), info.dtype);
    EXPECT_EQ(dtype_from_tag(static_cast<std::uint8_t>(info.dtype)), info.dtype);
  }
  EXPECT_EQ(dtype_from_tag(23), std::nullopt);
  EXPECT_EQ(dtype_from_name("q9"), std::nullopt);
}

TEST(DType, ByteSizeCountsWholeBlocks) {
  EXPECT_EQ(byte_size(DType::f32, {}), 4u);
  EXPECT_EQ(byte_size(DType::q4, std::vector<std::int64_t>{151936, 1024}), 87515136u);
  EXPECT_EQ(byte_size(DType::f16, std::vector<std::int64_t>{3, 0, 5}), 0u);
}

TEST(DType, ByteSizeRefusesPartialBlocksAndOverflow) {
  const auto code = [](DType dtype, std::vector<std::int64_t> dims) -> std::string {
    try {
      byte_size(dtype, dims);
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  };
  EXPECT_EQ(code(DType::q8_0, {4, 33}), "BlockMisaligned");
  EXPECT_EQ(code(DType::f32, {std::int64_t{1} << 40, std::int64_t{1} << 40}), "SizeOverflow");
}

}  // namespace
}  // namespace weft
