// Rotary embeddings, and what else positions give a model.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "weft/backend/cpu/lowering.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ops/position.h"
#include "weft/ops/rope_angles.h"

namespace weft::cpu {
namespace {

using lir::Frame;
using lir::Operand;

// Divisors of the frequencies, known with the weights.
class FrequencyForm final : public lir::WeightForm {
 public:
  FrequencyForm(std::int64_t pairs, std::int64_t span, double theta) : pairs_(pairs), span_(span), theta_(theta) {}
  std::string name() const override { return fmt::format("frequencies {} of {} at {}", pairs_, span_, theta_); }
  std::size_t byte_size(const TensorType&) const override { return static_cast<std::size_t>(pairs_) * sizeof(double); }
  std::shared_ptr<const void> prepare(const Tensor& weight, ThreadPool&) const override {
    const Tensor decoded = weight.to_f32();
    const auto factors = decoded.values<float>();
    return std::make_shared<std::vector<double>>(
        ops::rope_frequencies(pairs_, span_, theta_, std::vector<double>(factors.begin(), factors.end())));
  }

 private:
  std::int64_t pairs_, span_;
  double theta_;
};

// Row-major [positions, pairs] cosines, then as many sines.
class RopeTableStep final : public lir::Step {
 public:
  RopeTableStep(Operand positions, Operand tables, std::int64_t pairs, double scale, std::vector<double> frequencies,
                lir::WeightId weight)
      : positions_(std::move(positions)),
        tables_(std::move(tables)),
        pairs_(pairs),
        scale_(scale),
        frequencies_(std::move(frequencies)),
        weight_(weight) {}

  void run(const Frame& frame) const override {
    const double* frequencies =
        weight_ == lir::none ? frequencies_.data() : frame.weight<std::vector<double>>(weight_).data();
    const std::int64_t count = frame.numel(positions_);
    float *cos = frame.data(tables_), *sin = cos + count * pairs_;
    frame.pool->parallel_for(count, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const double position = (positions_.dtype == DType::f32 ? static_cast<double>(frame.data(positions_)[row])
                                                                : frame.data<std::int32_t>(positions_)[row]) *
                                scale_;
        for (std::int64_t j = 0; j < pairs_; ++j) {
          const double angle = position * frequencies[j];
          cos[row * pairs_ + j] = static_cast<float>(std::cos(angle));
          sin[row * pairs_ + j] = static_cast<float>(std::sin(angle));
        }
      }
    });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.activation_bytes = 8 * count_of(positions_, sizes) * static_cast<double>(pairs_)};
  }

 private:
  Operand positions_, tables_;
  std::int64_t pairs_;
  double scale_;
  std::vector<double> frequencies_;
  lir::WeightId weight_;
};

class RopeStep final : public lir::Step {
 public:
  // cos and sin [tokens, pairs]; sin undefined: it follows cos in one buffer.
  RopeStep(Operand x, Operand y, Operand cos, Operand sin, RopeArgs shape, CpuLevel level)
      : x_(std::move(x)),
        y_(std::move(y)),
        cos_(std::move(cos)),
        sin_(std::move(sin)),
        shape_(shape),
        rope_(vector_kernels(level).rope) {}

  void run(const Frame& frame) const override {
    const std::int64_t width = shape_.heads * shape_.head_dim;
    if (width == 0) return;
    const std::int64_t tokens = frame.numel(x_) / width;
    const float* cos = frame.data(cos_);
    const float* sin = sin_.defined() ? frame.data(sin_) : cos + tokens * shape_.pairs;
    frame.pool->parallel_for(tokens, std::max<std::int64_t>(1, 16384 / width),
                             [&](std::int64_t begin, std::int64_t end) {
                               RopeArgs args = shape_;
                               args.x = frame.data(x_) + begin * width;
                               args.out = frame.data(y_) + begin * width;
                               args.rows = end - begin;
                               args.x_stride = args.out_stride = width;
                               args.cos = cos + begin * args.table_stride;
                               args.sin = sin + begin * args.table_stride;
                               rope_(args);
                             });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = 3 * count_of(x_, sizes), .activation_bytes = 8 * count_of(x_, sizes)};
  }

 private:
  Operand x_, y_, cos_, sin_;
  RopeArgs shape_;
  void (*rope_)(const RopeArgs&);
};

std::int64_t rotary_dim(const Node& node) {
  return node.optional_integer("rotary_dim").value_or(node.integer("head_dim"));
}

