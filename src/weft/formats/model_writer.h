// Writing `.model` files, format version 2. Everything but the weights is gathered first; write() then streams the
// tensors, one in memory at a time, and the file appears when all of it is on disk, or not at all. The same input
// gives the same bytes. One writer belongs to one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"
#include "weft/base/tensor.h"
#include "weft/formats/config_table.h"
#include "weft/formats/model_tensors.h"
#include "weft/text/vocabulary.h"

namespace weft {

struct ModelWriterOptions {
  std::uint64_t alignment = 64;  // of every tensor within the file; a power of two up to 4096
  bool hashes = true;            // write the SHA-256 of each section and of the weights
};

class WEFT_API ModelWriter {
 public:
  explicit ModelWriter(std::string name, const ModelWriterOptions& options = {});

  // Kept under [cyb.lineage]: where the model comes from.
  void set_lineage(std::string_view key, std::string value);
  ConfigTable& config() { return config_; }

  // A text section: card, program, eval or one of the caller's own. NotUtf8, InvalidField for names that weft writes
  // itself.
  void set_section(std::string_view name, std::string format, std::string text);
  void set_graph(std::span<const std::byte> blob);  // the Graph IR's binary form, written as hexadecimal text
  void set_graph_toml(std::string text);
  void set_mir(std::span<const std::byte> blob);
  // The tokens and, in the configuration, the settings of the tokenizer.
  void set_vocabulary(const Vocabulary& vocabulary);
  void set_chat(const ConfigTable& chat);  // "template" is written over several lines

  // Called while the file is written; must give a tensor of the dtype and dims that were announced.
  using Producer = std::function<Tensor()>;
  // Tensors stand in the file in the order of these calls. DuplicateTensor, BadTensorShape, BlockMisaligned,
  // NotRepresentable for a dtype that the format has no encoding for.
  void add_tensor(std::string name, DType dtype, std::vector<std::int64_t> dims, Producer producer);
  void add_tensor(std::string name, Tensor tensor);
  // Another name for the bytes of a tensor added before.
  void add_alias(std::string name, std::string_view of);

  // Errors: DelimiterInText, HeaderTooLarge, Io, and what the producers throw. Then no file is left.
  void write(const std::filesystem::path& path) const;

 private:
  struct Section {
    std::string name, format, text;
  };
  void put(std::string_view name, std::string format, std::string text);
  ModelTensor& append(std::string name, DType dtype, std::vector<std::int64_t> dims);
  std::vector<Section> ordered_sections() const;
  std::string frontmatter(const std::vector<Section>& sections, std::uint64_t weights_bytes) const;

  std::string name_;
  ModelWriterOptions options_;
  ConfigTable lineage_, config_;
  std::vector<Section> sections_;
  std::vector<ModelTensor> tensors_;
  std::vector<Producer> producers_;  // one for each tensor; empty for an alias
  std::uint64_t weights_bytes_ = 0;
};

}  // namespace weft
