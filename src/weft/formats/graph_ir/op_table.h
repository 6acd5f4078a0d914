// The one definition of each Graph IR op: wire tag, payload fields, operands, recognized attributes, and the rules that
// check and infer it. The binary codec, the text forms, the validator and the documentation all walk this table.
// Immutable data; safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/formats/graph_ir/model.h"

namespace weft::graph_ir {

enum class Wire : std::uint8_t {
  boolean,       // u8, 0 or 1
  u32,           // u32
  i32,           // i32
  f32,           // f32
  optional_f32,  // boolean, then f32 if it was 1
  choice,        // u8, the number of a name
  dtype,         // u8 dtype tag
  words,         // a fixed number of u32
  u32_list,      // u32 count, then u32 each
  i64_list,      // u32 count, then i64 each
};

// What a value must satisfy on its own, whatever the other fields say.
enum class Rule : std::uint8_t { any, at_least_1, not_nan, finite, finite_not_negative, finite_positive, not_negative };

struct Field {
  std::string_view name;  // also the key of the text forms
  Wire wire;
  Rule rule = Rule::any;
  std::uint8_t words = 0;                          // Wire::words: how many
  std::uint32_t max_count = 0;                     // lists: most entries
  std::span<const std::string_view> choices = {};  // Wire::choice: names by number
  std::optional<double> fallback = {};             // text forms: the value of an absent key
  std::string_view fallback_field = {};            // text forms: an absent key takes this field's value
};

// The number of an attribute type is its code on the wire, and the index in AttrValue.
enum class AttrType : std::uint8_t { integer, floating, string, ints, floats, boolean, strings };
std::string_view to_string(AttrType type);

struct AttrDef {
  std::string_view key;
  AttrType type;
  Rule rule = Rule::any;
  double fallback = 0;                             // numbers and booleans; ints: each entry
  std::string_view derived = {};                   // the default is computed, as this says
  std::uint8_t count = 0;                          // ints: exactly so many
  bool or_integer = false;                         // ints: one integer will do
  std::span<const std::string_view> choices = {};  // strings: the first is the default
};

// Which dtypes an operand may have. A weight that is no matmul operand is expanded to f32 before a run, so a packed
// weight may stand wherever a float may.
enum class Role : std::uint8_t {
  floats,  // f32, f16, bf16
  packed,  // floats; block and fixed-point types stay as they are
  ids,     // f32 with integral values, or any integer type
  mask,    // floats are added, bool selects
  plain,   // anything but block and fixed-point types
  bytes,   // u8
  stored,  // anything
};

struct Slot {
  std::string_view name;
  Role role = Role::floats;
  bool optional = false;
  bool repeats = false;  // one or more
};
using Form = std::vector<Slot>;

class RuleContext;  // infer_rules.h
using InferRule = void (*)(RuleContext&);
using ParamReport = std::function<void(std::string_view field, std::string reason)>;
using ParamCheck = void (*)(const Node&, const ParamReport&);
class LowerContext;  // lower.h
using LowerRule = void (*)(LowerContext&);

struct OpDef {
  Tag tag;
  std::string_view name;
  std::span<const Field> fields;
  // Operands: "x, W:packed, b?" names each slot with its role unless that is `floats`; '?' optional, "..." one or more,
  // '|' between alternatives.
  std::string_view inputs;
  std::string_view outputs;  // "y", or "y..." where a parameter tells how many
  std::span<const AttrDef> attrs;
  InferRule infer;
  LowerRule lower;             // to MIR; null: MIR has no ops for it
  ParamCheck check = nullptr;  // rules that join several fields
};

WEFT_API std::span<const OpDef> all_ops();  // ascending tags
WEFT_API const OpDef& op_def(Tag tag);      // InvalidArgument for a number that is no tag
WEFT_API const OpDef* find_op(std::uint16_t tag);
WEFT_API const OpDef* find_op(std::string_view name);

const std::vector<Form>& input_forms(const OpDef& def);
// The form that takes `count` inputs; nothing when none does.
const Form* form_for(const OpDef& def, std::size_t count);
// The slot of input `index` under a form that `count` inputs chose.
const Slot& slot_of(const Form& form, std::size_t index);
// Number of outputs that the op must have.
WEFT_API std::size_t output_count(const Op& op);

const AttrDef* find_attr(const OpDef& def, std::string_view key);
// The default of a recognized attribute on this op; nothing where it depends on more than the op.
std::optional<AttrValue> default_attr(const AttrDef& attr, const Op& op);
// The attribute, or its default; the caller names the type that the table gives.
template <class T>
T attr_or_default(const Node& node, std::string_view key) {
  if (const auto found = node.attrs.find(key); found != node.attrs.end()) return std::get<T>(found->second);
  return std::get<T>(*default_attr(*find_attr(op_def(node.op.tag), key), node.op));
}

// The zero of a field: what a payload holds before anything is written to it.
ParamValue zero_value(const Field& field);
// What the text forms read for an absent key, where the field has a fallback of its own or may be unset.
ParamValue fallback_value(const Field& field);
// Builds an op by field names; a field left out takes its fallback. Unknown, missing or ill-typed: BadParam.
WEFT_API Op make_op(Tag tag, std::initializer_list<std::pair<std::string_view, ParamValue>> params = {});

}  // namespace weft::graph_ir
