#include "weft/models/model_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"
#include "weft/formats/config_table.h"
#include "weft/formats/gguf_file.h"

namespace weft {
namespace {

constexpr std::array architectures{"llama", "qwen2", "qwen3"};

// One place for what both sources leave out.
void fill_defaults(ModelConfig& config) {
  if (config.num_key_value_heads == 0) config.num_key_value_heads = config.num_attention_heads;
  if (config.head_dim == 0 && config.num_attention_heads > 0)
    config.head_dim = config.hidden_size / config.num_attention_heads;
  if (config.rope_dim == 0) config.rope_dim = config.head_dim;
}

}  // namespace

void expect_known_architecture(std::string_view name, const std::string& where) {
  if (std::find(architectures.begin(), architectures.end(), name) != architectures.end()) return;
  fail(ErrorKind::unsupported, "UnsupportedArchitecture", where,
       "architecture \"{}\" is not one of those weft runs: {}", name, fmt::join(architectures, ", "));
}

std::vector<std::string> known_architectures() { return {architectures.begin(), architectures.end()}; }

void ModelConfig::check(const std::string& where) const {
  const auto refuse = [&](const char* field, const std::string& reason) {
    fail(ErrorKind::invalid_config, "InvalidConfig", where, "{}: {}", field, reason);
  };
  // Far above any model, far below what could overflow a product of three.
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  const auto size = [&](const char* field, std::int64_t value) {
    if (value < 1 || value > limit) refuse(field, fmt::format("{} is outside 1 to 2^31", value));
  };
  size("hidden_size", hidden_size);
  size("intermediate_size", intermediate_size);
  size("num_hidden_layers", num_hidden_layers);
  if (num_hidden_layers > 65536) refuse("num_hidden_layers", fmt::format("{} is above 65536", num_hidden_layers));
  size("num_attention_heads", num_attention_heads);
  size("num_key_value_heads", num_key_value_heads);
  size("head_dim", head_dim);
  size("vocab_size", vocab_size);
  size("max_position_embeddings", max_position_embeddings);
  if (num_attention_heads % num_key_value_heads != 0)
    refuse("num_key_value_heads", fmt::format("{} do not divide {} heads", num_key_value_heads, num_attention_heads));
  if (head_dim % 2 != 0) refuse("head_dim", fmt::format("{} is odd", head_dim));
  if (rope_dim < 2 || rope_dim > head_dim || rope_dim % 2 != 0)
    refuse("rope_dim", fmt::format("{} is no even number from 2 to head_dim = {}", rope_dim, head_dim));
  if (!(rope_theta > 0) || !std::isfinite(rope_theta))
    refuse("rope_theta", fmt::format("{} is not above 0", rope_theta));
  if (!(rope_scaling_factor > 0) || !std::isfinite(rope_scaling_factor))
    refuse("rope_scaling_factor", fmt::format("{} is not above 0", rope_scaling_factor));
  if (!(rms_norm_eps > 0 && rms_norm_eps < 1))
    refuse("rms_norm_eps", fmt::format("{} is not between 0 and 1", rms_norm_eps));
}

namespace {

// Linear scaling divides positions; every other kind needs its own mathematics.
double linear_factor(std::string_view type, double factor, const std::string& where) {
  if (type.empty() || type == "none") return 1;
  if (type == "linear") return factor;
  fail(ErrorKind::unsupported, "UnsupportedRopeScaling", where,
       "rope scaling \"{}\" is not supported; weft runs none and linear", type);
}

}  // namespace

ModelConfig config_from_gguf(const GgufFile& file) {
  ModelConfig config;
  config.model_type = file.get_string("general.architecture");
  const std::string& a = config.model_type;
  expect_known_architecture(a, file.where("general.architecture"));
  const auto key = [&](const char* name) { return a + "." + name; };
  const auto required = [&](const char* name) { return file.get_int(key(name)); };
  const auto optional = [&](const char* name, std::int64_t otherwise) {
    return file.find_int(key(name)).value_or(otherwise);
  };
  config.hidden_size = required("embedding_length");
  config.intermediate_size = required("feed_forward_length");
  config.num_hidden_layers = required("block_count");
  config.num_attention_heads = required("attention.head_count");
  config.num_key_value_heads = optional("attention.head_count_kv", 0);
  config.head_dim = optional("attention.key_length", 0);
  if (optional("attention.value_length", config.head_dim) != config.head_dim && config.head_dim != 0)
    fail(ErrorKind::unsupported, "UnsupportedHeadDim", file.where(key("attention.value_length")),
         "values of {} dims beside keys of {} are not supported", optional("attention.value_length", 0),
         config.head_dim);
  config.max_position_embeddings = optional("context_length", config.max_position_embeddings);
  config.rope_dim = optional("rope.dimension_count", 0);
  config.rope_theta = file.find_number(key("rope.freq_base")).value_or(config.rope_theta);
  config.rms_norm_eps = file.find_number(key("attention.layer_norm_rms_epsilon")).value_or(config.rms_norm_eps);
  const auto scaling = file.find_string(key("rope.scaling.type"));
  const double factor = file.find_number(key("rope.scaling.factor")).value_or(1);
  config.rope_scaling_factor = linear_factor(scaling.value_or(""), factor, file.where(key("rope.scaling.type")));
  // The older spelling of linear scaling.
  if (!scaling)
    if (const auto scale = file.find_number(key("rope.scale_linear"))) config.rope_scaling_factor = *scale;
  const GgufTensor* embedding = file.find_tensor("token_embd.weight");
  if (embedding != nullptr && embedding->dims.size() == 2)
    config.vocab_size = embedding->dims[0];
  else
    config.vocab_size = optional("vocab_size", 0);
  config.tie_word_embeddings = file.find_tensor("output.weight") == nullptr;
  fill_defaults(config);
  config.check(file.files().front()->path().string());
  return config;
}

namespace {

// One kind a layer, where the config says so at all. What runs them is the graph's matter.
void check_layer_types(const ConfigTable& table, std::int64_t layers, const std::string& where) {
  auto types = table.find_strings("architecture.layer_types");
  if (!types) types = table.find_strings("layer_types");
  if (!types) return;
  constexpr std::array known{"full", "full_attention", "sliding", "sliding_attention", "linear_attention"};
  for (const std::string& type : *types)
    if (std::find(known.begin(), known.end(), type) == known.end())
      fail(ErrorKind::invalid_config, "InvalidConfig", where, "layer_types: \"{}\" is none of {}", type,
           fmt::join(known, ", "));
  if (static_cast<std::int64_t>(types->size()) != layers)
    fail(ErrorKind::invalid_config, "InvalidConfig", where, "layer_types: {} kinds for {} layers", types->size(),
         layers);
}

}  // namespace

ModelConfig config_from_table(const ConfigTable& table, const std::string& where) {
  ModelConfig config;
  // [architecture] first, the root for the older layout.
  const auto integer = [&](const char* field) -> std::optional<std::int64_t> {
    if (const auto value = table.find_int(fmt::format("architecture.{}", field))) return value;
    return table.find_int(field);
  };
  const auto number = [&](const char* field) -> std::optional<double> {
    if (const auto value = table.find_number(fmt::format("architecture.{}", field))) return value;
    return table.find_number(field);
  };
  const auto required = [&](const char* field) {
    const auto value = integer(field);
    if (!value) fail(ErrorKind::bad_file, "MissingField", where, "section config lacks {}", field);
    return *value;
  };
  config.model_type = table.find_string("model_type").value_or("unknown");
  config.hidden_size = required("hidden_size");
  config.intermediate_size = required("intermediate_size");
  config.num_hidden_layers = required("num_hidden_layers");
  config.num_attention_heads = required("num_attention_heads");
  config.vocab_size = required("vocab_size");
  config.num_key_value_heads = integer("num_key_value_heads").value_or(0);
  config.head_dim = integer("head_dim").value_or(0);
  config.max_position_embeddings = integer("max_position_embeddings").value_or(config.max_position_embeddings);
  config.rope_dim = integer("rope_dim").value_or(0);
  if (config.rope_dim == 0 && config.head_dim > 0)
    if (const auto partial = number("partial_rotary_factor"))
      config.rope_dim = static_cast<std::int64_t>(static_cast<double>(config.head_dim) * *partial) / 2 * 2;
  config.rope_theta = number("rope_theta").value_or(config.rope_theta);
  config.rms_norm_eps = number("rms_norm_eps").value_or(config.rms_norm_eps);
  if (config.rms_norm_eps >= 1) config.rms_norm_eps = 1 / config.rms_norm_eps;
  const auto text = [&](const char* field) {
    const auto value = table.find_string(fmt::format("architecture.{}", field));
    return value ? std::string(*value) : std::string(table.find_string(field).value_or(""));
  };
  config.rope_scaling_factor =
      linear_factor(text("rope_scaling_type"), number("rope_scaling_factor").value_or(1), where);
  const std::string activation = text("hidden_activation");
  if (!activation.empty() && activation != "silu")
    fail(ErrorKind::invalid_config, "InvalidConfig", where,
         "hidden_activation: \"{}\" is not supported in a {} model, expected silu", activation, config.model_type);
  check_layer_types(table, config.num_hidden_layers, where);
  const auto tied = table.find_bool("architecture.tie_word_embeddings");
  config.tie_word_embeddings = tied ? *tied : table.find_bool("tie_word_embeddings").value_or(true);
  fill_defaults(config);
  config.check(where);
  return config;
}

bool describes_decoder(const ConfigTable& table) {
  if (table.has("architecture.hidden_size") || table.has("hidden_size")) return true;
  const std::string type(table.find_string("model_type").value_or(""));
  return std::find(architectures.begin(), architectures.end(), type) != architectures.end();
}

void write_config(const ModelConfig& config, ConfigTable& table) {
  table.set("model_type", config.model_type);
  const auto set = [&](const char* field, auto value) { table.set(fmt::format("architecture.{}", field), value); };
  set("hidden_size", config.hidden_size);
  set("intermediate_size", config.intermediate_size);
  set("num_hidden_layers", config.num_hidden_layers);
  set("num_attention_heads", config.num_attention_heads);
  set("num_key_value_heads", config.num_key_value_heads);
  set("head_dim", config.head_dim);
  set("vocab_size", config.vocab_size);
  set("max_position_embeddings", config.max_position_embeddings);
  set("rope_dim", config.rope_dim);
  set("rope_theta", config.rope_theta);
  if (config.rope_scaling_factor != 1) {
    set("rope_scaling_type", std::string("linear"));
    set("rope_scaling_factor", config.rope_scaling_factor);
  }
  set("rms_norm_eps", config.rms_norm_eps);
  set("tie_word_embeddings", config.tie_word_embeddings);
  set("hidden_activation", std::string("silu"));
}

}  // namespace weft
