// A model as a file holds it, under canonical names, whatever the format: config, weights, vocabulary and the graph
// that runs it. Weights stay where the file is mapped. Immutable after open(); safe to share between threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/export.h"
#include "weft/base/tensor.h"
#include "weft/ir/graph.h"
#include "weft/models/chat_settings.h"
#include "weft/models/model_config.h"
#include "weft/models/sampling_options.h"
#include "weft/runtime/graph_executor.h"
#include "weft/text/vocabulary.h"

namespace weft {

enum class ModelFormat { gguf, model };
// Told by the first bytes. UnknownFormat, and what MappedFile refuses.
WEFT_API ModelFormat model_format(const std::filesystem::path& path);

struct CheckpointTensor {
  std::string name;
  TensorType type;
};

struct CheckpointOptions {
  bool legacy = false;  // read a `.model` of format version 1, whose encodings mean other things
};

class WEFT_API Checkpoint : public WeightSource {
 public:
  // A GGUF file (any part of a split set) or a `.model`, told apart by their first bytes. UnknownFormat otherwise.
  static std::shared_ptr<const Checkpoint> open(const std::filesystem::path& path,
                                                const CheckpointOptions& options = {});
  // The vocabulary alone, also of a file that holds nothing else, such as a tokenizer.json. MissingTokenizer when there
  // is none.
  static Vocabulary open_vocabulary(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const std::string& name() const { return name_; }
  const std::string& format() const { return format_; }  // "gguf" or "model"
  const ModelConfig& config() const { return config_; }
  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
  std::optional<TensorType> tensor_type(const std::string& name) const;
  const ChatSettings& chat() const { return chat_; }
  const SamplingOptions& sampling() const { return sampling_; }  // the file's, else the defaults

  // A view of the mapped file; GGUF's permuted Q and K rows are the one copy. Undefined when there is none.
  Tensor find(const std::string& name) const override = 0;
  virtual Vocabulary vocabulary() const = 0;
  // Waits for checks that run beside the load (the hash of the weights). HashMismatch.
  virtual void finish_verification() const {}
  // The graph that the file stores, or the one that weft builds for its architecture.
  virtual Graph graph() const = 0;

 protected:
  explicit Checkpoint(std::filesystem::path path) : path_(std::move(path)) {}
  void add_tensor(std::string name, TensorType type);

  std::filesystem::path path_;
  std::string name_, format_;
  ChatSettings chat_;
  ModelConfig config_;
  SamplingOptions sampling_;

 private:
  std::vector<CheckpointTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

}  // namespace weft
