// The typed attributes of an op: what a schema declares, and the values that a node holds in the schema's order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/base/dtype.h"
#include "weft/base/export.h"
#include "weft/base/shape.h"
#include "weft/base/tensor.h"

namespace weft {

enum class AttributeType : std::uint8_t {
  boolean = 0,
  integer = 1,
  real = 2,  // f64
  text = 3,
  choice = 4,  // one of AttributeSpec::choices
  integers = 5,
  reals = 6,
  dtype = 7,
  shape = 8,   // dims, symbolic ones included
  tensor = 9,  // constant data
};

// monostate: an optional attribute that is not set.
using AttributeValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                                    std::vector<double>, DType, Shape, Tensor>;

struct AttributeSpec {
  std::string name;
  AttributeType type = AttributeType::integer;
  AttributeValue default_value = {};  // monostate with `required` false: optional, absent means what `doc` says
  bool required = false;
  std::string doc = {};
  std::vector<std::string> choices = {};  // of a choice, in tag order
};

// One attribute given by name when a node is built.
struct Attribute {
  std::string name;
  AttributeValue value;

  Attribute(std::string n, AttributeValue v) : name(std::move(n)), value(std::move(v)) {}
  // One for each type that would otherwise convert to another's first.
  Attribute(std::string n, bool v) : name(std::move(n)), value(v) {}
  Attribute(std::string n, int v) : name(std::move(n)), value(std::int64_t{v}) {}
  Attribute(std::string n, std::int64_t v) : name(std::move(n)), value(v) {}
  Attribute(std::string n, double v) : name(std::move(n)), value(v) {}
  Attribute(std::string n, const char* v) : name(std::move(n)), value(std::string(v)) {}
};
using Attributes = std::vector<Attribute>;

WEFT_API std::string_view to_string(AttributeType type);
WEFT_API bool holds(const AttributeValue& value, AttributeType type);
// Equality as identity: reals by bit pattern, tensors by dtype, dims and bytes.
WEFT_API bool same_value(const AttributeValue& a, const AttributeValue& b);
// The text form ("0.5", "[1, 2]", "\"abc\"", "f16", "[n, 4]", "_" for unset); the shortest digits that read back to
// the same value.
WEFT_API std::string attribute_text(const AttributeValue& value, AttributeType type);
WEFT_API std::string quoted(std::string_view text);  // with \" \\ \n \t \xNN escapes
// "0.5", "1e+20", "inf", "-nan"; a NaN with other bits than those of "nan" and "-nan" as 0x and 16 digits.
WEFT_API std::string real_text(double value);

}  // namespace weft
