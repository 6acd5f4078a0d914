// Tensor names: what a name may look like, which names are weights, and which belong to the graph's inputs, since the
// binary layout stores input specs without their names. Stateless.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/graph_ir/model.h"

namespace weft::graph_ir {

// The name of the position tensor that an executor injects.
inline constexpr std::string_view pos_name = "pos";

struct BadText {
  const char* code;  // EmptyName, NameTooLong, InvalidUtf8, BadName
  std::string reason;
};
std::optional<BadText> check_name(std::string_view name, std::size_t max_bytes);

// The weight of this name, also through tying: "lm_head.weight" is "model.embed_tokens.weight" where only that exists.
WEFT_API const TensorSpec* find_weight(const WeightMap& weights, std::string_view name);
// The key under which find_weight found it.
WEFT_API std::optional<std::string_view> weight_key(const WeightMap& weights, std::string_view name);

// Decides whether a name that nothing produces is a weight: by the index where there is one, else by its prefix.
class WEFT_API WeightNames {
 public:
  explicit WeightNames(const WeightMap* index) : index_(index) {}
  bool contains(std::string_view name) const;
  bool indexed() const { return index_ != nullptr; }

 private:
  const WeightMap* index_;
};

// Names that a node consumes and none produces and that are no weights, by first use.
std::vector<std::string> free_names(const std::vector<Node>& nodes, const WeightNames& weights);

// The names of `count` input specs: all free names but "pos", or with it where the count says so. Nothing when the
// count fits neither; `found` then tells how many free names there are.
std::optional<std::vector<std::string>> recover_input_names(const std::vector<Node>& nodes, const WeightNames& weights,
                                                            std::size_t count, std::size_t& found);

}  // namespace weft::graph_ir
