// The frontmatter of a `.model` file: what the file is, and which sections it has. Internal to formats/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/warning.h"
#include "weft/formats/config_table.h"
#include "weft/formats/model_limits.h"

namespace weft {

struct ModelEntry {  // one of [[files]]
  std::string name, format;
  std::optional<std::uint64_t> size;
  std::optional<std::string> sha256;  // lower case
};

struct ModelFrontmatter {
  std::string name;
  std::int64_t version = 2;
  ConfigTable fields;  // everything but [[files]]
  std::vector<ModelEntry> entries;

  const ModelEntry* find(std::string_view section) const;
};

// Errors: Toml, NotAModel, MissingField, InvalidField, UnsupportedVersion, DuplicateSection, LimitExceeded.
ModelFrontmatter read_frontmatter(std::string_view text, const std::string& source, bool legacy,
                                  const ModelLimits& limits, std::vector<Warning>& warnings);

}  // namespace weft
