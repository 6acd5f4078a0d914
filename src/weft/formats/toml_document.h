// A whole TOML text as one table, under all rules of TOML 1.0: no key twice, no table defined twice or extended
// against its kind. For sections of moderate size; long ones are read with TomlReader.
#pragma once

#include <string_view>

#include "weft/formats/toml_reader.h"
#include "weft/formats/toml_value.h"

namespace weft {

TomlTable parse_toml(std::string_view text, TomlSource source, TomlLimits limits = {});

}  // namespace weft
