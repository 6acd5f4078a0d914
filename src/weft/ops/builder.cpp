#include "weft/ops/builder.h"

#include <utility>

#include "weft/ops/builder_operands.h"
#include "weft/ops/element.h"

namespace weft {
namespace {

Var leaf(Graph& graph, const char* op, std::string name, Attributes attributes) {
  NodeOptions options;
  if (!graph.find_value(name)) options.names = {name};
  attributes.emplace_back("name", AttributeValue(std::move(name)));
  return emit(graph, op, {}, attributes, std::move(options));
}

}  // namespace

Var input(Graph& graph, std::string name, Shape shape, DType dtype) {
  return leaf(graph, "Input", std::move(name), {{"shape", AttributeValue(std::move(shape))}, {"dtype", dtype}});
}

Var position_input(Graph& graph, Dim rows) {
  return leaf(graph, "Input", "pos", {{"shape", Shape{std::move(rows)}}, {"source", "position"}});
}

Var param(Graph& graph, std::string name, Shape shape, DType dtype) {
  return leaf(graph, "Param", std::move(name), {{"shape", AttributeValue(std::move(shape))}, {"dtype", dtype}});
}

Var constant(Graph& graph, Tensor value) {
  return emit(graph, "Constant", {}, {{"value", AttributeValue(std::move(value))}});
}

Var constant(Graph& graph, double value, DType dtype) {
  require_representable(value, dtype, "[Constant]");
  Tensor scalar = Tensor::allocate(dtype, {});
  ops::store_f64(scalar, {&value, 1});
  return constant(graph, std::move(scalar));
}

void output(Graph& graph, std::string name, Var value) { graph.add_output(std::move(name), value.value()); }

Var cast(Var x, DType to) { return x.dtype() == to ? x : emit(x.graph(), "Cast", {x}, {{"to", to}}); }
Var stop_gradient(Var x) { return emit(x.graph(), "StopGradient", {x}); }
Var bit_cast(Var x, DType to) { return emit(x.graph(), "BitCast", {x}, {{"to", to}}); }
Var encode(Var x, DType dtype) {
  return emit(x.graph(), "Encode", {is_float(x.dtype()) ? cast(x, DType::f32) : x}, {{"dtype", dtype}});
}
Var decode(Var x) { return emit(x.graph(), "Decode", {x}); }
Var to_index(Var x) { return emit(x.graph(), "ToIndex", {x}); }

Var activation(Var x, const std::string& kind) { return emit(x.graph(), "Activation", {x}, {{"kind", kind}}); }

Var gelu(Var x) { return activation(x, "gelu"); }
Var gelu_approx(Var x) { return activation(x, "gelu_approx"); }
Var gelu_quick(Var x) { return activation(x, "gelu_quick"); }
Var silu(Var x) { return activation(x, "silu"); }
Var relu(Var x) { return activation(x, "relu"); }
Var sigmoid(Var x) { return activation(x, "sigmoid"); }
Var tanh(Var x) { return activation(x, "tanh"); }
Var exp(Var x) { return activation(x, "exp"); }
Var log(Var x) { return activation(x, "log"); }
Var sqrt(Var x) { return activation(x, "sqrt"); }
Var rsqrt(Var x) { return activation(x, "rsqrt"); }
Var neg(Var x) { return activation(x, "neg"); }
Var abs(Var x) { return activation(x, "abs"); }
Var sin(Var x) { return activation(x, "sin"); }
Var cos(Var x) { return activation(x, "cos"); }
Var tan(Var x) { return activation(x, "tan"); }
Var atan(Var x) { return activation(x, "atan"); }
Var round(Var x) { return activation(x, "round"); }
Var recip(Var x) { return activation(x, "recip"); }
Var floor(Var x) { return activation(x, "floor"); }
Var ceil(Var x) { return activation(x, "ceil"); }
Var sign(Var x) { return activation(x, "sign"); }
Var softplus(Var x) { return activation(x, "softplus"); }
Var elu(Var x, double alpha) {
  if (alpha == 1.0) return activation(x, "elu");
  return emit(x.graph(), "Activation", {x}, {{"kind", "elu"}, {"alpha", alpha}});
}
Var erf(Var x) { return activation(x, "erf"); }
Var hard_swish(Var x) { return activation(x, "hard_swish"); }
Var hard_sigmoid(Var x) { return activation(x, "hard_sigmoid"); }
Var mish(Var x) { return activation(x, "mish"); }
Var softsign(Var x) { return activation(x, "softsign"); }
Var log_sigmoid(Var x) { return activation(x, "log_sigmoid"); }
Var log1p(Var x) { return activation(x, "log1p"); }
Var expm1(Var x) { return activation(x, "expm1"); }
Var asin(Var x) { return activation(x, "asin"); }
Var acos(Var x) { return activation(x, "acos"); }
Var sinh(Var x) { return activation(x, "sinh"); }
Var cosh(Var x) { return activation(x, "cosh"); }
Var asinh(Var x) { return activation(x, "asinh"); }
Var acosh(Var x) { return activation(x, "acosh"); }
Var atanh(Var x) { return activation(x, "atanh"); }
Var lgamma(Var x) { return activation(x, "lgamma"); }
Var digamma(Var x) { return activation(x, "digamma"); }
Var erf_inv(Var x) { return activation(x, "erf_inv"); }
Var is_nan(Var x) { return activation(x, "is_nan"); }
Var is_inf(Var x) { return activation(x, "is_inf"); }
Var logical_not(Var x) { return activation(x, "not"); }
Var leaky_relu(Var x, double slope) {
  return emit(x.graph(), "Activation", {x}, {{"kind", "leaky_relu"}, {"alpha", slope}});
}
Var trunc(Var x) { return activation(x, "trunc"); }
Var cbrt(Var x) { return activation(x, "cbrt"); }

Var clamp(Var x, ClampOptions options) {
  Attributes attributes;
  add_if(attributes, "min", options.min);
  add_if(attributes, "max", options.max);
  return emit(x.graph(), "Clamp", {x}, attributes);
}

Var nan_to_num(Var x, NanToNumOptions options) {
  Attributes attributes = {{"nan", options.nan}};
  add_if(attributes, "posinf", options.posinf);
  add_if(attributes, "neginf", options.neginf);
  return emit(x.graph(), "NanToNum", {x}, attributes);
}

namespace {

Var emit_pair(const char* op, Var a, Var b, Attributes attributes) {
  std::vector<Var> operands = {a, b};
  promote_operands(operands, op);
  return emit(a.graph(), op, operands, attributes);
}

Var compare(Var a, Var b, const char* kind) { return emit_pair("Compare", a, b, {{"kind", kind}}); }

Var extreme(Var a, Var b, const char* kind, Tie tie) {
  return emit_pair("Binary", a, b, {{"kind", kind}, {"tie", tie == Tie::split ? "split" : "all"}});
}

// A scalar of the partner's dtype, after a range check.
Var scalar_beside(Var partner, double value) { return constant(partner.graph(), value, partner.dtype()); }

}  // namespace

Var binary(Var a, Var b, const std::string& kind) { return emit_pair("Binary", a, b, {{"kind", kind}}); }

Var add(Var a, Var b) { return binary(a, b, "add"); }
Var sub(Var a, Var b) { return binary(a, b, "sub"); }
Var mul(Var a, Var b) { return binary(a, b, "mul"); }
Var div(Var a, Var b) { return binary(a, b, "div"); }
Var maximum(Var a, Var b, Tie tie) { return extreme(a, b, "max", tie); }
Var minimum(Var a, Var b, Tie tie) { return extreme(a, b, "min", tie); }
Var pow(Var a, Var b) { return binary(a, b, "pow"); }
Var mod(Var a, Var b) { return binary(a, b, "mod"); }
Var bit_and(Var a, Var b) { return binary(a, b, "bit_and"); }
Var bit_or(Var a, Var b) { return binary(a, b, "bit_or"); }
Var bit_xor(Var a, Var b) { return binary(a, b, "bit_xor"); }
Var shl(Var a, Var b) { return binary(a, b, "shl"); }
Var shr(Var a, Var b) { return binary(a, b, "shr"); }
Var atan2(Var y, Var x) { return binary(y, x, "atan2"); }

Var eq(Var a, Var b) { return compare(a, b, "eq"); }
Var ne(Var a, Var b) { return compare(a, b, "ne"); }
Var lt(Var a, Var b) { return compare(a, b, "lt"); }
Var le(Var a, Var b) { return compare(a, b, "le"); }
Var gt(Var a, Var b) { return compare(a, b, "gt"); }
Var ge(Var a, Var b) { return compare(a, b, "ge"); }

Var where(Var condition, Var a, Var b) {
  std::vector<Var> values = {a, b};
  promote_operands(values, "Where");
  return emit(a.graph(), "Where", {condition, values[0], values[1]});
}

Var fma(Var a, Var b, Var c) {
  std::vector<Var> operands = {a, b, c};
  promote_operands(operands, "Fma");
  return emit(a.graph(), "Fma", operands);
}

Var operator+(Var a, Var b) { return add(a, b); }
Var operator-(Var a, Var b) { return sub(a, b); }
Var operator*(Var a, Var b) { return mul(a, b); }
Var operator/(Var a, Var b) { return div(a, b); }
Var operator-(Var x) { return neg(x); }
Var operator+(Var a, double b) { return add(a, scalar_beside(a, b)); }
Var operator-(Var a, double b) { return sub(a, scalar_beside(a, b)); }
Var operator*(Var a, double b) { return mul(a, scalar_beside(a, b)); }
Var operator/(Var a, double b) { return div(a, scalar_beside(a, b)); }
Var operator+(double a, Var b) { return add(scalar_beside(b, a), b); }
Var operator-(double a, Var b) { return sub(scalar_beside(b, a), b); }
Var operator*(double a, Var b) { return mul(scalar_beside(b, a), b); }
Var operator/(double a, Var b) { return div(scalar_beside(b, a), b); }

}  // namespace weft
