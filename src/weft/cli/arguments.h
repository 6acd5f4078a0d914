// The command line as data. Only arguments.cpp knows the parser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace weft::cli {

struct RunArguments {
  std::string model;  // empty: the bundled one
  std::optional<std::string> prompt, prompt_file;
  std::vector<std::int32_t> ids;
  std::int64_t max_tokens = 128;
  std::int64_t context = 0;
  std::optional<double> temperature, top_p, min_p;
  std::optional<std::int64_t> top_k;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> stop;
  bool ignore_eos = false, no_bos = false, profile = false, json = false;
  int threads = 0;
  std::string backend;
};

struct ImportArguments {
  std::string source, output;
  std::uint32_t alignment = 64;
  std::string quant;  // empty: the weights as they are
  int threads = 0;
};

struct QuantizeArguments {
  std::string source, output, type;
  std::vector<std::string> rules;  // "PATTERN=TYPE"
  int threads = 0;
};

struct InspectArguments {
  std::string file;
  bool tensors = false, json = false;
};

enum class GraphFormat { text, toml, json, dot };

struct GraphArguments {
  std::string file;
  GraphFormat format = GraphFormat::text;
};

struct LogitsArguments {
  std::string model, output;
  std::vector<std::int32_t> ids;
  std::string backend;
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

struct EvalArguments {
  std::string model, file, against, backend;
  std::int64_t context = 0, stride = 0, tokens = 0;
  bool json = false;
  int threads = 0;
};

using Arguments = std::variant<RunArguments, ImportArguments, InspectArguments, GraphArguments, LogitsArguments,
                               TokenizeArguments, OpsArguments, QuantizeArguments, EvalArguments>;

struct ParseResult {
  std::optional<Arguments> arguments;
  int exit_code = 0;  // without arguments: 0 after --help or --version, 2 after a usage error
};

ParseResult parse_arguments(int argc, const char* const* argv);

}  // namespace weft::cli
