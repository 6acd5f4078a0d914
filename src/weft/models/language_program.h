// What LanguageModel runs, apart from the weights: its graph and how it is compiled. `weft plan` shows the same.
#pragma once

#include <memory>

#include "weft/ir/graph.h"
#include "weft/models/language_model.h"
#include "weft/runtime/graph_executor.h"

namespace weft {

// The names that a language-model graph has: what LanguageModel feeds and reads.
inline constexpr const char* ids_input = "input_ids";
inline constexpr const char* rows_input = "logit_rows";
inline constexpr const char* logits_output = "logits";

struct LanguageProgram {
  Graph graph;  // gives logits of the rows that are asked for
  ExecConfig config;
  std::string rows_symbol;  // the dim that counts the tokens of a run
  std::int64_t context = 0, chunk = 0;
};

// NotALanguageModel when the checkpoint's graph does not take token ids alone and give logits.
LanguageProgram language_program(const Checkpoint& checkpoint, const LanguageModelOptions& options);

}  // namespace weft
