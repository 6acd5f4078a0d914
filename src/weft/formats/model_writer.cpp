#include "weft/formats/model_writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "weft/base/atomic_file.h"
#include "weft/base/fail.h"
#include "weft/base/sha256.h"
#include "weft/base/utf8.h"
#include "weft/formats/config_toml.h"
#include "weft/formats/hex.h"
#include "weft/formats/model_encoding.h"
#include "weft/formats/model_layout.h"
#include "weft/formats/model_limits.h"
#include "weft/formats/model_tensors.h"
#include "weft/formats/model_vocabulary.h"
#include "weft/formats/toml_text.h"

namespace weft {
namespace {

constexpr std::string_view weights_marker = "~~~weights\n";
// Stands in the frontmatter until the weights have been streamed and their sum is known.
const std::string unknown_hash(64, '0');

std::uint64_t aligned(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

std::string entry_text(std::string_view name, std::string_view format, std::string_view more) {
  return fmt::format("\n[[files]]\nname = {}\nformat = {}\n{}", toml_quoted(name), toml_quoted(format), more);
}

// Streams the weights and their sum.
class WeightsStream {
 public:
  WeightsStream(AtomicFile& file, bool hashed) : file_(file), hashed_(hashed) {}

  void write(std::span<const std::byte> bytes) {
    if (hashed_) hash_.update(bytes);
    file_.write(bytes);
    offset_ += bytes.size();
  }
  void pad_to(std::uint64_t offset) {
    static constexpr std::array<std::byte, 4096> zeros{};
    while (offset_ < offset) write(std::span(zeros).first(std::min<std::uint64_t>(zeros.size(), offset - offset_)));
  }
  std::string hex_digest() { return hash_.hex_digest(); }

 private:
  AtomicFile& file_;
  bool hashed_;
  Sha256 hash_;
  std::uint64_t offset_ = 0;
};

}  // namespace

ModelWriter::ModelWriter(std::string name, const ModelWriterOptions& options)
    : name_(std::move(name)), options_(options) {
  if (name_.empty() || name_.size() > 128 || find_invalid_utf8(name_))
    fail(ErrorKind::invalid_argument, "InvalidField", "model name", "a model's name is 1 to 128 bytes of UTF-8");
  if (!std::has_single_bit(options_.alignment) || options_.alignment > 4096)
    fail(ErrorKind::invalid_argument, "InvalidField", "alignment", "{} is no power of two up to 4096",
         options_.alignment);
}

void ModelWriter::set_lineage(std::string_view key, std::string value) {
  lineage_.set("cyb.lineage." + toml_key(key), std::move(value));
}

void ModelWriter::set_section(std::string_view name, std::string format, std::string text) {
  constexpr std::array<std::string_view, 7> own{"config", "graph", "tensors", "vocab", "chat", "mir", "weights"};
  if (!is_section_name(name) || std::find(own.begin(), own.end(), name) != own.end())
    fail(ErrorKind::invalid_argument, "InvalidField", fmt::format("section \"{}\"", name),
         "this is no name for a section, or one that is written by a function of its own");
  put(name, std::move(format), std::move(text));
}

void ModelWriter::put(std::string_view name, std::string format, std::string text) {
  if (const auto invalid = find_invalid_utf8(text))
    fail(ErrorKind::invalid_argument, "NotUtf8", fmt::format("section \"{}\"@{:#x}", name, *invalid),
         "the text is not valid UTF-8 here");
  if (!text.empty() && text.back() != '\n') text += '\n';
  const auto found =
      std::find_if(sections_.begin(), sections_.end(), [&](const Section& section) { return section.name == name; });
  if (found == sections_.end())
    sections_.push_back({std::string(name), std::move(format), std::move(text)});
  else
    *found = {std::string(name), std::move(format), std::move(text)};
}

void ModelWriter::set_graph(std::span<const std::byte> blob) { put("graph", "hex", hex_encode(blob) + "\n"); }
void ModelWriter::set_graph_toml(std::string text) { put("graph", "toml", std::move(text)); }
void ModelWriter::set_mir(std::span<const std::byte> blob) { put("mir", "hex", hex_encode(blob) + "\n"); }
void ModelWriter::set_vocabulary(const Vocabulary& vocabulary) {
  put("vocab", "toml", write_model_vocabulary(vocabulary, config_));
}

void ModelWriter::set_chat(const ConfigTable& chat) {
  ConfigTable rest = chat;
  const auto source = chat.find_string("template");
  rest.erase("template");
  put("chat", "toml",
      (source ? fmt::format("template = {}\n", toml_multiline(*source)) : std::string()) + config_to_toml(rest));
}

ModelTensor& ModelWriter::append(std::string name, DType dtype, std::vector<std::int64_t> dims) {
  const std::string where = fmt::format("tensor \"{}\"", name);
  const ModelLimits limits;
  if (name.empty() || name.size() > limits.tensor_name_bytes || find_invalid_utf8(name))
    fail(ErrorKind::invalid_argument, "InvalidField", where, "a tensor's name is 1 to {} bytes of UTF-8",
         limits.tensor_name_bytes);
  if (dims.size() > 8 || std::any_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim < 1; }))
    fail(ErrorKind::invalid_argument, "BadTensorShape", where, "{}: at most 8 dimensions, each of 1 and more",
         dims_text(dims));
  // Readers accept rows of four ternary values; whole groups of 32 are what kernels like.
  if (dtype == DType::ternary && (dims.empty() || dims.back() % 32 != 0))
    fail(ErrorKind::invalid_argument, "BlockMisaligned", where,
         "{}: the last dimension of a ternary tensor must be a multiple of 32", dims_text(dims));
  name = canonical_tensor_name(name);
  if (std::any_of(tensors_.begin(), tensors_.end(), [&](const ModelTensor& tensor) { return tensor.name == name; }))
    fail(ErrorKind::invalid_argument, "DuplicateTensor", where, "the tensor is added twice");
  model_encoding_name(dtype);
  const std::uint64_t bytes = byte_size(dtype, dims);
  ModelTensor& tensor = tensors_.emplace_back();
  tensor.name = std::move(name);
  tensor.dtype = dtype;
  tensor.bytes = bytes;
  tensor.dims = std::move(dims);
  return tensor;
}

