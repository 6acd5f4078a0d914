// Reads stored cases as the generators in tests/data write them: a text file of "KEY REST" lines, those from one
// "case NAME" to the next belonging together, beside a file of little-endian bytes that the lines point into.
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/shape.h"
#include "weft/base/tensor.h"

namespace weft::test {

struct StoredCase {
  std::string file, name;
  std::vector<std::pair<std::string, std::string>> lines;

  [[noreturn]] void refuse(const std::string& reason) const {
    throw std::runtime_error(file + ", case " + name + ": " + reason);
  }
};

class CaseFile {
 public:
  explicit CaseFile(const std::filesystem::path& path) {
    std::ifstream text(path);
    std::ifstream data(std::filesystem::path(path).replace_extension(".bin"), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(data), {});
    for (std::string line; std::getline(text, line);) {
      if (line.empty() || line[0] == '#') continue;
      const std::size_t space = line.find(' ');
      const std::string key = line.substr(0, space), rest = space == std::string::npos ? "" : line.substr(space + 1);
      if (key == "case")
        cases_.push_back({path.filename().string(), rest, {}});
      else
        cases_.at(cases_.size() - 1).lines.emplace_back(key, rest);
    }
  }

  const std::vector<StoredCase>& cases() const { return cases_; }

  // "f32 [2, 3] 128 tail"
  std::pair<Tensor, std::string> tensor(const StoredCase& at, const std::string& text) const {
    const std::size_t open = text.find('['), close = text.find(']');
    const DType dtype = dtype_from_name(text.substr(0, open - 1)).value();
    const auto dims = Shape::parse(text.substr(open, close - open + 1)).static_dims().value();
    std::istringstream words(text.substr(close + 1));
    std::size_t offset = 0;
    std::string tail;
    words >> offset >> tail;
    return {Tensor::copy_bytes(slice(at, offset, byte_size(dtype, dims)), dtype, dims), tail};
  }

  std::vector<float> floats(const StoredCase& at, std::size_t offset, std::size_t count) const {
    std::vector<float> values(count);
    const auto stored = slice(at, offset, count * sizeof(float));
    std::memcpy(values.data(), stored.data(), stored.size());
    return values;
  }

 private:
  std::span<const std::byte> slice(const StoredCase& at, std::size_t offset, std::size_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) at.refuse("its bytes lie outside the .bin");
    return std::as_bytes(std::span(bytes_)).subspan(offset, size);
  }

  std::vector<char> bytes_;
  std::vector<StoredCase> cases_;
};

// The case files of a folder under tests/data, by name.
inline std::vector<CaseFile> case_files(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/tests/data/" + folder))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return {paths.begin(), paths.end()};
}

}  // namespace weft::test
