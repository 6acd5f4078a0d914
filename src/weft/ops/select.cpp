// Where, Fma, Clamp, NanToNum.
#include <cmath>
#include <limits>
#include <string>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/op_schema.h"
#include "weft/ops/elementwise.h"

namespace weft::ops {
namespace {

// Moves elements by their size alone, so that every bit (NaN payloads, 64-bit integers) survives.
template <class Unit>
void select_units(const KernelContext& context, const std::vector<char>& condition) {
  const std::array<std::vector<std::int64_t>, 3> dims = {context.input(0).dims(), context.input(1).dims(),
                                                         context.input(2).dims()};
  const StridedPlan plan = broadcast_plan(context.output(0).dims(), dims);
  const auto a = context.input(1).values<Unit>(), b = context.input(2).values<Unit>();
  const auto out = context.output(0).mutable_values<Unit>();
  parallel_runs(context.pool(), plan, plan.dims.back(),
                [&](std::int64_t linear, std::int64_t count, std::span<const std::int64_t> offsets) {
                  for (std::int64_t i = 0; i < count; ++i) {
                    const auto at = [&](std::size_t k) {
                      return static_cast<std::size_t>(offsets[k] + i * plan.strides[k].back());
                    };
                    out[static_cast<std::size_t>(linear + i)] = condition[at(0)] != 0 ? a[at(1)] : b[at(2)];
                  }
                });
}

void run_where(const KernelContext& context) {
  const std::vector<double> values = load_f64(context.input(0));
  std::vector<char> condition(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) condition[i] = static_cast<char>(values[i] != 0);
  switch (dtype_info(context.output(0).dtype()).block_bytes) {
    case 1: return select_units<std::uint8_t>(context, condition);
    case 2: return select_units<std::uint16_t>(context, condition);
    case 4: return select_units<std::uint32_t>(context, condition);
    default: return select_units<std::uint64_t>(context, condition);
  }
}

void run_fma(const KernelContext& context) {
  const DType dtype = context.output(0).dtype();
  if (is_integer(dtype))
    return map_elements<std::int64_t, 3>(context, [](std::int64_t a, std::int64_t b, std::int64_t c) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b) +
                                       static_cast<std::uint64_t>(c));
    });
  if (dtype == DType::f64)
    return map_elements<double, 3>(context, [](double a, double b, double c) { return std::fma(a, b, c); });
  // The product of narrower floats is exact in f64. Knuth's two-sum finds what the sum lost.
  map_elements<double, 3>(context, [](double a, double b, double c) {
    const double product = a * b, sum = product + c, shared = sum - product;
    return rounded_to_odd(sum, (product - (sum - shared)) + (c - shared));
  });
}

// The bound as an integer inside the range of i64.
std::int64_t integer_bound(double bound) {
  if (bound < -0x1p63) return std::numeric_limits<std::int64_t>::min();
  if (bound >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(bound);
}

void run_clamp(const KernelContext& context) {
  const auto low = context.node().optional_real("min"), high = context.node().optional_real("max");
  const DType dtype = context.output(0).dtype();
  if (dtype == DType::u64)
    return map_elements<std::int64_t, 1>(context, [&](std::int64_t bits) {
      auto x = static_cast<std::uint64_t>(bits);
      const auto bound = [](double b) { return b <= 0 ? 0 : b >= 0x1p64 ? UINT64_MAX : static_cast<std::uint64_t>(b); };
      if (low) x = std::max(x, bound(std::ceil(*low)));
      if (high) x = std::min(x, bound(std::floor(*high)));
      return static_cast<std::int64_t>(x);
    });
  if (is_integer(dtype)) {
    // What the dtype cannot hold is beyond all of its values, on either side.
    const int bits = static_cast<int>(dtype_info(dtype).block_bytes) * 8;
    const bool is_unsigned = dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32;
    const std::int64_t lowest = is_unsigned ? 0 : integer_bound(-std::ldexp(1.0, bits - 1));
    const std::int64_t highest = is_unsigned ? (std::int64_t{1} << bits) - 1 : -(lowest + 1);
    return map_elements<std::int64_t, 1>(context, [&](std::int64_t x) {
      if (low) x = std::max(x, integer_bound(std::ceil(*low)));
      if (high) x = std::min(x, integer_bound(std::floor(*high)));
      return std::min(std::max(x, lowest), highest);
    });
  }
  map_elements<double, 1>(context, [&](double x) {
    if (low && x < *low) x = *low;
    if (high && x > *high) x = *high;
    return x;
  });
}

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.FEp127;
    case DType::f64: return std::numeric_limits<double>::max();
    default: return std::numeric_limits<float>::max();
  }
}

