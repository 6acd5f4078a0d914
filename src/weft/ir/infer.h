// What an op's inference sees: its attributes and the types of its inputs. Sets the types of its outputs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/export.h"
#include "weft/ir/graph.h"

namespace weft {

class WEFT_API InferContext {
 public:
  InferContext(const Graph& graph, Node& node, std::string where);

  const Node& node() const { return node_; }  // attributes are read from it
  std::size_t input_count() const { return types_.size(); }
  bool has(std::size_t input) const { return input < types_.size() && types_[input] != nullptr; }
  const TensorType& input(std::size_t index) const;
  const Shape& shape(std::size_t index) const { return input(index).shape; }
  DType dtype(std::size_t index) const { return input(index).dtype; }
  std::size_t rank(std::size_t index) const { return input(index).shape.rank(); }
  const StateDecl& state(std::string_view slot) const;  // UnknownState
  // Bounds of a dim from the graph's symbols.
  std::optional<Interval> bounds(const Dim& dim) const { return dim.bounds(graph_.symbols()); }

  // An axis attribute, counted from the end when negative; BadAttribute outside the rank.
  std::size_t axis(std::string_view attribute, std::size_t rank) const;
  // Resolves an attribute that inference decides once (Attention's layout).
  void set_attribute(std::string_view name, AttributeValue value);

  // Equal now, checkable later (a recorded constraint), or ShapeMismatch.
  void require_equal(const Dim& a, const Dim& b, std::string_view what);
  // The input's dtype must be one of these; DTypeMismatch names them.
  void require_dtype(std::size_t input, std::initializer_list<DType> dtypes) const;
  void require_float(std::size_t input) const;  // f32, f16, bf16, f64
  void require_integer(std::size_t input) const;
  void require_same_dtype(std::size_t a, std::size_t b) const;
  void require_rank(std::size_t input, std::size_t low, std::size_t high) const;
  [[noreturn]] void fail_attribute(std::string_view attribute, std::string reason) const;
  [[noreturn]] void fail_shape(std::string reason) const;
  [[noreturn]] void fail_dtype(std::string reason) const;

  void output(Shape shape, DType dtype);  // appends the next output
  const std::vector<TensorType>& outputs() const { return outputs_; }
  std::vector<Constraint> take_constraints() { return std::move(constraints_); }

 private:
  const Graph& graph_;
  Node& node_;
  std::string where_;
  std::vector<const TensorType*> types_;  // null: absent optional input
  std::vector<TensorType> outputs_;
  std::vector<Constraint> constraints_;
};

// Throws BadShape for a dim that can only be negative, SizeOverflow, and BlockMisaligned. Symbols without bounds may
// have any size.
WEFT_API void check_type(const TensorType& type, const DimBounds& symbols);

// Fills node.outputs' types and node.constraints from its inputs; checks arity, attributes, the types of inputs and
// outputs and all that infer checks: an op's own inference sees attributes and input types that are possible.
// With `names` kept as they are. Throws.
WEFT_API void infer_node(const Graph& graph, Node& node, const std::string& where);

}  // namespace weft
