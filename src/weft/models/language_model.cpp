#include "weft/models/language_model.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "weft/backend/backend.h"
#include "weft/base/fail.h"
#include "weft/base/random.h"
#include "weft/base/thread_pool.h"
#include "weft/base/utf8.h"
#include "weft/models/checkpoint.h"
#include "weft/models/language_program.h"
#include "weft/ops/sampling.h"
#include "weft/text/stop_strings.h"
#include "weft/text/stream_decoder.h"

namespace weft {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::eos: return "eos";
    case StopReason::length: return "length";
    case StopReason::context: return "context";
    case StopReason::stop: return "stop";
    case StopReason::canceled: return "canceled";
  }
  return "";
}

LanguageModel::LanguageModel(std::shared_ptr<const Checkpoint> checkpoint, std::shared_ptr<const Tokenizer> tokenizer,
                             GraphExecutor executor, std::shared_ptr<ThreadPool> pool, std::int64_t context,
                             std::int64_t chunk)
    : checkpoint_(std::move(checkpoint)),
      tokenizer_(std::move(tokenizer)),
      executor_(std::move(executor)),
      pool_(std::move(pool)),
      context_(context),
      chunk_(chunk),
      row_indices_(static_cast<std::size_t>(chunk)) {
  std::iota(row_indices_.begin(), row_indices_.end(), 0);
  std::size_t at = 0;
  for (const std::int32_t index : executor_.graph().inputs()) {
    const Node& node = executor_.graph().node(index);
    if (node.text("source") != "caller") continue;
    (node.text("name") == rows_input ? rows_index_ : ids_index_) = at++;
  }
  const auto& outputs = executor_.graph().outputs();
  while (outputs[logits_index_].name != logits_output) ++logits_index_;
}

LanguageModel LanguageModel::open(const std::filesystem::path& path, const LanguageModelOptions& options) {
  return create(Checkpoint::open(path), options);
}

LanguageModel LanguageModel::create(std::shared_ptr<const Checkpoint> checkpoint, const LanguageModelOptions& options) {
  LanguageProgram program = language_program(*checkpoint, options);
  std::shared_ptr<ThreadPool> pool = program.config.pool;
  const std::int64_t context = program.context, chunk = program.chunk;
  GraphExecutor executor = GraphExecutor::prepare(std::move(program.graph), *checkpoint, std::move(program.config));
  Vocabulary vocabulary = checkpoint->vocabulary();
  checkpoint->finish_verification();
  auto tokenizer = vocabulary.type == TokenizerType::none ? nullptr : Tokenizer::create(std::move(vocabulary));
  return {std::move(checkpoint), std::move(tokenizer), std::move(executor), std::move(pool), context, chunk};
}

LanguageModel LanguageModel::another() const {
  return {checkpoint_, tokenizer_, executor_.another(), pool_, context_, chunk_};
}

const Tokenizer& LanguageModel::tokenizer() const {
  if (tokenizer_ == nullptr)
    fail(ErrorKind::unsupported, "MissingTokenizer", checkpoint_->path().string(),
         "the file has no vocabulary; give token ids instead of text");
  return *tokenizer_;
}

std::string LanguageModel::backend() const {
  std::map<std::string, int> nodes;
  for (const Placement& placement : executor_.placements()) ++nodes[placement.backend];
  const auto most =
      std::max_element(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == nodes.end() ? std::string(fallback_backend) : most->first;
}

int LanguageModel::threads() const { return pool_->size(); }

void LanguageModel::check_ids(std::span<const std::int32_t> ids) const {
  const std::int64_t vocab = checkpoint_->config().vocab_size;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocab)
      fail(ErrorKind::out_of_range, "TokenOutOfRange", checkpoint_->path().string(),
           "token id {} at position {} is outside the vocabulary of {}", ids[i], i, vocab);
  expect_room(past_length() + static_cast<std::int64_t>(ids.size()));
}

void LanguageModel::expect_room(std::int64_t tokens) const {
  if (tokens > context_)
    fail(ErrorKind::out_of_range, "PromptTooLong", checkpoint_->path().string(),
         "{} tokens do not fit a context of {}; shorten the prompt or raise --ctx", tokens, context_);
}

void LanguageModel::expect_fits(std::span<const std::int32_t> ids) const {
  expect_room(static_cast<std::int64_t>(ids.size()));
}

void LanguageModel::feed(std::span<const std::int32_t> ids, Rows rows,
                         const std::function<void(std::span<const float>)>& visit) {
  const auto count = static_cast<std::int64_t>(ids.size());
  const std::int64_t vocab = std::max<std::int64_t>(checkpoint_->config().vocab_size, 1);
  // Logits of all rows are large; their chunks stay under 64 MB.
  const std::int64_t chunk =
      rows == Rows::all ? std::clamp<std::int64_t>((std::int64_t{16} << 20) / vocab, 1, chunk_) : chunk_;
  for (std::int64_t at = 0; at < count; at += chunk) {
    const std::int64_t size = std::min(chunk, count - at);
    const std::int32_t* wanted = row_indices_.data();
    std::int64_t wanted_count = size;
    if (rows == Rows::last) {
      wanted += size - 1;
      wanted_count = at + size == count ? 1 : 0;
    }
    TensorView inputs[2];
    inputs[ids_index_] = {reinterpret_cast<const std::byte*>(ids.data() + at), DType::i32, {&size, 1}};
    inputs[rows_index_] = {reinterpret_cast<const std::byte*>(wanted), DType::i32, {&wanted_count, 1}};
    const TensorView logits = executor_.run_views(inputs)[logits_index_];
    visit({reinterpret_cast<const float*>(logits.data), static_cast<std::size_t>(wanted_count * vocab)});
  }
}

