#include "weft/base/random.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Pcg32, FirstOutputsOfSeedOne) {
  Pcg32 random(1);
  for (const std::uint32_t expected : {0xe2393051u, 0x01112f35u, 0xd3509d35u, 0x0b932f4au})
    EXPECT_EQ(random.next(), expected);
}

TEST(Pcg32, UniformIsTheNextWordOverTwoToThe32) {
  Pcg32 words(42), numbers(42);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double u = numbers.uniform();
    EXPECT_EQ(u, words.next() / 4294967296.0);
    EXPECT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

TEST(Pcg32, ACopyContinuesTheSameStream) {
  Pcg32 a(7);
  a.next();
  Pcg32 b = a;
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.next(), b.next());
  b.next();
  EXPECT_NE(a, b);
}

// Known answers published with Random123 (kat_vectors, philox4x32, 10 rounds).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

}  // namespace
}  // namespace weft
