// What the builder functions share: operands brought to one dtype, attributes that are set only when given. Internal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/ir/builder.h"

namespace weft {

// Casts the operands to the dtype they promote to. Scalar constants count only where every operand is one, or where
// their kind (bool, integer, float, complex) is above that of the others.
void promote_operands(std::vector<Var>& operands, const char* op);

// NotRepresentable when the dtype has no such value, or for a finite float none near it.
void require_representable(double value, DType dtype, const std::string& where);

template <class T>
void add_if(Attributes& attributes, const char* name, const std::optional<T>& value) {
  if (value) attributes.emplace_back(name, *value);
}

}  // namespace weft
