#include "weft/ops/promotion.h"

#include <gtest/gtest.h>

#include "infer_node.h"

namespace weft {
namespace {

TEST(Promotion, Table) {
  const struct {
    DType a, b, to;
  } rows[] = {
      {DType::f16, DType::bf16, DType::f32},     {DType::f16, DType::f32, DType::f32},
      {DType::bf16, DType::f64, DType::f64},     {DType::i8, DType::f16, DType::f32},
      {DType::boolean, DType::bf16, DType::f32}, {DType::i32, DType::f32, DType::f32},
      {DType::i64, DType::f32, DType::f64},      {DType::u64, DType::f32, DType::f64},
      {DType::i64, DType::f16, DType::f32},      {DType::i64, DType::f64, DType::f64},
      {DType::f64, DType::c64, DType::c64},      {DType::i8, DType::u8, DType::i16},
      {DType::i16, DType::u16, DType::i32},      {DType::i32, DType::u32, DType::i64},
      {DType::i8, DType::u16, DType::i32},       {DType::i32, DType::u8, DType::i32},
      {DType::i16, DType::i64, DType::i64},      {DType::u8, DType::u32, DType::u32},
      {DType::boolean, DType::i8, DType::i8},    {DType::u64, DType::boolean, DType::u64},
      {DType::i64, DType::u32, DType::i64},      {DType::u8, DType::u64, DType::u64},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(promote(row.a, row.b), row.to) << to_string(row.a) << " and " << to_string(row.b);
    EXPECT_EQ(promote(row.b, row.a), row.to);
  }
  for (const DTypeInfo& info : all_dtypes()) EXPECT_EQ(promote(info.dtype, info.dtype), info.dtype);
}

TEST(Promotion, SomePairsMeetNowhere) {
  EXPECT_EQ(test::error_code([] { promote(DType::u64, DType::i8); }), "DTypeMismatch");
  EXPECT_EQ(test::error_code([] { promote(DType::q8_0, DType::f32); }), "DTypeMismatch");
  EXPECT_EQ(test::error_code([] { promote(DType::f32, DType::fx16_16); }), "DTypeMismatch");
}

}  // namespace
}  // namespace weft
