// Rows of keys or values as a scale and a few bits a number: KvCompress, KvDecompress.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ir/op_schema.h"
#include "weft/ops/element.h"

namespace weft::ops {
namespace {

static_assert(std::endian::native == std::endian::little, "scales are stored as they lie in memory");

struct Codes {
  std::int64_t head_dim = 0, bits = 0;

  explicit Codes(const Node& node) : head_dim(node.integer("head_dim")), bits(node.integer("bits")) {}
  std::int64_t zero() const { return std::int64_t{1} << (bits - 1); }
  std::int64_t row_bytes() const { return 4 + (head_dim * bits + 7) / 8; }
};

Codes checked_codes(const InferContext& context) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const Codes codes(context.node());
  if (codes.head_dim < 1 || codes.head_dim > most)
    context.fail_attribute("head_dim", fmt::format("it is {}, expected 1 to {}", codes.head_dim, most));
  if (codes.bits < 1 || codes.bits > 8)
    context.fail_attribute("bits", fmt::format("it is {}, expected 1 to 8", codes.bits));
  return codes;
}

// x with whole groups of `from` along the last axis, each of which becomes `to`.
Shape regrouped(InferContext& context, std::int64_t from, std::int64_t to, std::string_view what) {
  context.require_rank(0, 1, std::numeric_limits<std::size_t>::max());
  Shape shape = context.shape(0);
  const Dim last = shape.back();
  if (last == Dim(0)) context.fail_shape(fmt::format("the last axis of {} is empty", shape.text()));
  const Dim groups = floor_div(last, from);
  context.require_equal(groups * Dim(from), last, what);
  shape[shape.rank() - 1] = groups * Dim(to);
  return shape;
}

void infer_compress(InferContext& context) {
  const Codes codes = checked_codes(context);
  context.require_float(0);
  context.output(regrouped(context, codes.head_dim, codes.row_bytes(), "the last axis and whole rows of head_dim"),
                 DType::u8);
}

void infer_decompress(InferContext& context) {
  const Codes codes = checked_codes(context);
  context.require_dtype(0, {DType::u8});
  context.output(regrouped(context, codes.row_bytes(), codes.head_dim, "the last axis and whole packed rows"),
                 DType::f32);
}

float scale_of(std::span<const double> row, const Codes& codes) {
  double highest = 0, sum = 0;
  for (const double x : row) {
    highest = std::max(highest, std::abs(x));
    sum += std::abs(x);
  }
  if (codes.bits == 1) return static_cast<float>(sum / static_cast<double>(row.size()));
  return static_cast<float>(highest / static_cast<double>(codes.zero() - 1));
}

void compress_row(std::span<const double> row, const Codes& codes, std::byte* out) {
  const float scale = scale_of(row, codes);
  std::memcpy(out, &scale, sizeof scale);
  out += sizeof scale;
  std::uint32_t pending = 0;
  std::int64_t held = 0;
  const auto zero = static_cast<double>(codes.zero());
  for (const double x : row) {
    std::uint32_t code = 0;
    if (codes.bits == 1)
      code = x >= 0 ? 1 : 0;
    else if (scale == 0)
      code = static_cast<std::uint32_t>(codes.zero());
    else
      code = static_cast<std::uint32_t>(std::clamp(std::nearbyint(x / static_cast<double>(scale)), -zero, zero - 1) +
                                        zero);
    pending |= code << held;
    held += codes.bits;
    for (; held >= 8; held -= 8, pending >>= 8) *out++ = static_cast<std::byte>(pending);
  }
  if (held > 0) *out = static_cast<std::byte>(pending);
}

void run_compress(const KernelContext& context) {
  const Codes codes(context.node());
  const Tensor& x = context.input(0);
  std::byte* out = context.output(0).mutable_bytes().data();
  context.pool().parallel_for(x.numel() / codes.head_dim, std::max<std::int64_t>(1, 4096 / codes.head_dim),
                              [&](std::int64_t begin, std::int64_t end) {
                                std::vector<double> row(static_cast<std::size_t>(codes.head_dim));
                                for (std::int64_t r = begin; r < end; ++r) {
                                  load_f64(x, r * codes.head_dim, row);
                                  for (std::size_t i = 0; i < row.size(); ++i)
                                    if (!std::isfinite(row[i]))
                                      fail(ErrorKind::invalid_argument, "QuantNaN", context.where(),
                                           "element {} is {}, which has no code: only finite numbers can be compressed",
                                           r * codes.head_dim + static_cast<std::int64_t>(i), row[i]);
                                  compress_row(row, codes, out + r * codes.row_bytes());
                                }
                              });
}

void decompress_row(const std::byte* from, const Codes& codes, std::span<float> row) {
  float scale = 0;
  std::memcpy(&scale, from, sizeof scale);
  from += sizeof scale;
  std::uint32_t pending = 0;
  std::int64_t held = 0;
  const auto mask = static_cast<std::uint32_t>((1U << codes.bits) - 1);
  for (float& x : row) {
    if (held < codes.bits) {
      pending |= static_cast<std::uint32_t>(*from++) << held;
      held += 8;
    }
    const std::uint32_t code = pending & mask;
    pending >>= codes.bits;
    held -= codes.bits;
    x = codes.bits == 1 ? (code != 0 ? scale : -scale)
                        : static_cast<float>(static_cast<std::int64_t>(code) - codes.zero()) * scale;
  }
}

void run_decompress(const KernelContext& context) {
  const Codes codes(context.node());
  const std::byte* from = context.input(0).bytes().data();
  const auto out = context.output(0).mutable_values<float>();
  const auto width = static_cast<std::size_t>(codes.head_dim);
  context.pool().parallel_for(
      static_cast<std::int64_t>(out.size() / width), std::max<std::int64_t>(1, 4096 / codes.head_dim),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r)
          decompress_row(from + r * codes.row_bytes(), codes, out.subspan(static_cast<std::size_t>(r) * width, width));
      });
}

