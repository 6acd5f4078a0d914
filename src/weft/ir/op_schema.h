// The single definition of an op. Text form, serialization, verification, `weft ops` and the docs derive from it.
// Register one with a namespace-scope `const OpRegistration`; schemas live until the process ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"
#include "weft/base/shape.h"
#include "weft/ir/attribute.h"

namespace weft {

class InferContext;
class KernelContext;
struct Node;

enum class Presence : std::uint8_t { required, optional, variadic };

struct InputSpec {
  std::string name;
  Presence presence = Presence::required;
  std::string doc = {};
};

struct OutputSpec {
  std::string name;
  bool variadic = false;  // as many as inference says
  std::string doc = {};
};

// How rewriting treats an op: what precision, fusion and layout passes may assume.
enum class OpClass : std::uint8_t { leaf, elementwise, movement, reduction, compute, boundary };

// Anything but pure keeps a node from being merged, folded, duplicated or dropped.
struct Effects {
  bool random = false;
  bool impure = false;
  // Names of text attributes that hold a state slot which the op reads and writes.
  std::vector<std::string> slots = {};
  bool pure() const { return !random && !impure && slots.empty(); }
};

// The sizes of a run, which decide whether an output can be a view.
struct RunDims {
  std::span<const std::vector<std::int64_t>> inputs;  // empty for an absent operand
  std::span<const std::vector<std::int64_t>> outputs;
};

// A contiguous part of an input, from an element on.
struct ViewOf {
  std::size_t input = 0;
  std::int64_t first_element = 0;
};

// A transform rule: built, impossible for a stated reason, or not written yet. The completeness test counts the last.
struct Rule {
  enum class State : std::uint8_t { not_yet, not_applicable, built };
  State state = State::not_yet;
  std::string reason;
  // Constructors, not an aggregate: GCC 12 warns wrongly of an uninitialized string in a schema that names some rules.
  Rule() noexcept {}
  Rule(State s, std::string r) : state(s), reason(std::move(r)) {}
  static Rule not_applicable(std::string reason) { return {State::not_applicable, std::move(reason)}; }
};

struct OpSchema {
  std::string name;       // "RmsNorm"
  std::uint32_t tag = 0;  // stable on disk, never reused
  std::string family;     // the file of ops/ it lives in
  std::string maths;      // one paragraph: the formula, its conventions at the edges
  std::vector<AttributeSpec> attributes = {};
  std::vector<InputSpec> inputs = {};
  std::vector<OutputSpec> outputs = {{"y"}};
  OpClass op_class = OpClass::compute;
  Effects effects = {};

  // Checks attributes and input types, sets the output types. Symbolic dims included.
  std::function<void(InferContext&)> infer = {};
  // Exact semantics on real tensors; inner sums in f64, each result rounded once.
  std::function<void(const KernelContext&)> reference = {};
  // For ops that move no data: which input's bytes output `port` is, or nothing when these dims need a copy.
  std::function<std::optional<ViewOf>(const Node&, const RunDims&, std::size_t port)> view = {};
  // Flops of the node; bytes follow from the types. Absent: one flop per output element.
  std::function<Dim(const InferContext&)> flops = {};

  Rule vjp = {}, jvp = {}, vmap = {}, unfuse = {};

  std::optional<std::size_t> attribute_index(std::string_view name) const;
  std::size_t min_inputs() const;
  std::size_t max_inputs() const;  // SIZE_MAX with a variadic input
};

class WEFT_API OpRegistry {
 public:
  static OpRegistry& global();

  // Refuses a name or tag that is taken, and a schema without infer or reference (leaves and boundaries excepted).
  const OpSchema& add(OpSchema schema);
  const OpSchema* find(std::string_view name) const;
  const OpSchema* find(std::uint32_t tag) const;
  const OpSchema& at(std::string_view name) const;  // UnknownOp, with the nearest known names
  std::vector<const OpSchema*> all() const;         // ascending tags

 private:
  struct Impl;
  OpRegistry();
  Impl* impl_;
};

struct WEFT_API OpRegistration {
  explicit OpRegistration(OpSchema schema) { OpRegistry::global().add(std::move(schema)); }
};

}  // namespace weft
