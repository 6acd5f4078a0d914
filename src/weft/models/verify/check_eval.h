// The section eval of a `.model`: prompts with what a good answer holds, or scores that somebody measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/toml_reader.h"
#include "weft/models/verify/findings.h"

namespace weft {

class LanguageModel;

struct Benchmark {
  std::string name, prompt, expected_contains;
  std::int64_t tokens = 64;
  double temperature = 0;
};

// The entries of [[benchmarks]] that are in order. Toml, and InvalidField for keys of another type or size.
std::vector<Benchmark> check_eval(std::string_view text, const TomlSource& source, Findings& findings);

// EvalFailed for each prompt whose continuation lacks what is expected. Gives how many passed.
std::size_t run_benchmarks(LanguageModel& model, const std::vector<Benchmark>& benchmarks, const std::string& where,
                           Findings& findings);

}  // namespace weft
