// Reduce, ArgMax, ArgMin: one value out of many along axes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ir/op_schema.h"
#include "weft/ops/broadcast.h"
#include "weft/ops/element.h"

namespace weft::ops {
namespace {

enum class ReduceKind { sum, mean, max, min, prod };
const std::vector<std::string> reduce_names = {"sum", "mean", "max", "min", "prod"};

ReduceKind kind_of(const Node& node) {
  return static_cast<ReduceKind>(std::find(reduce_names.begin(), reduce_names.end(), node.text("op")) -
                                 reduce_names.begin());
}

// Which axes go; axes that do not exist or repeat are left out, inference has refused them.
std::vector<bool> reduced_axes(const Node& node, std::size_t rank) {
  std::vector<bool> reduced(rank, false);
  for (const std::int64_t axis : node.integers("axes"))
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = true;
  return reduced;
}

Shape without_axes(const Shape& shape, const std::vector<bool>& reduced, bool keep) {
  Shape out;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (!reduced[i]) out.push_back(shape[i]);
    if (reduced[i] && keep) out.push_back(Dim(1));
  }
  return out;
}

void infer_reduce(InferContext& context) {
  const Node& node = context.node();
  const DType dtype = context.dtype(0);
  const auto rank = static_cast<std::int64_t>(context.rank(0));
  std::vector<std::int64_t> seen;
  for (const std::int64_t axis : node.integers("axes")) {
    const std::int64_t resolved = axis < 0 ? axis + rank : axis;
    if (resolved < 0 || resolved >= rank)
      context.fail_attribute("axes", fmt::format("{} is outside a rank of {}", axis, rank));
    if (std::find(seen.begin(), seen.end(), resolved) != seen.end())
      context.fail_attribute("axes", fmt::format("axis {} is named twice", resolved));
    seen.push_back(resolved);
  }
  const ReduceKind kind = kind_of(node);
  if (!is_float(dtype) && !is_integer(dtype) && dtype != DType::boolean)
    context.fail_dtype(fmt::format("input 0 is {}, expected a floating type, an integer or bool", to_string(dtype)));
  if (kind == ReduceKind::mean && !is_float(dtype))
    context.fail_dtype(fmt::format("the mean of {} is not defined; cast to a floating type first", to_string(dtype)));
  const bool counts = dtype == DType::boolean && (kind == ReduceKind::sum || kind == ReduceKind::prod);
  context.output(without_axes(context.shape(0), reduced_axes(node, context.rank(0)), node.boolean("keep_dim")),
                 counts ? DType::i64 : dtype);
}

double combine(ReduceKind kind, double a, double b) {
  switch (kind) {
    case ReduceKind::max: return std::isnan(a) || a > b ? a : b;
    case ReduceKind::min: return std::isnan(a) || a < b ? a : b;
    case ReduceKind::prod: return a * b;
    default: return a + b;
  }
}

template <class Order>
std::int64_t combine_integers(ReduceKind kind, std::int64_t a, std::int64_t b, Order less) {
  switch (kind) {
    case ReduceKind::max: return less(a, b) ? b : a;
    case ReduceKind::min: return less(b, a) ? b : a;
    case ReduceKind::prod:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    default: return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
}

double empty_value(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::max: return -HUGE_VAL;
    case ReduceKind::min: return HUGE_VAL;
    case ReduceKind::prod: return 1;
    default: return 0;
  }
}

// The extremes of an integer dtype are what infinities saturate to.
std::int64_t empty_integer(ReduceKind kind, DType dtype) {
  if (kind == ReduceKind::sum) return 0;
  if (kind == ReduceKind::prod) return 1;
  if (dtype == DType::boolean) return kind == ReduceKind::max ? 0 : 1;
  Tensor extreme = Tensor::allocate(dtype, {});
  const double value[] = {empty_value(kind)};
  store_f64(extreme, value);
  return load_i64(extreme)[0];
}

// out[o] = the fold over each kept index o, in ascending order of the reduced indices.
template <class T, class Fold>
void fold_axes(const KernelContext& context, const std::vector<T>& values, std::vector<T>& out, T start, Fold fold) {
  const Tensor& x = context.input(0);
  const auto reduced = reduced_axes(context.node(), x.rank());
  const auto steps = strides_of(x.dims());
  std::vector<std::int64_t> kept_dims, kept_steps, inner_dims, inner_steps;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    (reduced[axis] ? inner_dims : kept_dims).push_back(x.dim(axis));
    (reduced[axis] ? inner_steps : kept_steps).push_back(steps[axis]);
  }
  const StridedPlan kept = merge_axes(kept_dims, {kept_steps}), inner = merge_axes(inner_dims, {inner_steps});
  const std::int64_t step = inner.strides[0].back();
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, inner.total));
  context.pool().parallel_for(kept.total, grain, [&](std::int64_t begin, std::int64_t end) {
    for_each_run(kept, begin, end, 1, [&](std::int64_t o, std::int64_t, std::span<const std::int64_t> base) {
      T result = start;
      for_each_run(inner, 0, inner.total, inner.dims.back(),
                   [&](std::int64_t, std::int64_t count, std::span<const std::int64_t> offsets) {
                     const T* at = values.data() + base[0] + offsets[0];
                     for (std::int64_t i = 0; i < count; ++i) result = fold(result, at[i * step]);
                   });
      out[static_cast<std::size_t>(o)] = result;
    });
  });
}

