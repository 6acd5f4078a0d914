#include "weft/models/verify/check_eval.h"

#include <fmt/format.h>

#include "weft/base/fail.h"
#include "weft/formats/toml_document.h"
#include "weft/models/language_model.h"

namespace weft {
namespace {

class BenchmarkReader {
 public:
  BenchmarkReader(const TomlTable& table, std::string where) : table_(table), where_(std::move(where)) {}

  Benchmark read() const {
    Benchmark benchmark;
    benchmark.name = text("name");
    benchmark.prompt = text("prompt");
    benchmark.expected_contains = text("expected_contains");
    if (const TomlValue* tokens = find(table_, "tokens")) {
      const auto* count = tokens->get<std::int64_t>();
      if (count == nullptr || *count < 1 || *count > 1 << 20) refuse("tokens", "an integer from 1 to 2^20");
      benchmark.tokens = *count;
    }
    if (const TomlValue* temperature = find(table_, "temperature")) {
      const auto* fraction = temperature->get<double>();
      const auto* whole = temperature->get<std::int64_t>();
      benchmark.temperature = fraction != nullptr ? *fraction : whole != nullptr ? static_cast<double>(*whole) : -1;
      // Some writers count in thousandths.
      if (whole != nullptr && *whole > 2) benchmark.temperature /= 1000;
      if (!(benchmark.temperature >= 0)) refuse("temperature", "a number from 0");
    }
    return benchmark;
  }

 private:
  [[noreturn]] void refuse(std::string_view key, std::string_view expected) const {
    fail(ErrorKind::bad_file, "InvalidField", where_, "\"{}\" must be {}", key, expected);
  }
  std::string text(std::string_view key) const {
    const TomlValue* value = find(table_, key);
    const auto* string = value != nullptr ? value->get<std::string>() : nullptr;
    if (string == nullptr) refuse(key, value != nullptr ? "a string" : "there, and a string");
    return *string;
  }

  const TomlTable& table_;
  std::string where_;
};

}  // namespace

std::vector<Benchmark> check_eval(std::string_view text, const TomlSource& source, Findings& findings) {
  std::vector<Benchmark> result;
  const std::string where = source.file + ", section eval";
  findings.attempt([&] {
    const TomlTable document = parse_toml(text, source);
    const TomlValue* benchmarks = find(document, "benchmarks");
    if (benchmarks == nullptr) return;
    const auto* list = benchmarks->get<TomlArray>();
    if (list == nullptr) fail(ErrorKind::bad_file, "InvalidField", where, "\"benchmarks\" must be a list of tables");
    for (std::size_t i = 0; i < list->size(); ++i)
      findings.attempt([&] {
        const auto* table = (*list)[i].get<TomlTable>();
        const std::string entry = fmt::format("{}, benchmark {}", where, i + 1);
        if (table == nullptr) fail(ErrorKind::bad_file, "InvalidField", entry, "it must be a table");
        result.push_back(BenchmarkReader(*table, entry).read());
      });
  });
  return result;
}

std::size_t run_benchmarks(LanguageModel& model, const std::vector<Benchmark>& benchmarks, const std::string& where,
                           Findings& findings) {
  std::size_t passed = 0;
  for (const Benchmark& benchmark : benchmarks)
    findings.attempt([&] {
      GenerateOptions options;
      options.max_tokens = benchmark.tokens;
      options.sampling.temperature = benchmark.temperature;
      options.sampling.seed = 1;
      const std::string text = model.generate(benchmark.prompt, options).text;
      if (text.find(benchmark.expected_contains) != std::string::npos)
        ++passed;
      else
        findings.error(
            "EvalFailed", fmt::format("{}, \"{}\"", where, benchmark.name),
            fmt::format("\"{}\" is not in the {} tokens that follow \"{}\": \"{}\"", benchmark.expected_contains,
                        benchmark.tokens, benchmark.prompt.substr(0, 60), text.substr(0, 120)));
    });
  return passed;
}

}  // namespace weft
