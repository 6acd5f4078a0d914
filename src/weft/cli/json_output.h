// The JSON that commands print. Only json_output.cpp knows the library.
#pragma once

#include <string>

#include "weft/cli/benchmark.h"
#include "weft/cli/cpu_report.h"
#include "weft/cli/file_report.h"
#include "weft/cli/plan_ceilings.h"
#include "weft/models/chat.h"
#include "weft/models/evaluation.h"
#include "weft/models/language_model.h"
#include "weft/models/verify/verify_file.h"
#include "weft/runtime/program_report.h"

namespace weft::cli {

struct RunReport {
  Generation generation;
  double load_seconds = 0;
  std::string backend;
  int threads = 0;

  double prefill_rate() const;  // prompt tokens a second
  double decode_rate() const;   // tokens a second after the first
};

// One turn of a conversation.
std::string reply_json(const ChatReply& reply);
std::string run_json(const RunReport& report);
std::string eval_json(const Evaluation& evaluation, double seconds);
std::string inspect_json(const FileReport& report, bool tensors);
std::string verify_json(const VerifyReport& report);
std::string cpu_json(const CpuReport& report);
std::string bench_json(const BenchReport& report);
std::string plan_json(const ProgramReport& report, const PlanCeilings& ceilings, const PlanArguments& arguments);

}  // namespace weft::cli
