// Builds graphs: one function per op, or per kind of an op with kinds. Every function infers the type of its result and
// throws what inference throws (ShapeMismatch, DTypeMismatch, BadAttribute), naming the op and node. Operands of
// different dtypes are cast to the one they promote to (promotion.h); a scalar constant takes the dtype of its partner.
// Options that are left out have the op's defaults. Values are handles into the graph of the first operand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/export.h"
#include "weft/base/shape.h"
#include "weft/base/tensor.h"
#include "weft/ir/builder.h"

namespace weft {

// --- leaves -----------------------------------------------------------------------------------------------------

// The value is named as the leaf is, as long as no other value has that name.
WEFT_API Var input(Graph& graph, std::string name, Shape shape, DType dtype = DType::f32);
// "pos", [rows] f32: the executor supplies the positions of the rows of a run.
WEFT_API Var position_input(Graph& graph, Dim rows);
WEFT_API Var param(Graph& graph, std::string name, Shape shape, DType dtype = DType::f32);
WEFT_API Var constant(Graph& graph, Tensor value);
// A scalar. NotRepresentable when the dtype has no such value: a fraction or NaN in an integer, 2 in a bool, a number
// beyond the range of a float.
WEFT_API Var constant(Graph& graph, double value, DType dtype = DType::f32);
WEFT_API void output(Graph& graph, std::string name, Var value);

// --- dtypes -----------------------------------------------------------------------------------------------------

WEFT_API Var cast(Var x, DType to);  // x itself when it has the dtype
WEFT_API Var stop_gradient(Var x);
WEFT_API Var bit_cast(Var x, DType to);
WEFT_API Var encode(Var x, DType dtype);  // floats of any width: they are cast to f32 first
WEFT_API Var decode(Var x);
WEFT_API Var to_index(Var x);

// --- one operand ------------------------------------------------------------------------------------------------

WEFT_API Var gelu(Var x);
WEFT_API Var gelu_approx(Var x);
WEFT_API Var gelu_quick(Var x);
WEFT_API Var silu(Var x);
WEFT_API Var relu(Var x);
WEFT_API Var sigmoid(Var x);
WEFT_API Var tanh(Var x);
WEFT_API Var exp(Var x);
WEFT_API Var log(Var x);
WEFT_API Var sqrt(Var x);
WEFT_API Var rsqrt(Var x);
WEFT_API Var neg(Var x);
WEFT_API Var abs(Var x);
WEFT_API Var sin(Var x);
WEFT_API Var cos(Var x);
WEFT_API Var tan(Var x);
WEFT_API Var atan(Var x);
WEFT_API Var round(Var x);
WEFT_API Var recip(Var x);
WEFT_API Var floor(Var x);
WEFT_API Var ceil(Var x);
WEFT_API Var sign(Var x);
WEFT_API Var softplus(Var x);
WEFT_API Var elu(Var x, double alpha = 1.0);
WEFT_API Var erf(Var x);
WEFT_API Var hard_swish(Var x);
WEFT_API Var hard_sigmoid(Var x);
WEFT_API Var mish(Var x);
WEFT_API Var softsign(Var x);
WEFT_API Var log_sigmoid(Var x);
WEFT_API Var log1p(Var x);
WEFT_API Var expm1(Var x);
WEFT_API Var asin(Var x);
WEFT_API Var acos(Var x);
WEFT_API Var sinh(Var x);
WEFT_API Var cosh(Var x);
WEFT_API Var asinh(Var x);
WEFT_API Var acosh(Var x);
WEFT_API Var atanh(Var x);
WEFT_API Var lgamma(Var x);
WEFT_API Var digamma(Var x);
WEFT_API Var erf_inv(Var x);
WEFT_API Var is_nan(Var x);
WEFT_API Var is_inf(Var x);
WEFT_API Var logical_not(Var x);  // kind "not": of bool, or the bits of an integer
WEFT_API Var leaky_relu(Var x, double slope = 0.01);
WEFT_API Var trunc(Var x);
WEFT_API Var cbrt(Var x);
// Any of these by its kind, as readers of other formats have it.
WEFT_API Var activation(Var x, const std::string& kind);

struct ClampOptions {
  std::optional<double> min = {}, max = {};
};
WEFT_API Var clamp(Var x, ClampOptions options);

struct NanToNumOptions {
  double nan = 0.0;
  std::optional<double> posinf = {}, neginf = {};  // absent: the finite extremes of the dtype
};
WEFT_API Var nan_to_num(Var x, NanToNumOptions options = {});

// --- two and three operands, broadcasting -----------------------------------------------------------------------

WEFT_API Var add(Var a, Var b);
WEFT_API Var sub(Var a, Var b);
WEFT_API Var mul(Var a, Var b);
WEFT_API Var div(Var a, Var b);
// How equal operands share a cotangent: half each, or all to each.
enum class Tie { split, all };
WEFT_API Var maximum(Var a, Var b, Tie tie = Tie::split);
WEFT_API Var minimum(Var a, Var b, Tie tie = Tie::split);
WEFT_API Var pow(Var a, Var b);
WEFT_API Var mod(Var a, Var b);
WEFT_API Var bit_and(Var a, Var b);
WEFT_API Var bit_or(Var a, Var b);
WEFT_API Var bit_xor(Var a, Var b);
WEFT_API Var shl(Var a, Var b);
WEFT_API Var shr(Var a, Var b);
WEFT_API Var atan2(Var y, Var x);
WEFT_API Var binary(Var a, Var b, const std::string& kind);

WEFT_API Var eq(Var a, Var b);
WEFT_API Var ne(Var a, Var b);
WEFT_API Var lt(Var a, Var b);
WEFT_API Var le(Var a, Var b);
WEFT_API Var gt(Var a, Var b);
WEFT_API Var ge(Var a, Var b);

WEFT_API Var where(Var condition, Var a, Var b);
WEFT_API Var fma(Var a, Var b, Var c);

WEFT_API Var operator+(Var a, Var b);
WEFT_API Var operator-(Var a, Var b);
WEFT_API Var operator*(Var a, Var b);
WEFT_API Var operator/(Var a, Var b);
WEFT_API Var operator-(Var x);
WEFT_API Var operator+(Var a, double b);
WEFT_API Var operator-(Var a, double b);
WEFT_API Var operator*(Var a, double b);
WEFT_API Var operator/(Var a, double b);
WEFT_API Var operator+(double a, Var b);
WEFT_API Var operator-(double a, Var b);
WEFT_API Var operator*(double a, Var b);
WEFT_API Var operator/(double a, Var b);

// --- movement ---------------------------------------------------------------------------------------------------

WEFT_API Var reshape(Var x, std::vector<std::int64_t> shape);  // one -1: what remains
WEFT_API Var transpose(Var x, std::vector<std::int64_t> perm = {});
WEFT_API Var concat(std::vector<Var> parts, std::int64_t axis);
WEFT_API std::vector<Var> split(Var x, std::vector<std::int64_t> sizes, std::int64_t axis);
WEFT_API std::vector<Var> chunk(Var x, std::int64_t chunks, std::int64_t axis);  // equal pieces
WEFT_API Var narrow(Var x, std::int64_t axis, std::int64_t start, std::int64_t length);
WEFT_API Var expand(Var x, Shape shape);  // -1 keeps a size

struct GatherOptions {
  std::int64_t axis = 0;
  bool wrap_negative = true;  // -1 is the last; false: an error
};
// Float indices go through to_index.
WEFT_API Var gather(Var table, Var indices, GatherOptions options = {});

// --- reductions -------------------------------------------------------------------------------------------------

WEFT_API Var reduce_sum(Var x, std::vector<std::int64_t> axes, bool keep_dim = false);
WEFT_API Var reduce_mean(Var x, std::vector<std::int64_t> axes, bool keep_dim = false);
WEFT_API Var reduce_max(Var x, std::vector<std::int64_t> axes, bool keep_dim = false);
WEFT_API Var reduce_min(Var x, std::vector<std::int64_t> axes, bool keep_dim = false);
WEFT_API Var reduce_prod(Var x, std::vector<std::int64_t> axes, bool keep_dim = false);
WEFT_API Var sum(Var x, std::vector<std::int64_t> axes, bool keep_dim = false);   // reduce_sum
WEFT_API Var mean(Var x, std::vector<std::int64_t> axes, bool keep_dim = false);  // reduce_mean

struct SoftmaxOptions {
  std::int64_t axis = -1;
  bool nan_for_empty_row = false;  // a row of -inf gives NaN, not zeros
};
WEFT_API Var softmax(Var x, SoftmaxOptions options = {});
WEFT_API Var log_softmax(Var x, std::int64_t axis = -1);

struct ArgOptions {
  std::int64_t axis = -1;
  bool keep_dim = false;
  DType index_dtype = DType::i32;
  bool ignore_nan = false;
};
WEFT_API Var argmax(Var x, ArgOptions options = {});
WEFT_API Var argmin(Var x, ArgOptions options = {});

// --- images and signals: [N, C, spatial...] -------------------------------------------------------------------------

// Lists have a number a spatial axis, one to three; empty ones are the op's defaults.
struct ConvOptions {
  std::vector<std::int64_t> stride = {}, padding = {}, padding_hi = {}, dilation = {};
  std::int64_t groups = 1;
  bool replicate = false;  // the nearest element stands in the padding, not 0
};
WEFT_API Var conv(Var x, Var w, Var bias = {}, ConvOptions options = {});

struct ConvTransposeOptions {
  std::vector<std::int64_t> stride = {}, padding = {}, output_padding = {}, dilation = {};
  std::int64_t groups = 1;
};
WEFT_API Var conv_transpose(Var x, Var w, Var bias = {}, ConvTransposeOptions options = {});

struct PoolOptions {
  std::vector<std::int64_t> kernel;  // must be given
  std::vector<std::int64_t> stride = {}, padding = {};
};
WEFT_API Var max_pool(Var x, PoolOptions options);
WEFT_API Var mean_pool(Var x, PoolOptions options);

WEFT_API Var group_norm(Var x, std::int64_t groups, Var gain = {}, Var bias = {}, double eps = 1e-5);
WEFT_API Var instance_norm(Var x, Var gain = {}, Var bias = {}, double eps = 1e-5);  // a group_norm of one channel each

struct BatchNormOptions {
  std::int64_t channel_axis = -1;
  double eps = 1e-5;
};
// With the statistics of x itself, and with given ones.
WEFT_API Var batch_norm(Var x, Var gain = {}, Var bias = {}, BatchNormOptions options = {});
WEFT_API Var batch_norm_inference(Var x, Var gain, Var bias, Var mean, Var variance, BatchNormOptions options = {});

struct AdaLayerNormOptions {
  bool rms = false;
  double eps = 1e-6;
};
// The norm of x * (1 + scale) + shift; these are [D], [B, D] or of the shape of x.
WEFT_API Var ada_layer_norm(Var x, Var scale, Var shift, AdaLayerNormOptions options = {});

// mode: "nearest", "linear" or "area".
WEFT_API Var resize(Var x, const std::string& mode, double scale, bool align_corners = false);

struct UnpatchifyOptions {
  std::vector<std::int64_t> patch = {};                  // height and width; empty where the image tells
  std::optional<std::int64_t> grid_h = {}, grid_w = {};  // absent: a square grid
  bool channels_last = false;                            // inside a patch
  Var image = {};                                        // of the size of the result
};
WEFT_API Var unpatchify(Var x, UnpatchifyOptions options);

// --- layers -----------------------------------------------------------------------------------------------------

struct MatMulOptions {
  bool transpose_a = false, transpose_b = false;
};
// With transpose_b, b may stay packed (block or fixed point), or f16 or bf16 beside an f32 a.
WEFT_API Var matmul(Var a, Var b, MatMulOptions options = {});

WEFT_API Var kron(Var a, Var b);
WEFT_API Var matrix_inverse(Var a);  // of the last two axes

struct RmsNormOptions {
  double eps = 1e-6;
};
WEFT_API Var rms_norm(Var x, Var gain = {}, RmsNormOptions options = {});
WEFT_API Var rms_norm(Var x, Var gain, Var bias, RmsNormOptions options = {});

struct LayerNormOptions {
  std::int64_t axis = -1;  // first normalized axis
  double eps = 1e-5;
};
WEFT_API Var layer_norm(Var x, Var gain = {}, Var bias = {}, LayerNormOptions options = {});

// Names of choices are the op's: see `weft ops`.
struct RopeOptions {
  std::int64_t head_dim = 0;  // must be given
  std::optional<std::int64_t> rotary_dim = {};
  double theta = 10000.0;
  std::string style = "neox";
  std::string layout = "prefix";
  std::string rows = "auto";
  std::string heads = "auto";
  double position_scale = 1.0;
  Var factors = {};  // divisors of the frequencies
};
WEFT_API Var rope(Var x, Var positions, RopeOptions options);
// From tables of cosines and sines; theta, position_scale and factors have no part in it.
WEFT_API Var rope_tables(Var x, Var cos, Var sin, RopeOptions options);

// What a query sees. The named ones are the usual combinations; all fields compose.
struct Mask {
  bool causal_keys = false;
  std::optional<std::int64_t> window_keys = {};  // most keys that a query sees, its own included
  Var hidden = {};                               // bool or numbers: false or below 0.5 hides
  Var added = {};                                // added to the scores

