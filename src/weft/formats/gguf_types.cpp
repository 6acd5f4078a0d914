#include "weft/formats/gguf_types.h"

#include <fmt/format.h>

#include <array>

namespace weft {
namespace {

struct GgmlType {
  std::uint32_t id;
  std::string_view name;
  std::optional<DType> dtype;
};

constexpr std::array ggml_types{
    GgmlType{0, "F32", DType::f32},
    GgmlType{1, "F16", DType::f16},
    GgmlType{2, "Q4_0", DType::q4_0},
    GgmlType{3, "Q4_1", DType::q4_1},
    GgmlType{4, "Q4_2", std::nullopt},
    GgmlType{5, "Q4_3", std::nullopt},
    GgmlType{6, "Q5_0", DType::q5_0},
    GgmlType{7, "Q5_1", DType::q5_1},
    GgmlType{8, "Q8_0", DType::q8_0},
    GgmlType{9, "Q8_1", std::nullopt},
    GgmlType{10, "Q2_K", DType::q2_k},
    GgmlType{11, "Q3_K", DType::q3_k},
    GgmlType{12, "Q4_K", DType::q4_k},
    GgmlType{13, "Q5_K", DType::q5_k},
    GgmlType{14, "Q6_K", DType::q6_k},
    GgmlType{15, "Q8_K", std::nullopt},
    GgmlType{16, "IQ2_XXS", std::nullopt},
    GgmlType{17, "IQ2_XS", std::nullopt},
    GgmlType{18, "IQ3_XXS", std::nullopt},
    GgmlType{19, "IQ1_S", std::nullopt},
    GgmlType{20, "IQ4_NL", std::nullopt},
    GgmlType{21, "IQ3_S", std::nullopt},
    GgmlType{22, "IQ2_S", std::nullopt},
    GgmlType{23, "IQ4_XS", std::nullopt},
    GgmlType{24, "I8", DType::i8},
    GgmlType{25, "I16", std::nullopt},
    GgmlType{26, "I32", DType::i32},
    GgmlType{27, "I64", std::nullopt},
    GgmlType{28, "F64", DType::f64},
    GgmlType{29, "IQ1_M", std::nullopt},
    GgmlType{30, "BF16", DType::bf16},
    GgmlType{31, "Q4_0_4_4", std::nullopt},
    GgmlType{32, "Q4_0_4_8", std::nullopt},
    GgmlType{33, "Q4_0_8_8", std::nullopt},
    GgmlType{34, "TQ1_0", std::nullopt},
    GgmlType{35, "TQ2_0", std::nullopt},
    GgmlType{36, "IQ4_NL_4_4", std::nullopt},
    GgmlType{37, "IQ4_NL_4_8", std::nullopt},
    GgmlType{38, "IQ4_NL_8_8", std::nullopt},
    GgmlType{39, "MXFP4", std::nullopt},
};

struct ValueType {
  std::string_view name;
  std::uint32_t size;
};

constexpr std::array<ValueType, 13> value_types{{{"u8", 1},
                                                 {"i8", 1},
                                                 {"u16", 2},
                                                 {"i16", 2},
                                                 {"u32", 4},
                                                 {"i32", 4},
                                                 {"f32", 4},
                                                 {"bool", 1},
                                                 {"string", 0},
                                                 {"array", 0},
                                                 {"u64", 8},
                                                 {"i64", 8},
                                                 {"f64", 8}}};

}  // namespace

std::optional<GgufType> gguf_type_from_id(std::uint32_t id) {
  if (id >= value_types.size()) return std::nullopt;
  return static_cast<GgufType>(id);
}

std::string_view to_string(GgufType type) { return value_types[static_cast<std::size_t>(type)].name; }

std::uint32_t gguf_type_size(GgufType type) { return value_types[static_cast<std::size_t>(type)].size; }

std::optional<DType> dtype_from_ggml_id(std::uint32_t id) {
  return id < ggml_types.size() ? ggml_types[id].dtype : std::nullopt;
}

std::optional<std::uint32_t> ggml_id_from_dtype(DType dtype) {
  for (const GgmlType& type : ggml_types)
    if (type.dtype == dtype) return type.id;
  return std::nullopt;
}

std::string ggml_type_text(std::uint32_t id) {
  return id < ggml_types.size() ? fmt::format("type {}", ggml_types[id].name) : fmt::format("unknown type {}", id);
}

std::string readable_ggml_types() {
  std::string names;
  for (const GgmlType& type : ggml_types)
    if (type.dtype) names += fmt::format("{}{}", names.empty() ? "" : ", ", type.name);
  return names;
}

}  // namespace weft
