// The settings of a tokenizer: the table [tokenizer] of a `.model` file. Internal to formats/.
#pragma once

#include <string>
#include <vector>

#include "weft/base/warning.h"
#include "weft/formats/config_table.h"
#include "weft/text/vocabulary.h"

namespace weft {

// Fills everything of `vocabulary`, which has its tokens, but the tokens and merges. `inline_settings` are those that
// stand in the vocab section, with the same keys. `complete`: nothing is to be added to the ids that end a text.
void read_tokenizer_settings(const ConfigTable& config, const ConfigTable& inline_settings, bool complete,
                             Vocabulary& vocabulary, std::vector<Warning>& warnings);

// All but the character map, which is long and stands in the vocab section.
void write_tokenizer_settings(const Vocabulary& vocabulary, ConfigTable& config);

}  // namespace weft
