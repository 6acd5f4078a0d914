// The command line as data. Only arguments.cpp knows the parser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace weft::cli {

struct SamplingArguments {
  std::optional<double> temperature, top_p, min_p;
  std::optional<std::int64_t> top_k;
  std::optional<std::uint64_t> seed;
};

struct RunArguments {
  std::string model;  // empty: the bundled one
  std::optional<std::string> prompt, prompt_file;
  std::vector<std::int32_t> ids;
  std::int64_t max_tokens = 128;
  std::int64_t context = 0;
  SamplingArguments sampling;
  std::vector<std::string> stop;
  bool ignore_eos = false, no_bos = false, profile = false, explain = false, check_nan = false, json = false;
  int threads = 0;
  std::string backend, kv_type = "f16";
  std::string trace;  // file to write
};

struct ChatArguments {
  std::string model;
  std::string system;
  std::string chat_template;  // a format of weft's, or a file
  std::string variables;      // a JSON object
  std::int64_t max_tokens = -1;
  std::int64_t context = 0;
  SamplingArguments sampling;
  std::vector<std::string> stop;
  bool json = false, render = false;
  int threads = 0;
  std::string backend, kv_type = "f16";
};

struct ImportArguments {
  std::string source, output;
  std::uint32_t alignment = 64;
  std::string quant;               // empty: the weights as they are
  std::vector<std::string> rules;  // "PATTERN=TYPE"
  bool canonical = false, legacy = false;
  int threads = 0;
};

struct QuantizeArguments {
  std::string source, output, type;
  std::vector<std::string> rules;  // "PATTERN=TYPE"
  int threads = 0;
};

struct InspectArguments {
  std::string file;
  bool tensors = false, hash = false, legacy = false, json = false;
};

struct VerifyArguments {
  std::string file;
  bool eval = false, legacy = false, json = false;
  int threads = 0;
};

enum class GraphFormat { text, toml, json, dot, binary };

struct GraphArguments {
  std::string file;
  GraphFormat format = GraphFormat::text;
  std::string output;                // file to write; empty: standard output
  std::string after;                 // a pass, or "all"; empty with nothing in `without`: the graph as it is
  std::vector<std::string> without;  // passes
};

struct GraphImportArguments {
  std::string graph, weights, output;
};

struct ExecArguments {
  std::string model;
  std::vector<std::string> inputs, outputs;  // "NAME=FILE"
  std::string backend;
  bool explain = false, check_nan = false;
  int threads = 0;
};

struct PassesArguments {
  std::string file;  // empty: list the passes
};

struct LogitsArguments {
  std::string model, output;
  std::vector<std::int32_t> ids;
  std::string backend, kv_type = "f32";
  int threads = 0;
};

struct TokenizeArguments {
  std::string model;
  std::optional<std::string> text, file;
  bool ids_only = false;
};

struct OpsArguments {
  std::string name;  // empty: list all
};

struct CpuArguments {
  bool measure = false, json = false;
  int threads = 0;
};

struct BenchArguments {
  std::string model;
  std::int64_t prompt = 512, new_tokens = 64, repeats = 5;
  std::int64_t context = 0;  // 0: prompt and new tokens
  std::string kv_type = "f16", backend;
  int threads = 0;
  bool serve = false, json = false;
};

struct PlanArguments {
  std::string model, kv_type = "f16";
  std::int64_t rows = 1, past = 512, context = 0;
  std::vector<std::string> without;  // passes
  int threads = 0;
  bool json = false;
};

struct EvalArguments {
  std::string model, file, against, backend;
  std::int64_t context = 0, stride = 0, tokens = 0;
  bool json = false;
  int threads = 0;
};

using Arguments =
    std::variant<RunArguments, ChatArguments, ImportArguments, InspectArguments, GraphArguments, LogitsArguments,
                 TokenizeArguments, OpsArguments, PassesArguments, CpuArguments, BenchArguments, PlanArguments,
                 QuantizeArguments, EvalArguments, VerifyArguments, GraphImportArguments, ExecArguments>;

struct ParseResult {
  std::optional<Arguments> arguments;
  int exit_code = 0;  // without arguments: 0 after --help or --version, 2 after a usage error
};

ParseResult parse_arguments(int argc, const char* const* argv);

}  // namespace weft::cli
