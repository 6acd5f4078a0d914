#include "weft/models/checkpoint.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/log.h"
#include "weft/base/mapped_file.h"
#include "weft/formats/gguf_vocabulary.h"
#include "weft/formats/tokenizer_json.h"
#include "weft/models/gguf_checkpoint.h"
#include "weft/models/model_checkpoint.h"

namespace weft {

ModelFormat model_format(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 4096));
  if (start.starts_with("GGUF")) return ModelFormat::gguf;
  if (start.find("[cyb]") != std::string_view::npos) return ModelFormat::model;
  fail(ErrorKind::bad_file, "UnknownFormat", path.string(),
       "neither a GGUF file (it begins with \"GGUF\") nor a .model (it begins with a [cyb] table)");
}

std::shared_ptr<const Checkpoint> Checkpoint::open(const std::filesystem::path& path,
                                                   const CheckpointOptions& options) {
  if (model_format(path) == ModelFormat::gguf) return std::make_shared<GgufCheckpoint>(GgufFile::open(path));
  ModelFile file = ModelFile::open(path, {.legacy = options.legacy});
  for (const Warning& warning : file.warnings()) log().warn("{}: {}", warning.where, warning.message);
  return std::make_shared<ModelCheckpoint>(std::move(file));
}

Vocabulary Checkpoint::open_vocabulary(const std::filesystem::path& path) {
  if (path.extension() == ".json") return open_tokenizer_json(path);
  Vocabulary vocabulary = model_format(path) == ModelFormat::gguf ? read_gguf_vocabulary(GgufFile::open(path))
                                                                  : ModelFile::open(path).vocabulary();
  if (vocabulary.type == TokenizerType::none)
    fail(ErrorKind::unsupported, "MissingTokenizer", path.string(), "the file has no vocabulary");
  return vocabulary;
}

std::optional<TensorType> Checkpoint::tensor_type(const std::string& name) const {
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) return std::nullopt;
  return tensors_[it->second].type;
}

void Checkpoint::add_tensor(std::string name, TensorType type) {
  by_name_.emplace(name, tensors_.size());
  tensors_.push_back({std::move(name), std::move(type)});
}

}  // namespace weft
