// How the CPU backend turns nodes into instructions: rules by the op's name, of which the first that takes a node has
// it. A rule stands in the lower_*.cpp file of its family.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weft/backend/backend.h"
#include "weft/base/cpu_features.h"
#include "weft/lir/program_builder.h"

namespace weft::cpu {

struct Lowering {
  lir::ProgramBuilder& builder;
  const LowerOptions& options;
  CpuLevel level;

  const Graph& graph() const { return builder.graph(); }
  const Node& node(std::int32_t index) const { return graph().node(index); }
};

struct LoweringRule {
  std::string_view op;
  // Empty: the rule takes the node. Else why not.
  std::string (*refusal)(const Graph& graph, const Node& node);
  void (*emit)(Lowering& lowering, std::int32_t node);
};
// The rule that takes the node, or nothing.
const LoweringRule* find_lowering_rule(const Graph& graph, const Node& node);

// The families' rules.
std::span<const LoweringRule> linear_rules();
std::span<const LoweringRule> matmul_rules();
std::span<const LoweringRule> norm_rules();
std::span<const LoweringRule> rope_rules();
std::span<const LoweringRule> attention_rules();
std::span<const LoweringRule> window_attention_rules();
std::span<const LoweringRule> elementwise_rules();
std::span<const LoweringRule> reduce_rules();
std::span<const LoweringRule> movement_rules();
std::span<const LoweringRule> layout_rules();
std::span<const LoweringRule> conv_rules();
std::span<const LoweringRule> image_rules();
std::span<const LoweringRule> channel_norm_rules();

// --- what rules share ---

inline bool is_f32(const Graph& graph, Value value) { return graph.type(value).dtype == DType::f32; }
// Elements of an operand at given sizes, for costs.
double count_of(const lir::Operand& operand, const std::int64_t* sizes);
// Whether an operand of a linear op is a matrix that it keeps packed.
bool is_weight_operand(const Node& node, std::size_t operand);
// A matrix in the panels of packed_matrix.h.
std::shared_ptr<const lir::WeightForm> panel_form();
// RmsNorm of a value's rows in a buffer that is no value of the graph.
lir::Operand normed_rows(Lowering& lowering, Value x, Value gain, double eps, std::int32_t node);
// The kernel and its level: "rope avx512".
std::string kernel_name(std::string_view what, CpuLevel level);

}  // namespace weft::cpu
