// The op that draws token ids from logits.
#include <vector>

#include "weft/base/fail.h"
#include "weft/base/random.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ops/element.h"
#include "weft/ops/sampling.h"

namespace weft::ops {
namespace {

const std::vector<std::string>& method_names() {
  static const std::vector<std::string> names = {"greedy", "temperature", "top_k", "top_p", "min_p", "chain"};
  return names;
}

SamplingOptions options_of(const Node& node) {
  SamplingOptions options;
  for (std::size_t i = 0; i < method_names().size(); ++i)
    if (method_names()[i] == node.text("method")) options.method = static_cast<SamplingMethod>(i);
  options.temperature = node.real("temperature");
  options.top_k = node.integer("top_k");
  options.top_p = node.real("top_p");
  options.min_p = node.real("min_p");
  options.temperature_first = node.boolean("temperature_first");
  options.keep_ties = node.boolean("keep_ties");
  options.order = node.text("order") == "sorted" ? DrawOrder::sorted : DrawOrder::vocabulary;
  return options;
}

void infer_sample(InferContext& context) {
  const Node& node = context.node();
  context.require_float(0);
  const Shape& logits = context.shape(0);
  if (logits.rank() == 0) context.fail_shape("a scalar is no row of logits");
  if (const auto problem = sampling_problem(options_of(node))) context.fail_attribute(node.text("method"), *problem);
  const DType index = node.dtype("index_dtype");
  if (index != DType::i32 && index != DType::i64 && index != DType::u32 && index != DType::f32)
    context.fail_attribute("index_dtype", fmt::format("it is {}, expected i32, i64, u32 or f32", to_string(index)));
  constexpr std::int64_t exact_in_f32 = std::int64_t{1} << 24;
  if (const auto width = logits.back().value(); width && index == DType::f32 && *width > exact_in_f32)
    context.fail_attribute("index_dtype", fmt::format("f32 does not tell all of {} ids apart", *width));
  Shape rows(std::vector<Dim>(logits.begin(), logits.end() - 1));
  if (context.has(1)) {
    context.require_float(1);
    context.require_equal(context.shape(1).numel(), rows.numel(), "the numbers u and the rows of logits");
  }
  context.output(std::move(rows), index);
}

// One number a row: as given, or from the node's generator.
std::vector<double> uniforms(const KernelContext& context, std::int64_t rows) {
  const Node& node = context.node();
  if (context.has(1)) {
    std::vector<double> u = load_f64(context.input(1));
    for (std::size_t row = 0; row < u.size(); ++row)
      if (!(u[row] >= 0 && u[row] < 1))
        fail(ErrorKind::out_of_range, "BadUniform", context.where(), "u of row {} is {}, expected 0 <= u < 1", row,
             u[row]);
    return u;
  }
  std::vector<double> u(static_cast<std::size_t>(rows));
  if (!needs_draw(options_of(node))) return u;
  const std::int64_t seed = node.integer("seed");
  if (node.text("rng") == "pcg32") {
    Pcg32& generator = context.state().generator(context.node_index(), seed);
    for (double& value : u) value = generator.uniform();
    return u;
  }
  for (std::int64_t row = 0; row < rows; ++row)
    u[static_cast<std::size_t>(row)] =
        philox_uniform(static_cast<std::uint64_t>(seed), context.state().run_index(), row);
  return u;
}

void run_sample(const KernelContext& context) {
  const Tensor& logits = context.input(0);
  const std::int64_t rows = context.output(0).numel();
  const std::int64_t width = logits.dim(logits.rank() - 1);
  const SamplingOptions options = options_of(context.node());
  const std::vector<double> u = uniforms(context, rows);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(rows));
  context.pool().parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> row(static_cast<std::size_t>(width));
    for (std::int64_t r = begin; r < end; ++r) {
      load_f64(logits, r * width, row);
      try {
        ids[static_cast<std::size_t>(r)] =
            sample_row(std::span<const double>(row), options, u[static_cast<std::size_t>(r)]);
      } catch (const Error& error) {
        throw Error(error.kind(), error.code(), context.where(), fmt::format("row {}: {}", r, error.message()));
      }
    }
  });
  store_i64(context.output(0), ids);
}

const OpRegistration sample{{
    .name = "Sample",
    .tag = 160,
    .family = "sample",
    .maths =
        "One index a row of the last axis. Candidates by method: greedy takes the largest logit, the first of equals; "
        "temperature all; top_k the top_k largest; top_p the shortest prefix, by falling probability, whose sum is at "
        "least top_p; min_p those whose probability is at least min_p times the largest. Probabilities are the softmax "
        "of logits / temperature, and a temperature of 0 or less is greedy. chain filters by top_k, top_p and min_p in "
        "turn, each over the softmax of what is left, without the temperature unless temperature_first. The draw is "
        "the "
        "first candidate whose running sum of weights exceeds u times their sum, in the order of the vocabulary or by "
        "falling logit. u is the second input, or comes from Philox with key = seed and counter = (run, row, 0, 0), or "
        "from PCG32.",
    .attributes = {{.name = "method",
                    .type = AttributeType::choice,
                    .default_value = std::string("chain"),
                    .doc = "which candidates there are",
                    .choices = method_names()},
                   {.name = "temperature", .type = AttributeType::real, .default_value = 1.0, .doc = "divides logits"},
                   {.name = "top_k", .type = AttributeType::integer, .default_value = std::int64_t{0}, .doc = "0: all"},
                   {.name = "top_p", .type = AttributeType::real, .default_value = 1.0, .doc = "1 or more: all"},
                   {.name = "min_p", .type = AttributeType::real, .default_value = 0.0, .doc = "0: all"},
                   {.name = "temperature_first",
                    .type = AttributeType::boolean,
                    .default_value = false,
                    .doc = "chain: filter by the probabilities under the temperature"},
                   {.name = "keep_ties",
                    .type = AttributeType::boolean,
                    .default_value = false,
                    .doc = "top_k keeps all that equal the last one kept, instead of those of lower index"},
                   {.name = "order",
                    .type = AttributeType::choice,
                    .default_value = std::string("vocabulary"),
                    .doc = "of the running sum; sorted matters after top_k and top_p",
                    .choices = {"vocabulary", "sorted"}},
                   {.name = "rng",
                    .type = AttributeType::choice,
                    .default_value = std::string("philox"),
                    .doc = "where u comes from without a second input",
                    .choices = {"philox", "pcg32"}},
                   {.name = "seed",
                    .type = AttributeType::integer,
                    .default_value = std::int64_t{0},
                    .doc = "of the generator; pcg32 with 0 takes entropy"},
                   {.name = "index_dtype",
                    .type = AttributeType::dtype,
                    .default_value = DType::i32,
                    .doc = "i32, i64, u32 or f32"}},
    .inputs = {{.name = "logits", .doc = "[.., V]"},
               {.name = "u", .presence = Presence::optional, .doc = "one number in [0, 1) a row"}},
    .op_class = OpClass::reduction,
    .effects = {.random = true},
    .infer = infer_sample,
    .reference = run_sample,
    .flops = [](const InferContext& context) { return Dim(4) * context.shape(0).numel(); },
    .vjp = Rule::not_applicable("an index has no gradient"),
    .jvp = Rule::not_applicable("an index has no tangent"),
    .unfuse = Rule::not_applicable("a draw has no smaller ops"),
}};

}  // namespace
}  // namespace weft::ops
