#include "weft/models/quantize.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"
#include "weft/base/thread_pool.h"
#include "weft/formats/gguf_writer.h"
#include "weft/models/tensor_conversion.h"

namespace weft {
namespace {

struct Target {
  DType dtype;
  std::uint32_t file_type;  // what llama.cpp's "general.file_type" says of a file that holds mostly this
  DType smaller_blocks;     // what stands in where a row is no whole number of blocks
};

constexpr std::array targets{
    Target{DType::f32, 0, DType::f32},    Target{DType::f16, 1, DType::f16},    Target{DType::bf16, 32, DType::bf16},
    Target{DType::q8_0, 7, DType::f16},   Target{DType::q4_0, 2, DType::f16},   Target{DType::q4_1, 3, DType::f16},
    Target{DType::q5_0, 8, DType::f16},   Target{DType::q5_1, 9, DType::f16},   Target{DType::q2_k, 10, DType::q4_0},
    Target{DType::q3_k, 11, DType::q4_0}, Target{DType::q4_k, 14, DType::q5_0}, Target{DType::q5_k, 16, DType::q5_1},
    Target{DType::q6_k, 18, DType::q8_0},
};

const Target& target_of(DType dtype) {
  const auto found = std::find_if(targets.begin(), targets.end(), [&](const Target& t) { return t.dtype == dtype; });
  if (found == targets.end())
    fail(ErrorKind::invalid_argument, "UnknownType", std::string(to_string(dtype)),
         "weights cannot be quantized to this type; the types are {}", fmt::join(quantize_type_names(), ", "));
  return *found;
}

bool holds_weights(DType dtype) { return is_float(dtype) || is_packed(dtype); }

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code absent;  // a file that does not exist is no other's
  return std::filesystem::equivalent(a, b, absent);
}

bool is_of_the_source_alone(std::string_view key) { return key.starts_with("split.") || key == "general.alignment"; }

}  // namespace

std::vector<std::string> quantize_type_names() {
  std::vector<std::string> names;
  for (const Target& target : targets) names.emplace_back(to_string(target.dtype));
  return names;
}

DType quantize_type(std::string_view name) {
  for (const Target& target : targets)
    if (to_string(target.dtype) == name) return target.dtype;
  fail(ErrorKind::invalid_argument, "UnknownType", std::string(name), "no type of this name; the types are {}",
       fmt::join(quantize_type_names(), ", "));
}

QuantizeTypes::QuantizeTypes(QuantizePlan plan) : plan_(std::move(plan)), used_(plan_.rules.size()) {
  target_of(plan_.dtype);
  for (const QuantizeRule& rule : plan_.rules) target_of(rule.dtype);
}

QuantizedTensor QuantizeTypes::choose(std::string_view name, const std::vector<std::int64_t>& dims, DType source) {
  QuantizedTensor tensor{std::string(name), dims, source, plan_.dtype, plan_.dtype};
  for (std::size_t i = 0; i < plan_.rules.size(); ++i)
    if (::fnmatch(plan_.rules[i].pattern.c_str(), tensor.name.c_str(), 0) == 0) {
      tensor.wanted = plan_.rules[i].dtype;
      used_[i] = true;
    }
  if (!holds_weights(source)) {
    tensor.wanted = source;
  } else if (dims.size() < 2) {
    tensor.wanted = DType::f32;
  }
  tensor.dtype = tensor.wanted;
  if (holds_weights(source) && !dims.empty())
    while (dims.back() % dtype_info(tensor.dtype).block != 0) tensor.dtype = target_of(tensor.dtype).smaller_blocks;
  return tensor;
}

void QuantizeTypes::expect_all_rules_used() const {
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (!used_[i])
      fail(ErrorKind::invalid_argument, "NoTensorMatches", plan_.rules[i].pattern,
           "no tensor has a name like this; weft inspect FILE --tensors lists the names");
}

QuantizeReport quantize_gguf(const GgufFile& source, const std::filesystem::path& output,
                             const QuantizeOptions& options) {
  for (const auto& file : source.files())
    if (is_same_file(file->path(), output))
      fail(ErrorKind::invalid_argument, "SameFile", output.string(),
           "the output is the file that is read; give another name");

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
  writer.set_u32("general.file_type", target_of(options.plan.dtype).file_type);
  if (has_blocks) writer.set_u32("general.quantization_version", 2);
  writer.write(output);
  return report;
}

}  // namespace weft
