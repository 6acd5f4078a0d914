// Functions of two values and comparisons, with broadcasting. Floats compute in f64 and round once, which for the four
// operations of f32 is the IEEE result.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "weft/base/fail.h"
#include "weft/ir/op_schema.h"
#include "weft/ops/elementwise.h"

namespace weft::ops {
namespace {

enum class BinaryKind { add, sub, mul, div, max, min, pow, mod, bit_and, bit_or, bit_xor, shl, shr, atan2 };
const std::vector<std::string> binary_names = {"add", "sub",     "mul",    "div",     "max", "min", "pow",
                                               "mod", "bit_and", "bit_or", "bit_xor", "shl", "shr", "atan2"};

enum class CompareKind { eq, ne, lt, le, gt, ge };
const std::vector<std::string> compare_names = {"eq", "ne", "lt", "le", "gt", "ge"};

template <class Kind>
Kind kind_of(const Node& node, const std::vector<std::string>& names) {
  return static_cast<Kind>(std::find(names.begin(), names.end(), node.text("kind")) - names.begin());
}

void infer_binary(InferContext& context) {
  require_plain(context, 0);
  context.require_same_dtype(0, 1);
  const DType dtype = context.dtype(0);
  const auto kind = kind_of<BinaryKind>(context.node(), binary_names);
  const bool bitwise = kind >= BinaryKind::bit_and && kind <= BinaryKind::shr;
  bool defined = true;
  if (is_float(dtype)) defined = !bitwise;
  if (is_integer(dtype)) defined = kind != BinaryKind::atan2;
  if (dtype == DType::boolean)
    defined = (bitwise && kind <= BinaryKind::bit_xor) || kind == BinaryKind::max || kind == BinaryKind::min;
  if (!defined)
    context.fail_dtype(
        fmt::format("{} is not defined for {}; cast first", context.node().text("kind"), to_string(dtype)));
  context.output(broadcast_inputs(context), dtype);
}

double max_of(double a, double b) { return std::isnan(a) || a > b ? a : std::isnan(b) || b > a ? b : a; }
double min_of(double a, double b) { return std::isnan(a) || a < b ? a : std::isnan(b) || b < a ? b : a; }

// base^exponent modulo 2^64; what no integer holds truncates toward zero, as division does.
template <class T>
T integer_pow(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  }
  std::uint64_t result = 1, square = static_cast<std::uint64_t>(base);
  for (auto rest = static_cast<std::uint64_t>(exponent); rest != 0; rest >>= 1, square *= square)
    if ((rest & 1) != 0) result *= square;
  return static_cast<T>(result);
}

// T is std::uint64_t for u64 and std::int64_t for all narrower types, whose results wrap when they are stored.
template <class T>
T integer_binary(BinaryKind kind, T a, T b, std::uint64_t width) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  switch (kind) {
    case BinaryKind::add: return static_cast<T>(ua + ub);
    case BinaryKind::sub: return static_cast<T>(ua - ub);
    case BinaryKind::mul: return static_cast<T>(ua * ub);
    case BinaryKind::div:
      if (b == 0) return 0;
      return b == static_cast<T>(-1) && std::is_signed_v<T> ? static_cast<T>(0 - ua) : static_cast<T>(a / b);
    case BinaryKind::mod: return b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1)) ? 0 : a % b;
    case BinaryKind::max: return std::max(a, b);
    case BinaryKind::min: return std::min(a, b);
    case BinaryKind::pow: return integer_pow(a, b);
    case BinaryKind::bit_and: return a & b;
    case BinaryKind::bit_or: return a | b;
    case BinaryKind::bit_xor: return a ^ b;
    // A negative count is a huge one.
    case BinaryKind::shl: return ub >= width ? 0 : static_cast<T>(ua << ub);
    case BinaryKind::shr: return ub >= width ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> ub);
    case BinaryKind::atan2: break;
  }
  return 0;
}

void run_integers(const KernelContext& context, BinaryKind kind) {
  const DType dtype = context.input(0).dtype();
  const std::uint64_t width = dtype_info(dtype).block_bytes * 8;
  if (dtype == DType::u64)
    return map_elements<std::int64_t, 2>(context, [&](std::int64_t a, std::int64_t b) {
      return static_cast<std::int64_t>(
          integer_binary(kind, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b), width));
    });
  map_elements<std::int64_t, 2>(context,
                                [&](std::int64_t a, std::int64_t b) { return integer_binary(kind, a, b, width); });
}

