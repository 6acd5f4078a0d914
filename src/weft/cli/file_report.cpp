#include "weft/cli/file_report.h"

#include <fmt/format.h>

#include <filesystem>

#include "weft/base/mapped_file.h"
#include "weft/base/sha256.h"
#include "weft/formats/gguf_file.h"
#include "weft/formats/model_encoding.h"
#include "weft/formats/model_file.h"
#include "weft/models/checkpoint.h"

namespace weft::cli {
namespace {

FileReport report_gguf(const std::string& path, bool hashes) {
  const GgufFile file = GgufFile::open(path);
  FileReport report{.file = path, .format = fmt::format("GGUF version {}", file.version())};
  for (const auto& part : file.files()) {
    report.bytes += part->bytes().size();
    if (hashes) report.hashes.push_back({part->path().string(), sha256_hex(part->bytes()), std::nullopt});
  }
  if (file.files().size() > 1) report.facts.emplace_back("parts", std::to_string(file.files().size()));
  for (const GgufEntry& entry : file.metadata()) report.facts.emplace_back(entry.key, gguf_text(entry.value));
  for (const GgufTensor& tensor : file.tensors())
    report.add(
        {std::string(tensor.name), std::string(to_string(tensor.dtype)), tensor.dims, tensor.offset, tensor.bytes});
  return report;
}

std::string config_text(const ConfigValue& value) {
  return std::visit(
      []<class T>(const T& x) {
        if constexpr (std::is_same_v<T, std::string>)
          return fmt::format("\"{}\"", x);
        else if constexpr (std::is_arithmetic_v<T>)
          return fmt::format("{}", x);
        else
          return fmt::format("[{} values]", x.size());
      },
      value);
}

FileReport report_model(const std::string& path, bool hashes, bool legacy) {
  const ModelFile file =
      ModelFile::open(path, {.legacy = legacy, .verify = hashes ? VerifyHashes::none : VerifyHashes::all});
  FileReport report{.file = path, .format = fmt::format(".model version {}", file.format_version())};
  report.bytes = std::filesystem::file_size(path);
  for (const auto& [key, value] : file.frontmatter().entries()) report.facts.emplace_back(key, config_text(value));
  for (const ModelSectionInfo& section : file.sections())
    report.facts.emplace_back("section " + section.name,
                              fmt::format("{} bytes at {:#x}, {}", section.bytes, section.offset, section.format));
  for (const auto& [key, value] : file.config().entries()) report.facts.emplace_back(key, config_text(value));
  for (const ModelTensor& tensor : file.tensors())
    report.add({tensor.name, std::string(model_encoding_name(tensor.dtype)), tensor.dims, tensor.offset, tensor.bytes});
  const std::string identity = file.identity();
  report.facts.emplace_back("sha256", identity);
  file.finish_verification();
  if (!hashes) return report;
  report.hashes.push_back({path, identity, std::nullopt});
  for (const ModelSectionInfo& section : file.sections())
    report.hashes.push_back({"section " + section.name, file.hash_of(section), section.sha256});
  return report;
}

}  // namespace

void FileReport::add(TensorReport tensor) {
  ++dtypes[tensor.dtype];
  std::int64_t count = 1;
  for (const std::int64_t dim : tensor.dims) count *= dim;
  parameters += count;
  weight_bytes += tensor.bytes;
  tensors.push_back(std::move(tensor));
}

FileReport inspect_file(const InspectArguments& arguments) {
  return model_format(arguments.file) == ModelFormat::gguf
             ? report_gguf(arguments.file, arguments.hash)
             : report_model(arguments.file, arguments.hash, arguments.legacy);
}

}  // namespace weft::cli
