// Where the model that comes with weft is.
#pragma once

#include <string>

namespace weft::cli {

// Beside an installed program (../share/weft/demo.model), else in the source tree it was built from. NotFound names
// both.
std::string bundled_model();

}  // namespace weft::cli
