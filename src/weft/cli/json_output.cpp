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

std::string reply_json(const ChatReply& reply) {
  const Generation& g = reply.generation;
  const nlohmann::ordered_json json{
      {"text", g.text},
      {"stop", to_string(g.stop)},
      {"ids", g.ids},
      {"prompt_tokens", g.prompt_ids.size()},
      {"reused_tokens", reply.reused_tokens},
      {"seed", g.seed},
      {"first_token_s", g.first_token_seconds},
      {"decode_s", g.decode_seconds},
  };
  return json.dump();
}

std::string cpu_json(const CpuReport& report) {
  const CpuInfo& info = report.info;
  nlohmann::ordered_json json{{"model", info.model}, {"features", info.features}};
  json["levels"] = nlohmann::ordered_json::object();
  for (const auto& [level, missing] : report.levels)
    json["levels"][std::string(to_string(level))] = missing.empty() ? "supported" : "needs " + missing;
  json["level"] = to_string(report.selected);
  json["reason"] = report.reason;
  json["l1d_bytes"] = info.l1d_bytes;
  json["l2_bytes"] = info.l2_bytes;
  json["l3_bytes"] = info.l3_bytes;
  json["logical_cpus"] = info.logical_cpus;
  json["usable_cpus"] = info.usable_cpus;
  json["threads"] = report.threads;
  if (report.bandwidth) json["bandwidth_gb_s"] = *report.bandwidth / 1e9;
  if (report.rates) {
    json["rates"] = nlohmann::ordered_json::object();
    for (const cpu::LevelRates& rates : report.rates->levels) {
      auto& entry = json["rates"][std::string(to_string(rates.level))] = nlohmann::ordered_json::object();
      if (rates.f32 > 0) entry["f32_gflop_s"] = rates.f32 / 1e9;
      if (rates.bf16 > 0) entry["bf16_gflop_s"] = rates.bf16 / 1e9;
      if (rates.int8 > 0) entry["int8_gop_s"] = rates.int8 / 1e9;
    }
  }
  return json.dump();
}

std::string bench_json(const BenchReport& report) {
  const auto spread = [](const Spread& s) {
    return nlohmann::ordered_json{{"median", s.median}, {"min", s.min}, {"max", s.max}};
  };
  const nlohmann::ordered_json json{
      {"model", report.model},
      {"cpu", report.cpu},
      {"level", report.level},
      {"backend", report.backend},
      {"threads", report.threads},
      {"prompt", report.prompt},
      {"new", report.new_tokens},
      {"kv_type", report.kv_type},
      {"load_s", report.load_seconds},
      {"prefill_tok_s", spread(report.prefill_tok_s)},
      {"decode_tok_s", spread(report.decode_tok_s)},
      {"bandwidth_gb_s", report.bandwidth / 1e9},
      {"weight_bytes", report.weight_bytes},
      {"kv_bytes", report.kv_bytes},
      {"decode_ceiling_tok_s", report.decode_ceiling()},
      {"decode_fraction", report.decode_fraction()},
  };
  return json.dump();
}

std::string plan_json(const ProgramReport& report, const PlanCeilings& ceilings, const PlanArguments& arguments) {
  nlohmann::ordered_json json{{"model", arguments.model}, {"rows", arguments.rows}, {"past", arguments.past}};
  for (const PassReport& pass : report.passes) {
    nlohmann::ordered_json misses = nlohmann::ordered_json::array();
    for (const PassMiss& miss : pass.misses) misses.push_back({{"reason", miss.reason}, {"where", miss.where}});
    json["passes"].push_back(
        {{"name", pass.name}, {"ran", pass.ran}, {"matches", pass.matches}, {"misses", std::move(misses)}});
  }
  for (const InstructionReport& line : report.instructions)
    json["instructions"].push_back({{"op", line.op},
                                    {"kernel", line.kernel},
                                    {"backend", line.backend},
                                    {"label", line.label},
                                    {"inputs", line.inputs},
                                    {"outputs", line.outputs},
                                    {"bytes", line.cost.bytes()},
                                    {"flops", line.cost.flops}});
  for (const BufferReport& buffer : report.buffers)
    json["buffers"].push_back({{"name", buffer.name},
                               {"offset", buffer.offset},
                               {"bytes", buffer.size},
                               {"first", buffer.first},
                               {"last", buffer.last},
                               {"in_place", buffer.shared}});
  json["arena_bytes"] = report.arena_bytes;
  json["arena_bytes_without_sharing"] = report.unshared_bytes;
  json["weight_bytes"] = report.weight_bytes;
  json["weight_bytes_read"] = report.total.weight_bytes;
  json["state_bytes_read"] = report.total.state_bytes;
  json["flops"] = report.total.flops;
  json["bandwidth_gb_s"] = ceilings.bandwidth / 1e9;
  json["memory_ceiling_tok_s"] = ceilings.memory_tok_s;
  json["compute_ceiling_tok_s"] = ceilings.compute_tok_s;
  json["predicted_tok_s"] = ceilings.predicted();
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
  for (const HashReport& hash : report.hashes) {
    nlohmann::ordered_json entry{{"name", hash.name}, {"sha256", hash.sha256}};
    if (hash.declared) entry["declared"] = *hash.declared;
    json["hashes"].push_back(std::move(entry));
  }
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

std::string verify_json(const VerifyReport& report) {
  const Findings& findings = report.findings;
  nlohmann::ordered_json json{{"file", report.file},
                              {"format", report.format},
                              {"ok", report.ok()},
                              {"errors", findings.errors()},
                              {"warnings", findings.warnings()}};
  json["checks"] = json["findings"] = nlohmann::ordered_json::array();
  for (const CheckResult& check : findings.checks())
    json["checks"].push_back({{"name", check.name}, {"done", check.done}, {"note", check.note}});
  for (const Finding& finding : findings.all())
    json["findings"].push_back({{"severity", to_string(finding.severity)},
                                {"check", finding.check},
                                {"code", finding.code},
                                {"where", finding.where},
                                {"message", finding.message}});
  // A message may quote bytes of the file that are no text.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace weft::cli
