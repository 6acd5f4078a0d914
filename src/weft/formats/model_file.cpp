#include "weft/formats/model_file.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "weft/base/block_codec.h"
#include "weft/base/fail.h"
#include "weft/base/sha256.h"
#include "weft/formats/config_toml.h"
#include "weft/formats/file_bytes.h"
#include "weft/formats/hash_check.h"
#include "weft/formats/hex.h"
#include "weft/formats/model_frontmatter.h"
#include "weft/formats/model_layout.h"
#include "weft/formats/model_tensors.h"
#include "weft/formats/model_vocabulary.h"
#include "weft/formats/toml_document.h"

namespace weft {

struct ModelState {
  std::filesystem::path path;
  std::string source;
  FileBytes file;
  ModelFrontmatter frontmatter;
  std::vector<ModelSection> sections;
  std::vector<ModelSectionInfo> infos;
  std::span<const std::byte> weights;
  std::uint64_t weights_offset = 0;
  ConfigTable config;
  std::optional<ModelGraphSection> graph;
  std::optional<std::vector<std::byte>> mir;
  std::optional<ConfigTable> chat;
  std::vector<ModelTensor> tensors;
  std::unordered_map<std::string_view, std::size_t> tensor_index;
  std::vector<Warning> warnings;
  std::unique_ptr<HashCheck> weights_check;
  VocabularyLimits vocabulary_limits;

  const ModelSection* find(std::string_view name) const {
    for (const ModelSection& section : sections)
      if (section.name == name) return &section;
    return nullptr;
  }
  std::string where(const ModelSection& section) const {
    return fmt::format("{}@{:#x} (section {})", source, section.offset, section.name);
  }
  TomlSource toml_source(const ModelSection& section) const { return {source, section.name, section.line}; }
};

namespace {

class Loader {
 public:
  explicit Loader(ModelLoadOptions options) : options_(std::move(options)) {}

  void load(ModelState& s) {
    s.vocabulary_limits = options_.limits.vocabulary;
    s.file = options_.copy ? read_file(s.path) : map_file(s.path);
    const ModelText text = find_model_text(s.file.bytes, s.source, options_.limits);
    s.frontmatter = read_frontmatter(text.frontmatter, s.source, options_.legacy, options_.limits, s.warnings);
    std::vector<std::string> declared;
    for (const ModelEntry& entry : s.frontmatter.entries) declared.push_back(entry.name);
    s.sections = split_model_text(text, declared, s.source, options_.limits);
    s.weights_offset = text.weights_offset;
    s.weights = s.file.bytes.subspan(text.weights_offset);
    check_weights_size(s);
    check_declared(s);
    describe(s);
    check_text_hashes(s);
    // A graph says all there is to say of what is no language model.
    if (s.find("config") != nullptr || s.frontmatter.find("config") != nullptr || !stores_graph(s))
      s.config = table_of(s, required(s, "config"));
    read_tensors(s, required(s, "tensors"));
    attempt(options_.problems, [&] { read_graph(s); });
    attempt(options_.problems, [&] {
      if (const ModelSection* mir = s.find("mir")) s.mir = bytes_of(s, *mir);
    });
    attempt(options_.problems, [&] {
      if (const ModelSection* chat = s.find("chat")) s.chat = table_of(s, *chat);
    });
    const ModelEntry* weights = s.frontmatter.find("weights");
    if (options_.verify == VerifyHashes::all && weights->sha256)
      s.weights_check =
          std::make_unique<HashCheck>(s.file.owner, s.weights, *weights->sha256, s.source, "section weights");
  }

 private:
  void check_weights_size(const ModelState& s) const {
    const ModelEntry* entry = s.frontmatter.find("weights");
    if (entry == nullptr)
      fail(ErrorKind::bad_file, "MissingSection", s.source, "section \"weights\" is not declared in [[files]]");
    if (!entry->size)
      fail(ErrorKind::bad_file, "MissingField", s.source, "the entry of section \"weights\" in [[files]] has no size");
    attempt(options_.problems, [&] {
      if (*entry->size != s.weights.size())
        fail(ErrorKind::bad_file, "WeightsSizeMismatch", s.source,
             "the weights are declared as {} bytes, but {} follow the text; {}", *entry->size, s.weights.size(),
             *entry->size > s.weights.size() ? "the file is incomplete" : "the file has grown");
    });
  }

