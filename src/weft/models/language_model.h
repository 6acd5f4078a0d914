// A language model ready to use: checkpoint, tokenizer and executor in one. Text in, text out.
//
//   auto model = weft::LanguageModel::open("model.gguf");
//   model.generate("Once upon a time", {.max_tokens = 64}, [](std::string_view text) { std::cout << text; return true;
//   });
//
// One generation at a time per object; another() gives a second object over the same weights for another thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"
#include "weft/models/sampling_options.h"
#include "weft/runtime/graph_executor.h"
#include "weft/text/tokenizer.h"

namespace weft {

class Checkpoint;
class ThreadPool;

struct LanguageModelOptions {
  std::int64_t context = 0;    // most tokens of prompt and continuation; 0: the smaller of the model's and 4096
  int threads = 0;             // 0: one per available CPU
  std::string backend = {};    // forced backend
  DType kv_type = DType::f16;  // of the KV cache: f32, f16, bf16 or q8_0; the backend `reference` has f32 alone
  std::vector<std::string> without_passes = {};  // passes of the compiler to leave out
  bool profile = false;
  bool check_finite = false;  // NonFiniteOutput names the first op that produces a NaN or an infinity
  std::int64_t chunk = 512;   // prompt rows per run
  std::function<bool()> canceled = {};
};

struct GenerateOptions {
  std::int64_t max_tokens = 128;  // -1: until the end of the text or of the context
  SamplingOptions sampling = {};
  std::vector<std::string> stop = {};
  bool ignore_eos = false;
};

enum class StopReason { eos, length, context, stop, canceled };
WEFT_API std::string_view to_string(StopReason reason);

struct Generation {
  std::vector<std::int32_t> prompt_ids, ids;
  std::string text;  // of the continuation, cut before a stop string
  StopReason stop = StopReason::length;
  std::uint64_t seed = 0;
  double prefill_seconds = 0, decode_seconds = 0;  // decode: after the first token
  double first_token_seconds = 0;                  // from the call
};

// Receives text as it becomes final; false ends the generation (StopReason::canceled).
using TextSink = std::function<bool(std::string_view text)>;

class WEFT_API LanguageModel {
 public:
  static LanguageModel open(const std::filesystem::path& path, const LanguageModelOptions& options = {});
  static LanguageModel create(std::shared_ptr<const Checkpoint> checkpoint, const LanguageModelOptions& options = {});
  LanguageModel another() const;

  const Checkpoint& checkpoint() const { return *checkpoint_; }
  // MissingTokenizer when the file has no vocabulary.
  const Tokenizer& tokenizer() const;
  std::int64_t context() const { return context_; }

  // Starts from an empty context. The continuation alone goes to `sink`. A prompt longer than the context is refused
  // (PromptTooLong), a token id outside the vocabulary too (TokenOutOfRange).
  Generation generate(std::string_view prompt, const GenerateOptions& options = {}, const TextSink& sink = {});
  Generation generate_ids(std::span<const std::int32_t> prompt, const GenerateOptions& options = {},
                          const TextSink& sink = {});

  // The same behind what the context holds. Of a prompt that was interrupted the context may keep a part.
  Generation continue_ids(std::span<const std::int32_t> ids, const GenerateOptions& options = {},
                          const TextSink& sink = {});
  // PromptTooLong for more ids than the context has room for, in all.
  void expect_fits(std::span<const std::int32_t> ids) const;

  // Logits of every given token in the current context, f32 [ids, vocab]; the context grows by them.
  Tensor logits(std::span<const std::int32_t> ids);
  // The same for the last token alone, [vocab].
  Tensor last_logits(std::span<const std::int32_t> ids);
  void reset() { executor_.reset(); }
  void truncate(std::int64_t tokens) { executor_.truncate(tokens); }  // keeps the first `tokens` of the context
  std::int64_t past_length() const { return executor_.past_length(); }
  const GraphExecutor& executor() const { return executor_; }
  std::string backend() const;  // the one that runs most nodes
  int threads() const;

 private:
  LanguageModel(std::shared_ptr<const Checkpoint> checkpoint, std::shared_ptr<const Tokenizer> tokenizer,
                GraphExecutor executor, std::shared_ptr<ThreadPool> pool, std::int64_t context, std::int64_t chunk);
  void check_ids(std::span<const std::int32_t> ids) const;
  void expect_room(std::int64_t tokens) const;
  // Runs the ids in chunks; row selection as `rows` says. Calls visit with each chunk's logits, a whole number of rows.
  enum class Rows { all, last };
  void feed(std::span<const std::int32_t> ids, Rows rows, const std::function<void(std::span<const float>)>& visit);
  // The logits of the last token, valid until the next run.
  std::span<const float> feed_last(std::span<const std::int32_t> ids);

  std::shared_ptr<const Checkpoint> checkpoint_;
  std::shared_ptr<const Tokenizer> tokenizer_;  // null: none in the file
  GraphExecutor executor_;
  std::shared_ptr<ThreadPool> pool_;
  std::int64_t context_ = 0, chunk_ = 512;
  std::vector<std::int32_t> row_indices_;                          // 0, 1, ... up to the rows of a chunk
  std::size_t ids_index_ = 0, rows_index_ = 1, logits_index_ = 0;  // among the graph's inputs and outputs
};

}  // namespace weft
