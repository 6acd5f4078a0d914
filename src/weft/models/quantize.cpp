#include "weft/models/quantize.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"
#include "weft/base/thread_pool.h"
#include "weft/formats/gguf_writer.h"
#include "weft/models/tensor_conversion.h"

namespace weft {
namespace {

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code absent;  // a file that does not exist is no other's
  return std::filesystem::equivalent(a, b, absent);
}

bool is_of_the_source_alone(std::string_view key) { return key.starts_with("split.") || key == "general.alignment"; }

}  // namespace

QuantizeReport quantize_gguf(const GgufFile& source, const std::filesystem::path& output,
                             const QuantizeOptions& options) {
  for (const auto& file : source.files())
    if (is_same_file(file->path(), output))
      fail(ErrorKind::invalid_argument, "SameFile", output.string(),
           "the output is the file that is read; give another name");

  const std::uint32_t file_type = gguf_file_type(options.plan.dtype.value_or(DType::f32));
  QuantizeReport report;
  QuantizeTypes types(options.plan);
  ThreadPool pool(options.threads);
  GgufWriter writer(std::max<std::uint64_t>(source.alignment(), 8));
  for (const GgufEntry& entry : source.metadata())
    if (!is_of_the_source_alone(entry.key)) writer.set(entry.key, entry.value);

  std::uint64_t done = 0;
  bool has_blocks = false;
  for (const GgufTensor& tensor : source.tensors()) {
    QuantizedTensor chosen = types.choose(tensor.name, tensor.dims, tensor.dtype);
    has_blocks |= is_block(chosen.dtype);
    report.source_bytes += tensor.bytes;
    report.bytes += byte_size(chosen.dtype, chosen.dims);
    std::uint64_t count = 1;
    for (const std::int64_t dim : tensor.dims) count *= static_cast<std::uint64_t>(dim);
    report.weights += count;
    writer.add_tensor(chosen.name, chosen.dtype, chosen.dims, [&, to = chosen.dtype](GgufWriter::Sink sink) {
      const std::uint64_t before = done;
      convert_tensor(std::string(tensor.name), source.tensor(tensor), to, pool, sink, [&](std::size_t part) {
        done = before + part;
        if (options.progress) options.progress(done, report.source_bytes);
        if (options.canceled && options.canceled())
          fail(ErrorKind::canceled, "Canceled", output.string(), "stopped before all was written");
      });
    });
    report.tensors.push_back(std::move(chosen));
  }
  types.expect_all_rules_used();
  if (options.plan.dtype) writer.set_u32("general.file_type", file_type);
  if (has_blocks) writer.set_u32("general.quantization_version", 2);
  writer.write(output);
  return report;
}

}  // namespace weft
