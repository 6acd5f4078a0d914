#include "weft/base/dim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weft/base/error.h"

namespace weft {
namespace {

const Dim n = Dim::symbol("n"), m = Dim::symbol("m"), past = Dim::symbol("past");

template <class F>
std::string code_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

// A random expression, and beside it the same arithmetic on numbers.
struct Sample {
  Dim dim;
  std::int64_t value = 0;
};

Sample random_dim(std::mt19937& random, const DimBinding& binding, int depth) {
  const auto below = [&](std::uint32_t count) { return random() % count; };
  if (depth == 0 || below(5) == 0) {
    if (below(3) == 0) {
      const auto value = static_cast<std::int64_t>(below(9)) - 2;
      return {Dim(value), value};
    }
    auto it = binding.begin();
    std::advance(it, below(static_cast<std::uint32_t>(binding.size())));
    return {Dim::symbol(it->first), it->second};
  }
  const Sample a = random_dim(random, binding, depth - 1);
  const auto k = static_cast<std::int64_t>(1 + below(5));
  const auto floor = [](std::int64_t x, std::int64_t y) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(x) / static_cast<double>(y)));
  };
  switch (below(8)) {
    case 0: return {floor_div(a.dim, k), floor(a.value, k)};
    case 1: return {ceil_div(a.dim, k), -floor(-a.value, k)};
    case 2: {
      std::int64_t power = 1;
      while (power < a.value) power *= 2;
      return {pow2_ceil(a.dim), power};
    }
    default: break;
  }
  const Sample b = random_dim(random, binding, depth - 1);
  switch (below(4)) {
    case 0: return {a.dim + b.dim, a.value + b.value};
    case 1: return {a.dim - b.dim, a.value - b.value};
    case 2: return {a.dim * b.dim, a.value * b.value};
    default: return {max(a.dim, b.dim), std::max(a.value, b.value)};
  }
}

TEST(Dim, EqualExpressionsHaveOneNormalForm) {
  EXPECT_EQ(n + past, past + n);
  EXPECT_EQ((n + 1) * (n - 1), n * n - 1);
  EXPECT_EQ(n * m * 2, Dim(2) * m * n);
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_TRUE((n - n).is_static());
  EXPECT_EQ((n * 2 + past + 1).text(), "2*n + past + 1");
  EXPECT_EQ((Dim(3) - n).text(), "-n + 3");
  EXPECT_EQ(Dim(-7).text(), "-7");
  EXPECT_NE(n, m);
  EXPECT_NE(n, Dim(1));
}

TEST(Dim, DivisionsThatComeOutWholeLeaveNoAtom) {
  EXPECT_EQ(floor_div(n * 6 + 4, 2), n * 3 + 2);
  EXPECT_EQ(ceil_div(n * 6 + 4, 2), n * 3 + 2);
  EXPECT_EQ(floor_div(n, 2).text(), "floor_div(n, 2)");
  EXPECT_EQ(floor_div(Dim(-3), 2), Dim(-2));
  EXPECT_EQ(ceil_div(Dim(-3), 2), Dim(-1));
  EXPECT_EQ(ceil_div(Dim(7), 2), Dim(4));
  EXPECT_EQ(floor_div(Dim(INT64_MIN), 1), Dim(INT64_MIN));
  EXPECT_EQ(ceil_div(Dim(INT64_MIN), 1), Dim(INT64_MIN));
  EXPECT_EQ(pow2_ceil(Dim(33)), Dim(64));
  EXPECT_EQ(pow2_ceil(Dim(0)), Dim(1));
  EXPECT_EQ(code_of([] { floor_div(n, 0); }), "BadDim");
  EXPECT_EQ(code_of([] { pow2_ceil(Dim(INT64_MAX)); }), "SizeOverflow");
}

TEST(Dim, MaxAndBroadcastGatherTheirOperands) {
  EXPECT_EQ(max(max(n, m), n), max(m, n));
  EXPECT_EQ(max(max(n, Dim(3)), Dim(5)), max(Dim(5), n));
  EXPECT_EQ(broadcast(broadcast(n, m), n), broadcast(m, n));
  EXPECT_EQ(broadcast(broadcast(n, m), past), broadcast(n, broadcast(past, m)));
  EXPECT_EQ(broadcast(n, Dim(1)), n);
  EXPECT_EQ(broadcast(Dim(1), Dim(1)), Dim(1));
  EXPECT_EQ(broadcast(Dim(1), Dim(0)), Dim(0));
  EXPECT_EQ(broadcast(broadcast(n, m), Dim(1)), broadcast(n, m));
  EXPECT_EQ(code_of([] { broadcast(Dim(2), Dim(3)); }), "ShapeMismatch");
  EXPECT_EQ(code_of([] { broadcast(broadcast(n, Dim(2)), Dim(3)); }), "ShapeMismatch");
}

