#include "weft/models/import_model.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/from_mir.h"
#include "weft/formats/model_writer.h"
#include "weft/ir/binary.h"
#include "weft/ir/verify.h"
#include "weft/models/quantized_checkpoint.h"
#include "weft/models/vocabulary_check.h"

namespace weft {
namespace {

void expect_complete(const Checkpoint& source, const Graph& graph) {
  verify(graph);
  for (const std::int32_t index : graph.params()) {
    const Node& node = graph.node(index);
    const auto type = source.tensor_type(node.text("name"));
    if (!type)
      fail(ErrorKind::missing_tensor, "IncompleteModel", source.path().string(),
           "the graph needs {}, the file lacks it", node.text("name"));
    if (*type != node.outputs[0].type)
      fail(ErrorKind::shape_mismatch, "IncompleteModel", source.path().string(), "{} is {}, the graph needs {}",
           node.text("name"), type->text(), node.outputs[0].type.text());
  }
}

std::string card(const Checkpoint& source) {
  const ModelConfig& c = source.config();
  return fmt::format(
      "# {}\n\nA {} model of {} layers, {} wide, with {} query and {} key/value heads of {} dims and {} tokens,\n"
      "imported by weft from {}.\n",
      source.name(), c.model_type, c.num_hidden_layers, c.hidden_size, c.num_attention_heads, c.num_key_value_heads,
      c.head_dim, c.vocab_size, source.path().filename().string());
}

ConfigTable chat_table(const ChatSettings& chat) {
  ConfigTable table;
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) table.set(key, value);
  };
  set("format", chat.format);
  set("template", chat.template_text);
  set("system_default", chat.system_default);
  set("bos", chat.bos);
  if (!chat.eos_sequences.empty()) table.set("eos_sequences", chat.eos_sequences);
  return table;
}

// The weights as `source` gives them, whatever they were in a file.
ImportReport import_as_is(const Checkpoint& source, const std::filesystem::path& output, const ImportOptions& options) {
  const Graph graph = source.graph();
  expect_complete(source, graph);
  const Vocabulary vocabulary = source.vocabulary();
  if (vocabulary.type != TokenizerType::none)
    expect_usable(vocabulary, source.config().vocab_size, source.path().string());

  ModelWriter writer(source.name(), {.alignment = options.alignment});
  writer.set_lineage("source", source.path().filename().string());
  writer.set_lineage("format", source.format());
  if (source.config().hidden_size > 0) {
    writer.set_section("card", "md", card(source));
    write_config(source.config(), writer.config());
    writer.config().set("context_length", source.config().max_position_embeddings);
  }
  ImportReport report;
  report.graph_form = "graph";
  try {
    graph_ir::FromMir converted = graph_ir::from_mir(graph);
    // A graph that was stored before keeps its ids; new nodes among them would have others.
    for (std::size_t i = 0; i < converted.graph.nodes.size(); ++i)
      converted.graph.nodes[i].id = static_cast<std::uint32_t>(i);
    if (!converted.constants.empty())
      fail(ErrorKind::not_representable, "NotRepresentable", graph.name(), "the graph holds constants");
    writer.set_graph(graph_ir::encode(converted.graph));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_representable) throw;
    report.graph_form = "mir";
    report.reason = error.what();
    writer.set_mir(to_binary(graph));
  }
  if (vocabulary.type != TokenizerType::none) writer.set_vocabulary(vocabulary);
  if (!source.chat().empty()) writer.set_chat(chat_table(source.chat()));

  std::uint64_t total = 0, done = 0;
  for (const CheckpointTensor& tensor : source.tensors())
    total += byte_size(tensor.type.dtype, *tensor.type.shape.static_dims());
  for (const CheckpointTensor& tensor : source.tensors())
    writer.add_tensor(tensor.name, tensor.type.dtype, *tensor.type.shape.static_dims(), [&, name = tensor.name] {
      Tensor values = source.find(name);
      done += values.byte_size();
      if (options.progress) options.progress(done, total);
      return values;
    });
  writer.write(output);
  report.tensors = source.tensors().size();
  report.weight_bytes = total;
  return report;
}

}  // namespace

ImportReport import_model(const Checkpoint& source, const std::filesystem::path& output, const ImportOptions& options) {
  if (!options.quantize) return import_as_is(source, output, options);
  ThreadPool pool(options.threads);
  const QuantizedCheckpoint quantized(source, *options.quantize, pool);
  ImportReport report = import_as_is(quantized, output, options);
  report.quantized = quantized.chosen();
  return report;
}

}  // namespace weft
