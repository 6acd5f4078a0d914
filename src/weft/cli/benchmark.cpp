#include "weft/cli/benchmark.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <span>

#include "weft/base/cpu_features.h"
#include "weft/base/fail.h"
#include "weft/cli/interrupt.h"
#include "weft/models/checkpoint.h"
#include "weft/ops/sampling.h"

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Any tokens will do, as long as they differ: speed does not depend on them.
std::vector<std::int32_t> made_up_tokens(std::int64_t count, std::int64_t vocab) {
  constexpr std::int64_t first = 300, step = 7919, range = 1500;
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>((first + i * step % range) % vocab));
  return ids;
}

std::int32_t likeliest(const Tensor& logits) {
  return static_cast<std::int32_t>(ops::sample_row(logits.values<float>(), {.method = ops::SamplingMethod::greedy}, 0));
}

LanguageModel open_model(const BenchArguments& arguments, double& seconds) {
  const auto start = Clock::now();
  LanguageModel model = LanguageModel::open(
      arguments.model,
      {.context = arguments.context > 0 ? arguments.context : arguments.prompt + arguments.new_tokens + 1,
       .threads = arguments.threads,
       .backend = arguments.backend,
       .kv_type = *dtype_from_name(arguments.kv_type),
       .canceled = InterruptGuard::interrupted});
  seconds = seconds_since(start);
  return model;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

double BenchReport::decode_ceiling() const {
  const auto bytes = static_cast<double>(weight_bytes + kv_bytes);
  return bytes > 0 ? bandwidth / bytes : 0;
}

double BenchReport::decode_fraction() const {
  const double ceiling = decode_ceiling();
  return ceiling > 0 ? decode_tok_s.median / ceiling : 0;
}

std::uint64_t weight_bytes_per_token(const Checkpoint& checkpoint) {
  constexpr const char* embedding = "model.embed_tokens.weight";
  const bool own_head = checkpoint.tensor_type("lm_head.weight").has_value();
  std::uint64_t bytes = 0;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    const std::vector<std::int64_t> dims = tensor.type.shape.static_dims().value();
    const std::uint64_t size = byte_size(tensor.type.dtype, dims);
    const bool one_row = own_head && tensor.name == embedding && !dims.empty() && dims[0] > 0;
    bytes += one_row ? size / static_cast<std::uint64_t>(dims[0]) : size;
  }
  return bytes;
}

std::uint64_t kv_bytes_per_row(const Checkpoint& checkpoint, DType kv_type) {
  const ModelConfig& config = checkpoint.config();
  const std::array width = {config.num_key_value_heads * config.head_dim};
  return 2 * static_cast<std::uint64_t>(config.num_hidden_layers) * byte_size(kv_type, width);
}

Benchmark::Benchmark(const BenchArguments& arguments)
    : arguments_(arguments), model_(open_model(arguments, load_seconds_)), pool_(model_.threads()), probe_(pool_) {
  // A first run, unmeasured, touches what later ones find in place.
  Tensor logits = model_.last_logits(
      made_up_tokens(std::min<std::int64_t>(arguments_.prompt, 8), model_.checkpoint().config().vocab_size));
  if (model_.past_length() < model_.context()) {
    const std::int32_t id = likeliest(logits);
    model_.last_logits({&id, 1});
  }
}

BenchRun Benchmark::run() {
  BenchRun result{.bandwidth = probe_.run(pool_)};
  const std::vector<std::int32_t> prompt = made_up_tokens(arguments_.prompt, model_.checkpoint().config().vocab_size);
  model_.reset();
  const auto start = Clock::now();
  Tensor logits = model_.last_logits(prompt);
  result.prefill_tok_s = static_cast<double>(arguments_.prompt) / seconds_since(start);
  const auto first = Clock::now();
  for (std::int64_t i = 0; i < arguments_.new_tokens; ++i) {
    const std::int32_t id = likeliest(logits);
    logits = model_.last_logits({&id, 1});
  }
  result.decode_tok_s = static_cast<double>(arguments_.new_tokens) / seconds_since(first);
  return result;
}

BenchReport Benchmark::report(const std::vector<BenchRun>& runs) const {
  const Checkpoint& checkpoint = model_.checkpoint();
  std::vector<double> prefill, decode, bandwidth;
  for (const BenchRun& each : runs) {
    prefill.push_back(each.prefill_tok_s);
    decode.push_back(each.decode_tok_s);
    bandwidth.push_back(each.bandwidth);
  }
  // Token i of the new ones finds the prompt and those before it, and itself.
  const std::int64_t rows = arguments_.prompt + (arguments_.new_tokens + 1) / 2;
  return {.model = std::filesystem::path(arguments_.model).filename().string(),
          .cpu = cpu_info().model,
          .level = std::string(to_string(selected_cpu_level())),
          .backend = model_.backend(),
          .kv_type = arguments_.kv_type,
          .threads = model_.threads(),
          .prompt = arguments_.prompt,
          .new_tokens = arguments_.new_tokens,
          .load_seconds = load_seconds_,
          .prefill_tok_s = spread_of(std::move(prefill)),
          .decode_tok_s = spread_of(std::move(decode)),
          .bandwidth = spread_of(std::move(bandwidth)).median,
          .weight_bytes = weight_bytes_per_token(checkpoint),
          .kv_bytes = static_cast<std::uint64_t>(rows) *
                      kv_bytes_per_row(checkpoint, dtype_from_name(arguments_.kv_type).value_or(DType::f32))};
}

}  // namespace weft::cli
