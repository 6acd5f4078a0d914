// Reading weft's `.model` container: one file with text sections (configuration, vocabulary, graph, ...) and a blob of
// weights. The file stays mapped and weights are views into it. What a graph or a configuration means is not this
// header's matter. Copies share one state; immutable, safe to use from many threads.
//
// Everything but the vocabulary is checked by open(). Errors: those of MappedFile, and TooSmall, NotAModel,
// HeaderTooLarge, NoWeightsMarker, NotUtf8, CrlfDelimiter, UnknownSection, DuplicateSection, MissingSection, Toml,
// MissingField, InvalidField, UnsupportedVersion, WeightsSizeMismatch, HashMismatch, BadGraphSection, HexBadDigit,
// HexOddLength, LimitExceeded, and those of the tensor index (model_tensors.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/export.h"
#include "weft/base/tensor.h"
#include "weft/base/warning.h"
#include "weft/formats/config_table.h"
#include "weft/formats/model_limits.h"
#include "weft/formats/model_tensor.h"
#include "weft/text/vocabulary.h"

namespace weft {

// Which of the SHA-256 sums that a file declares are compared. Text sections are compared by open(); the weights on a
// thread beside the load, whose result finish_verification() gives.
enum class VerifyHashes { all, text_only, none };

struct ModelLoadOptions {
  bool legacy = false;          // read files of version 1, whose encodings mean other things
  bool canonical_only = false;  // refuse encodings that other readers of version 2 need not know
  bool copy = false;            // read the file into memory instead of mapping it, for files that may be changed
  VerifyHashes verify = VerifyHashes::all;
  ModelLimits limits = {};
  // Where given: what is wrong with single tensors or sections is put here, and the rest of the file is read without
  // them. What leaves no file to speak of is thrown all the same.
  std::vector<Error>* problems = nullptr;
};

struct ModelGraphSection {
  enum class Format { binary, toml };
  Format format = Format::binary;
  std::vector<std::byte> bytes;  // binary: the decoded blob
  std::string_view text;         // toml: the section
  std::string where;             // for messages about its contents
  std::size_t line = 1;          // toml: of its first line in the file
};

struct ModelSectionInfo {
  std::string name, format;
  std::uint64_t offset = 0, bytes = 0;
  std::size_t line = 0;               // of a text section's first line in the file
  std::optional<std::string> sha256;  // as declared
};

struct ModelState;

class WEFT_API ModelFile {
 public:
  static ModelFile open(const std::filesystem::path& path, const ModelLoadOptions& options = {});

  const std::filesystem::path& path() const;
  std::int64_t format_version() const;
  const std::string& name() const;
  const ConfigTable& frontmatter() const;                 // "cyb.name", "cyb.lineage.source", ... all but [[files]]
  const ConfigTable& config() const;                      // section config
  const std::vector<ModelSectionInfo>& sections() const;  // in file order, the weights last
  const std::vector<Warning>& warnings() const;           // what was odd but harmless

  // The text of a section, as long as the file or a copy of it lives; nothing when the file lacks it.
  std::optional<std::string_view> section(std::string_view name) const;
  std::optional<ModelGraphSection> graph() const;
  std::optional<std::vector<std::byte>> mir() const;  // weft's own section, always hexadecimal
  std::optional<ConfigTable> chat() const;            // Toml

  // Type none when the file has no vocabulary. Errors of read_model_vocabulary(); its warnings go to `warnings`.
  Vocabulary vocabulary(std::vector<Warning>* warnings = nullptr) const;

  const std::vector<ModelTensor>& tensors() const;  // in the order of the index
  const ModelTensor* find_tensor(std::string_view name) const;
  // A view of the mapping, copied only where its address does not suit its type, or where older formats need it.
  Tensor tensor(const ModelTensor& info) const;
  Tensor tensor(std::string_view name) const;  // MissingTensor

  // Waits until the weights are compared with their declared sum. HashMismatch. Returns whether there was a sum to
  // compare and the options asked for it.
  bool finish_verification() const;
  // SHA-256 of the whole file, which is a model's identity, and of a section's bytes. Read all of them.
  std::string identity() const;
  std::string hash_of(const ModelSectionInfo& section) const;
  // The range of the weights in the file.
  std::span<const std::byte> weights() const;

 private:
  explicit ModelFile(std::shared_ptr<const ModelState> state) : state_(std::move(state)) {}
  std::shared_ptr<const ModelState> state_;
};

}  // namespace weft