  static const ModelSection& required(const ModelState& s, std::string_view name) {
    const ModelSection* section = s.find(name);
    if (section == nullptr) fail(ErrorKind::bad_file, "MissingSection", s.source, "section \"{}\" is missing", name);
    return *section;
  }

  static bool stores_graph(const ModelState& s) { return s.find("graph") != nullptr || s.find("mir") != nullptr; }

  static void check_declared(ModelState& s) {
    std::vector<std::string_view> order;
    for (const ModelEntry& entry : s.frontmatter.entries) {
      if (s.find(entry.name) != nullptr)
        order.push_back(entry.name);
      else if (entry.name != "weights" && entry.name != "config" && entry.name != "tensors")
        s.warnings.push_back(
            {"MissingSection", s.source, fmt::format("section \"{}\" is declared but missing", entry.name)});
    }
    std::vector<std::string_view> found;
    for (const ModelSection& section : s.sections)
      if (s.frontmatter.find(section.name) != nullptr)
        found.push_back(section.name);
      else
        s.warnings.push_back(
            {"UndeclaredSection", s.source, fmt::format("section \"{}\" is not declared in [[files]]", section.name)});
    if (order != found)
      s.warnings.push_back({"SectionOrder", s.source, "the sections stand in another order than in [[files]]"});
  }

  static void describe(ModelState& s) {
    for (const ModelSection& section : s.sections) {
      const ModelEntry* entry = s.frontmatter.find(section.name);
      s.infos.push_back({section.name, entry != nullptr ? entry->format : "", section.offset, section.text.size(),
                         section.line, entry != nullptr ? entry->sha256 : std::nullopt});
    }
    const ModelEntry* weights = s.frontmatter.find("weights");
    s.infos.push_back({"weights", weights->format, s.weights_offset, s.weights.size(), 0, weights->sha256});
  }

  void check_text_hashes(const ModelState& s) const {
    if (options_.verify == VerifyHashes::none) return;
    for (const ModelSection& section : s.sections) {
      const ModelEntry* entry = s.frontmatter.find(section.name);
      if (entry != nullptr && entry->sha256)
        attempt(options_.problems, [&] {
          check_hash(std::as_bytes(std::span(section.text)), *entry->sha256, s.where(section),
                     fmt::format("section {}", section.name));
        });
    }
  }

  ConfigTable table_of(ModelState& s, const ModelSection& section) const {
    return config_from_toml(parse_toml(section.text, s.toml_source(section), options_.limits.toml),
                            fmt::format("{}, section {}", s.source, section.name), s.warnings);
  }

  void read_tensors(ModelState& s, const ModelSection& section) const {
    s.tensors = read_tensor_index(section.text, s.toml_source(section),
                                  {s.frontmatter.version, options_.canonical_only, s.weights.size(), options_.problems},
                                  options_.limits, s.warnings);
    for (std::size_t i = 0; i < s.tensors.size(); ++i) s.tensor_index.emplace(s.tensors[i].name, i);
  }

  std::vector<std::byte> bytes_of(const ModelState& s, const ModelSection& section) const {
    if (section.text.size() > options_.limits.graph_text_bytes)
      fail(ErrorKind::bad_file, "LimitExceeded", s.where(section), "{} bytes of text, more than the limit of {}",
           section.text.size(), options_.limits.graph_text_bytes);
    return hex_decode(section.text, s.where(section));
  }

  void read_graph(ModelState& s) const {
    const ModelSection* section = s.find("graph");
    if (section == nullptr) return;
    const ModelEntry* entry = s.frontmatter.find("graph");
    std::string format = entry != nullptr ? entry->format : "";
    if (format.empty() || format == "bin")
      format = is_hex(section->text) ? "hex" : section->text.find("[graph]") != std::string_view::npos ? "toml" : "";
    ModelGraphSection graph;
    graph.where = s.where(*section);
    graph.line = section->line;
    if (format == "hex") {
      graph.bytes = bytes_of(s, *section);
    } else if (format == "toml") {
      graph.format = ModelGraphSection::Format::toml;
      graph.text = section->text;
    } else {
      fail(ErrorKind::bad_file, "BadGraphSection", graph.where,
           "the graph is neither declared as, nor looks like, hexadecimal or TOML{}",
           entry != nullptr && !entry->format.empty() ? fmt::format("; its format is \"{}\"", entry->format) : "");
    }
    s.graph = std::move(graph);
  }