void ModelWriter::add_tensor(std::string name, DType dtype, std::vector<std::int64_t> dims, Producer producer) {
  ModelTensor& tensor = append(std::move(name), dtype, std::move(dims));
  tensor.offset = aligned(weights_bytes_, options_.alignment);
  weights_bytes_ = tensor.offset + tensor.bytes;
  producers_.push_back(std::move(producer));
}

void ModelWriter::add_tensor(std::string name, Tensor tensor) {
  const DType dtype = tensor.dtype();
  std::vector<std::int64_t> dims = tensor.dims();
  add_tensor(std::move(name), dtype, std::move(dims), [held = std::move(tensor)] { return held; });
}

void ModelWriter::add_alias(std::string name, std::string_view of) {
  const std::string target = canonical_tensor_name(of);
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const ModelTensor& tensor) { return tensor.name == target; });
  if (found == tensors_.end())
    fail(ErrorKind::invalid_argument, "MissingTensor", fmt::format("tensor \"{}\"", name),
         "it is to share the bytes of \"{}\", which was not added", of);
  const ModelTensor original = *found;
  append(std::move(name), original.dtype, original.dims).offset = original.offset;
  producers_.emplace_back();
}

std::vector<ModelWriter::Section> ModelWriter::ordered_sections() const {
  std::vector<Section> all = sections_;
  all.push_back({"config", "toml", config_to_toml(config_)});
  std::string index;
  for (const ModelTensor& tensor : tensors_) index += tensor_index_entry(tensor) + "\n";
  all.push_back({"tensors", "toml", std::move(index)});
  constexpr std::array<std::string_view, 9> order{"card", "program", "config", "eval",   "graph",
                                                  "mir",  "chat",    "vocab",  "tensors"};
  const auto rank = [&](const Section& section) {
    const auto found = std::find(order.begin(), order.end(), section.name);
    // The caller's own sections come before those that may be long.
    return std::pair(found == order.end() ? std::ptrdiff_t{4} : found - order.begin(), section.name);
  };
  std::sort(all.begin(), all.end(), [&](const Section& a, const Section& b) { return rank(a) < rank(b); });
  return all;
}

