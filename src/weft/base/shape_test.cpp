#include "weft/base/shape.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/base/error.h"

namespace weft {
namespace {

const Dim n = Dim::symbol("n"), m = Dim::symbol("m");

template <class F>
std::string code_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

TEST(Shape, TextReadsBack) {
  for (const Shape& shape : {Shape{}, Shape{4}, Shape{n, 64}, Shape{1, floor_div(n + 1, 2), max(n, m), 0}})
    EXPECT_EQ(Shape::parse(shape.text()), shape) << shape.text();
  EXPECT_EQ(Shape({n, 64}).text(), "[n, 64]");
  EXPECT_EQ(Shape{}.text(), "[]");
  EXPECT_EQ(Shape::parse("[ ]"), Shape{});
}

TEST(Shape, RefusesWhatIsNoShape) {
  for (const char* text : {"", "[", "]", "n, 4", "[n"}) EXPECT_EQ(code_of([&] { Shape::parse(text); }), "BadShape");
  for (const char* text : {"[n,]", "[,]", "[max(n, 4]", "[)n(, 4]", "[4 4]"})
    EXPECT_EQ(code_of([&] { Shape::parse(text); }), "BadDim") << text;
}

TEST(Shape, StaticAndSymbolicSizes) {
  const Shape shape{n, 4, 3};
  EXPECT_FALSE(shape.is_static());
  EXPECT_EQ(shape.static_dims(), std::nullopt);
  EXPECT_EQ(shape.numel(), n * 12);
  EXPECT_EQ(shape.eval({{"n", 2}}), (std::vector<std::int64_t>{2, 4, 3}));
  EXPECT_EQ(Shape{}.numel(), Dim(1));
  EXPECT_EQ(Shape({2, 3}).static_dims(), (std::vector<std::int64_t>{2, 3}));
}

TEST(Shape, BroadcastAlignsAtTheLastAxis) {
  EXPECT_EQ(broadcast(Shape{n, 4}, Shape{4}), (Shape{n, 4}));
  EXPECT_EQ(broadcast(Shape{1, 4}, Shape{3, 1, 1}), (Shape{3, 1, 4}));
  EXPECT_EQ(broadcast(Shape{}, Shape{n}), Shape{n});
  EXPECT_EQ(broadcast(Shape{n}, Shape{m}), Shape{broadcast(n, m)});
  EXPECT_EQ(broadcast(Shape{0}, Shape{1}), Shape{0});
  try {
    broadcast(Shape{2, 3}, Shape{2, 4});
    FAIL() << "3 and 4 broadcast";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "ShapeMismatch");
    EXPECT_EQ(error.message(), "[2, 3] and [2, 4] do not broadcast");
  }
}

TEST(TensorType, PrintsShapeAndDtype) {
  EXPECT_EQ((TensorType{{n, 64}, DType::f16}).text(), "[n, 64] f16");
  EXPECT_NE((TensorType{{4}, DType::f16}), (TensorType{{4}, DType::f32}));
  EXPECT_NE((TensorType{{1}, DType::f32}), (TensorType{{}, DType::f32}));
}

}  // namespace
}  // namespace weft