std::string refuse_rope(const Graph& graph, const Node& node) {
  for (const Value input : node.inputs)
    if (input.defined() && !is_f32(graph, input) && graph.type(input).dtype != DType::i32)
      return "an operand is not f32";
  if (!is_f32(graph, node.inputs[0])) return "x is not f32";
  const Shape& x = graph.type(node.inputs[0]).shape;
  const std::string& heads = node.text("heads");
  if (x.rank() < 2 || !x.back().is_static()) return "x has no rows of known width";
  // Heads of a token side by side in memory, one row of angles a token.
  Dim tokens = x[0];
  if (heads == "packed" || (x.rank() == 2 && x.back() == Dim(node.integer("head_dim")))) {
    for (std::size_t i = 1; i + 1 < x.rank(); ++i) tokens = tokens * x[i];
  } else if (heads == "token_major" && x.rank() >= 3) {
    if (!x[x.rank() - 2].is_static()) return "the number of heads is not known";
    for (std::size_t i = 1; i + 2 < x.rank(); ++i) tokens = tokens * x[i];
  } else {
    return "heads are not side by side";
  }
  const Shape& angles = graph.type(node.inputs[1]).shape;
  if (node.boolean("tables")) {
    if (!is_f32(graph, node.inputs[1]) || !is_f32(graph, node.inputs[2])) return "the tables are not f32";
    if (angles.rank() != 2 || angles[0] != tokens || !angles[1].is_static()) return "the tables have no row a token";
  } else if (angles.numel() != tokens) {
    return "there is no position a token";
  }
  if (!node.boolean("tables") && node.inputs.size() > 2 && node.inputs[2].defined()) {
    const Node* factors = &graph.node(node.inputs[2].node);
    if (factors->schema->name == "Decode") factors = &graph.node(factors->inputs[0].node);
    if (factors->schema->name != "Param" && factors->schema->name != "Constant") return "the factors are no weights";
  }
  return {};
}

void emit_rope(Lowering& lowering, std::int32_t index) {
  lir::ProgramBuilder& builder = lowering.builder;
  const Graph& graph = lowering.graph();
  const Node& node = lowering.node(index);
  const Shape& shape = graph.type(node.inputs[0]).shape;
  const std::int64_t head_dim = node.integer("head_dim"), pairs = rotary_dim(node) / 2;
  const bool prefix = node.text("layout") == "prefix";
  RopeArgs args;
  args.head_dim = head_dim;
  args.heads = node.text("heads") == "packed" || shape.rank() == 2 ? *shape.back().value() / head_dim
                                                                   : *shape[shape.rank() - 2].value();
  args.pairs = args.table_stride = pairs;
  args.half = prefix ? pairs : head_dim / 2;
  args.style = node.text("style") == "interleaved" ? RopeStyle::interleaved : RopeStyle::neox;
  Operand cos, sin;
  if (node.boolean("tables")) {
    cos = builder.operand(node.inputs[1]);
    sin = builder.operand(node.inputs[2]);
    args.table_stride = *graph.type(node.inputs[1]).shape.back().value();
  } else {
    const Value factors = node.inputs.size() > 2 ? node.inputs[2] : Value{};
    const Operand positions = builder.operand(node.inputs[1]);
    const std::int64_t span = prefix ? 2 * pairs : head_dim;
    const double theta = node.real("theta"), scale = node.real("position_scale");
    const std::string key = fmt::format("rope tables {}+{} {} {} {} {} {}", positions.buffer, positions.offset, pairs,
                                        span, theta, scale, factors.defined() ? graph.label(factors) : "");
    cos = builder.shared_helper(key, [&] {
      const Dim tokens = graph.type(node.inputs[1]).shape.numel();
      Operand tables = builder.helper("rope tables", tokens * Dim(8 * pairs), DType::f32, {Dim(2), tokens, Dim(pairs)});
      lir::WeightId weight = lir::none;
      std::vector<double> frequencies;
      if (factors.defined())
        weight = builder.weight(factors, std::make_shared<FrequencyForm>(pairs, span, theta));
      else
        frequencies = ops::rope_frequencies(pairs, span, theta);
      lir::Instruction instruction{.op = "RopeTables", .kernel = "rope tables f64", .backend = "cpu", .node = index};
      instruction.inputs = {positions};
      instruction.outputs = {tables};
      if (weight != lir::none) instruction.weights = {weight};
      instruction.step =
          std::make_unique<RopeTableStep>(positions, tables, pairs, scale, std::move(frequencies), weight);
      builder.emit(std::move(instruction));
      return tables;
    });
  }
  const Operand x = builder.operand(node.inputs[0]), y = builder.allocate({index, 0});
  lir::Instruction instruction{
      .op = "Rope", .kernel = kernel_name("rope", lowering.level), .backend = "cpu", .node = index};
  instruction.inputs = {x, cos};
  if (sin.defined()) instruction.inputs.push_back(sin);
  instruction.outputs = {y};
  instruction.in_place_input = 0;
  instruction.step = std::make_unique<RopeStep>(x, y, cos, sin, args, lowering.level);
  builder.emit(std::move(instruction));
}

// --- SinusoidalEmbed ----------------------------------------------------------------------------------------------