Tensor LanguageModel::logits(std::span<const std::int32_t> ids) {
  check_ids(ids);
  Tensor all = Tensor::allocate(DType::f32, {static_cast<std::int64_t>(ids.size()), checkpoint_->config().vocab_size});
  float* out = all.mutable_values<float>().data();
  feed(ids, Rows::all, [&](std::span<const float> part) { out = std::copy(part.begin(), part.end(), out); });
  return all;
}

std::span<const float> LanguageModel::feed_last(std::span<const std::int32_t> ids) {
  if (ids.empty())
    fail(ErrorKind::invalid_argument, "EmptyPrompt", checkpoint_->path().string(), "there is no token to continue");
  check_ids(ids);
  std::span<const float> last;
  feed(ids, Rows::last, [&](std::span<const float> part) { last = part; });
  return last;
}

Tensor LanguageModel::last_logits(std::span<const std::int32_t> ids) {
  const std::span<const float> last = feed_last(ids);
  return Tensor::from(last, {static_cast<std::int64_t>(last.size())});
}

Generation LanguageModel::generate(std::string_view prompt, const GenerateOptions& options, const TextSink& sink) {
  return generate_ids(tokenizer().encode(prompt), options, sink);
}

Generation LanguageModel::generate_ids(std::span<const std::int32_t> prompt, const GenerateOptions& options,
                                       const TextSink& sink) {
  reset();
  return continue_ids(prompt, options, sink);
}

Generation LanguageModel::continue_ids(std::span<const std::int32_t> prompt, const GenerateOptions& options,
                                       const TextSink& sink) {
  const auto start = std::chrono::steady_clock::now();
  Generation result;
  result.prompt_ids.assign(prompt.begin(), prompt.end());
  result.seed = options.sampling.seed;
  while (result.seed == 0) result.seed = std::random_device()();
  Pcg32 random(result.seed);
  const ops::SamplingOptions chain{.method = ops::SamplingMethod::chain,
                                   .temperature = options.sampling.temperature,
                                   .top_k = options.sampling.top_k,
                                   .top_p = options.sampling.top_p,
                                   .min_p = options.sampling.min_p};

  std::optional<StreamDecoder> decoder;
  if (tokenizer_ != nullptr) decoder.emplace(*tokenizer_, DecodeOptions{.from = DecodeFrom::continuation});
  StopStrings stops(options.stop);
  bool wanted = true;  // by the sink
  const auto emit_text = [&](const std::string& text) {
    if (text.empty()) return;
    result.text += text;
    if (sink && !sink(text)) wanted = false;
  };

  std::span<const float> logits;
  try {
    logits = feed_last(prompt);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::canceled) throw;
    result.stop = StopReason::canceled;
    result.prefill_seconds = seconds_since(start);
    return result;
  }
  result.prefill_seconds = seconds_since(start);
  const auto decode_start = std::chrono::steady_clock::now();
  for (;;) {
    if (options.max_tokens >= 0 && static_cast<std::int64_t>(result.ids.size()) >= options.max_tokens) {
      result.stop = StopReason::length;
      break;
    }
    const auto id = static_cast<std::int32_t>(ops::sample_row(logits, chain, random.uniform()));
    if (result.ids.empty()) result.first_token_seconds = seconds_since(start);
    const bool ends = tokenizer_ != nullptr && tokenizer_->is_eos(id);
    if (ends && !options.ignore_eos) {
      result.stop = StopReason::eos;
      break;
    }
    result.ids.push_back(id);
    if (decoder) emit_text(stops.push(tokenizer_->has_token(id) ? decoder->push(id) : std::string()));
    if (stops.stopped_by()) {
      result.stop = StopReason::stop;
      break;
    }
    if (!wanted) {
      result.stop = StopReason::canceled;
      break;
    }
    if (options.max_tokens >= 0 && static_cast<std::int64_t>(result.ids.size()) >= options.max_tokens) continue;
    if (past_length() >= context_) {
      result.stop = StopReason::context;
      break;
    }
    try {
      logits = feed_last({&id, 1});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::canceled) throw;
      result.stop = StopReason::canceled;
      break;
    }
  }
  if (decoder && !stops.stopped_by()) {
    emit_text(stops.push(decoder->finish()));
    emit_text(stops.finish());
    if (stops.stopped_by()) result.stop = StopReason::stop;
  }
  result.decode_seconds = seconds_since(decode_start);
  return result;
}

}  // namespace weft