void run_binary(const KernelContext& context) {
  const auto kind = kind_of<BinaryKind>(context.node(), binary_names);
  if (is_discrete(context.input(0).dtype())) return run_integers(context, kind);
  const auto each = [&](auto function) { map_elements<double, 2>(context, function); };
  switch (kind) {
    case BinaryKind::add: return each([](double a, double b) { return a + b; });
    case BinaryKind::sub: return each([](double a, double b) { return a - b; });
    case BinaryKind::mul: return each([](double a, double b) { return a * b; });
    case BinaryKind::div: return each([](double a, double b) { return a / b; });
    case BinaryKind::max: return each(max_of);
    case BinaryKind::min: return each(min_of);
    case BinaryKind::pow: return each([](double a, double b) { return std::pow(a, b); });
    case BinaryKind::mod: return each([](double a, double b) { return std::fmod(a, b); });
    case BinaryKind::atan2: return each([](double a, double b) { return std::atan2(a, b); });
    default: break;  // the bit operations, which inference keeps to integers
  }
}

template <class T>
bool holds_between(CompareKind kind, T a, T b) {
  switch (kind) {
    case CompareKind::eq: return a == b;
    case CompareKind::ne: return a != b;
    case CompareKind::lt: return a < b;
    case CompareKind::le: return a <= b;
    case CompareKind::gt: return a > b;
    case CompareKind::ge: return a >= b;
  }
  return false;
}

void run_compare(const KernelContext& context) {
  const auto kind = kind_of<CompareKind>(context.node(), compare_names);
  const DType dtype = context.input(0).dtype();
  if (dtype == DType::u64)
    return map_elements<std::int64_t, 2>(context, [&](std::int64_t a, std::int64_t b) {
      return std::int64_t{holds_between(kind, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b))};
    });
  if (is_discrete(dtype))
    return map_elements<std::int64_t, 2>(
        context, [&](std::int64_t a, std::int64_t b) { return std::int64_t{holds_between(kind, a, b)}; });
  map_elements<double, 2>(context, [&](double a, double b) { return holds_between(kind, a, b) ? 1.0 : 0.0; });
}

const OpRegistration binary{{
    .name = "Binary",
    .tag = 21,
    .family = "binary",
    .maths =
        "y = f(a, b) for each pair of elements, the shapes broadcast to each other. max and min give NaN when either "
        "side is NaN; pow has 0^0 = 1 and NaN for a negative base with a fractional exponent; mod is the C remainder, "
        "with the sign of a; atan2(a, b) is the angle of the point (x = b, y = a). Integers wrap, their division "
        "truncates, a division or remainder by 0 is 0 and a negative power truncates too; the shifts are arithmetic "
        "for signed types, and a count outside the width gives 0, or -1 for the right shift of a negative number. "
        "bool knows the bit operations, max and min. tie says how a tied max or min shares its cotangent.",
    .attributes = {{.name = "kind",
                    .type = AttributeType::choice,
                    .required = true,
                    .doc = "the function",
                    .choices = binary_names},
                   {.name = "tie",
                    .type = AttributeType::choice,
                    .default_value = std::string("split"),
                    .doc = "cotangent of equal operands of max and min: half each, or all to each",
                    .choices = {"split", "all"}}},
    .inputs = {{"a"}, {"b"}},
    .op_class = OpClass::elementwise,
    .infer = infer_binary,
    .reference = run_binary,
    .unfuse = Rule::not_applicable("a primitive"),
}};

const OpRegistration compare{{
    .name = "Compare",
    .tag = 22,
    .family = "binary",
    .maths = "Whether a = b, a != b, a < b, a <= b, a > b or a >= b, for each pair of elements of the broadcast "
             "shapes, as bool. NaN compares unequal to everything and in no order with anything.",
    .attributes = {{.name = "kind",
                    .type = AttributeType::choice,
                    .required = true,
                    .doc = "the relation",
                    .choices = compare_names}},
    .inputs = {{"a"}, {"b"}},
    .op_class = OpClass::elementwise,
    .infer =
        [](InferContext& context) {
          require_plain(context, 0);
          context.require_same_dtype(0, 1);
          context.output(broadcast_inputs(context), DType::boolean);
        },
    .reference = run_compare,
    .vjp = Rule::not_applicable("a truth value does not move with its operands"),
    .jvp = Rule::not_applicable("a truth value does not move with its operands"),
    .unfuse = Rule::not_applicable("a primitive"),
}};

}  // namespace
}  // namespace weft::ops