void run_reduce(const KernelContext& context) {
  const ReduceKind kind = kind_of(context.node());
  const Tensor& x = context.input(0);
  Tensor& y = context.output(0);
  const auto count = static_cast<std::size_t>(y.numel());
  if (!is_float(x.dtype())) {
    std::vector<std::int64_t> results(count);
    const auto fold = [&](auto less) {
      fold_axes<std::int64_t>(context, load_i64(x), results, empty_integer(kind, x.dtype()),
                              [&](std::int64_t a, std::int64_t b) { return combine_integers(kind, a, b, less); });
    };
    if (x.dtype() == DType::u64)
      fold(
          [](std::int64_t a, std::int64_t b) { return static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b); });
    else
      fold(std::less<>());
    return store_i64(y, results);
  }
  std::vector<double> results(count);
  const std::vector<double> values = load_f64(x);
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::mean:
      fold_axes<double>(context, values, results, 0.0, [](double a, double b) { return a + b; });
      break;
    default:
      fold_axes<double>(context, values, results, empty_value(kind),
                        [&](double a, double b) { return combine(kind, a, b); });
  }
  if (kind == ReduceKind::mean) {
    double terms = 1;
    const auto reduced = reduced_axes(context.node(), x.rank());
    for (std::size_t axis = 0; axis < x.rank(); ++axis)
      if (reduced[axis]) terms *= static_cast<double>(x.dim(axis));
    for (double& result : results) result /= terms;
  }
  store_f64(y, results);
}

void infer_arg(InferContext& context) {
  const Node& node = context.node();
  const DType dtype = context.dtype(0), index = node.dtype("index_dtype");
  if (!is_float(dtype) && !is_integer(dtype) && dtype != DType::boolean)
    context.fail_dtype(fmt::format("input 0 is {}, expected a floating type, an integer or bool", to_string(dtype)));
  if (index != DType::i32 && index != DType::i64 && index != DType::f32)
    context.fail_attribute("index_dtype", fmt::format("{} is none of i32, i64, f32", to_string(index)));
  context.require_rank(0, 1, std::numeric_limits<std::size_t>::max());
  std::vector<bool> reduced(context.rank(0), false);
  const std::size_t axis = context.axis("axis", context.rank(0));
  reduced[axis] = true;
  if (context.shape(0)[axis] == Dim(0)) context.fail_shape(fmt::format("axis {} has no elements", axis));
  context.output(without_axes(context.shape(0), reduced, node.boolean("keep_dim")), index);
}

