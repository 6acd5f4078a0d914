#include "weft/models/language_program.h"

#include <algorithm>
#include <string>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/models/checkpoint.h"
#include "weft/passes/select_rows.h"

namespace weft {
namespace {

constexpr std::int64_t default_context = 4096;

// A stored graph may name its one id input as it likes; any other set of inputs is not a language model's.
void expect_language_model(const Graph& graph, std::int64_t vocab_size, const std::string& where) {
  std::string found;
  bool has_ids = false;
  for (const std::int32_t index : graph.inputs()) {
    const Node& node = graph.node(index);
    if (node.text("source") != "caller") continue;
    found += (found.empty() ? "" : ", ") + node.text("name") + " " + node.outputs[0].type.text();
    has_ids |= node.text("name") == ids_input && node.outputs[0].type.shape.rank() == 1;
  }
  const bool has_logits = std::any_of(graph.outputs().begin(), graph.outputs().end(), [&](const GraphOutput& output) {
    const TensorType& type = graph.type(output.value);
    return output.name == logits_output && type.dtype == DType::f32 && type.shape.rank() == 2 &&
           type.shape.back() == Dim(vocab_size);
  });
  if (!has_ids || !has_logits || found.find(',') != std::string::npos)
    fail(ErrorKind::unsupported, "NotALanguageModel", where,
         "the graph must take `{}` [n] alone and give `{}` [n, {}] f32; it takes {} (weft exec runs any graph)",
         ids_input, logits_output, vocab_size, found.empty() ? "nothing" : found);
}

}  // namespace

LanguageProgram language_program(const Checkpoint& checkpoint, const LanguageModelOptions& options) {
  if (options.context < 0)
    fail(ErrorKind::invalid_argument, "InvalidArgument", "context", "{} tokens are no context", options.context);
  const std::int64_t trained = checkpoint.config().max_position_embeddings;
  LanguageProgram program{.graph = checkpoint.graph(), .config = {}, .rows_symbol = {}};
  expect_language_model(program.graph, checkpoint.config().vocab_size, checkpoint.path().string());
  program.context = options.context > 0 ? options.context : std::min(trained, default_context);
  program.chunk = std::clamp<std::int64_t>(options.chunk, 1, std::max<std::int64_t>(program.context, 1));
  program.rows_symbol = program.graph.node(*program.graph.find_input(ids_input)).outputs[0].type.shape[0].text();
  program.graph = select_rows(program.graph, logits_output, rows_input);
  program.config = {.pool = std::make_shared<ThreadPool>(options.threads),
                    .backend = options.backend,
                    .max_rows = program.context,
                    .bounds = {{program.rows_symbol, program.chunk}, {rows_input, program.chunk}},
                    .kv_dtype = options.kv_type,
                    .without_passes = options.without_passes,
                    .profile = options.profile,
                    .check_finite = options.check_finite,
                    .canceled = options.canceled};
  return program;
}

}  // namespace weft
