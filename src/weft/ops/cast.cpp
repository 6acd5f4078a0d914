// Changes of element type: Cast, StopGradient, BitCast, Encode, Decode, ToIndex.
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "weft/base/block_codec.h"
#include "weft/base/fail.h"
#include "weft/ir/op_schema.h"
#include "weft/ops/elementwise.h"

namespace weft::ops {
namespace {

AttributeSpec dtype_attribute(const char* name, const char* doc) {
  return {.name = name, .type = AttributeType::dtype, .required = true, .doc = doc};
}

void infer_cast(InferContext& context) {
  const DType to = context.node().dtype("to"), from = context.dtype(0);
  if (is_packed(from)) context.fail_dtype(fmt::format("input 0 is {}; Decode reads it", to_string(from)));
  if (is_packed(to)) context.fail_attribute("to", fmt::format("Encode writes {}", to_string(to)));
  context.output(context.shape(0), to);
}

// The nearest f64 rounded to odd, for a further rounding to a narrower float.
double odd_f64(std::int64_t bits, bool is_unsigned) {
  if (!is_unsigned) {
    const auto near = static_cast<double>(bits);
    if (near == 0x1p63) return std::nextafter(near, 0.0);
    return rounded_to_odd(near, static_cast<double>(bits - static_cast<std::int64_t>(near)));
  }
  const auto value = static_cast<std::uint64_t>(bits);
  const auto near = static_cast<double>(value);
  if (near == 0x1p64) return std::nextafter(near, 0.0);
  return rounded_to_odd(near, static_cast<double>(static_cast<std::int64_t>(value - static_cast<std::uint64_t>(near))));
}

void cast_complex(const KernelContext& context) {
  const Tensor& x = context.input(0);
  Tensor& y = context.output(0);
  const auto count = static_cast<std::size_t>(x.numel());
  if (x.dtype() == DType::c64) {
    std::vector<double> real(count);
    for (std::size_t i = 0; i < count; ++i) real[i] = x.values<float>()[2 * i];
    return store_f64(y, real);
  }
  const std::vector<double> real = load_f64(x);
  const auto out = y.mutable_values<float>();
  for (std::size_t i = 0; i < count; ++i) {
    out[2 * i] = static_cast<float>(real[i]);
    out[2 * i + 1] = 0;
  }
}

void run_cast(const KernelContext& context) {
  const DType from = context.input(0).dtype(), to = context.output(0).dtype();
  if (from == to) {
    const auto bytes = context.input(0).bytes();
    std::copy(bytes.begin(), bytes.end(), context.output(0).mutable_bytes().begin());
  } else if (from == DType::c64 || to == DType::c64) {
    cast_complex(context);
  } else if (is_discrete(from) && is_discrete(to)) {
    map_elements<std::int64_t, 1>(context, [](std::int64_t x) { return x; });
  } else if ((from == DType::i64 || from == DType::u64) && to != DType::f64) {
    each_run_of_inputs<std::int64_t, 1>(
        context, [&](std::array<std::array<std::int64_t, piece>, 1>& buffers, std::size_t count, std::int64_t linear) {
          std::array<double, piece> reals;
          for (std::size_t i = 0; i < count; ++i) reals[i] = odd_f64(buffers[0][i], from == DType::u64);
          store_f64(context.output(0), linear, std::span<const double>(reals).first(count));
        });
  } else {
    map_elements<double, 1>(context, [](double x) { return x; });
  }
}

std::optional<ViewOf> same_bytes(const Node&, const RunDims&, std::size_t) { return ViewOf{}; }

void copy_bytes(const KernelContext& context) {
  const auto bytes = context.input(0).bytes();
  std::copy(bytes.begin(), bytes.end(), context.output(0).mutable_bytes().begin());
}

void infer_encode(InferContext& context) {
  const DType to = context.node().dtype("dtype");
  context.require_dtype(0, {DType::f32});
  if (to == DType::c64) context.fail_attribute("dtype", "c64 is no real type");
  const DTypeInfo& info = dtype_info(to);
  if (info.block > 1) {
    if (context.rank(0) == 0) context.fail_shape(fmt::format("{} needs a last axis", info.name));
    const Dim& last = context.shape(0).back();
    if (last.value().value_or(0) % info.block != 0)
      context.fail_shape(
          fmt::format("the last axis is {}, {} packs {} values in a block", last.text(), info.name, info.block));
  }
  context.output(context.shape(0), to);
}

void run_encode(const KernelContext& context) {
  try {
    encode_from_f32(context.output(0).dtype(), context.input(0).values<float>(), context.output(0).mutable_bytes());
  } catch (const Error& error) {
    throw Error(error.kind(), error.code(), context.where(), error.where() + ": " + error.message());
  }
}

void run_to_index(const KernelContext& context) {
  const Tensor& x = context.input(0);
  const auto out = context.output(0).mutable_values<std::int32_t>();
  const auto refuse = [&](std::size_t at, auto value) {
    fail(ErrorKind::out_of_range, "IndexOutOfRange", context.where(), "index {} at element {} does not fit i32", value,
         at);
  };
  if (is_discrete(x.dtype())) {
    const std::vector<std::int64_t> values = load_i64(x);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (x.dtype() == DType::u64 && values[i] < 0) refuse(i, static_cast<std::uint64_t>(values[i]));
      if (values[i] != static_cast<std::int32_t>(values[i])) refuse(i, values[i]);
      out[i] = static_cast<std::int32_t>(values[i]);
    }
    return;
  }
  const std::vector<double> values = load_f64(x);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] == std::trunc(values[i])) || std::isinf(values[i]))
      fail(ErrorKind::out_of_range, "NonIntegralIndex", context.where(),
           "{} at element {} is no whole number: an index is expected", values[i], i);
    if (values[i] < -0x1p31 || values[i] >= 0x1p31) refuse(i, values[i]);
    out[i] = static_cast<std::int32_t>(values[i]);
  }
}

