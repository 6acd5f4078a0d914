#include "weft/models/verify/verify_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"
#include "weft/base/thread_pool.h"
#include "weft/formats/gguf_vocabulary.h"
#include "weft/models/language_model.h"
#include "weft/models/model_checkpoint.h"
#include "weft/models/tensor_names.h"
#include "weft/models/verify/check_eval.h"
#include "weft/models/verify/check_graph.h"
#include "weft/models/verify/check_ranges.h"
#include "weft/models/verify/check_values.h"
#include "weft/models/verify/check_vocabulary.h"

namespace weft {
namespace {

constexpr std::string_view hash_mismatch = "HashMismatch";

class Verifier {
 public:
  Verifier(std::filesystem::path path, const VerifyOptions& options)
      : path_(std::move(path)), source_(path_.string()), options_(options), pool_(options.threads) {}

  VerifyReport run() {
    report_.file = source_;
    std::optional<ModelFormat> format;
    findings_.begin("structure");
    findings_.attempt([&] { format = recognized(); });
    if (format == ModelFormat::gguf) verify_gguf();
    if (format == ModelFormat::model) verify_model();
    return std::move(report_);
  }

 private:
  // That there is no file is no finding about it.
  ModelFormat recognized() const {
    MappedFile::open(path_);
    return model_format(path_);
  }

  void verify_gguf() {
    report_.format = "GGUF";
    std::optional<GgufFile> file;
    if (!findings_.attempt([&] { file = GgufFile::open(path_); })) return;
    report_.format = fmt::format("GGUF version {}", file->version());
    findings_.done(fmt::format("{} metadata entries, {} tensors, in bounds and apart", file->metadata().size(),
                               file->tensors().size()));
    findings_.begin("config");
    std::optional<ModelConfig> config;
    if (findings_.attempt([&] { config = config_from_gguf(*file); })) findings_.done(config->model_type);
    check_all_values(*file);
    std::vector<CheckpointTensor> tensors;
    findings_.begin("names");
    const std::string architecture{file->find_string("general.architecture").value_or("")};
    for (const GgufTensor& tensor : file->tensors())
      if (auto canonical = canonical_name(tensor.name, architecture))
        tensors.push_back({std::move(canonical->name), {Shape(tensor.dims), tensor.dtype}});
      else
        findings_.error(
            "UnmappedTensor", source_,
            fmt::format("tensor \"{}\" has no place in a {} model as weft knows it", tensor.name, architecture));
    const auto family = check_family(config, tensors);
    if (family) check_unused(tensors, {&*family}, config->num_hidden_layers, source_, findings_);
    findings_.begin("tokenizer");
    Vocabulary vocabulary;
    const std::string chat{file->find_string("tokenizer.chat_template").value_or("")};
    if (findings_.attempt([&] { vocabulary = read_gguf_vocabulary(*file); })) check_tokenizer(vocabulary, config, chat);
  }

  void verify_model() {
    report_.format = ".model";
    std::vector<Error> problems;
    std::optional<ModelFile> file;
    findings_.attempt([&] { file = ModelFile::open(path_, {.legacy = options_.legacy, .problems = &problems}); });
    for (const Error& problem : problems)
      if (problem.code() != hash_mismatch) findings_.add(problem);
    if (!file) return;
    report_.format = fmt::format(".model version {}", file->format_version());
    for (const Warning& warning : file->warnings()) findings_.add(warning);
    findings_.done(fmt::format("{} sections, {} tensors", file->sections().size(), file->tensors().size()));
    check_hashes(*file, problems);
    findings_.begin("ranges");
    check_ranges(*file, findings_);
    findings_.done(fmt::format("{} bytes of weights", file->weights().size()));

    findings_.begin("config");
    const std::string type = file->config().find_string("model_type").value_or("");
    const auto known = known_architectures();
    const bool has_graph = file->graph() || file->mir();
    // A graph of its own makes a model of what weft has no builder for.
    const bool is_family = std::find(known.begin(), known.end(), type) != known.end();
    std::optional<ModelConfig> config;
    if (has_graph && !describes_decoder(file->config()))
      findings_.skipped(fmt::format("model_type \"{}\" is none that weft knows; the stored graph says all", type));
    else if (findings_.attempt([&] {
               config = config_from_table(file->config(), source_ + ", section config");
               if (!has_graph) expect_known_architecture(type, source_ + ", section config");
             }))
      findings_.done(type);

    check_all_values(*file);
    std::vector<CheckpointTensor> tensors;
    for (const ModelTensor& tensor : file->tensors())
      tensors.push_back({tensor.name, {Shape(tensor.dims), tensor.flat ? DType::f32 : tensor.dtype}});
    findings_.begin("names");
    const auto family = is_family ? check_family(config, tensors) : std::nullopt;
    if (!is_family) findings_.skipped("weft has no builder for this model_type");
    // A graph without some of its weights is wrong in ways that say nothing new.
    const bool all_read = std::all_of(problems.begin(), problems.end(),
                                      [](const Error& problem) { return problem.code() == hash_mismatch; });
    check_graphs(*file, family, config, tensors, all_read && (family || !is_family || !config));
    check_model_tokenizer(*file, config);
    check_eval_section(*file);
  }

  // Those of the text sections were compared when the file was opened.
  void check_hashes(const ModelFile& file, const std::vector<Error>& problems) {
    findings_.begin("hashes");
    for (const Error& problem : problems)
      if (problem.code() == hash_mismatch) findings_.add(problem);
    findings_.attempt([&] { file.finish_verification(); });
    const auto& sections = file.sections();
    const auto declared = std::count_if(sections.begin(), sections.end(),
                                        [](const ModelSectionInfo& section) { return section.sha256.has_value(); });
    if (declared == 0)
      findings_.skipped("the file declares none");
    else
      findings_.done(fmt::format("{} of {} sections declare one", declared, sections.size()));
  }

