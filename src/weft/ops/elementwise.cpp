#include "weft/ops/elementwise.h"

namespace weft::ops {

Shape broadcast_inputs(const InferContext& context) {
  Shape shape = context.shape(0);
  for (std::size_t k = 1; k < context.input_count(); ++k) shape = broadcast(shape, context.shape(k));
  return shape;
}

void require_plain(const InferContext& context, std::size_t input) {
  const DType dtype = context.dtype(input);
  if (is_float(dtype) || is_discrete(dtype)) return;
  context.fail_dtype("input " + std::to_string(input) + " is " + std::string(to_string(dtype)) +
                     ", expected a floating type, an integer or bool" +
                     (is_packed(dtype) ? "; Decode gives its f32 values" : ""));
}

}  // namespace weft::ops