  static Mask none() { return {}; }
  static Mask causal() { return {.causal_keys = true}; }
  // The query's own key and the w before it.
  static Mask sliding_window(std::int64_t w) { return {.causal_keys = true, .window_keys = w + 1}; }
  static Mask custom(Var mask) { return {.hidden = mask}; }
  static Mask bias(Var bias) { return {.added = bias}; }
};

struct AttentionOptions {
  std::int64_t heads = 0;                     // must be given
  std::optional<std::int64_t> kv_heads = {};  // absent: read from k
  std::optional<std::int64_t> head_dim = {};  // absent: the last axis of q, divided by heads where it is packed
  Mask mask = {};
  std::optional<double> scale = {};  // absent: 1 / sqrt(head_dim)
  std::optional<double> softcap = {};
  Var sink = {};
  std::string layout = "auto";
  bool strict = false;
};
WEFT_API Var attention(Var q, Var k, Var v, AttentionOptions options);

// Inside windows of consecutive tokens, in which the layouts of q, k and v are found as Attention finds them.
struct WindowAttentionOptions {
  std::int64_t heads = 0, head_dim = 0, window_size = 0;  // must be given
  std::int64_t shift = 0;                                 // by how much tokens are rolled left first
  std::optional<double> scale = {};                       // absent: 1 / sqrt(head_dim)
  Var bias = {};                                          // [heads, window_size, window_size], or one per window
  std::string layout = "auto";
};
WEFT_API Var window_attention(Var q, Var k, Var v, WindowAttentionOptions options);

// --- positions ----------------------------------------------------------------------------------------------------

struct SinusoidalEmbedOptions {
  std::int64_t dim = 0;  // must be given
  std::string layout = "interleaved";
};
WEFT_API Var sinusoidal_embed(Var t, SinusoidalEmbedOptions options);

struct RelativePositionBiasOptions {
  std::int64_t num_buckets = 0;  // must be given
  bool bidirectional = true;
  std::int64_t max_distance = 128;
};
// Added to scores [..., H, Sq, Sk]; or of positions, [1, H, Sq, Sk]. Float positions go through to_index.
WEFT_API Var relative_position_bias(Var table, Var scores, RelativePositionBiasOptions options);
WEFT_API Var relative_position_bias(Var table, Var q_pos, Var k_pos, RelativePositionBiasOptions options);
WEFT_API Var interpolate_table(Var t, Var table);

struct SampleOptions {
  std::string method = "chain";
  double temperature = 1.0;
  std::int64_t top_k = 0;  // 0: all
  double top_p = 1.0;
  double min_p = 0.0;
  bool temperature_first = false;
  bool keep_ties = false;
  std::string order = "vocabulary";
  std::string rng = "philox";
  std::int64_t seed = 0;
  DType index_dtype = DType::i32;
};
// One index a row of logits; u, if given, is the number in [0, 1) that decides each row's draw.
WEFT_API Var sample(Var logits, SampleOptions options = {}, Var u = {});

// Appends rows to a state that the graph declares (Graph::add_state); all rows of both planes.
WEFT_API std::pair<Var, Var> kv_append(const std::string& slot, Var k, Var v);

// The same for a state of one plane; `beside`, where given, has to have as many rows.
WEFT_API Var rows_append(const std::string& slot, Var rows, Var beside = {});
// Rows of head_dim numbers as a scale and `bits` a number.
WEFT_API Var kv_compress(Var x, std::int64_t head_dim, std::int64_t bits);
WEFT_API Var kv_decompress(Var packed, std::int64_t head_dim, std::int64_t bits);

// --- fused ops: passes make them, see weft/passes/pipeline.h -------------------------------------------------------
// They take operands as they are: no promotion.

// x stands for RmsNorm(x) when there is a gain.
struct RowNormOptions {
  Var gain = {};
  double eps = 1e-6;
};

struct FusedMatMulOptions {
  Var bias = {}, residual = {};
  std::string activation = "none";
  bool transpose_b = false;
  RowNormOptions norm = {};
};
// act(x w + bias) + residual
WEFT_API Var fused_matmul_bias_act(Var x, Var w, FusedMatMulOptions options = {});

struct SharedMatMulOptions {
  std::vector<Var> biases = {};  // none, or one per weight, undefined where there is none
  bool transpose_b = false;
  RowNormOptions norm = {};
};
// x w for each w
WEFT_API std::vector<Var> fused_shared_matmul(Var x, std::vector<Var> weights, SharedMatMulOptions options = {});

struct GatedMatMulOptions {
  Var bias_gate = {}, bias_up = {};
  std::string activation = "silu";
  bool transpose_b = false;
  RowNormOptions norm = {};
};
// act(x w_gate + bias_gate) * (x w_up + bias_up)
WEFT_API Var fused_gated_matmul(Var x, Var w_gate, Var w_up, GatedMatMulOptions options = {});

struct FusedSwiGluOptions {
  bool gate_first = false;
  std::optional<DType> cast_to = {};
};
WEFT_API Var fused_swiglu(Var x, FusedSwiGluOptions options = {});

// The norm of x + residual, and the sum.
WEFT_API std::pair<Var, Var> fused_residual_rms_norm(Var x, Var residual, Var gain = {}, Var bias = {},
                                                     RmsNormOptions options = {});
WEFT_API std::pair<Var, Var> fused_residual_layer_norm(Var x, Var residual, Var gain = {}, Var bias = {},
                                                       LayerNormOptions options = {});

// "t0 = silu(x0); t1 = mul(t0, x1)" over inputs x0, x1, ...; the last step is the result.
WEFT_API Var elementwise_region(std::vector<Var> inputs, const std::string& chain);

}  // namespace weft