void run_nan_to_num(const KernelContext& context) {
  const Node& node = context.node();
  const double largest = largest_finite(context.output(0).dtype());
  const double nan = node.real("nan");
  const double positive = node.optional_real("posinf").value_or(largest);
  const double negative = node.optional_real("neginf").value_or(-largest);
  map_elements<double, 1>(context, [&](double x) {
    return std::isnan(x) ? nan : x == HUGE_VAL ? positive : x == -HUGE_VAL ? negative : x;
  });
}

const OpRegistration where{{
    .name = "Where",
    .tag = 23,
    .family = "select",
    .maths = "y = a where the condition is not 0, else b; all three broadcast. The element that is not chosen has no "
             "influence, NaN included.",
    .inputs = {{"condition"}, {"a"}, {"b"}},
    .op_class = OpClass::elementwise,
    .infer =
        [](InferContext& context) {
          require_plain(context, 0);
          if (is_packed(context.dtype(1)))
            context.fail_dtype(fmt::format("input 1 is {}: decode it first", to_string(context.dtype(1))));
          context.require_same_dtype(1, 2);
          context.output(broadcast_inputs(context), context.dtype(1));
        },
    .reference = run_where,
    .unfuse = Rule::not_applicable("a primitive"),
}};

const OpRegistration fma{{
    .name = "Fma",
    .tag = 24,
    .family = "select",
    .maths = "y = a b + c, broadcast, rounded once from the exact value. Integers wrap.",
    .inputs = {{"a"}, {"b"}, {"c"}},
    .op_class = OpClass::elementwise,
    .infer =
        [](InferContext& context) {
          require_plain(context, 0);
          if (context.dtype(0) == DType::boolean) context.fail_dtype("input 0 is bool; cast it to an integer first");
          context.require_same_dtype(0, 1);
          context.require_same_dtype(0, 2);
          context.output(broadcast_inputs(context), context.dtype(0));
        },
    .reference = run_fma,
    .flops = [](const InferContext& context) { return broadcast_inputs(context).numel() * Dim(2); },
}};

const OpRegistration clamp{{
    .name = "Clamp",
    .tag = 25,
    .family = "select",
    .maths = "y = min(max(x, min), max); an absent bound is skipped, NaN stays NaN, and where min > max the result is "
             "max. Integers take the integers between the bounds.",
    .attributes = {{.name = "min", .type = AttributeType::real, .doc = "lower bound; absent: none"},
                   {.name = "max", .type = AttributeType::real, .doc = "upper bound; absent: none"}},
    .inputs = {{"x"}},
    .op_class = OpClass::elementwise,
    .infer =
        [](InferContext& context) {
          require_plain(context, 0);
          if (context.dtype(0) == DType::boolean) context.fail_dtype("input 0 is bool; cast it to an integer first");
          for (const char* bound : {"min", "max"})
            if (std::isnan(context.node().optional_real(bound).value_or(0)))
              context.fail_attribute(bound, "NaN is no bound");
          context.output(context.shape(0), context.dtype(0));
        },
    .reference = run_clamp,
}};

const OpRegistration nan_to_num{{
    .name = "NanToNum",
    .tag = 26,
    .family = "select",
    .maths = "NaN becomes nan, +inf becomes posinf, -inf becomes neginf; every other value stays.",
    .attributes = {{.name = "nan", .type = AttributeType::real, .default_value = 0.0, .doc = "in place of NaN"},
                   {.name = "posinf",
                    .type = AttributeType::real,
                    .doc = "in place of +inf; absent: the largest finite value of the dtype"},
                   {.name = "neginf",
                    .type = AttributeType::real,
                    .doc = "in place of -inf; absent: the lowest finite value of the dtype"}},
    .inputs = {{"x"}},
    .op_class = OpClass::elementwise,
    .infer =
        [](InferContext& context) {
          context.require_float(0);
          context.output(context.shape(0), context.dtype(0));
        },
    .reference = run_nan_to_num,
}};

}  // namespace
}  // namespace weft::ops
