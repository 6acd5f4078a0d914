// What `weft inspect` tells about a file, of whatever format, before it is printed one way or the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/arguments.h"

namespace weft::cli {

struct TensorReport {
  std::string name, dtype;
  std::vector<std::int64_t> dims;
  std::uint64_t offset = 0, bytes = 0;  // offset within the file, or within the weights of a .model
};

struct HashReport {
  std::string name, sha256;
  std::optional<std::string> declared;
  bool differs() const { return declared && *declared != sha256; }
};

struct FileReport {
  std::string file, format;
  std::uint64_t bytes = 0;
  std::vector<std::pair<std::string, std::string>> facts = {};  // metadata, sections, ... in file order
  std::map<std::string, std::size_t> dtypes = {};               // tensors per type
  std::vector<TensorReport> tensors = {};
  std::vector<HashReport> hashes = {};  // where they were asked for: the file, or its parts, and sections
  std::int64_t parameters = 0;
  std::uint64_t weight_bytes = 0;

  void add(TensorReport tensor);
};

// A GGUF file or a `.model`; of a GGUF file only the header is read, unless hashes are asked for. UnknownFormat
// otherwise. With hashes, a sum that a `.model` declares wrongly is reported; without, it is HashMismatch.
FileReport inspect_file(const InspectArguments& arguments);

}  // namespace weft::cli
