// The vocabulary of a `.model` file: its section vocab and the table [tokenizer] of its configuration. What is
// written reads back as the same Vocabulary.
//
// Beyond the common keys weft writes [special].explicit = true: then ids lists exactly the control tokens, the lists
// user_defined, unknown, unused and byte those kinds, and tokenizer.eos_token_ids every id that ends a text. Without
// it, kinds are told by the form of the tokens ("<|...|>" is a control token) and the end-of-turn tokens are added.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/warning.h"
#include "weft/formats/config_table.h"
#include "weft/formats/toml_reader.h"
#include "weft/formats/vocabulary_limits.h"
#include "weft/text/vocabulary.h"

namespace weft {

// Keys of `config` win over those that stand in the section itself; a contradiction is a warning. Errors: Toml,
// BadVocab, LimitExceeded, InvalidConfig, UnsupportedTokenizer.
Vocabulary read_model_vocabulary(std::string_view text, TomlSource source, const ConfigTable& config,
                                 std::vector<Warning>& warnings, const VocabularyLimits& limits = {});

// The text of the section; the settings go to `config` under "tokenizer.". BadVocab for what no reader would accept.
std::string write_model_vocabulary(const Vocabulary& vocabulary, ConfigTable& config);

}  // namespace weft
