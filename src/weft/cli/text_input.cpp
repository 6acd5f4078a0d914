#include "weft/cli/text_input.h"

#include <cstdio>
#include <filesystem>

#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"

namespace weft::cli {

std::string read_text(const std::string& path) {
  // Pipes have no size to map, so everything that is no regular file is read like standard input.
  std::FILE* stream = stdin;
  if (path != "-") {
    if (std::filesystem::is_regular_file(path) || !std::filesystem::exists(path) ||
        std::filesystem::is_directory(path)) {
      const auto file = MappedFile::open(path);
      return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
    }
    stream = std::fopen(path.c_str(), "rb");
    if (stream == nullptr) fail(ErrorKind::io, "Io", path, "cannot read the file");
  }
  std::string text;
  char buffer[1 << 16];
  constexpr std::size_t limit = std::size_t{1} << 30;
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), stream)) > 0;) {
    text.append(buffer, got);
    if (text.size() > limit)
      fail(ErrorKind::invalid_argument, "LimitExceeded", path, "the text is longer than {} bytes", limit);
  }
  const bool failed = std::ferror(stream) != 0;
  if (stream != stdin) std::fclose(stream);
  if (failed) fail(ErrorKind::io, "Io", path == "-" ? "standard input" : path, "cannot read it");
  return text;
}

}  // namespace weft::cli
