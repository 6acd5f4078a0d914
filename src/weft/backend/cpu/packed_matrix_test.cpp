#include "weft/backend/cpu/packed_matrix.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weft/base/error.h"

namespace weft::cpu {
namespace {

constexpr DType types[] = {DType::f32,  DType::f16,  DType::bf16, DType::q4_0,    DType::q4_1,    DType::q5_0,
                           DType::q5_1, DType::q8_0, DType::q2_k, DType::q3_k,    DType::q4_k,    DType::q5_k,
                           DType::q6_k, DType::q4,   DType::q8,   DType::ternary, DType::fx16_16, DType::fx8_8};

Tensor random_bytes(DType dtype, std::int64_t rows, std::int64_t columns) {
  std::mt19937 generator(static_cast<unsigned>(rows + columns));
  Tensor tensor = Tensor::allocate(dtype, {rows, columns});
  for (std::byte& byte : tensor.mutable_bytes()) byte = static_cast<std::byte>(generator());
  return tensor;
}

std::string code_of(auto&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

// Any bytes, scales that are infinite or NaN included.
TEST(PackedMatrix, DecodesToTheSameBits) {
  ThreadPool pool(2);
  for (const DType dtype : types) {
    const std::int64_t block = dtype == DType::ternary ? 32 : dtype_info(dtype).block;
    for (const std::int64_t rows : {1, 16, 37})
      for (const std::int64_t columns : {block, 3 * block, 5 * block}) {
        const Tensor weight = random_bytes(dtype, rows, columns);
        const Tensor expected = weight.to_f32();
        const PackedMatrix packed = PackedMatrix::pack(weight, pool);
        EXPECT_EQ(packed.byte_size(), PackedMatrix::packed_bytes(dtype, rows, columns));
        std::vector<float> row(static_cast<std::size_t>(columns));
        for (std::int64_t r = 0; r < rows; ++r) {
          packed.decode_row(r, row.data());
          for (std::int64_t k = 0; k < columns; ++k) {
            const float want = expected.values<float>()[static_cast<std::size_t>(r * columns + k)];
            const float got = row[static_cast<std::size_t>(k)];
            ASSERT_TRUE(std::memcmp(&want, &got, 4) == 0 || (want != want && got != got))
                << to_string(dtype) << " " << r << " " << k << ": " << want << " " << got;
          }
        }
      }
  }
}

TEST(PackedMatrix, BytesStayNearTheFiles) {
  for (const DType dtype : types) {
    const double file = static_cast<double>(byte_size(dtype, std::vector<std::int64_t>{1024, 1024}));
    EXPECT_LE(static_cast<double>(PackedMatrix::packed_bytes(dtype, 1024, 1024)), 1.04 * file) << to_string(dtype);
  }
}

TEST(PackedMatrix, ReportsEachRangeOfTheSourceOnce) {
  ThreadPool pool(2);
  const Tensor weight = random_bytes(DType::q8_0, 5003, 1024);
  std::set<std::pair<const std::byte*, std::size_t>> ranges;
  const PackedMatrix packed = PackedMatrix::pack(weight, pool, [&](std::span<const std::byte> range) {
    ranges.insert({range.data(), range.size()});
  });
  const std::byte* at = weight.bytes().data();
  for (const auto& [begin, size] : ranges) {
    EXPECT_EQ(begin, at);
    at = begin + size;
  }
  EXPECT_EQ(at, weight.bytes().data() + weight.byte_size());
  EXPECT_GT(ranges.size(), 1u);
}

TEST(PackedMatrix, Refuses) {
  ThreadPool pool(1);
  EXPECT_FALSE(PackedMatrix::packs(DType::i32, 32));
  EXPECT_FALSE(PackedMatrix::packs(DType::ternary, 4));
  EXPECT_FALSE(PackedMatrix::packs(DType::q4_k, 128));
  EXPECT_FALSE(PackedMatrix::packs(DType::f32, 0));
  EXPECT_TRUE(PackedMatrix::packs(DType::bf16, 3));
  EXPECT_EQ(code_of([&] { PackedMatrix::pack(Tensor::zeros(DType::i32, {2, 2}), pool); }), "NotPackable");
  EXPECT_EQ(code_of([&] { PackedMatrix::pack(Tensor::zeros(DType::f32, {2}), pool); }), "NotPackable");
  EXPECT_EQ(code_of([&] { PackedMatrix::packed_bytes(DType::f32, std::int64_t{1} << 40, std::int64_t{1} << 40); }),
            "PackSize");
  EXPECT_EQ(PackedMatrix::pack(Tensor::zeros(DType::f32, {0, 4}), pool).panels(), 0);
}

}  // namespace
}  // namespace weft::cpu