TEST(Dim, ABroadcastIsCheckedWhenItIsEvaluated) {
  const Dim both = broadcast(n, m);
  EXPECT_EQ(both.eval({{"n", 4}, {"m", 4}}), 4);
  EXPECT_EQ(both.eval({{"n", 1}, {"m", 4}}), 4);
  EXPECT_EQ(both.eval({{"n", 0}, {"m", 1}}), 0);
  EXPECT_EQ(code_of([&] { both.eval({{"n", 2}, {"m", 4}}); }), "ShapeMismatch");
  EXPECT_EQ(code_of([&] { both.eval({{"n", 2}}); }), "UnboundSymbol");
}

TEST(Dim, EvalAgreesWithArithmeticOnRandomExpressions) {
  std::mt19937 random(7);
  int symbolic = 0;
  for (int i = 0; i < 3000; ++i) {
    const DimBinding binding{{"n", random() % 9}, {"past", random() % 100}, {"b.x", 1 + random() % 4}};
    const Sample sample = random_dim(random, binding, 4);
    EXPECT_EQ(sample.dim.eval(binding), sample.value) << sample.dim.text();
    symbolic += sample.dim.is_static() ? 0 : 1;
  }
  EXPECT_GT(symbolic, 1000);
}

TEST(Dim, TextReadsBackOnRandomExpressions) {
  std::mt19937 random(8);
  const DimBinding binding{{"n", 3}, {"past", 5}, {"b.x", 2}};
  for (int i = 0; i < 3000; ++i) {
    Dim dim = random_dim(random, binding, 4).dim;
    if (i % 3 == 0) dim = broadcast(dim, n * 3);
    const Dim read = Dim::parse(dim.text());
    EXPECT_EQ(read, dim) << dim.text();
    EXPECT_EQ(read.text(), dim.text());
  }
}

TEST(Dim, BoundsHoldEveryValue) {
  std::mt19937 random(9);
  const DimBounds bounds{{"n", {0, 8}}, {"past", {0, 99}}, {"b.x", {1, 4}}};
  for (int i = 0; i < 2000; ++i) {
    DimBinding binding{{"n", random() % 9}, {"past", random() % 100}, {"b.x", 1 + random() % 4}};
    Dim dim = random_dim(random, binding, 3).dim;
    if (i % 4 == 0) {
      dim = broadcast(Dim::symbol("b.x"), n);
      binding["b.x"] = 1;
    }
    const auto range = dim.bounds(bounds);
    ASSERT_TRUE(range.has_value());
    EXPECT_LE(range->low, dim.eval(binding)) << dim.text();
    EXPECT_GE(range->high, dim.eval(binding)) << dim.text();
  }
  EXPECT_FALSE(m.bounds(bounds).has_value());
}

TEST(Dim, BoundsOfUnboundedSymbolsSaturate) {
  const std::int64_t far = std::int64_t{1} << 48;
  const auto range = (n * m * 3 - n * n).bounds({{"n", {0, far}}, {"m", {0, far}}});
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->low, INT64_MIN);
  EXPECT_EQ(range->high, INT64_MAX);
  EXPECT_EQ(pow2_ceil(n * n).bounds({{"n", {0, far}}})->high, INT64_MAX);
}

TEST(Dim, ExactDivFindsTheQuotientOfEveryProduct) {
  EXPECT_EQ(exact_div((n + 1) * (past + 2), n + 1), past + 2);
  EXPECT_EQ(exact_div(n * n - m * m, n + m), n - m);
  EXPECT_EQ(exact_div(n * 6, Dim(4)), std::nullopt);
  EXPECT_EQ(exact_div(n, m), std::nullopt);
  EXPECT_EQ(exact_div(n + 1, n), std::nullopt);
  EXPECT_EQ(exact_div(n, Dim(0)), std::nullopt);
  EXPECT_EQ(exact_div(Dim(0), n), Dim(0));
  EXPECT_EQ(exact_div(Dim(12), Dim(-4)), Dim(-3));
  std::mt19937 random(10);
  const DimBinding binding{{"n", 3}, {"past", 5}, {"b.x", 2}};
  int tried = 0;
  for (int i = 0; i < 2000; ++i) {
    const Dim a = random_dim(random, binding, 2).dim, b = random_dim(random, binding, 2).dim;
    if (b == Dim(0)) continue;
    const auto quotient = exact_div(a * b, b);
    ASSERT_TRUE(quotient.has_value()) << a.text() << " times " << b.text();
    EXPECT_EQ(*quotient, a);
    ++tried;
  }
  EXPECT_GT(tried, 1500);
}

