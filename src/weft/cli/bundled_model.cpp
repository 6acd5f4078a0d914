#include "weft/cli/bundled_model.h"

#include <filesystem>

#include "weft/base/fail.h"

namespace weft::cli {

std::string bundled_model() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path installed =
      fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "share" / "weft" / "demo.model";
  const fs::path built = fs::path(WEFT_SOURCE_DIR) / "models" / "demo.model";
  for (const fs::path& path : {installed, built})
    if (fs::exists(path, error)) return path.string();
  fail(ErrorKind::io, "NotFound", installed.string(), "the bundled model is neither here nor at {}; give a MODEL",
       built.string());
}

}  // namespace weft::cli
