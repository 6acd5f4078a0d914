#include "weft/ir/attribute.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <vector>

namespace weft {
namespace {

TEST(Attribute, RealsPrintTheShortestDigitsThatReadBack) {
  EXPECT_EQ(real_text(0.5), "0.5");
  EXPECT_EQ(real_text(1), "1.0");
  EXPECT_EQ(real_text(-0.0), "-0.0");
  EXPECT_EQ(real_text(1e20), "1e+20");
  EXPECT_EQ(real_text(0.1), "0.1");
  EXPECT_EQ(real_text(5e-324), "5e-324");
  EXPECT_EQ(real_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(real_text(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Attribute, ANanKeepsItsBits) {
  EXPECT_EQ(real_text(std::bit_cast<double>(std::uint64_t{0x7ff8000000000000})), "nan");
  EXPECT_EQ(real_text(std::bit_cast<double>(std::uint64_t{0xfff8000000000000})), "-nan");
  EXPECT_EQ(real_text(std::bit_cast<double>(std::uint64_t{0x7ff8000000000001})), "0x7ff8000000000001");
  EXPECT_EQ(real_text(std::bit_cast<double>(std::uint64_t{0x7ff0000000000001})), "0x7ff0000000000001");
}

TEST(Attribute, QuotedEscapesWhatEndsOrBreaksALine) {
  EXPECT_EQ(quoted("a\"b\\c\nd\te\x01\x7f"), "\"a\\\"b\\\\c\\nd\\te\\x01\\x7f\"");
  EXPECT_EQ(quoted("\xc3\xa9"), "\"\xc3\xa9\"");
}

TEST(Attribute, EveryTypeHasAText) {
  EXPECT_EQ(attribute_text(true, AttributeType::boolean), "true");
  EXPECT_EQ(attribute_text(std::int64_t{-3}, AttributeType::integer), "-3");
  EXPECT_EQ(attribute_text(2.0, AttributeType::real), "2.0");
  EXPECT_EQ(attribute_text(std::string("a"), AttributeType::text), "\"a\"");
  EXPECT_EQ(attribute_text(std::string("a"), AttributeType::choice), "a");
  EXPECT_EQ(attribute_text(std::vector<std::int64_t>{1, 2}, AttributeType::integers), "[1, 2]");
  EXPECT_EQ(attribute_text(std::vector<double>{1, 0.5}, AttributeType::reals), "[1.0, 0.5]");
  EXPECT_EQ(attribute_text(DType::q4_k, AttributeType::dtype), "q4_k");
  EXPECT_EQ(attribute_text(Shape{Dim::symbol("n"), 4}, AttributeType::shape), "[n, 4]");
  EXPECT_EQ(attribute_text(Tensor::zeros(DType::f32, {2, 2}), AttributeType::tensor), "[2, 2] f32 16B");
  EXPECT_EQ(attribute_text({}, AttributeType::real), "_");
}

TEST(Attribute, SameValueIsIdentity) {
  EXPECT_FALSE(same_value(0.0, -0.0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(same_value(nan, nan));
  EXPECT_TRUE(same_value(std::vector<double>{nan}, std::vector<double>{nan}));
  EXPECT_FALSE(same_value(std::vector<double>{nan}, std::vector<double>{nan, nan}));
  EXPECT_FALSE(same_value(std::int64_t{1}, 1.0));
  EXPECT_TRUE(same_value({}, {}));
  const Tensor a = Tensor::from(std::vector<float>{1, 2}, {2});
  EXPECT_TRUE(same_value(a, Tensor::from(std::vector<float>{1, 2}, {2})));
  EXPECT_FALSE(same_value(a, Tensor::from(std::vector<float>{1, 2}, {2, 1})));
  EXPECT_FALSE(same_value(a, Tensor::from(std::vector<float>{1, 3}, {2})));
  EXPECT_FALSE(same_value(a, a.reshaped({1, 2})));
}

TEST(Attribute, HoldsComparesValueAndDeclaredType) {
  EXPECT_TRUE(holds(std::string("a"), AttributeType::choice));
  EXPECT_TRUE(holds(std::string("a"), AttributeType::text));
  EXPECT_FALSE(holds(std::string("a"), AttributeType::integer));
  EXPECT_FALSE(holds(std::int64_t{1}, AttributeType::real));
  EXPECT_FALSE(holds({}, AttributeType::real));
}

}  // namespace
}  // namespace weft
