// Configuration tables as TOML and back.
#pragma once

#include <string>
#include <vector>

#include "weft/base/warning.h"
#include "weft/formats/config_table.h"
#include "weft/formats/toml_value.h"

namespace weft {

// All values of a document under their dotted keys. What a ConfigTable cannot hold (dates, lists of lists or of
// tables, lists of mixed types) is left out and named in `warnings`.
ConfigTable config_from_toml(const TomlTable& document, std::string source, std::vector<Warning>& warnings);

// Keys without a dot first, then one [table] for each prefix in the order of its first key. InvalidConfig for keys that
// TOML cannot hold side by side ("a" and "a.b") or that are no keys.
std::string config_to_toml(const ConfigTable& config);

}  // namespace weft
