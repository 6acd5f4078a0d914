// The architecture of a decoder model: sizes and constants, under the names of Hugging Face's config files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"

namespace weft {

class GgufFile;
class ConfigTable;

struct ModelConfig {
  std::string model_type;  // "llama", "qwen2", "qwen3"
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_position_embeddings = 2048;
  std::int64_t rope_dim = 0;  // dims of a head that rotate, from its start
  double rope_theta = 10000;
  double rope_scaling_factor = 1;  // linear scaling: positions are divided by it
  double rms_norm_eps = 1e-6;
  bool tie_word_embeddings = true;

  // Sizes at least 1, heads divisible, even head_dim, constants in range: InvalidConfig{field, reason}.
  void check(const std::string& where) const;
  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

// The architectures that weft builds graphs for.
WEFT_API std::vector<std::string> known_architectures();
// UnsupportedArchitecture, with the known ones.
void expect_known_architecture(std::string_view name, const std::string& where);

// UnsupportedArchitecture, MissingField, InvalidField, UnsupportedRopeScaling, InvalidConfig.
ModelConfig config_from_gguf(const GgufFile& file);
// The same but for the architecture: a file that stores its graph may be of any.
ModelConfig config_from_table(const ConfigTable& table, const std::string& where);
// Whether the table describes a decoder, or is meant to: it says how wide one is, or names an architecture that weft
// builds. What else a file holds runs by its stored graph.
bool describes_decoder(const ConfigTable& table);
void write_config(const ModelConfig& config, ConfigTable& table);

}  // namespace weft
