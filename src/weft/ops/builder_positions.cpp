// Builder functions of windows, positions, packed keys and values, and small matrices.
#include <utility>

#include "weft/ops/builder.h"
#include "weft/ops/builder_operands.h"

namespace weft {

Var kron(Var a, Var b) {
  std::vector<Var> operands = {a, b};
  promote_operands(operands, "Kron");
  return emit(operands[0].graph(), "Kron", operands);
}

Var matrix_inverse(Var a) { return emit(a.graph(), "MatrixInverse", {a}); }

Var window_attention(Var q, Var k, Var v, WindowAttentionOptions options) {
  Attributes attributes = {{"num_heads", options.heads},
                           {"head_dim", options.head_dim},
                           {"window_size", options.window_size},
                           {"shift", options.shift},
                           {"layout", options.layout}};
  add_if(attributes, "scale", options.scale);
  return emit(q.graph(), "WindowAttention", {q, k, v, options.bias}, attributes);
}

Var sinusoidal_embed(Var t, SinusoidalEmbedOptions options) {
  return emit(t.graph(), "SinusoidalEmbed", {t}, {{"dim", options.dim}, {"layout", options.layout}});
}

namespace {

Attributes bucket_attributes(const RelativePositionBiasOptions& options) {
  return {{"num_buckets", options.num_buckets},
          {"bidirectional", options.bidirectional},
          {"max_distance", options.max_distance}};
}

}  // namespace

Var relative_position_bias(Var table, Var scores, RelativePositionBiasOptions options) {
  return emit(table.graph(), "RelativePositionBias", {table, scores}, bucket_attributes(options));
}

Var relative_position_bias(Var table, Var q_pos, Var k_pos, RelativePositionBiasOptions options) {
  const auto index = [](Var positions) { return is_float(positions.dtype()) ? to_index(positions) : positions; };
  return emit(table.graph(), "RelativePositionBias", {table, Var(), index(q_pos), index(k_pos)},
              bucket_attributes(options));
}

Var interpolate_table(Var t, Var table) {
  std::vector<Var> operands = {t, table};
  promote_operands(operands, "InterpolateTable");
  return emit(operands[0].graph(), "InterpolateTable", operands);
}

Var rows_append(const std::string& slot, Var rows, Var beside) {
  return emit(rows.graph(), "RowsAppend", {rows, beside}, {{"slot", slot}});
}

Var kv_compress(Var x, std::int64_t head_dim, std::int64_t bits) {
  return emit(x.graph(), "KvCompress", {x}, {{"head_dim", head_dim}, {"bits", bits}});
}

Var kv_decompress(Var packed, std::int64_t head_dim, std::int64_t bits) {
  return emit(packed.graph(), "KvDecompress", {packed}, {{"head_dim", head_dim}, {"bits", bits}});
}

}  // namespace weft