// The first of the best elements of each row along the axis.
template <class T, class Better>
void find_best(const KernelContext& context, const std::vector<T>& values, Better better) {
  const Tensor& x = context.input(0);
  const std::size_t axis = context.axis("axis", x.rank());
  const bool ignore_nan = context.node().text("nan") == "ignore";
  const std::int64_t size = x.dim(axis), step = strides_of(x.dims())[axis];
  const auto is_nan = [](T value) { return value != value; };
  std::vector<std::int64_t> found(static_cast<std::size_t>(context.output(0).numel()));
  if (size == 0 && !found.empty())
    fail(ErrorKind::shape_mismatch, "EmptyReduction", context.where(), "axis {} of {} has no elements", axis,
         dims_text(x.dims()));
  for (std::size_t o = 0; o < found.size(); ++o) {
    const auto outer = static_cast<std::int64_t>(o) / step, inner = static_cast<std::int64_t>(o) % step;
    const T* row = values.data() + outer * size * step + inner;
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < size; ++i) {
      const T candidate = row[i * step], current = row[best * step];
      const bool wins = is_nan(current)     ? ignore_nan && !is_nan(candidate)
                        : is_nan(candidate) ? !ignore_nan
                                            : better(candidate, current);
      if (wins) best = i;
    }
    found[o] = best;
  }
  store_i64(context.output(0), found);
}

template <bool largest>
void run_arg(const KernelContext& context) {
  const Tensor& x = context.input(0);
  const auto better = [](auto a, auto b) { return largest ? a > b : a < b; };
  if (is_float(x.dtype())) return find_best(context, load_f64(x), better);
  const std::vector<std::int64_t> values = load_i64(x);
  if (x.dtype() == DType::u64)
    return find_best(context, std::vector<std::uint64_t>(values.begin(), values.end()), better);
  find_best(context, values, better);
}

Dim one_per_input(const InferContext& context) { return context.shape(0).numel(); }

const OpRegistration reduce{{
    .name = "Reduce",
    .tag = 60,
    .family = "reduce",
    .maths =
        "The sum, mean, maximum, minimum or product over the listed axes; an empty list changes nothing. Over no "
        "elements the sum is 0, the product 1, the mean NaN, the maximum the lowest value of the dtype (-inf of a "
        "float) and the minimum the highest. Floats add and multiply in f64, in ascending index order, and round once; "
        "NaN wins a maximum or minimum. Integers wrap; the sum and product of bool are i64; integers have no mean.",
    .attributes = {{.name = "op",
                    .type = AttributeType::choice,
                    .required = true,
                    .doc = "what is computed",
                    .choices = reduce_names},
                   {.name = "axes",
                    .type = AttributeType::integers,
                    .required = true,
                    .doc = "distinct axes; negative: from the end"},
                   {.name = "keep_dim",
                    .type = AttributeType::boolean,
                    .default_value = false,
                    .doc = "keep reduced axes with size 1"}},
    .inputs = {{"x"}},
    .op_class = OpClass::reduction,
    .infer = infer_reduce,
    .reference = run_reduce,
    .flops = one_per_input,
    .unfuse = Rule::not_applicable("a primitive"),
}};

OpSchema arg_schema(std::string name, std::uint32_t tag, std::string extreme,
                    std::function<void(const KernelContext&)> run) {
  return {
      .name = std::move(name),
      .tag = tag,
      .family = "reduce",
      .maths = "The index of the " + extreme +
               " element along an axis, the first of equal ones. With nan = wins the "
               "first NaN counts as that element; with ignore it is passed over, and a row of nothing else gives 0.",
      .attributes =
          {{.name = "axis",
            .type = AttributeType::integer,
            .default_value = std::int64_t{-1},
            .doc = "negative: from the end"},
           {.name = "keep_dim",
            .type = AttributeType::boolean,
            .default_value = false,
            .doc = "keep the axis with size 1"},
           {.name = "index_dtype", .type = AttributeType::dtype, .default_value = DType::i32, .doc = "i32, i64 or f32"},
           {.name = "nan",
            .type = AttributeType::choice,
            .default_value = std::string("wins"),
            .doc = "what a NaN is to the search",
            .choices = {"wins", "ignore"}}},
      .inputs = {{"x"}},
      .op_class = OpClass::reduction,
      .infer = infer_arg,
      .reference = std::move(run),
      .flops = one_per_input,
      .vjp = Rule::not_applicable("an index does not move with the values"),
      .jvp = Rule::not_applicable("an index does not move with the values"),
      .unfuse = Rule::not_applicable("a primitive"),
  };
}

const OpRegistration arg_max{arg_schema("ArgMax", 62, "largest", run_arg<true>)};
const OpRegistration arg_min{arg_schema("ArgMin", 63, "smallest", run_arg<false>)};

}  // namespace
}  // namespace weft::ops
