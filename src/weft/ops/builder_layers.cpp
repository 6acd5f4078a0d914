// Builder functions of movement, reductions and layers.
#include <utility>

#include "weft/base/fail.h"
#include "weft/ops/builder.h"
#include "weft/ops/builder_operands.h"

namespace weft {

Var reshape(Var x, std::vector<std::int64_t> shape) {
  return emit(x.graph(), "Reshape", {x}, {{"shape", AttributeValue(std::move(shape))}});
}

Var transpose(Var x, std::vector<std::int64_t> perm) {
  return emit(x.graph(), "Transpose", {x}, {{"perm", AttributeValue(std::move(perm))}});
}

Var concat(std::vector<Var> parts, std::int64_t axis) {
  if (parts.empty()) fail(ErrorKind::invalid_argument, "BadArity", "[Concat]", "at least one part is expected");
  promote_operands(parts, "Concat");
  return emit(parts[0].graph(), "Concat", parts, {{"axis", axis}});
}

std::vector<Var> split(Var x, std::vector<std::int64_t> sizes, std::int64_t axis) {
  return emit_all(x.graph(), "Split", {x}, {{"axis", axis}, {"sizes", AttributeValue(std::move(sizes))}});
}

std::vector<Var> chunk(Var x, std::int64_t chunks, std::int64_t axis) {
  return emit_all(x.graph(), "Chunk", {x}, {{"axis", axis}, {"chunks", chunks}});
}

Var narrow(Var x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  return emit(x.graph(), "Narrow", {x}, {{"axis", axis}, {"start", start}, {"len", length}});
}

Var expand(Var x, Shape shape) { return emit(x.graph(), "Expand", {x}, {{"shape", AttributeValue(std::move(shape))}}); }

Var gather(Var table, Var indices, GatherOptions options) {
  return emit(table.graph(), "Gather", {table, is_float(indices.dtype()) ? to_index(indices) : indices},
              {{"axis", options.axis}, {"negative", options.wrap_negative ? "wrap" : "error"}});
}

namespace {

Var reduce(Var x, const char* op, std::vector<std::int64_t> axes, bool keep_dim) {
  return emit(x.graph(), "Reduce", {x},
              {{"op", op}, {"axes", AttributeValue(std::move(axes))}, {"keep_dim", keep_dim}});
}

Var arg(Var x, const char* op, const ArgOptions& options) {
  return emit(x.graph(), op, {x},
              {{"axis", options.axis},
               {"keep_dim", options.keep_dim},
               {"index_dtype", options.index_dtype},
               {"nan", options.ignore_nan ? "ignore" : "wins"}});
}

}  // namespace

Var reduce_sum(Var x, std::vector<std::int64_t> axes, bool keep_dim) {
  return reduce(x, "sum", std::move(axes), keep_dim);
}
Var reduce_mean(Var x, std::vector<std::int64_t> axes, bool keep_dim) {
  return reduce(x, "mean", std::move(axes), keep_dim);
}
Var reduce_max(Var x, std::vector<std::int64_t> axes, bool keep_dim) {
  return reduce(x, "max", std::move(axes), keep_dim);
}
Var reduce_min(Var x, std::vector<std::int64_t> axes, bool keep_dim) {
  return reduce(x, "min", std::move(axes), keep_dim);
}
Var reduce_prod(Var x, std::vector<std::int64_t> axes, bool keep_dim) {
  return reduce(x, "prod", std::move(axes), keep_dim);
}
Var sum(Var x, std::vector<std::int64_t> axes, bool keep_dim) { return reduce_sum(x, std::move(axes), keep_dim); }
Var mean(Var x, std::vector<std::int64_t> axes, bool keep_dim) { return reduce_mean(x, std::move(axes), keep_dim); }

Var softmax(Var x, SoftmaxOptions options) {
  return emit(x.graph(), "Softmax", {x},
              {{"axis", options.axis}, {"empty_row", options.nan_for_empty_row ? "nan" : "zeros"}});
}
Var log_softmax(Var x, std::int64_t axis) { return emit(x.graph(), "LogSoftmax", {x}, {{"axis", axis}}); }

Var argmax(Var x, ArgOptions options) { return arg(x, "ArgMax", options); }
Var argmin(Var x, ArgOptions options) { return arg(x, "ArgMin", options); }

Var matmul(Var a, Var b, MatMulOptions options) {
  std::vector<Var> operands = {a, b};
  const bool half_rows = a.dtype() == DType::f32 && (b.dtype() == DType::f16 || b.dtype() == DType::bf16);
  if (!options.transpose_b || !(is_packed(b.dtype()) || half_rows)) promote_operands(operands, "MatMul");
  return emit(a.graph(), "MatMul", operands,
              {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}});
}