std::string ModelWriter::frontmatter(const std::vector<Section>& sections, std::uint64_t weights_bytes) const {
  std::string text = fmt::format("[cyb]\ntypes = [\"model\"]\nname = {}\nformat_version = 2\n", toml_quoted(name_));
  if (!lineage_.empty()) text += "\n" + config_to_toml(lineage_);
  for (const Section& section : sections)
    text += entry_text(section.name, section.format,
                       options_.hashes ? fmt::format("sha256 = \"{}\"\n", sha256_hex(section.text)) : "");
  text += entry_text("weights", "tensors", fmt::format("size = {}\n", weights_bytes));
  if (options_.hashes) text += fmt::format("sha256 = \"{}\"\n", unknown_hash);
  return text + "\n";
}

namespace {

template <class Sections>
void refuse_delimiters(const Sections& sections) {
  const auto is_section = [&](std::string_view name) {
    return name == "weights" ||
           std::any_of(sections.begin(), sections.end(), [&](const auto& section) { return section.name == name; });
  };
  for (const auto& section : sections)
    for (std::size_t start = 0; start < section.text.size();) {
      const std::size_t end = section.text.find('\n', start);
      std::string_view line = std::string_view(section.text).substr(start, end - start);
      start = end + 1;
      if (!line.starts_with("~~~")) continue;
      line.remove_prefix(3);
      if (line.ends_with('\r')) line.remove_suffix(1);
      // Markdown may use ~~~ as a fence, as long as no section of the file has the name that follows.
      if (section.name != "card" || is_section(line))
        fail(ErrorKind::invalid_argument, "DelimiterInText", fmt::format("section \"{}\"", section.name),
             "the line \"~~~{}\" would end the section; indent it", line.substr(0, 60));
    }
}

}  // namespace

void ModelWriter::write(const std::filesystem::path& path) const {
  std::vector<Section> sections = ordered_sections();
  refuse_delimiters(sections);
  const auto text_size = [&] {
    std::uint64_t size = frontmatter(sections, weights_bytes_).size() + weights_marker.size();
    for (const Section& section : sections) size += 3 + section.name.size() + 1 + section.text.size();
    return size;
  };
  // Blank lines at the end of the last section put the first byte of the weights at a multiple of the alignment.
  const std::uint64_t unpadded = text_size();
  sections.back().text.append(aligned(unpadded, options_.alignment) - unpadded, '\n');
  const ModelLimits limits;
  if (text_size() > limits.text_bytes || sections.size() + 1 > limits.sections)
    fail(ErrorKind::not_representable, "HeaderTooLarge", path.string(),
         "{} bytes of text in {} sections, more than the {} bytes in {} that a reader accepts", text_size(),
         sections.size() + 1, limits.text_bytes, limits.sections);

  AtomicFile file(path);
  const std::string front = frontmatter(sections, weights_bytes_);
  file.write(front);
  for (const Section& section : sections) file.write(fmt::format("~~~{}\n{}", section.name, section.text));
  file.write(weights_marker);
  WeightsStream weights(file, options_.hashes);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!producers_[i]) continue;
    const Tensor tensor = producers_[i]();
    if (tensor.dtype() != tensors_[i].dtype || tensor.dims() != tensors_[i].dims)
      fail(ErrorKind::invalid_argument, "ShapeMismatch", fmt::format("tensor \"{}\"", tensors_[i].name),
           "{} {} was announced, {} {} is given", to_string(tensors_[i].dtype), dims_text(tensors_[i].dims),
           to_string(tensor.dtype()), dims_text(tensor.dims()));
    weights.pad_to(tensors_[i].offset);
    weights.write(tensor.bytes());
  }
  if (options_.hashes) file.overwrite(front.rfind(unknown_hash), weights.hex_digest());
  file.commit();
}

}  // namespace weft