std::vector<AttributeSpec> code_attributes() {
  return {{.name = "head_dim", .type = AttributeType::integer, .required = true, .doc = "numbers that share a scale"},
          {.name = "bits", .type = AttributeType::integer, .required = true, .doc = "of a code, 1 to 8"}};
}

const OpRegistration kv_compress{{
    .name = "KvCompress",
    .tag = 141,
    .family = "kv_compress",
    .maths =
        "Each head_dim numbers of the last axis become 4 + ceil(head_dim bits / 8) bytes: an f32 scale d, then codes, "
        "low bits first, the last byte filled with zeros. With q = 2^(bits - 1): d = max |x| / (q - 1) and the code is "
        "x / d rounded half to even, clamped to -q .. q - 1, plus q; where d is 0 it is q. With one bit d = mean |x| "
        "and the code is 1 where x >= 0. NaN and infinities are errors.",
    .attributes = code_attributes(),
    .inputs = {{.name = "x", .doc = "[..., m head_dim]"}},
    .op_class = OpClass::compute,
    .infer = infer_compress,
    .reference = run_compress,
    .flops = [](const InferContext& context) { return Dim(4) * context.shape(0).numel(); },
    .vjp = Rule::not_applicable("rounding to codes is a step function"),
    .jvp = Rule::not_applicable("rounding to codes is a step function"),
    .unfuse = Rule::not_applicable("a primitive"),
}};

const OpRegistration kv_decompress{{
    .name = "KvDecompress",
    .tag = 142,
    .family = "kv_compress",
    .maths = "The numbers of rows that KvCompress packed, as f32: (code - q) d, with one bit d or -d.",
    .attributes = code_attributes(),
    .inputs = {{.name = "packed", .doc = "[..., m (4 + ceil(head_dim bits / 8))] bytes"}},
    .op_class = OpClass::compute,
    .infer = infer_decompress,
    .reference = run_decompress,
    .vjp = Rule::not_applicable("bytes have no cotangent"),
    .jvp = Rule::not_applicable("bytes have no tangent"),
    .unfuse = Rule::not_applicable("a primitive"),
}};

}  // namespace
}  // namespace weft::ops
