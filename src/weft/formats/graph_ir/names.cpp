#include "weft/formats/graph_ir/names.h"

#include <algorithm>
#include <unordered_set>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"

namespace weft::graph_ir {
namespace {

constexpr std::string_view head_name = "lm_head.weight";
constexpr std::string_view embedding_name = "model.embed_tokens.weight";

}  // namespace

std::optional<BadText> check_name(std::string_view name, std::size_t max_bytes) {
  if (name.empty()) return BadText{"EmptyName", "a name needs at least one byte"};
  if (name.size() > max_bytes)
    return BadText{"NameTooLong", fmt::format("a name may have {} bytes, found {}", max_bytes, name.size())};
  if (const auto at = find_invalid_utf8(name))
    return BadText{"InvalidUtf8", fmt::format("a name must be UTF-8; its byte {} is not", *at)};
  if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return BadText{"BadName", "a name may not hold control characters"};
  return std::nullopt;
}

std::optional<std::string_view> weight_key(const WeightMap& weights, std::string_view name) {
  if (const auto found = weights.find(name); found != weights.end()) return found->first;
  if (name == head_name)
    if (const auto tied = weights.find(embedding_name); tied != weights.end()) return tied->first;
  return std::nullopt;
}

const TensorSpec* find_weight(const WeightMap& weights, std::string_view name) {
  const auto key = weight_key(weights, name);
  return key ? &weights.find(*key)->second : nullptr;
}

bool WeightNames::contains(std::string_view name) const {
  if (index_ != nullptr) return weight_key(*index_, name).has_value();
  return name.starts_with("model.") || name.starts_with("lm_head.");
}

std::vector<std::string> free_names(const std::vector<Node>& nodes, const WeightNames& weights) {
  std::unordered_set<std::string_view> known;
  for (const Node& node : nodes) known.insert(node.outputs.begin(), node.outputs.end());
  std::vector<std::string> names;
  for (const Node& node : nodes)
    for (const std::string& name : node.inputs)
      if (!weights.contains(name) && known.insert(name).second) names.push_back(name);
  return names;
}

std::optional<std::vector<std::string>> recover_input_names(const std::vector<Node>& nodes, const WeightNames& weights,
                                                            std::size_t count, std::size_t& found) {
  std::vector<std::string> names = free_names(nodes, weights);
  const auto pos = std::find(names.begin(), names.end(), pos_name);
  const bool has_pos = pos != names.end();
  found = names.size() - (has_pos ? 1 : 0);
  if (has_pos && count == names.size()) return names;
  if (count != found) return std::nullopt;
  if (has_pos) names.erase(pos);
  return names;
}

}  // namespace weft::graph_ir
