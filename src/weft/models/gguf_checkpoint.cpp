#include "weft/models/gguf_checkpoint.h"

#include <utility>

#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"
#include "weft/formats/gguf_vocabulary.h"
#include "weft/models/decoder_graph.h"

namespace weft {

GgufCheckpoint::GgufCheckpoint(GgufFile file) : Checkpoint(file.files().front()->path()), file_(std::move(file)) {
  format_ = "gguf";
  config_ = config_from_gguf(file_);
  name_ = file_.find_string("general.name").value_or(path_.stem().string());
  chat_.template_text = file_.find_string("tokenizer.chat_template").value_or("");
  for (const GgufTensor& tensor : file_.tensors()) {
    auto canonical = canonical_name(tensor.name, config_.model_type);
    if (!canonical)
      fail(ErrorKind::unsupported, "UnmappedTensor", path_.string(),
           "tensor \"{}\" has no place in a {} model as weft knows it; running without it could give wrong results",
           tensor.name, config_.model_type);
    add_tensor(canonical->name, {Shape(tensor.dims), tensor.dtype});
    sources_.emplace(std::move(canonical->name), Source{&tensor, canonical->transform});
  }
}

Tensor GgufCheckpoint::find(const std::string& name) const {
  const auto it = sources_.find(name);
  if (it == sources_.end()) return {};
  Tensor tensor = file_.tensor(*it->second.tensor);
  if (it->second.transform == TensorTransform::none) return tensor;
  const bool is_query = name.find(".q_proj.") != std::string::npos;
  return unpermute_rope(tensor, is_query ? config_.num_attention_heads : config_.num_key_value_heads, config_.rope_dim);
}

Vocabulary GgufCheckpoint::vocabulary() const { return read_gguf_vocabulary(file_); }

Graph GgufCheckpoint::graph() const {
  return decoder_graph(config_, [this](const std::string& name) { return tensor_type(name); });
}

}  // namespace weft
