#include "weft/ops/resize.h"

#include <gtest/gtest.h>

#include "weft/base/error.h"

namespace weft::ops {
namespace {

TEST(Resize, OpenSizesBecomeWhatKnownOnesAre) {
  const Dim open = Dim::symbol("n");
  for (const double scale : {0.5, 2.0, 3.0, 0.7, 1.0 / 3, 1.7, 0.1, 2.5, 1.234567, 0.987654, 0.015625, 7.0 / 13}) {
    const double stored = static_cast<float>(scale);
    const Dim size = resized(open, stored);
    for (std::int64_t n = 0; n < 5000; ++n)
      ASSERT_EQ(size.eval({{"n", n}}), resized(Dim(n), stored).value()) << n << " scaled by " << scale;
  }
}

TEST(Resize, TheNudgeUndoesTheRoundingOfAFactor) {
  EXPECT_EQ(resized(Dim(10), 0.7f).value(), 7);
  EXPECT_EQ(resized(Dim(30), 0.1f).value(), 3);
  EXPECT_EQ(resized(Dim(3), 1.0f / 3).value(), 1);
  EXPECT_THROW(resized(Dim(std::int64_t{1} << 40), 1e9), Error);
}

TEST(Resize, AreasCoverTheInputOnce) {
  const Resize area{ResizeMode::area, 0.5, false};
  for (std::int64_t in = 1; in < 40; ++in)
    for (std::int64_t out = 1; out <= in; ++out) {
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < out; ++i) {
        const ResizeTap tap = resize_tap(area, in, out, i);
        EXPECT_LE(tap.first, next);
        EXPECT_GT(tap.first + tap.count, next);
        next = tap.first + tap.count;
      }
      EXPECT_EQ(next, in);
    }
}

}  // namespace
}  // namespace weft::ops
