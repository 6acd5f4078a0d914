// Checks of op parameters and attributes that need no shapes: the rule of each field by itself, and the rules that join
// several fields of one op. Internal to the room.
#pragma once

#include <optional>
#include <string>

#include "weft/formats/graph_ir/op_table.h"

namespace weft::graph_ir {

// Why `value` breaks `rule`; nothing when it keeps it.
std::optional<std::string> rule_broken(Rule rule, double value);

// Whether the op holds exactly the fields of its table row, each under its wire type; else why not.
std::optional<std::string> malformed(const Op& op);

// Reports every broken rule of the node's payload (field by field, then the joint check).
void check_params(const Node& node, const ParamReport& report);
// Reports every recognized attribute of a wrong type or value, by its key.
void check_attrs(const Node& node, const ParamReport& report);

void check_permutation(const Node& node, const ParamReport& report);
void check_reshape(const Node& node, const ParamReport& report);
void check_heads(const Node& node, const ParamReport& report);
void check_bits(const Node& node, const ParamReport& report);
void check_rope(const Node& node, const ParamReport& report);
void check_buckets(const Node& node, const ParamReport& report);
void check_pool(const Node& node, const ParamReport& report);
void check_sample(const Node& node, const ParamReport& report);

}  // namespace weft::graph_ir