TEST(Dim, SubstitutionIsEvaluationInSteps) {
  std::mt19937 random(11);
  for (int i = 0; i < 1000; ++i) {
    const DimBinding binding{{"n", random() % 9}, {"past", random() % 100}, {"b.x", 1 + random() % 4}};
    const Dim dim = random_dim(random, binding, 3).dim;
    const Dim inner = dim.substitute({{"n", m + 2}, {"past", Dim(binding.at("past"))}});
    const std::int64_t m_value = binding.at("n") - 2;
    EXPECT_EQ(inner.eval({{"m", m_value}, {"b.x", binding.at("b.x")}}), dim.eval(binding)) << dim.text();
  }
  EXPECT_EQ(broadcast(broadcast(n, m), past).substitute({{"m", Dim(1)}, {"past", Dim(4)}}), broadcast(n, Dim(4)));
}

TEST(Dim, CollectsTheSymbolsInsideAtoms) {
  std::set<std::string> names;
  (floor_div(n + past, 2) * max(m, Dim(3))).collect_symbols(names);
  EXPECT_EQ(names, (std::set<std::string>{"m", "n", "past"}));
}

TEST(Dim, OverflowIsAnErrorNotAWrap) {
  const Dim large(INT64_MAX);
  EXPECT_EQ(code_of([&] { (void)(large + 1); }), "SizeOverflow");
  EXPECT_EQ(code_of([&] { (void)(large * 2); }), "SizeOverflow");
  EXPECT_EQ(code_of([&] { (void)(n * large * 2); }), "SizeOverflow");
  EXPECT_EQ(code_of([&] { (n * n).eval({{"n", INT64_MAX}}); }), "SizeOverflow");
  EXPECT_EQ(code_of([&] { (void)exact_div(n * Dim(INT64_MIN), Dim(-1)); }), "SizeOverflow");
}

TEST(Dim, TheExtremesReadBack) {
  for (const Dim& dim : {Dim(INT64_MIN), Dim(INT64_MAX), n * Dim(INT64_MIN), n + Dim(INT64_MIN)})
    EXPECT_EQ(Dim::parse(dim.text()), dim) << dim.text();
}

TEST(Dim, RefusesWhatIsNoDim) {
  for (const char* text :
       {"", " ", "n +", "2n", "(n", "n)", "floor_div(n)", "floor_div(n, 0)", "floor_div(n, -2)", "sqrt(n)", "n n", "n,",
        "9223372036854775808", "-9223372036854775809", "99999999999999999999999", "max(n)", "n^2", "*n", "max(,n)"})
    EXPECT_EQ(code_of([&] { Dim::parse(text); }), "BadDim") << text;
  for (const char* name : {"", "2n", "a b", "a*b", "n-1", "\xc3\xa4"})
    EXPECT_EQ(code_of([&] { Dim::symbol(name); }), "BadDim") << name;
  EXPECT_EQ(Dim::parse(" ( n+1 ) *2 - n "), n + 2);
}

TEST(Dim, HostileTextStaysCheap) {
  EXPECT_EQ(code_of([] { Dim::parse(std::string(100000, '(')); }), "BadDim");
  std::string product = "1", nested;
  for (int i = 0; i < 64; ++i)
    product += "*(a" + std::to_string(i) + "+b" + std::to_string(i) + ")";  // 2^64 terms once expanded
  EXPECT_EQ(code_of([&] { Dim::parse(product); }), "BadDim");
  for (int i = 0; i < 1000; ++i) nested += "max(a,broadcast(b,";
  EXPECT_EQ(code_of([&] { Dim::parse(nested); }), "BadDim");
  std::string power = "pow2_ceil(n)";
  for (int i = 0; i < 2000; ++i) power += "*pow2_ceil(n)";
  EXPECT_EQ(code_of([&] { Dim::parse(power); }), "BadDim");
}

}  // namespace
}  // namespace weft
