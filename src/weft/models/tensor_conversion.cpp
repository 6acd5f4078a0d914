#include "weft/models/tensor_conversion.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/base/block_codec.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"

namespace weft {
namespace {

constexpr std::size_t values_in_memory = std::size_t{1} << 22;
constexpr float largest_f16 = 65520;  // from here on a value rounds to infinity

struct Span {
  std::size_t begin, count;  // in values, whole blocks of both types
};

// The f32 values of a part of the tensor; `scratch` holds them where they are not there as such.
std::span<const float> values_of(const Tensor& source, Span part, ThreadPool& pool, std::vector<float>& scratch) {
  if (source.dtype() == DType::f32) return source.values<float>().subspan(part.begin, part.count);
  scratch.resize(part.count);
  const DTypeInfo& info = dtype_info(source.dtype());
  const auto bytes_of = [&](std::size_t values) { return values / info.block * info.block_bytes; };
  pool.parallel_for(static_cast<std::int64_t>(part.count / info.block), 4096 / info.block + 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      const std::size_t at = static_cast<std::size_t>(begin) * info.block,
                                        count = static_cast<std::size_t>(end - begin) * info.block;
                      decode_to_f32(source.dtype(), source.bytes().subspan(bytes_of(part.begin + at), bytes_of(count)),
                                    std::span(scratch).subspan(at, count));
                    });
  return scratch;
}

void expect_in_f16(std::span<const float> values) {
  const auto wrong = std::find_if(values.begin(), values.end(),
                                  [](float x) { return std::isfinite(x) && std::fabs(x) >= largest_f16; });
  if (wrong != values.end())
    fail(ErrorKind::out_of_range, "QuantRange", fmt::format("element {}", wrong - values.begin()),
         "{} is beyond what f16 holds, 65504; store the tensor as bf16 or f32", *wrong);
}

}  // namespace

void convert_tensor(const std::string& name, const Tensor& source, DType dtype, ThreadPool& pool, ByteSink sink,
                    FunctionRef<void(std::size_t done)> step) {
  const DTypeInfo &from = dtype_info(source.dtype()), &to = dtype_info(dtype);
  const auto count = static_cast<std::size_t>(source.numel());
  std::vector<float> scratch;
  std::vector<std::byte> encoded;
  // A power of two of values: whole blocks of any type.
  for (std::size_t at = 0; at < count; at += values_in_memory) {
    const Span part{at, std::min(values_in_memory, count - at)};
    const std::size_t done = (part.begin + part.count) / from.block * from.block_bytes;
    if (source.dtype() == dtype) {
      const std::size_t start = part.begin / from.block * from.block_bytes;
      sink(source.bytes().subspan(start, done - start));
      step(done);
      continue;
    }
    const std::span<const float> values = values_of(source, part, pool, scratch);
    encoded.resize(part.count / to.block * to.block_bytes);
    try {
      if (dtype == DType::f16) expect_in_f16(values);
      encode_from_f32(dtype, values, encoded, pool, EncodeQuality::search);
    } catch (const Error& error) {
      const std::int64_t columns = source.dims().empty() ? 1 : source.dims().back();
      throw Error(error.kind(), error.code(),
                  fmt::format("tensor \"{}\", from row {} on, {}", name, static_cast<std::int64_t>(at) / columns,
                              error.where()),
                  error.message());
    }
    sink(encoded);
    step(done);
  }
}

Tensor converted_tensor(const std::string& name, const Tensor& source, DType dtype, ThreadPool& pool) {
  if (source.dtype() == dtype) return source;
  Tensor result = Tensor::allocate(dtype, source.dims());
  std::size_t at = 0;
  convert_tensor(
      name, source, dtype, pool,
      [&](std::span<const std::byte> bytes) {
        std::copy(bytes.begin(), bytes.end(), result.mutable_bytes().begin() + static_cast<std::ptrdiff_t>(at));
        at += bytes.size();
      },
      [](std::size_t) {});
  return result;
}

}  // namespace weft