class SinusoidStep final : public lir::Step {
 public:
  SinusoidStep(Operand t, Operand y, std::int64_t dim, const std::string& layout)
      : t_(std::move(t)),
        y_(std::move(y)),
        dim_(dim),
        step_(layout == "interleaved" ? 2 : 1),
        sine_(layout == "cos_sin" ? dim / 2 : 0),
        cosine_(layout == "interleaved" ? 1
                : layout == "cos_sin"   ? 0
                                        : dim / 2),
        frequencies_(ops::sinusoid_frequencies(dim / 2)) {}

  void run(const Frame& frame) const override {
    frame.pool->parallel_for(frame.numel(t_), 1 + 512 / dim_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto t = static_cast<double>(frame.data(t_)[i]);
        float* row = frame.data(y_) + i * dim_;
        if (dim_ % 2 != 0) row[dim_ - 1] = 0;
        for (std::size_t j = 0; j < frequencies_.size(); ++j) {
          const double angle = t * frequencies_[j];
          const std::int64_t at = static_cast<std::int64_t>(j) * step_;
          row[sine_ + at] = static_cast<float>(std::sin(angle));
          row[cosine_ + at] = static_cast<float>(std::cos(angle));
        }
      }
    });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = 20 * count_of(y_, sizes), .activation_bytes = 4 * count_of(y_, sizes)};
  }

 private:
  Operand t_, y_;
  std::int64_t dim_, step_, sine_, cosine_;  // where sine j stands, and its cosine
  std::vector<double> frequencies_;
};

std::string refuse_narrow_operand(const Graph& graph, const Node& node) {
  return is_f32(graph, node.inputs[0]) ? "" : "an operand is not f32";
}

void emit_sinusoid(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const Operand t = lowering.builder.operand(node.inputs[0]), y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = node.schema->name, .kernel = "sinusoid f64", .backend = "cpu", .node = index};
  instruction.inputs = {t};
  instruction.outputs = {y};
  instruction.step = std::make_unique<SinusoidStep>(t, y, node.integer("dim"), node.text("layout"));
  lowering.builder.emit(std::move(instruction));
}

// --- RelativePositionBias -----------------------------------------------------------------------------------------

// Added to scores: the bias depends on key - query alone, so that a head has one strip of it for all queries.
class BiasedScoresStep final : public lir::Step {
 public:
  BiasedScoresStep(Operand table, Operand scores, Operand y, ops::RelativeBuckets buckets, CpuLevel level)
      : table_(std::move(table)),
        scores_(std::move(scores)),
        y_(std::move(y)),
        buckets_(buckets),
        kernels_(vector_kernels(level)) {}

  void run(const Frame& frame) const override {
    const std::int64_t count = frame.numel(y_);
    if (count == 0) return;
    const std::size_t rank = y_.dims.size();
    const std::int64_t heads = frame.dim(y_, rank - 3), queries = frame.dim(y_, rank - 2),
                       keys = frame.dim(y_, rank - 1);
    // Query i stands at i + keys - queries: offset j - i - (keys - queries) is at j - i + queries - 1 of a strip.
    const std::int64_t length = queries + keys - 1;
    const float *table = frame.data(table_), *scores = frame.data(scores_);
    auto* strips = reinterpret_cast<float*>(frame.scratch);
    for (std::int64_t at = 0; at < length; ++at) {
      const std::int64_t bucket = buckets_.at(at + 1 - keys);
      for (std::int64_t head = 0; head < heads; ++head) strips[head * length + at] = table[bucket * heads + head];
    }
    float* y = frame.data(y_);
    frame.pool->parallel_for(count / keys, 1 + 4096 / keys, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* strip = strips + row / queries % heads * length + queries - 1 - row % queries;
        kernels_.binary(BinaryKind::add, {scores + row * keys, 0}, {strip, 0}, y + row * keys, keys);
      }
    });
  }
  std::size_t scratch_bytes(const std::int64_t* sizes, int) const override {
    const std::size_t rank = y_.dims.size();
    return static_cast<std::size_t>(sizes[y_.dims[rank - 3]] * (sizes[y_.dims[rank - 2]] + sizes[y_.dims[rank - 1]])) *
           sizeof(float);
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = count_of(y_, sizes), .activation_bytes = 8 * count_of(y_, sizes)};
  }

 private:
  Operand table_, scores_, y_;
  ops::RelativeBuckets buckets_;
  const VectorKernels& kernels_;
};

// Of given positions: y [1, heads, queries, keys].
class PositionBiasStep final : public lir::Step {
 public:
  PositionBiasStep(Operand table, Operand queries, Operand keys, Operand y, ops::RelativeBuckets buckets)
      : table_(std::move(table)),
        queries_(std::move(queries)),
        keys_(std::move(keys)),
        y_(std::move(y)),
        buckets_(buckets) {}

