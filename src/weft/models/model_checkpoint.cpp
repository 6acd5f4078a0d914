#include "weft/models/model_checkpoint.h"

#include <utility>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/to_mir.h"
#include "weft/ir/binary.h"
#include "weft/models/decoder_graph.h"
#include "weft/models/stored_graph.h"
#include "weft/passes/ternary_scales.h"

namespace weft {
namespace {

SamplingOptions sampling_from(const ConfigTable& config) {
  SamplingOptions sampling;
  // Files may keep fractions as integers over a common scale.
  const double scale = config.find_number("sampling.scale").value_or(1);
  const auto fraction = [&](const char* key, double otherwise) {
    const ConfigValue* value = config.find(key);
    if (value == nullptr) return otherwise;
    return config.get_number(key) / (std::holds_alternative<std::int64_t>(*value) ? scale : 1);
  };
  sampling.temperature = fraction("sampling.temperature", sampling.temperature);
  sampling.top_p = fraction("sampling.top_p", sampling.top_p);
  sampling.min_p = fraction("sampling.min_p", sampling.min_p);
  sampling.top_k = config.find_int("sampling.top_k").value_or(sampling.top_k);
  sampling.seed = static_cast<std::uint64_t>(config.find_int("sampling.seed").value_or(0));
  if (config.find_string("sampling.method").value_or("") == "greedy") sampling.temperature = 0;
  return sampling;
}

// The builder of these architectures has no other layers.
void expect_full_attention(const ConfigTable& config, const std::string& where) {
  for (const char* key : {"architecture.layer_types", "layer_types"})
    for (const std::string& type : config.find_strings(key).value_or(std::vector<std::string>()))
      if (!type.starts_with("full"))
        fail(ErrorKind::unsupported, "UnsupportedLayerType", where,
             "layer_types: weft builds full attention alone, found \"{}\", and the file stores no graph", type);
}

ChatSettings chat_settings_from(const ConfigTable& chat) {
  return {.template_text = chat.find_string("template").value_or(""),
          .format = chat.find_string("format").value_or(""),
          .system_default = chat.find_string("system_default").value_or(""),
          .bos = chat.find_string("bos").value_or(""),
          .eos_sequences = chat.find_strings("eos_sequences").value_or(std::vector<std::string>())};
}

}  // namespace

ModelCheckpoint::ModelCheckpoint(ModelFile file) : Checkpoint(file.path()), file_(std::move(file)) {
  format_ = "model";
  name_ = file_.name();
  if (describes_decoder(file_.config()) || !(file_.graph() || file_.mir()))
    config_ = config_from_table(file_.config(), path_.string() + ", section config");
  else
    config_.model_type = file_.config().find_string("model_type").value_or("main");
  sampling_ = sampling_from(file_.config());
  if (const auto chat = file_.chat()) chat_ = chat_settings_from(*chat);
  for (const ModelTensor& tensor : file_.tensors()) {
    const DType dtype = tensor.flat ? DType::f32 : tensor.dtype;
    add_tensor(tensor.name, {Shape(tensor.dims), dtype});
  }
}

Tensor ModelCheckpoint::find(const std::string& name) const {
  const ModelTensor* tensor = file_.find_tensor(name);
  return tensor == nullptr ? Tensor() : file_.tensor(*tensor);
}

Graph ModelCheckpoint::graph() const {
  const auto type_of = [this](const std::string& name) { return tensor_type(name); };
  try {
    if (const auto stored = stored_graph_ir(file_))
      return with_ternary_scales(graph_ir::to_mir(*stored, {.name = config_.model_type}), type_of);
    if (const auto mir = file_.mir())
      return with_ternary_scales(graph_from_binary(*mir, path_.string() + ", section mir"), type_of);
  } catch (const Error& error) {
    throw Error(error.kind(), "GraphSection", path_.string(), std::string("the stored graph: ") + error.what(),
                error.details());
  }
  expect_known_architecture(config_.model_type, path_.string());
  expect_full_attention(file_.config(), path_.string());
  return with_ternary_scales(decoder_graph(config_, type_of), type_of);
}

}  // namespace weft
