#include "weft/base/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "weft/base/error.h"

namespace weft {
namespace {

template <class F>
std::string code_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

Tensor counting(std::vector<std::int64_t> dims) {
  Tensor tensor = Tensor::allocate(DType::i32, std::move(dims));
  const auto values = tensor.mutable_values<std::int32_t>();
  std::iota(values.begin(), values.end(), 0);
  return tensor;
}

TEST(Tensor, OwnsAlignedBytes) {
  const Tensor tensor = Tensor::zeros(DType::f32, {3, 5});
  EXPECT_TRUE(tensor.defined());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % 64, 0u);
  EXPECT_EQ(tensor.byte_size(), 60u);
  EXPECT_EQ(tensor.numel(), 15);
  for (const float value : tensor.values<float>()) EXPECT_EQ(value, 0);
  EXPECT_FALSE(Tensor().defined());
}

TEST(Tensor, TheElementTypeOfTheValuesNamesTheDtype) {
  EXPECT_EQ(Tensor::from(std::vector<float>{1, 2}, {2}).dtype(), DType::f32);
  EXPECT_EQ(Tensor::from(std::vector<double>{1, 2}, {2}).dtype(), DType::f64);
  EXPECT_EQ(Tensor::from(std::vector<std::int32_t>{1, 2}, {2}).dtype(), DType::i32);
  EXPECT_EQ(Tensor::from(std::vector<std::int64_t>{1, 2}, {2}).dtype(), DType::i64);
  EXPECT_EQ(code_of([] { Tensor::from(std::vector<float>{1, 2, 3}, {2}); }), "TensorSizeMismatch");
}

TEST(Tensor, HandlesShareBytesUntilTheLastIsGone) {
  Tensor view;
  {
    const Tensor owner = counting({4, 2});
    view = owner.rows(1, 2);
    EXPECT_FALSE(view.shares_bytes_with(owner));
    EXPECT_TRUE(owner.reshaped({8}).shares_bytes_with(owner));
  }
  const std::array<std::int32_t, 4> expected{2, 3, 4, 5};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), view.values<std::int32_t>().begin()));
  EXPECT_EQ(view.dims(), (std::vector<std::int64_t>{2, 2}));
}

TEST(Tensor, WrapKeepsItsOwnerAlive) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
  const std::weak_ptr<std::vector<float>> watch = owner;
  Tensor tensor = Tensor::wrap(owner, std::as_bytes(std::span(*owner)), DType::f32, {2, 2});
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(tensor.values<float>()[3], 4);
  tensor = {};
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(code_of([] { Tensor::wrap(nullptr, {}, DType::f32, {1}); }), "TensorSizeMismatch");
}

TEST(Tensor, RowsStayInsideTheTensor) {
  const Tensor tensor = counting({4, 2});
  EXPECT_EQ(tensor.rows(4, 0).byte_size(), 0u);
  EXPECT_EQ(tensor.rows(0, 4).byte_size(), 32u);
  EXPECT_EQ(code_of([&] { tensor.rows(3, 2); }), "IndexOutOfRange");
  EXPECT_EQ(code_of([&] { tensor.rows(-1, 1); }), "IndexOutOfRange");
  EXPECT_EQ(code_of([&] { tensor.rows(1, INT64_MAX); }), "IndexOutOfRange");
  EXPECT_EQ(code_of([] { Tensor::zeros(DType::f32, {}).rows(0, 1); }), "IndexOutOfRange");
}

TEST(Tensor, RowsOfABlockTypeAreWholeBlocks) {
  const Tensor matrix = Tensor::zeros(DType::q8_0, {3, 64});
  EXPECT_EQ(matrix.rows(1, 1).byte_size(), 68u);
  const Tensor row = Tensor::zeros(DType::q8_0, {96});
  EXPECT_EQ(row.rows(32, 64).byte_size(), 68u);
  EXPECT_EQ(row.rows(32, 64).bytes().data() - row.bytes().data(), 34);
  EXPECT_EQ(code_of([&] { row.rows(1, 32); }), "BlockMisaligned");
  EXPECT_EQ(code_of([&] { row.rows(0, 33); }), "BlockMisaligned");
}

TEST(Tensor, ReshapeKeepsTheByteCount) {
  const Tensor tensor = counting({4, 2});
  EXPECT_EQ(tensor.reshaped({2, 2, 2}).dims(), (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(code_of([&] { tensor.reshaped({3}); }), "ShapeMismatch");
}

TEST(Tensor, SizesThatNoMachineHasAreRefused) {
  const std::int64_t large = std::int64_t{1} << 60;
#ifndef __SANITIZE_ADDRESS__  // its allocator ends the process instead
  EXPECT_EQ(code_of([&] { Tensor::allocate(DType::u8, {large}); }), "OutOfMemory");
#endif
  EXPECT_EQ(code_of([&] { Tensor::allocate(DType::f32, {large, large}); }), "SizeOverflow");
  EXPECT_EQ(code_of([] { Tensor::allocate(DType::f32, {-1}); }), "BadShape");
  EXPECT_EQ(code_of([] { Tensor::allocate(DType::f32, {0, -1}); }), "BadShape");
  const Tensor empty = Tensor::allocate(DType::f32, {large, large, 0});
  EXPECT_EQ(empty.numel(), 0);
  EXPECT_EQ(empty.byte_size(), 0u);
}

TEST(Tensor, ConvertsToF32) {
  const Tensor f32 = Tensor::from(std::vector<float>{1, 2}, {2});
  EXPECT_TRUE(f32.to_f32().shares_bytes_with(f32));
  const std::vector<std::uint16_t> halves{0x3C00, 0xC000};  // 1, -2
  const Tensor decoded = Tensor::copy_bytes(std::as_bytes(std::span(halves)), DType::f16, {2}).to_f32();
  EXPECT_EQ(decoded.dtype(), DType::f32);
  EXPECT_EQ(decoded.values<float>()[0], 1);
  EXPECT_EQ(decoded.values<float>()[1], -2);
}

TEST(Tensor, DimsAsText) {
  EXPECT_EQ(dims_text(std::vector<std::int64_t>{4, 8}), "[4, 8]");
  EXPECT_EQ(dims_text({}), "[]");
}

}  // namespace
}  // namespace weft
