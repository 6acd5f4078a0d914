// Values of every dtype as f32 and back. Decoding is exact (each value is what the format defines, rounded once to
// f32); encoding follows the rules stated at each function. Layouts: spec pages of `.model` and the public GGUF
// formats. All functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/base/dtype.h"
#include "weft/base/export.h"

namespace weft {

class ThreadPool;

// Decodes values.size() elements, a whole number of blocks; bytes.size() must match. Integers and f64 round to
// the nearest f32; bool gives 0 or 1.
WEFT_API void decode_to_f32(DType dtype, std::span<const std::byte> bytes, std::span<float> values);

// What happens to a value that fixed point has no code for.
enum class OutOfRange { saturate, refuse };

// How a block's scale, and minimum, are chosen: by the rule of the format, from the block's extremes; or by a search
// for the least squared error, which takes some ten times as long, among what is off by no more than the format's bound
// (formats/model.md in docs/). Q8_0 and the types of `.model` have the rule alone.
enum class EncodeQuality { rule, search };

// Encodes to any real dtype; `values` must be whole blocks. Floats round to nearest even; integers round half to
// even and saturate, fixed point rounds half away from zero and saturates or is refused (QuantRange); bool is x != 0.
// NaN into an integer or block type is an error (QuantNaN). A block whose scale its format cannot hold (an infinite
// value, q8 or q4 beyond 32767/256) is QuantRange. Errors name the element's index in `where`.
WEFT_API void encode_from_f32(DType dtype, std::span<const float> values, std::span<std::byte> bytes,
                              OutOfRange out_of_range = OutOfRange::saturate,
                              EncodeQuality quality = EncodeQuality::rule);

// The same on the threads of a pool, for files: what fixed point has no code for is refused. The bytes do not depend on
// the number of threads.
WEFT_API void encode_from_f32(DType dtype, std::span<const float> values, std::span<std::byte> bytes, ThreadPool& pool,
                              EncodeQuality quality);

}  // namespace weft