  // Of a GgufFile or a ModelFile.
  template <class File>
  void check_all_values(const File& file) {
    findings_.begin("values");
    std::uint64_t total = 0, done = 0;
    for (const auto& info : file.tensors()) total += info.bytes;
    for (const auto& info : file.tensors()) {
      if (options_.canceled && options_.canceled())
        fail(ErrorKind::canceled, "Canceled", source_, "stopped before all was checked");
      findings_.attempt([&] {
        const Tensor tensor = file.tensor(info);
        check_values(std::string(info.name), tensor, pool_, findings_);
        MappedFile::release(tensor.bytes());
      });
      done += info.bytes;
      if (options_.progress) options_.progress(done, total);
    }
    findings_.done(fmt::format("{} tensors, {} bytes", file.tensors().size(), total));
  }

  static TensorTypes types_of(const std::vector<CheckpointTensor>& tensors) {
    auto by_name = std::make_shared<std::map<std::string, TensorType>>();
    for (const CheckpointTensor& tensor : tensors) by_name->emplace(tensor.name, tensor.type);
    return [by_name](const std::string& name) -> std::optional<TensorType> {
      const auto found = by_name->find(name);
      return found == by_name->end() ? std::nullopt : std::optional(found->second);
    };
  }

  std::optional<Graph> check_family(const std::optional<ModelConfig>& config,
                                    const std::vector<CheckpointTensor>& tensors) {
    if (!config) {
      findings_.skipped("needs the config");
      return std::nullopt;
    }
    auto graph = check_family_graph(*config, types_of(tensors), tensors.size(), findings_);
    findings_.done(fmt::format("{} layers of a {} model", config->num_hidden_layers, config->model_type));
    return graph;
  }

  void check_graphs(const ModelFile& file, const std::optional<Graph>& family, const std::optional<ModelConfig>& config,
                    const std::vector<CheckpointTensor>& tensors, bool complete) {
    findings_.begin("graph");
    std::optional<Graph> stored;
    const bool has_graph = file.graph() || file.mir();
    if (has_graph && complete) stored = check_stored_graph(file, types_of(tensors), findings_);
    std::vector<const Graph*> graphs;
    for (const std::optional<Graph>* graph : {&std::as_const(stored), &family})
      if (*graph) graphs.push_back(&**graph);
    check_unused(tensors, graphs, config ? config->num_hidden_layers : std::int64_t{1} << 31, source_, findings_);
    if (!has_graph) return findings_.skipped("the file stores none");
    if (!complete) return findings_.skipped("needs all weights");
    if (stored && family)
      findings_.attempt([&] {
        check_same_results(*stored, *family, file.graph().has_value(), ModelCheckpoint(file), pool_.size(), findings_);
      });
    if (stored) findings_.done(fmt::format("{} nodes{}", stored->size(), family ? ", compared with the family's" : ""));
  }

  void check_model_tokenizer(const ModelFile& file, const std::optional<ModelConfig>& config) {
    findings_.begin("tokenizer");
    Vocabulary vocabulary;
    std::vector<Warning> warnings;
    const bool read = findings_.attempt([&] { vocabulary = file.vocabulary(&warnings); });
    for (const Warning& warning : warnings) findings_.add(warning);
    const auto chat = file.chat();
    if (read) check_tokenizer(vocabulary, config, chat ? chat->find_string("template").value_or("") : "");
  }

  void check_tokenizer(const Vocabulary& vocabulary, const std::optional<ModelConfig>& config,
                       const std::string& chat) {
    if (vocabulary.type == TokenizerType::none) {
      if (config)
        findings_.warning("MissingTokenizer", source_, "the file has no vocabulary: it runs on token ids alone");
      return findings_.skipped("the file has no vocabulary");
    }
    const std::int64_t ids = vocabulary.entries.empty() ? 0 : std::int64_t{vocabulary.entries.back().id} + 1;
    check_vocabulary(vocabulary, config ? config->vocab_size : ids, chat, source_ + ", vocabulary", findings_);
    findings_.done(fmt::format("{} tokens, {} merges", vocabulary.entries.size(), vocabulary.merges.size()));
  }

  void check_eval_section(const ModelFile& file) {
    findings_.begin("eval");
    const auto info = std::find_if(file.sections().begin(), file.sections().end(),
                                   [](const ModelSectionInfo& section) { return section.name == "eval"; });
    if (info == file.sections().end()) return findings_.skipped("the file has no such section");
    const std::uint64_t before = findings_.errors();
    const std::vector<Benchmark> benchmarks =
        check_eval(*file.section("eval"), {source_, "eval", info->line}, findings_);
    std::string note = fmt::format("{} prompts", benchmarks.size());
    if (options_.eval && !benchmarks.empty() && findings_.errors() == before) {
      std::size_t passed = 0;
      findings_.attempt([&] {
        auto model = LanguageModel::create(std::make_shared<ModelCheckpoint>(file),
                                           {.threads = pool_.size(), .canceled = options_.canceled});
        passed = run_benchmarks(model, benchmarks, source_ + ", section eval", findings_);
      });
      note += fmt::format(", {} answered as expected", passed);
    }
    findings_.done(note);
  }

  std::filesystem::path path_;
  std::string source_;
  const VerifyOptions& options_;
  ThreadPool pool_;
  VerifyReport report_;
  Findings& findings_ = report_.findings;
};

}  // namespace

VerifyReport verify_file(const std::filesystem::path& path, const VerifyOptions& options) {
  MappedFile::open(path);
  return Verifier(path, options).run();
}

}  // namespace weft