  void run(const Frame& frame) const override {
    const std::int64_t heads = frame.dim(y_, 1), queries = frame.dim(y_, 2), keys = frame.dim(y_, 3);
    const auto *q = frame.data<std::int32_t>(queries_), *k = frame.data<std::int32_t>(keys_);
    const float* table = frame.data(table_);
    float* y = frame.data(y_);
    frame.pool->parallel_for(queries, 1 + 4096 / std::max<std::int64_t>(keys * heads, 1),
                             [&](std::int64_t begin, std::int64_t end) {
                               for (std::int64_t i = begin; i < end; ++i)
                                 for (std::int64_t j = 0; j < keys; ++j) {
                                   const float* row = table + buckets_.at(std::int64_t{k[j]} - q[i]) * heads;
                                   for (std::int64_t head = 0; head < heads; ++head)
                                     y[(head * queries + i) * keys + j] = row[head];
                                 }
                             });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = 8 * count_of(y_, sizes), .activation_bytes = 4 * count_of(y_, sizes)};
  }

 private:
  Operand table_, queries_, keys_, y_;
  ops::RelativeBuckets buckets_;
};

std::string refuse_relative_bias(const Graph& graph, const Node& node) {
  if (!is_f32(graph, node.inputs[0])) return "the table is not f32";
  for (std::size_t i = 2; i < node.inputs.size(); ++i)
    if (node.inputs[i].defined() && graph.type(node.inputs[i]).dtype != DType::i32) return "the positions are not i32";
  return {};
}

void emit_relative_bias(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const ops::RelativeBuckets buckets(node);
  lir::Instruction instruction{.op = node.schema->name, .kernel = {}, .backend = "cpu", .node = index};
  for (const Value input : node.inputs)
    if (input.defined()) instruction.inputs.push_back(lowering.builder.operand(input));
  const std::vector<Operand>& in = instruction.inputs;
  const Operand y = lowering.builder.allocate({index, 0});
  instruction.outputs = {y};
  instruction.kernel = in.size() == 2 ? kernel_name("biased scores", lowering.level) : "position bias";
  if (in.size() == 2) {
    instruction.in_place_input = 1;
    instruction.step = std::make_unique<BiasedScoresStep>(in[0], in[1], y, buckets, lowering.level);
  } else {
    instruction.step = std::make_unique<PositionBiasStep>(in[0], in[1], in[2], y, buckets);
  }
  lowering.builder.emit(std::move(instruction));
}

// --- InterpolateTable ---------------------------------------------------------------------------------------------

class InterpolateStep final : public lir::Step {
 public:
  InterpolateStep(Operand t, Operand table, Operand y) : t_(std::move(t)), table_(std::move(table)), y_(std::move(y)) {}

  void run(const Frame& frame) const override {
    const std::int64_t count = frame.numel(y_), size = frame.dim(table_, 0);
    if (count == 0) return;
    if (size == 0) fail(ErrorKind::shape_mismatch, "EmptyReduction", "", "the table has no entries to interpolate");
    const float *t = frame.data(t_), *table = frame.data(table_);
    float* y = frame.data(y_);
    frame.pool->parallel_for(count, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        // NaN takes the first entry, and its weight makes it NaN again.
        const auto x = static_cast<double>(t[i]);
        const double at = x > 0 ? std::min(x, static_cast<double>(size - 1)) : x != x ? x : 0;
        const auto low = x != x ? std::int64_t{0} : static_cast<std::int64_t>(at);
        const double weight = at - static_cast<double>(low), value = table[low];
        const double next = table[std::min(low + 1, size - 1)];
        y[i] = static_cast<float>(weight == 0 ? value : value + weight * (next - value));
      }
    });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = 4 * count_of(y_, sizes), .activation_bytes = 12 * count_of(y_, sizes)};
  }

 private:
  Operand t_, table_, y_;
};

void emit_interpolation(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const Operand t = lowering.builder.operand(node.inputs[0]), table = lowering.builder.operand(node.inputs[1]);
  const Operand y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = node.schema->name, .kernel = "interpolate f64", .backend = "cpu", .node = index};
  instruction.inputs = {t, table};
  instruction.outputs = {y};
  instruction.step = std::make_unique<InterpolateStep>(t, table, y);
  lowering.builder.emit(std::move(instruction));
}

}  // namespace

std::span<const LoweringRule> rope_rules() {
  static constexpr LoweringRule rules[] = {{"Rope", refuse_rope, emit_rope},
                                           {"SinusoidalEmbed", refuse_narrow_operand, emit_sinusoid},
                                           {"RelativePositionBias", refuse_relative_bias, emit_relative_bias},
                                           {"InterpolateTable", refuse_narrow_operand, emit_interpolation}};
  return rules;
}

}  // namespace weft::cpu