  ModelLoadOptions options_;
};

// Older files wrote -1, 0, +1 as the codes 0, 1, 2; today 0, +1, -1 have them.
Tensor recoded_ternary(const Tensor& stored) {
  constexpr unsigned today[4] = {2, 0, 1, 0};
  Tensor tensor = Tensor::allocate(DType::ternary, stored.dims());
  const auto out = tensor.mutable_bytes();
  for (std::size_t i = 0; i < out.size(); ++i) {
    unsigned byte = 0;
    for (unsigned k = 0; k < 8; k += 2) byte |= today[(std::to_integer<unsigned>(stored.bytes()[i]) >> k) & 3] << k;
    out[i] = static_cast<std::byte>(byte);
  }
  return tensor;
}

}  // namespace

ModelFile ModelFile::open(const std::filesystem::path& path, const ModelLoadOptions& options) {
  auto state = std::make_shared<ModelState>();
  state->path = path;
  state->source = path.string();
  Loader(options).load(*state);
  return ModelFile(std::move(state));
}

const std::filesystem::path& ModelFile::path() const { return state_->path; }
std::int64_t ModelFile::format_version() const { return state_->frontmatter.version; }
const std::string& ModelFile::name() const { return state_->frontmatter.name; }
const ConfigTable& ModelFile::frontmatter() const { return state_->frontmatter.fields; }
const ConfigTable& ModelFile::config() const { return state_->config; }
const std::vector<ModelSectionInfo>& ModelFile::sections() const { return state_->infos; }
const std::vector<Warning>& ModelFile::warnings() const { return state_->warnings; }
std::optional<ModelGraphSection> ModelFile::graph() const { return state_->graph; }
std::optional<std::vector<std::byte>> ModelFile::mir() const { return state_->mir; }
std::optional<ConfigTable> ModelFile::chat() const { return state_->chat; }
const std::vector<ModelTensor>& ModelFile::tensors() const { return state_->tensors; }

std::optional<std::string_view> ModelFile::section(std::string_view name) const {
  const ModelSection* section = state_->find(name);
  return section == nullptr ? std::nullopt : std::optional(section->text);
}

Vocabulary ModelFile::vocabulary(std::vector<Warning>* warnings) const {
  std::vector<Warning> unread;
  const ModelSection* section = state_->find("vocab");
  const std::string_view text = section != nullptr ? section->text : std::string_view();
  if (section == nullptr && state_->config.find_string("tokenizer.type").value_or("none") == "none") return {};
  if (section == nullptr)
    fail(ErrorKind::bad_file, "MissingSection", state_->source,
         "the configuration names a tokenizer, but section \"vocab\" is missing");
  return read_model_vocabulary(text, state_->toml_source(*section), state_->config,
                               warnings != nullptr ? *warnings : unread, state_->vocabulary_limits);
}

const ModelTensor* ModelFile::find_tensor(std::string_view name) const {
  const auto found = state_->tensor_index.find(name);
  return found == state_->tensor_index.end() ? nullptr : &state_->tensors[found->second];
}

Tensor ModelFile::tensor(const ModelTensor& info) const {
  const std::uint64_t offset = state_->weights_offset + info.offset;
  if (info.flat) {
    Tensor decoded = Tensor::allocate(DType::f32, info.dims);
    decode_to_f32(info.dtype, state_->file.bytes.subspan(offset, info.bytes), decoded.mutable_values<float>());
    return decoded;
  }
  const Tensor stored = view_or_copy(state_->file, offset, info.dtype, info.dims);
  return info.legacy_ternary ? recoded_ternary(stored) : stored;
}

Tensor ModelFile::tensor(std::string_view name) const {
  const ModelTensor* info = find_tensor(name);
  if (info == nullptr)
    fail(ErrorKind::missing_tensor, "MissingTensor", state_->source, "the file has no tensor \"{}\"", name);
  return tensor(*info);
}

bool ModelFile::finish_verification() const {
  if (!state_->weights_check) return false;
  state_->weights_check->finish();
  return true;
}

std::string ModelFile::identity() const { return sha256_hex(state_->file.bytes); }

std::string ModelFile::hash_of(const ModelSectionInfo& section) const {
  return sha256_hex(state_->file.bytes.subspan(section.offset, section.bytes));
}

std::span<const std::byte> ModelFile::weights() const { return state_->weights; }

}  // namespace weft
