// What `weft inspect` tells about a file, of whatever format, before it is printed one way or the other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft::cli {

struct TensorReport {
  std::string name, dtype;
  std::vector<std::int64_t> dims;
  std::uint64_t offset = 0, bytes = 0;  // offset within the file, or within the weights of a .model
};

struct FileReport {
  std::string file, format;
  std::uint64_t bytes = 0;
  std::vector<std::pair<std::string, std::string>> facts = {};  // metadata, sections, ... in file order
  std::map<std::string, std::size_t> dtypes = {};               // tensors per type
  std::vector<TensorReport> tensors = {};
  std::int64_t parameters = 0;
  std::uint64_t weight_bytes = 0;

  void add(TensorReport tensor);
};

// A GGUF file or a `.model`; only its header is read. UnknownFormat otherwise.
FileReport inspect_file(const std::string& path);

}  // namespace weft::cli
