#include "weft/cli/quantize_summary.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "weft/base/fail.h"
#include "weft/formats/model_encoding.h"

namespace weft::cli {
namespace {

struct Sum {
  std::uint64_t tensors = 0, weights = 0, source_bytes = 0, bytes = 0;

  void add(const QuantizedTensor& tensor) {
    ++tensors;
    std::uint64_t count = 1;
    for (const std::int64_t dim : tensor.dims) count *= static_cast<std::uint64_t>(dim);
    weights += count;
    source_bytes += byte_size(tensor.source, tensor.dims);
    bytes += byte_size(tensor.dtype, tensor.dims);
  }
  double bits(std::uint64_t of) const {
    return weights == 0 ? 0 : 8 * static_cast<double>(of) / static_cast<double>(weights);
  }
};

double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

QuantizeRule parse_quantize_rule(const std::string& text, WeightFile file) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    fail(ErrorKind::invalid_argument, "InvalidArgument", "--tensor " + text,
         "expected PATTERN=TYPE, such as \"*down*.weight=q6_k\"");
  return {text.substr(0, equals), quantize_type(text.substr(equals + 1), file)};
}

std::string quantize_summary(std::span<const QuantizedTensor> tensors, WeightFile file) {
  const auto name_of = [&](DType dtype) {
    return file == WeightFile::model ? model_encoding_name(dtype) : to_string(dtype);
  };
  struct Replaced {
    std::uint64_t count = 0;
    std::string first;
  };
  std::map<std::tuple<DType, DType, std::int64_t>, Replaced> replaced;
  std::map<DType, std::uint64_t> packed_before;
  std::map<DType, Sum> by_type;
  Sum total;
  for (const QuantizedTensor& tensor : tensors) {
    if (tensor.dtype != tensor.wanted) {
      Replaced& entry = replaced[{tensor.wanted, tensor.dtype, tensor.dims.back()}];
      if (++entry.count == 1) entry.first = tensor.name;
    }
    if (is_packed(tensor.source) && is_packed(tensor.dtype) && tensor.source != tensor.dtype)
      ++packed_before[tensor.source];
    by_type[tensor.dtype].add(tensor);
    total.add(tensor);
  }
  std::string text;
  for (const auto& [what, entry] : replaced) {
    const auto& [wanted, stored, row] = what;
    text += fmt::format("{} instead of {} for {} tensors, such as {}: rows of {} are no whole number of blocks of {}\n",
                        name_of(stored), name_of(wanted), entry.count, entry.first, row, dtype_info(wanted).block);
  }
  for (const auto& [dtype, count] : packed_before)
    text += fmt::format(
        "{} tensors were {} before: their errors add up; start from f32, f16 or bf16 where there is a choice\n", count,
        name_of(dtype));
  text += fmt::format("{:<7} {:>8} {:>14} {:>10} {:>16}\n", "type", "tensors", "weights", "MB", "bits per weight");
  for (const auto& [dtype, sum] : by_type)
    text += fmt::format("{:<7} {:>8} {:>14} {:>10.2f} {:>16.3f}\n", name_of(dtype), sum.tensors, sum.weights,
                        megabytes(sum.bytes), sum.bits(sum.bytes));
  text += fmt::format("{:<7} {:>8} {:>14} {:>10.2f} {:>16.3f}   before: {:.2f} MB, {:.3f} bits per weight\n", "all",
                      total.tensors, total.weights, megabytes(total.bytes), total.bits(total.bytes),
                      megabytes(total.source_bytes), total.bits(total.source_bytes));
  return text;
}

}  // namespace weft::cli
