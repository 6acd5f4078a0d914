// The `weft` program, callable: parses, runs one command, prints errors in one line. Returns the exit status: 0, 1 on
// failure, 2 on a usage error, 130 when interrupted.
#pragma once

#include "weft/cli/arguments.h"

namespace weft::cli {

int run_program(int argc, const char* const* argv);

// One per command.
int run(const RunArguments& arguments);
int chat(const ChatArguments& arguments);
int import(const ImportArguments& arguments);
int inspect(const InspectArguments& arguments);
int verify(const VerifyArguments& arguments);
int graph(const GraphArguments& arguments);
int graph_import(const GraphImportArguments& arguments);
int exec(const ExecArguments& arguments);
int logits(const LogitsArguments& arguments);
int tokenize(const TokenizeArguments& arguments);
int ops(const OpsArguments& arguments);
int passes(const PassesArguments& arguments);
int cpu(const CpuArguments& arguments);
int bench(const BenchArguments& arguments);
int plan(const PlanArguments& arguments);
int quantize(const QuantizeArguments& arguments);
int evaluate(const EvalArguments& arguments);

}  // namespace weft::cli
