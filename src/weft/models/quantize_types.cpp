#include "weft/models/quantize_types.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <utility>

#include "weft/base/fail.h"
#include "weft/formats/model_encoding.h"

namespace weft {
namespace {

struct Target {
  DType dtype;
  std::optional<std::uint32_t> file_type;  // nothing: a type of `.model` alone
  DType smaller_blocks;                    // what stands in where a row is no whole number of blocks
};

constexpr std::array targets{
    Target{DType::f32, 0, DType::f32},
    Target{DType::f16, 1, DType::f16},
    Target{DType::bf16, 32, DType::bf16},
    Target{DType::q8_0, 7, DType::f16},
    Target{DType::q4_0, 2, DType::f16},
    Target{DType::q4_1, 3, DType::f16},
    Target{DType::q5_0, 8, DType::f16},
    Target{DType::q5_1, 9, DType::f16},
    Target{DType::q2_k, 10, DType::q4_0},
    Target{DType::q3_k, 11, DType::q4_0},
    Target{DType::q4_k, 14, DType::q5_0},
    Target{DType::q5_k, 16, DType::q5_1},
    Target{DType::q6_k, 18, DType::q8_0},
    Target{DType::fx16_16, std::nullopt, DType::fx16_16},
    Target{DType::fx8_8, std::nullopt, DType::fx8_8},
    Target{DType::q8, std::nullopt, DType::fx16_16},
    Target{DType::q4, std::nullopt, DType::fx16_16},
    Target{DType::ternary, std::nullopt, DType::fx16_16},
};

std::string_view name_of(const Target& target, WeightFile file) {
  return file == WeightFile::model ? model_encoding_name(target.dtype) : to_string(target.dtype);
}

bool is_in(const Target& target, WeightFile file) { return file == WeightFile::model || target.file_type; }

const Target& target_of(DType dtype) {
  const auto found = std::find_if(targets.begin(), targets.end(), [&](const Target& t) { return t.dtype == dtype; });
  if (found == targets.end())
    fail(ErrorKind::invalid_argument, "UnknownType", std::string(to_string(dtype)),
         "weights cannot be quantized to this type; the types are {}",
         fmt::join(quantize_type_names(WeightFile::model), ", "));
  return *found;
}

// Ternary values were whole numbers before they were scaled: they have nothing to gain from another type.
bool holds_weights(DType dtype) { return (is_float(dtype) || is_packed(dtype)) && dtype != DType::ternary; }

bool fits(DType dtype, std::int64_t row) {
  // A reader takes ternary rows of any four values, a writer writes whole groups of 32.
  return row % (dtype == DType::ternary ? 32 : dtype_info(dtype).block) == 0;
}

}  // namespace

std::vector<std::string> quantize_type_names(WeightFile file) {
  std::vector<std::string> names;
  for (const Target& target : targets)
    if (is_in(target, file)) names.emplace_back(name_of(target, file));
  return names;
}

DType quantize_type(std::string_view name, WeightFile file) {
  for (const Target& target : targets)
    if (is_in(target, file) && name_of(target, file) == name) return target.dtype;
  fail(ErrorKind::invalid_argument, "UnknownType", std::string(name), "no type of this name; the types are {}",
       fmt::join(quantize_type_names(file), ", "));
}

std::uint32_t gguf_file_type(DType dtype) {
  const Target& target = target_of(dtype);
  if (!target.file_type)
    fail(ErrorKind::invalid_argument, "UnknownType", std::string(to_string(dtype)),
         "a GGUF file has no such type; the types are {}", fmt::join(quantize_type_names(), ", "));
  return *target.file_type;
}

QuantizePlan canonical_profile() { return {.dtype = DType::q8, .rules = {}, .vectors = DType::fx16_16}; }

QuantizeTypes::QuantizeTypes(QuantizePlan plan) : plan_(std::move(plan)), used_(plan_.rules.size()) {
  if (plan_.dtype) target_of(*plan_.dtype);
  target_of(plan_.vectors);
  for (const QuantizeRule& rule : plan_.rules) target_of(rule.dtype);
}

QuantizedTensor QuantizeTypes::choose(std::string_view name, const std::vector<std::int64_t>& dims, DType source) {
  QuantizedTensor tensor{std::string(name), dims, source, source, source};
  std::optional<DType> wanted = plan_.dtype;
  for (std::size_t i = 0; i < plan_.rules.size(); ++i)
    if (::fnmatch(plan_.rules[i].pattern.c_str(), tensor.name.c_str(), 0) == 0) {
      wanted = plan_.rules[i].dtype;
      used_[i] = true;
    }
  if (!wanted || !holds_weights(source)) return tensor;
  tensor.wanted = dims.size() < 2 || name.ends_with(".scale") ? plan_.vectors : *wanted;
  tensor.dtype = tensor.wanted;
  while (!dims.empty() && !fits(tensor.dtype, dims.back())) tensor.dtype = target_of(tensor.dtype).smaller_blocks;
  return tensor;
}

void QuantizeTypes::expect_all_rules_used() const {
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (!used_[i])
      fail(ErrorKind::invalid_argument, "NoTensorMatches", plan_.rules[i].pattern,
           "no tensor has a name like this; weft inspect FILE --tensors lists the names");
}

}  // namespace weft
