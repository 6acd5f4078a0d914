// Functions of one value, applied to each element. Floats compute in f64 and round once.
#include "weft/ops/activation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "weft/base/fail.h"
#include "weft/ir/op_schema.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/special_functions.h"

namespace weft::ops {
namespace {

double sigmoid(double x) {
  // The exponential of a negative number cannot overflow.
  const double e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}
double silu(double x) { return x * sigmoid(x); }
// 1 + erf(x / sqrt 2) as erfc, which keeps the tail at large negative x.
double gelu(double x) { return 0.5 * x * std::erfc(-x * (std::numbers::sqrt2 / 2)); }
double gelu_approx(double x) {
  // (1 + tanh u) / 2 is the logistic function of 2u.
  const double u = std::sqrt(2 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x);
  return x * sigmoid(2 * u);
}
double gelu_quick(double x) { return x * sigmoid(1.702 * x); }
double relu(double x) { return x < 0 ? 0 : x; }
double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double softplus(double x) { return std::isnan(x) ? x : std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double log_sigmoid(double x) { return -softplus(-x); }
double clamped(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
double hard_swish(double x) { return x * clamped(x + 3, 0, 6) / 6; }
double hard_sigmoid(double x) { return clamped(x + 3, 0, 6) / 6; }
double mish(double x) { return x * std::tanh(softplus(x)); }
double softsign(double x) { return x / (1 + std::abs(x)); }

using Function = double (*)(double);

// Applies one function to a buffer: the loop is compiled for each, so no element costs an indirect call.
template <Function F>
void apply(std::span<double> values) {
  for (double& x : values) x = F(x);
}

struct Kind {
  const char* name;
  void (*apply)(std::span<double>);
};

constexpr Kind kinds[] = {
    {"gelu", apply<gelu>},
    {"gelu_approx", apply<gelu_approx>},
    {"gelu_quick", apply<gelu_quick>},
    {"silu", apply<silu>},
    {"relu", apply<relu>},
    {"sigmoid", apply<sigmoid>},
    {"tanh", apply<+[](double x) { return std::tanh(x); }>},
    {"exp", apply<+[](double x) { return std::exp(x); }>},
    {"log", apply<+[](double x) { return std::log(x); }>},
    {"sqrt", apply<+[](double x) { return std::sqrt(x); }>},
    {"rsqrt", apply<+[](double x) { return 1 / std::sqrt(x); }>},
    {"neg", apply<+[](double x) { return -x; }>},
    {"abs", apply<+[](double x) { return std::abs(x); }>},
    {"sin", apply<+[](double x) { return std::sin(x); }>},
    {"cos", apply<+[](double x) { return std::cos(x); }>},
    {"tan", apply<+[](double x) { return std::tan(x); }>},
    {"atan", apply<+[](double x) { return std::atan(x); }>},
    {"round", apply<+[](double x) { return std::nearbyint(x); }>},
    {"recip", apply<+[](double x) { return 1 / x; }>},
    {"floor", apply<+[](double x) { return std::floor(x); }>},
    {"ceil", apply<+[](double x) { return std::ceil(x); }>},
    {"sign", apply<sign>},
    {"softplus", apply<softplus>},
    {"elu", nullptr},
    {"erf", apply<+[](double x) { return std::erf(x); }>},
    {"hard_swish", apply<hard_swish>},
    {"hard_sigmoid", apply<hard_sigmoid>},
    {"mish", apply<mish>},
    {"softsign", apply<softsign>},
    {"log_sigmoid", apply<log_sigmoid>},
    {"log1p", apply<+[](double x) { return std::log1p(x); }>},
    {"expm1", apply<+[](double x) { return std::expm1(x); }>},
    {"asin", apply<+[](double x) { return std::asin(x); }>},
    {"acos", apply<+[](double x) { return std::acos(x); }>},
    {"sinh", apply<+[](double x) { return std::sinh(x); }>},
    {"cosh", apply<+[](double x) { return std::cosh(x); }>},
    {"asinh", apply<+[](double x) { return std::asinh(x); }>},
    {"acosh", apply<+[](double x) { return std::acosh(x); }>},
    {"atanh", apply<+[](double x) { return std::atanh(x); }>},
    {"lgamma", apply<log_gamma>},
    {"digamma", apply<digamma>},
    {"erf_inv", apply<erf_inv>},
    {"is_nan", apply<+[](double x) { return std::isnan(x) ? 1.0 : 0.0; }>},
    {"is_inf", apply<+[](double x) { return std::isinf(x) ? 1.0 : 0.0; }>},
    {"not", nullptr},
    {"leaky_relu", nullptr},
    {"trunc", apply<+[](double x) { return std::trunc(x); }>},
    {"cbrt", apply<+[](double x) { return std::cbrt(x); }>},
};

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name);
  return names;
}

bool one_of(const std::string& kind, std::initializer_list<const char*> list) {
  return std::find(list.begin(), list.end(), kind) != list.end();
}

double alpha_of(const Node& node) {
  return node.optional_real("alpha").value_or(node.text("kind") == "leaky_relu" ? 0.01 : 1.0);
}

void infer_activation(InferContext& context) {
  const std::string& kind = context.node().text("kind");
  require_plain(context, 0);
  const DType dtype = context.dtype(0);
  if (context.node().optional_real("alpha") && !one_of(kind, {"elu", "leaky_relu"}))
    context.fail_attribute("alpha", "only elu and leaky_relu have a slope");
  const bool predicate = one_of(kind, {"is_nan", "is_inf"});
  if (kind == "not" ? !is_discrete(dtype) : !is_float(dtype)) {
    const bool integral = one_of(kind, {"relu", "neg", "abs", "sign", "round", "floor", "ceil", "trunc"});
    if (!integral || !is_integer(dtype))
      context.fail_dtype(fmt::format("{} is not defined for {}; cast first", kind, to_string(dtype)));
  }
  context.output(context.shape(0), predicate ? DType::boolean : dtype);
}

// Integers wrap: the negative and the magnitude of the lowest value are that value.
std::int64_t integer_activation(const std::string& kind, std::int64_t x, bool is_unsigned) {
  const auto negative = [](std::int64_t v) { return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(v)); };
  if (kind == "not") return ~x;
  if (kind == "neg") return negative(x);
  if (is_unsigned) return kind == "sign" ? std::int64_t{x != 0} : x;
  if (kind == "abs") return x < 0 ? negative(x) : x;
  if (kind == "sign") return x > 0 ? 1 : x < 0 ? -1 : 0;
  if (kind == "relu") return std::max<std::int64_t>(x, 0);
  return x;  // the roundings
}

void run_activation(const KernelContext& context) {
  const std::string& kind = context.node().text("kind");
  const DType dtype = context.input(0).dtype();
  if (dtype == DType::boolean)
    return map_elements<std::int64_t, 1>(context, [](std::int64_t x) { return std::int64_t{x == 0}; });
  if (is_integer(dtype)) {
    const bool is_unsigned = one_of(std::string(to_string(dtype)), {"u8", "u16", "u32", "u64"});
    return map_elements<std::int64_t, 1>(context,
                                         [&](std::int64_t x) { return integer_activation(kind, x, is_unsigned); });
  }
  const double alpha = alpha_of(context.node());
  if (kind == "elu")
    return map_elements<double, 1>(context, [&](double x) { return x > 0 ? x : alpha * std::expm1(x); });
  if (kind == "leaky_relu") return map_elements<double, 1>(context, [&](double x) { return x > 0 ? x : alpha * x; });
  const Kind* chosen = std::find_if(std::begin(kinds), std::end(kinds), [&](const Kind& k) { return kind == k.name; });
  each_run_of_inputs<double, 1>(
      context, [&](std::array<std::array<double, piece>, 1>& buffers, std::size_t count, std::int64_t linear) {
        const auto values = std::span(buffers[0]).first(count);
        chosen->apply(values);
        store_piece(context.output(0), linear, std::span<const double>(values));
      });
}

const OpRegistration activation{{
    .name = "Activation",
    .tag = 20,
    .family = "activation",
    .maths =
        "y = f(x) for each element. gelu = x (1 + erf(x / sqrt 2)) / 2, gelu_approx = x (1 + tanh(sqrt(2 / pi) (x + "
        "0.044715 x^3))) / 2, gelu_quick = x s(1.702 x) and silu = x s(x) with s the logistic function (sigmoid); relu "
        "= max(x, 0); softplus = ln(1 + e^x), log_sigmoid = -softplus(-x), mish = x tanh(softplus(x)); elu = x above "
        "0, else alpha (e^x - 1); leaky_relu = x above 0, else alpha x; hard_sigmoid = clamp(x / 6 + 1/2, 0, 1), "
        "hard_swish = x hard_sigmoid(x); softsign = x / (1 + |x|); rsqrt = 1 / sqrt x, recip = 1 / x; round takes "
        "halves to even, sign(0) = 0; lgamma = ln |Gamma(x)|, digamma its derivative, erf_inv the inverse of erf. "
        "NaN stays NaN, and a product of an infinity with 0 is NaN. is_nan and is_inf give bool; not is the complement "
        "of a bool or of the bits of an integer. "
        "Integers know relu, neg, abs, sign and the roundings besides, and wrap.",
    .attributes = {{.name = "kind",
                    .type = AttributeType::choice,
                    .required = true,
                    .doc = "the function",
                    .choices = kind_names()},
                   {.name = "alpha",
                    .type = AttributeType::real,
                    .doc = "slope of elu (default 1) and leaky_relu (default 0.01)"}},
    .inputs = {{"x"}},
    .op_class = OpClass::elementwise,
    .infer = infer_activation,
    .reference = run_activation,
    .unfuse = Rule::not_applicable("a primitive"),
}};

}  // namespace

bool is_activation_kind(std::string_view kind) {
  return std::any_of(std::begin(kinds), std::end(kinds), [&](const Kind& k) { return kind == k.name; });
}

bool is_epilogue_kind(std::string_view kind) {
  return is_activation_kind(kind) && !one_of(std::string(kind), {"is_nan", "is_inf", "not"});
}

std::vector<std::string> epilogue_kinds() {
  std::vector<std::string> names{"none"};
  for (const Kind& kind : kinds)
    if (is_epilogue_kind(kind.name)) names.emplace_back(kind.name);
  return names;
}

}  // namespace weft::ops
