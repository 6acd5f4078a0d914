#include "weft/ops/panel_dot.h"

#include <gtest/gtest.h>

#include <vector>

#include "random_tensor.h"

namespace weft::ops {
namespace {

template <class P>
std::vector<P> values(std::int64_t count, std::uint64_t seed) {
  const Tensor tensor = test::random_tensor({count}, seed);
  std::vector<P> out;
  for (const float value : tensor.values<float>()) out.push_back(static_cast<P>(value) / P{3});
  return out;
}

// One product and one addition at a time.
template <class P>
std::vector<double> plain(const std::vector<P>& panel, const std::vector<double>& x, std::int64_t rows,
                          std::int64_t terms) {
  std::vector<double> sums(static_cast<std::size_t>(rows * panel_lanes), 0.125);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t lane = 0; lane < panel_lanes; ++lane)
      for (std::int64_t k = 0; k < terms; ++k) {
        volatile double product = x[static_cast<std::size_t>(r * terms + k)] *
                                  static_cast<double>(panel[static_cast<std::size_t>(k * panel_lanes + lane)]);
        sums[static_cast<std::size_t>(r * panel_lanes + lane)] += product;
      }
  return sums;
}

template <class P>
void expect_same_bits(PanelDotFunction<P> dot, std::string_view name) {
  for (const std::int64_t rows : {1, 2, 3, 4, 7, 9})
    for (const std::int64_t terms : {0, 1, 5, 64, 301}) {
      const auto panel = values<P>(terms * panel_lanes, 7);
      const auto x = values<double>(rows * terms, 8);
      std::vector<double> sums(static_cast<std::size_t>(rows * panel_lanes), 0.125);
      dot(panel.data(), x.data(), terms, rows, terms, sums.data());
      EXPECT_EQ(sums, plain(panel, x, rows, terms)) << name << ", " << rows << " rows, " << terms << " terms";
    }
}

TEST(PanelDot, EveryInstructionSetGivesThePlainSum) {
  ASSERT_FALSE(panel_dots().empty());
  EXPECT_EQ(panel_dots().back().instructions, "portable");
  for (const PanelDot& dot : panel_dots()) {
    expect_same_bits<float>(dot.f32, dot.instructions);
    expect_same_bits<double>(dot.f64, dot.instructions);
  }
}

template <class P>
void expect_packed(std::int64_t terms, std::int64_t lanes) {
  const auto data = values<P>(terms * panel_lanes + 1, 9);
  const P* rows[panel_lanes] = {};
  for (std::int64_t lane = 0; lane < lanes; ++lane) rows[lane] = data.data() + lane * terms;
  std::vector<P> panel(static_cast<std::size_t>(terms * panel_lanes), P{42});
  pack_panel(rows, terms, panel.data());
  for (std::int64_t k = 0; k < terms; ++k)
    for (std::int64_t lane = 0; lane < panel_lanes; ++lane)
      EXPECT_EQ(panel[static_cast<std::size_t>(k * panel_lanes + lane)], lane < lanes ? rows[lane][k] : P{0})
          << terms << " terms, " << lanes << " lanes";
}

TEST(PanelDot, PacksRowsAsColumns) {
  for (const std::int64_t terms : {1, 3, 4, 9, 16})
    for (const std::int64_t lanes : {0, 1, 4, 6, 15, 16}) {
      expect_packed<float>(terms, lanes);
      expect_packed<double>(terms, lanes);
    }
}

}  // namespace
}  // namespace weft::ops