const OpRegistration cast{{
    .name = "Cast",
    .tag = 10,
    .family = "cast",
    .maths = "The same value in another dtype. Float to integer truncates toward zero and saturates, NaN gives 0; "
             "integer to integer wraps; to bool is x != 0, bool gives 0 or 1; a float that narrows rounds to nearest, "
             "ties to even, and overflows to infinity; a real becomes complex with imaginary part 0, a complex becomes "
             "its real part.",
    .attributes = {dtype_attribute("to", "the new element type")},
    .inputs = {{"x"}},
    .op_class = OpClass::elementwise,
    .infer = infer_cast,
    .reference = run_cast,
    .unfuse = Rule::not_applicable("a primitive"),
}};

const OpRegistration stop_gradient{{
    .name = "StopGradient",
    .tag = 11,
    .family = "cast",
    .maths = "y = x, through which no gradient flows.",
    .inputs = {{"x"}},
    .op_class = OpClass::movement,
    .infer = [](InferContext& context) { context.output(context.shape(0), context.dtype(0)); },
    .reference = copy_bytes,
    .view = same_bytes,
    .flops = [](const InferContext&) { return Dim(0); },
    .vjp = Rule::not_applicable("it exists to end the gradient"),
    .jvp = Rule::not_applicable("it exists to end the tangent"),
    .unfuse = Rule::not_applicable("a primitive"),
}};

const OpRegistration bit_cast{{
    .name = "BitCast",
    .tag = 12,
    .family = "cast",
    .maths = "The same bytes read as another dtype of equal element size.",
    .attributes = {dtype_attribute("to", "the new element type")},
    .inputs = {{"x"}},
    .op_class = OpClass::movement,
    .infer =
        [](InferContext& context) {
          const DType from = context.dtype(0), to = context.node().dtype("to");
          if (is_block(from) || is_block(to) || dtype_info(from).block_bytes != dtype_info(to).block_bytes)
            context.fail_attribute(
                "to", fmt::format("{} and {} have elements of different size", to_string(from), to_string(to)));
          if (to == DType::boolean && from != DType::boolean)
            context.fail_attribute("to", "bool has no bytes but 0 and 1; compare with 0 instead");
          context.output(context.shape(0), to);
        },
    .reference = copy_bytes,
    .view = same_bytes,
    .flops = [](const InferContext&) { return Dim(0); },
    .vjp = Rule::not_applicable("bits are no differentiable function of the value"),
    .jvp = Rule::not_applicable("bits are no differentiable function of the value"),
    .unfuse = Rule::not_applicable("a primitive"),
}};

const OpRegistration encode{{
    .name = "Encode",
    .tag = 13,
    .family = "cast",
    .maths = "f32 values in the storage form of any real dtype: 16-bit floats round to nearest even, integers round "
             "halves to even and saturate, fixed point rounds halves away from zero and saturates, bool is x != 0; "
             "block types follow the encoder of their format along the last axis. NaN into an integer or a block is "
             "an error.",
    .attributes = {dtype_attribute("dtype", "the storage type")},
    .inputs = {{"x"}},
    .op_class = OpClass::elementwise,
    .infer = infer_encode,
    .reference = run_encode,
    .vjp = Rule::not_applicable("rounding to codes is a step function"),
    .jvp = Rule::not_applicable("rounding to codes is a step function"),
    .unfuse = Rule::not_applicable("a primitive"),
}};

const OpRegistration decode{{
    .name = "Decode",
    .tag = 14,
    .family = "cast",
    .maths = "The f32 value of each element of any real dtype, block types included: what the format defines, rounded "
             "once.",
    .inputs = {{"x"}},
    .op_class = OpClass::elementwise,
    .infer =
        [](InferContext& context) {
          if (context.dtype(0) == DType::c64) context.fail_dtype("input 0 is c64, expected a real type");
          context.output(context.shape(0), DType::f32);
        },
    .reference =
        [](const KernelContext& context) {
          decode_to_f32(context.input(0).dtype(), context.input(0).bytes(), context.output(0).mutable_values<float>());
        },
    .unfuse = Rule::not_applicable("a primitive"),
}};

const OpRegistration to_index{{
    .name = "ToIndex",
    .tag = 15,
    .family = "cast",
    .maths = "Whole numbers of any float or integer dtype as i32 indices. A fraction, a NaN or an infinity is "
             "NonIntegralIndex, a value outside i32 IndexOutOfRange.",
    .inputs = {{"x"}},
    .op_class = OpClass::elementwise,
    .infer =
        [](InferContext& context) {
          require_plain(context, 0);
          context.output(context.shape(0), DType::i32);
        },
    .reference = run_to_index,
    .vjp = Rule::not_applicable("an index does not move by less than 1"),
    .jvp = Rule::not_applicable("an index does not move by less than 1"),
    .unfuse = Rule::not_applicable("a primitive"),
}};

}  // namespace
}  // namespace weft::ops