Var rms_norm(Var x, Var gain, RmsNormOptions options) { return rms_norm(x, gain, Var(), options); }
Var rms_norm(Var x, Var gain, Var bias, RmsNormOptions options) {
  return emit(x.graph(), "RmsNorm", {x, gain, bias}, {{"eps", options.eps}});
}
Var layer_norm(Var x, Var gain, Var bias, LayerNormOptions options) {
  return emit(x.graph(), "LayerNorm", {x, gain, bias}, {{"axis", options.axis}, {"eps", options.eps}});
}

namespace {

Attributes rope_attributes(const RopeOptions& options) {
  Attributes attributes = {{"head_dim", options.head_dim},
                           {"style", options.style},
                           {"layout", options.layout},
                           {"rows", options.rows},
                           {"heads", options.heads}};
  add_if(attributes, "rotary_dim", options.rotary_dim);
  return attributes;
}

}  // namespace

Var rope(Var x, Var positions, RopeOptions options) {
  Attributes attributes = rope_attributes(options);
  attributes.emplace_back("theta", options.theta);
  attributes.emplace_back("position_scale", options.position_scale);
  return emit(x.graph(), "Rope", {x, positions, options.factors}, attributes);
}

Var rope_tables(Var x, Var cos, Var sin, RopeOptions options) {
  Attributes attributes = rope_attributes(options);
  attributes.emplace_back("tables", true);
  return emit(x.graph(), "Rope", {x, cos, sin}, attributes);
}

Var attention(Var q, Var k, Var v, AttentionOptions options) {
  const auto refuse = [](const char* reason) {
    fail(ErrorKind::invalid_argument, "BadAttribute", "[Attention]", "{}", reason);
  };
  if (options.heads <= 0) refuse("heads: at least 1 is expected");
  if (!options.head_dim) {
    if (q.shape().rank() == 0 || !q.shape().back().value()) refuse("head_dim: the last axis of q does not tell it");
    const std::int64_t last = *q.shape().back().value();
    const bool packed = options.layout == "packed" || (options.layout == "auto" && q.shape().rank() < 4);
    if (packed && last % options.heads != 0) refuse("head_dim: the last axis of q is no multiple of heads");
    options.head_dim = packed ? last / options.heads : last;
  }
  Attributes attributes = {{"num_heads", options.heads},
                           {"head_dim", *options.head_dim},
                           {"causal", options.mask.causal_keys},
                           {"layout", options.layout},
                           {"strict", options.strict}};
  add_if(attributes, "num_kv_heads", options.kv_heads);
  add_if(attributes, "window_keys", options.mask.window_keys);
  add_if(attributes, "scale", options.scale);
  add_if(attributes, "softcap", options.softcap);
  return emit(q.graph(), "Attention", {q, k, v, options.mask.hidden, options.mask.added, options.sink}, attributes);
}

Var sample(Var logits, SampleOptions options, Var u) {
  return emit(logits.graph(), "Sample", {logits, u},
              {{"method", options.method},
               {"temperature", options.temperature},
               {"top_k", options.top_k},
               {"top_p", options.top_p},
               {"min_p", options.min_p},
               {"temperature_first", options.temperature_first},
               {"keep_ties", options.keep_ties},
               {"order", options.order},
               {"rng", options.rng},
               {"seed", options.seed},
               {"index_dtype", options.index_dtype}});
}

std::pair<Var, Var> kv_append(const std::string& slot, Var k, Var v) {
  const std::vector<Var> full = emit_all(k.graph(), "KvAppend", {k, v}, {{"slot", slot}});
  return {full[0], full[1]};
}

}  // namespace weft
