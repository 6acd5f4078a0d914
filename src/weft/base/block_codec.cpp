#include "weft/base/block_codec.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "weft/base/block_codec_kernels.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"

namespace weft {
namespace {

struct BlockCodec {
  DType dtype;
  codec::DecodeBlocks decode;
  codec::EncodeBlocks encode, search;
  // The most that the search may be off, as a fraction of the block's largest magnitude, for a lesser squared error;
  // 1: the format states no bound.
  double most_error = 1;
};

constexpr BlockCodec block_codecs[] = {
    {DType::q8_0, codec::decode_q8_0, codec::encode_q8_0, codec::encode_q8_0},
    {DType::q4_0, codec::decode_q4_0, codec::encode_q4_0, codec::search_q4_0, 0.13},
    {DType::q4_1, codec::decode_q4_1, codec::encode_q4_1, codec::search_q4_1},
    {DType::q5_0, codec::decode_q5_0, codec::encode_q5_0, codec::search_q5_0},
    {DType::q5_1, codec::decode_q5_1, codec::encode_q5_1, codec::search_q5_1},
    {DType::q8, codec::decode_q8, codec::encode_q8, codec::encode_q8},
    {DType::q4, codec::decode_q4, codec::encode_q4, codec::encode_q4},
    {DType::ternary, codec::decode_ternary, codec::encode_ternary, codec::encode_ternary},
    {DType::q2_k, codec::decode_q2_k, codec::encode_q2_k, codec::search_q2_k, 0.35},
    {DType::q3_k, codec::decode_q3_k, codec::encode_q3_k, codec::search_q3_k, 0.18},
    {DType::q4_k, codec::decode_q4_k, codec::encode_q4_k, codec::search_q4_k, 0.075},
    {DType::q5_k, codec::decode_q5_k, codec::encode_q5_k, codec::search_q5_k, 0.037},
    {DType::q6_k, codec::decode_q6_k, codec::encode_q6_k, codec::search_q6_k, 0.018},
};

const BlockCodec& block_codec(DType dtype) {
  for (const BlockCodec& entry : block_codecs)
    if (entry.dtype == dtype) return entry;
  fail(ErrorKind::dtype_mismatch, "DTypeMismatch", "", "{} has no block codec", to_string(dtype));
}

void check_sizes(DType dtype, std::size_t values, std::size_t bytes) {
  const DTypeInfo& info = dtype_info(dtype);
  if (values % info.block != 0)
    fail(ErrorKind::shape_mismatch, "BlockMisaligned", "", "{} values are no whole number of {} blocks of {}", values,
         info.name, info.block);
  if (bytes != values / info.block * info.block_bytes)
    fail(ErrorKind::shape_mismatch, "TensorSizeMismatch", "", "{} {} values take {} bytes, {} were given", values,
         info.name, values / info.block * info.block_bytes, bytes);
}

template <class T, class Convert>
void decode_plain(std::span<const std::byte> bytes, std::span<float> values, Convert convert) {
  const auto* in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  float* out = values.data();
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) out[i] = convert(codec::load<T>(in + i * sizeof(T)));
}

template <class T, class Convert>
void encode_plain(std::span<const float> values, std::span<std::byte> bytes, Convert convert) {
  auto* out = reinterpret_cast<std::uint8_t*>(bytes.data());
  for (std::size_t i = 0; i < values.size(); ++i) codec::store(out + i * sizeof(T), convert(values[i]));
}

void refuse_nan(DType dtype, std::span<const float> values) {
  const auto nan = std::find_if(values.begin(), values.end(), [](float x) { return std::isnan(x); });
  if (nan != values.end())
    fail(ErrorKind::invalid_argument, "QuantNaN", fmt::format("element {}", nan - values.begin()),
         "NaN cannot be stored as {}", to_string(dtype));
}

// A value that is whole and within [-2^63, 2^64] after rounding, saturated to T without undefined conversions.
template <class T>
T saturated(double whole) {
  // The limits as doubles: the lower one is exact, the upper one of a 64-bit type rounds up to its power of two.
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
  if (whole <= low) return std::numeric_limits<T>::min();
  if (whole >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(whole);
}

template <class T>
void encode_integer(std::span<const float> values, std::span<std::byte> bytes) {
  encode_plain<T>(values, bytes, [](float x) { return saturated<T>(std::nearbyint(static_cast<double>(x))); });
}

template <class T>
void encode_fixed(DType dtype, std::span<const float> values, std::span<std::byte> bytes, double one,
                  OutOfRange out_of_range) {
  auto* out = reinterpret_cast<std::uint8_t*>(bytes.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double code = std::round(static_cast<double>(values[i]) * one);
    const T stored = saturated<T>(code);
    if (out_of_range == OutOfRange::refuse && static_cast<double>(stored) != code)
      fail(ErrorKind::out_of_range, "QuantRange", fmt::format("element {}", i),
           "{} is outside the range of {}, which is {} to {}", values[i], to_string(dtype),
           static_cast<double>(std::numeric_limits<T>::min()) / one,
           static_cast<double>(std::numeric_limits<T>::max()) / one);
    codec::store(out + i * sizeof(T), stored);
  }
}

// The largest error of a block that was encoded, as a fraction of its largest magnitude.
double relative_error(const BlockCodec& codec, const float* values, int width, const std::uint8_t* block) {
  float back[256];
  codec.decode(block, 1, back);
  double error = 0;
  for (int i = 0; i < width; ++i)
    error = std::max(error, std::fabs(static_cast<double>(values[i]) - static_cast<double>(back[i])));
  const auto most = static_cast<double>(codec::max_magnitude(values, width));
  return most > 0 ? error / most : 0;
}

// Blocks that the search left too far off are encoded by the rule, where that comes closer.
void keep_within_bounds(const BlockCodec& codec, const float* values, std::int64_t blocks, std::uint8_t* out) {
  const DTypeInfo& info = dtype_info(codec.dtype);
  const auto width = static_cast<int>(info.block);
  std::uint8_t by_rule[256];
  for (std::int64_t b = 0; b < blocks; ++b, values += width, out += info.block_bytes) {
    const double searched = relative_error(codec, values, width, out);
    if (searched <= codec.most_error || codec.encode(values, 1, by_rule) >= 0) continue;
    if (relative_error(codec, values, width, by_rule) < searched) std::memcpy(out, by_rule, info.block_bytes);
  }
}

void encode_blocks(DType dtype, std::span<const float> values, std::span<std::byte> bytes, EncodeQuality quality) {
  const std::int64_t width = dtype_info(dtype).block;
  const auto blocks = static_cast<std::int64_t>(values.size()) / width;
  const BlockCodec& codec = block_codec(dtype);
  auto* out = reinterpret_cast<std::uint8_t*>(bytes.data());
  const bool search = quality == EncodeQuality::search;
  const std::int64_t bad = (search ? codec.search : codec.encode)(values.data(), blocks, out);
  if (search && bad < 0 && codec.most_error < 1) keep_within_bounds(codec, values.data(), blocks, out);
  if (bad >= 0)
    fail(ErrorKind::out_of_range, "QuantRange", fmt::format("element {}", bad * width),
         "the scale of this block of {} values, of magnitude up to {}, does not fit {}", width,
         codec::max_magnitude(values.data() + bad * width, static_cast<int>(width)), to_string(dtype));
}

}  // namespace

void decode_to_f32(DType dtype, std::span<const std::byte> bytes, std::span<float> values) {
  check_sizes(dtype, values.size(), bytes.size());
  const auto widen = [](auto x) { return static_cast<float>(x); };
  switch (dtype) {
    case DType::f32:
      if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
      return;
    case DType::f16: return decode_plain<std::uint16_t>(bytes, values, f16_to_f32);
    case DType::bf16: return decode_plain<std::uint16_t>(bytes, values, bf16_to_f32);
    case DType::f64: return decode_plain<double>(bytes, values, widen);
    case DType::i8: return decode_plain<std::int8_t>(bytes, values, widen);
    case DType::u8: return decode_plain<std::uint8_t>(bytes, values, widen);
    case DType::i16: return decode_plain<std::int16_t>(bytes, values, widen);
    case DType::u16: return decode_plain<std::uint16_t>(bytes, values, widen);
    case DType::i32: return decode_plain<std::int32_t>(bytes, values, widen);
    case DType::u32: return decode_plain<std::uint32_t>(bytes, values, widen);
    case DType::i64: return decode_plain<std::int64_t>(bytes, values, widen);
    case DType::u64: return decode_plain<std::uint64_t>(bytes, values, widen);
    case DType::boolean: return decode_plain<std::uint8_t>(bytes, values, [](auto x) { return x != 0 ? 1.f : 0.f; });
    case DType::fx16_16:
      return decode_plain<std::int32_t>(bytes, values, [](auto x) { return static_cast<float>(x) * 0x1p-16f; });
    case DType::fx8_8:
      return decode_plain<std::int16_t>(bytes, values, [](auto x) { return static_cast<float>(x) * 0x1p-8f; });
    case DType::c64: fail(ErrorKind::dtype_mismatch, "DTypeMismatch", "", "complex values (c64) cannot be read as f32");
    default:
      block_codec(dtype).decode(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                static_cast<std::int64_t>(values.size() / dtype_info(dtype).block), values.data());
  }
}

void encode_from_f32(DType dtype, std::span<const float> values, std::span<std::byte> bytes, OutOfRange out_of_range,
                     EncodeQuality quality) {
  check_sizes(dtype, values.size(), bytes.size());
  const DTypeClass cls = dtype_info(dtype).cls;
  if (cls == DTypeClass::integer || cls == DTypeClass::fixed_point || cls == DTypeClass::block)
    refuse_nan(dtype, values);
  switch (dtype) {
    case DType::f32:
      if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
      return;
    case DType::f16: return encode_plain<std::uint16_t>(values, bytes, f32_to_f16);
    case DType::bf16: return encode_plain<std::uint16_t>(values, bytes, f32_to_bf16);
    case DType::f64: return encode_plain<double>(values, bytes, [](float x) { return static_cast<double>(x); });
    case DType::i8: return encode_integer<std::int8_t>(values, bytes);
    case DType::u8: return encode_integer<std::uint8_t>(values, bytes);
    case DType::i16: return encode_integer<std::int16_t>(values, bytes);
    case DType::u16: return encode_integer<std::uint16_t>(values, bytes);
    case DType::i32: return encode_integer<std::int32_t>(values, bytes);
    case DType::u32: return encode_integer<std::uint32_t>(values, bytes);
    case DType::i64: return encode_integer<std::int64_t>(values, bytes);
    case DType::u64: return encode_integer<std::uint64_t>(values, bytes);
    case DType::boolean:
      return encode_plain<std::uint8_t>(values, bytes, [](float x) { return static_cast<std::uint8_t>(x != 0); });
    case DType::fx16_16: return encode_fixed<std::int32_t>(dtype, values, bytes, 65536, out_of_range);
    case DType::fx8_8: return encode_fixed<std::int16_t>(dtype, values, bytes, 256, out_of_range);
    case DType::c64:
      fail(ErrorKind::dtype_mismatch, "DTypeMismatch", "", "real values cannot be stored as complex (c64)");
    default: return encode_blocks(dtype, values, bytes, quality);
  }
}

void encode_from_f32(DType dtype, std::span<const float> values, std::span<std::byte> bytes, ThreadPool& pool,
                     EncodeQuality quality) {
  check_sizes(dtype, values.size(), bytes.size());
  const DTypeInfo& info = dtype_info(dtype);
  // Parts of a thousand blocks or so: the first one that fails names the element, whichever thread meets it.
  const std::size_t part = std::max<std::size_t>(1, 16384 / info.block) * info.block;
  const std::size_t parts = (values.size() + part - 1) / part;
  std::atomic<std::size_t> first_bad{parts};
  const auto encode = [&](std::size_t i) {
    const std::size_t at = i * part, count = std::min(part, values.size() - at);
    encode_from_f32(dtype, values.subspan(at, count),
                    bytes.subspan(at / info.block * info.block_bytes, count / info.block * info.block_bytes),
                    OutOfRange::refuse, quality);
  };
  pool.parallel_for(static_cast<std::int64_t>(parts), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) try {
        encode(i);
      } catch (const Error&) {
        std::size_t seen = first_bad;
        while (i < seen && !first_bad.compare_exchange_weak(seen, i)) {
        }
      }
  });
  if (first_bad == parts) return;
  // Once more, for an error that counts from the first value.
  const std::size_t end = std::min((first_bad + 1) * part, values.size());
  encode_from_f32(dtype, values.first(end), bytes.first(end / info.block * info.block_bytes), OutOfRange::refuse,
                  quality);
}

}  // namespace weft
