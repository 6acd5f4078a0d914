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
