#include "weft/cli/json_output.h"

#include <nlohmann/json.hpp>

namespace weft::cli {

double RunReport::prefill_rate() const {
  return generation.prefill_seconds > 0 ? static_cast<double>(generation.prompt_ids.size()) / generation.prefill_seconds
                                        : 0;
}

double RunReport::decode_rate() const {
  const std::size_t after_first = generation.ids.empty() ? 0 : generation.ids.size() - 1;
  return generation.decode_seconds > 0 ? static_cast<double>(after_first) / generation.decode_seconds : 0;
}

std::string run_json(const RunReport& report) {
  const Generation& g = report.generation;
  const nlohmann::ordered_json json{
      {"prompt_ids", g.prompt_ids},
      {"ids", g.ids},
      {"text", g.text},
      {"stop", to_string(g.stop)},
      {"seed", g.seed},
      {"load_s", report.load_seconds},
      {"prefill_tok_s", report.prefill_rate()},
      {"decode_tok_s", report.decode_rate()},
      {"first_token_s", g.first_token_seconds},
      {"backend", report.backend},
      {"threads", report.threads},
  };
  return json.dump();
}

std::string eval_json(const Evaluation& evaluation, double seconds) {
  const auto score_json = [](const TextScore& score) {
    return nlohmann::ordered_json{{"perplexity", score.perplexity},
                                  {"perplexity_error", score.perplexity_error},
                                  {"bits_per_byte", score.bits_per_byte},
                                  {"nats_per_token", score.nats_per_token}};
  };
  nlohmann::ordered_json json{{"tokens", evaluation.tokens},   {"bytes", evaluation.bytes},
                              {"windows", evaluation.windows}, {"context", evaluation.context},
                              {"stride", evaluation.stride},   {"seconds", seconds}};
  json.update(score_json(evaluation.score));
  if (evaluation.against) {
    const Divergence& d = *evaluation.against;
    json["against"] = score_json(d.other);
    json["against"].update({{"kl_mean", d.kl_mean},
                            {"kl_median", d.kl_median},
                            {"kl_99", d.kl_99},
                            {"kl_max", d.kl_max},
                            {"top1_agreement", d.top1_agreement},
                            {"rms_probability_difference", d.rms_probability_difference}});
  }
  return json.dump();
}

std::string inspect_json(const FileReport& report, bool tensors) {
  nlohmann::ordered_json json{{"file", report.file}, {"format", report.format}, {"bytes", report.bytes}};
  for (const auto& [key, value] : report.facts) json["info"][key] = value;
  for (const auto& [dtype, count] : report.dtypes) json["tensor_types"][dtype] = count;
  json["tensor_count"] = report.tensors.size();
  json["parameters"] = report.parameters;
  json["weight_bytes"] = report.weight_bytes;
  if (tensors) {
    json["tensors"] = nlohmann::ordered_json::array();
    for (const TensorReport& tensor : report.tensors)
      json["tensors"].push_back({{"name", tensor.name},
                                 {"shape", tensor.dims},
                                 {"type", tensor.dtype},
                                 {"offset", tensor.offset},
                                 {"bytes", tensor.bytes}});
  }
  return json.dump(2);
}

}  // namespace weft::cli
