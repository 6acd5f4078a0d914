// The JSON that commands print. Only json_output.cpp knows the library.
#pragma once

#include <string>

#include "weft/cli/file_report.h"
#include "weft/models/evaluation.h"
#include "weft/models/language_model.h"

namespace weft::cli {

struct RunReport {
  Generation generation;
  double load_seconds = 0;
  std::string backend;
  int threads = 0;

  double prefill_rate() const;  // prompt tokens a second
  double decode_rate() const;   // tokens a second after the first
};

std::string run_json(const RunReport& report);
std::string eval_json(const Evaluation& evaluation, double seconds);
std::string inspect_json(const FileReport& report, bool tensors);

}  // namespace weft::cli
