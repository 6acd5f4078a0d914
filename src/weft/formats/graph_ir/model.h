// The Graph IR as plain data: what a `~~~graph` section holds, with named tensors and one tag per op. Values only, no
// invariants enforced here (validate.h does that); free to copy, safe to read from many threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/base/dtype.h"
#include "weft/base/export.h"

namespace weft::graph_ir {

// The wire number of each op. A number is never reused; a new op takes a new one.
enum class Tag : std::uint16_t {
  matmul = 0,
  add = 1,
  mul = 2,
  sub = 3,
  div = 4,
  transpose = 5,
  reshape = 6,
  permute = 7,
  concat = 8,
  split = 9,
  chunk = 10,
  clamp = 11,
  nan_to_num = 12,
  sdpa = 20,
  sdpa_cross = 21,
  sdpa_window = 22,
  kv_cache = 23,
  kv_compress = 24,
  kv_decompress = 25,
  rope = 26,
  sinusoidal_embed = 27,
  relative_pos_embedding = 28,
  rms_norm = 40,
  layer_norm = 41,
  batch_norm = 42,
  group_norm = 43,
  instance_norm = 44,
  ada_ln = 45,
  silu = 60,
  gelu = 61,
  ge_glu = 62,
  swi_glu = 63,
  glu = 64,
  relu = 65,
  leaky_relu = 66,
  p_relu = 67,
  sigmoid = 68,
  tanh = 69,
  softmax = 70,
  conv1d = 80,
  conv2d = 81,
  conv3d = 82,
  conv_transpose2d = 83,
  causal_conv1d = 84,
  depthwise_conv = 85,
  pool = 86,
  interpolate = 100,
  pixel_shuffle = 101,
  pixel_unshuffle = 102,
  patch_embed = 103,
  unpatchify = 104,
  token_embed = 120,
  pos_embed = 121,
  noise_schedule = 140,
  flow_step = 141,
  quantize = 142,
  dequantize = 143,
  sample = 144,
  lora_apply = 160,
  kron = 161,
  matrix_inverse = 162,
  fused_norm_matmul = 180,
  fused_skip_norm = 181,
  fused_swi_glu = 182,
  flash_attention = 183,
  argmax = 199,
};

// One payload field. Which alternative a field holds follows from its wire type in the op table:
// bool, u32, i32, f32, an optional f32, a choice (the number of its name), a dtype, words or a counted list.
using ParamValue = std::variant<bool, std::uint32_t, std::int32_t, float, std::optional<float>, std::uint8_t, DType,
                                std::vector<std::uint32_t>, std::vector<std::int64_t>>;

// An op with its own parameters, in the order of the op table's fields. `make_op` (op_table.h) builds one by field
// name; the getter throws BadParam when the op has no such field or the field another type.
struct WEFT_API Op {
  Tag tag = Tag::add;
  std::vector<ParamValue> params;

  const ParamValue& param(std::string_view field) const;
  template <class T>
  const T& get(std::string_view field) const {
    const T* value = std::get_if<T>(&param(field));
    if (value == nullptr) wrong_type(field);
    return *value;
  }

 private:
  [[noreturn]] void wrong_type(std::string_view field) const;
};

// The index of an alternative is its type code on the wire.
using AttrValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>, bool,
                               std::vector<std::string>>;
using Attrs = std::map<std::string, AttrValue, std::less<>>;

enum class BackendHint : std::uint8_t { cpu = 1, wgpu_rs = 2, honeycrisp = 3, nox = 4, cuda = 5 };
WEFT_API std::string_view to_string(BackendHint hint);
WEFT_API std::optional<BackendHint> backend_hint_from_name(std::string_view name);
WEFT_API std::optional<BackendHint> backend_hint_from_value(std::uint8_t value);

inline constexpr std::int64_t unknown_dim = -1;
using Shape = std::vector<std::int64_t>;  // outermost first; unknown_dim = not known until a run

struct TensorSpec {
  Shape shape;
  DType dtype = DType::f32;
  // A byte range of the weights section: both or neither.
  std::optional<std::uint64_t> offset, size;
  bool operator==(const TensorSpec&) const = default;
};

struct NamedSpec {
  std::string name;
  TensorSpec spec;
  bool operator==(const NamedSpec&) const = default;
};

using WeightMap = std::map<std::string, TensorSpec, std::less<>>;

struct Node {
  std::uint32_t id = 0;  // unique within the graph
  Op op;
  std::vector<std::string> inputs, outputs;  // tensor names, positional
  Attrs attrs;
  std::optional<BackendHint> backend_hint;
};

struct Graph {
  std::vector<Node> nodes;  // in an order that is a valid schedule
  std::vector<NamedSpec> inputs;
  std::vector<std::string> outputs;  // the first is *the* result
  WeightMap weights;                 // from the tensors index of the file; not part of the blob
};

// Floats compare by their bits, so NaN equals itself and 0 differs from -0.
WEFT_API bool operator==(const Op& a, const Op& b);
WEFT_API bool operator==(const Node& a, const Node& b);
WEFT_API bool operator==(const Graph& a, const Graph& b);
WEFT_API bool same_value(const AttrValue& a, const AttrValue& b);

// The file's spelling of a dtype: weft's, but "u32" and "u16" for the fixed-point types. Reading takes the "q4k"
// spellings too. Only tags 0 to 22 have one.
WEFT_API std::optional<std::string_view> dtype_text(DType dtype);
WEFT_API std::optional<DType> dtype_from_text(std::string_view text);

}  // namespace weft::graph_ir
