// A tensor's values in another dtype, a part of the rows in memory at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "weft/base/function_ref.h"
#include "weft/base/tensor.h"

namespace weft {

class ThreadPool;

using ByteSink = FunctionRef<void(std::span<const std::byte>)>;

// Hands the bytes of `source` as `dtype` to the sink, in order; block types are encoded with EncodeQuality::search. A
// source of that dtype already is handed over as it is. The bytes do not depend on the pool's threads. Calls `step`
// with the bytes of the source behind it after each part. QuantNaN, QuantRange (f16 included), naming the tensor and
// the element.
void convert_tensor(const std::string& name, const Tensor& source, DType dtype, ThreadPool& pool, ByteSink sink,
                    FunctionRef<void(std::size_t done)> step);
// The same as a tensor.
Tensor converted_tensor(const std::string& name, const Tensor& source, DType dtype, ThreadPool& pool);

}  // namespace weft
