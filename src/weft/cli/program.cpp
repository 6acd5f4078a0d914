#include "weft/cli/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

#include "weft/base/error.h"

namespace weft::cli {
namespace {

int dispatch(const Arguments& arguments) {
  struct Visitor {
    int operator()(const RunArguments& a) const { return run(a); }
    int operator()(const ChatArguments& a) const { return chat(a); }
    int operator()(const ImportArguments& a) const { return import(a); }
    int operator()(const InspectArguments& a) const { return inspect(a); }
    int operator()(const VerifyArguments& a) const { return verify(a); }
    int operator()(const GraphArguments& a) const { return graph(a); }
    int operator()(const GraphImportArguments& a) const { return graph_import(a); }
    int operator()(const ExecArguments& a) const { return exec(a); }
    int operator()(const LogitsArguments& a) const { return logits(a); }
    int operator()(const TokenizeArguments& a) const { return tokenize(a); }
    int operator()(const OpsArguments& a) const { return ops(a); }
    int operator()(const PassesArguments& a) const { return passes(a); }
    int operator()(const CpuArguments& a) const { return cpu(a); }
    int operator()(const BenchArguments& a) const { return bench(a); }
    int operator()(const PlanArguments& a) const { return plan(a); }
    int operator()(const QuantizeArguments& a) const { return quantize(a); }
    int operator()(const EvalArguments& a) const { return evaluate(a); }
  };
  return std::visit(Visitor{}, arguments);
}

int report(std::string message) {
  // Text from a file may hold anything; an error stays one line.
  std::replace_if(
      message.begin(), message.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  fmt::print(stderr, "weft: {}\n", message);
  return 1;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  const ParseResult parsed = parse_arguments(argc, argv);
  if (!parsed.arguments) return parsed.exit_code;
  try {
    const int status = dispatch(*parsed.arguments);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return report("cannot write to standard output");
    return status;
  } catch (const Error& error) {
    std::string message = error.what();
    if (!error.details().empty()) message += fmt::format(" (+{} more)", error.details().size());
    return report(std::move(message));
  } catch (const std::bad_alloc&) {
    return report("the machine has no memory left");
  } catch (const std::exception& error) {
    return report(error.what());
  }
}

}  // namespace weft::cli
