#include "weft/formats/model_encoding.h"

#include <array>
#include <utility>

#include "weft/base/fail.h"

namespace weft {
namespace {

using Named = std::pair<std::string_view, DType>;

constexpr std::array<Named, 5> canonical_names{{{"u32", DType::fx16_16},
                                                {"u16", DType::fx8_8},
                                                {"q8", DType::q8},
                                                {"q4", DType::q4},
                                                {"ternary", DType::ternary}}};

constexpr std::array<Named, 5> legacy_names{
    {{"u32", DType::f32}, {"u16", DType::f16}, {"q8", DType::q8_0}, {"q4", DType::q4_0}, {"ternary", DType::ternary}}};

constexpr std::array<Named, 24> extended{{{"f32", DType::f32},
                                          {"f16", DType::f16},
                                          {"bf16", DType::bf16},
                                          {"f64", DType::f64},
                                          {"i8", DType::i8},
                                          {"u8", DType::u8},
                                          {"i32", DType::i32},
                                          {"i64", DType::i64},
                                          {"bool", DType::boolean},
                                          {"q8_0", DType::q8_0},
                                          {"q4_0", DType::q4_0},
                                          {"q4_1", DType::q4_1},
                                          {"q5_0", DType::q5_0},
                                          {"q5_1", DType::q5_1},
                                          {"q2_k", DType::q2_k},
                                          {"q3_k", DType::q3_k},
                                          {"q4_k", DType::q4_k},
                                          {"q5_k", DType::q5_k},
                                          {"q6_k", DType::q6_k},
                                          // Spellings of another writer.
                                          {"q2k", DType::q2_k},
                                          {"q3k", DType::q3_k},
                                          {"q4k", DType::q4_k},
                                          {"q5k", DType::q5_k},
                                          {"q6k", DType::q6_k}}};

}  // namespace

std::optional<ModelEncoding> model_encoding(std::string_view name, std::int64_t version) {
  for (const auto& [known, dtype] : version == 1 ? legacy_names : canonical_names)
    if (known == name) return ModelEncoding{dtype, true, version == 1 && dtype == DType::ternary};
  for (const auto& [known, dtype] : extended)
    if (known == name) return ModelEncoding{dtype, false, false};
  return std::nullopt;
}

std::string_view model_encoding_name(DType dtype) {
  for (const auto& [name, known] : canonical_names)
    if (known == dtype) return name;
  for (const auto& [name, known] : extended)
    if (known == dtype) return name;
  fail(ErrorKind::not_representable, "NotRepresentable", "", "a .model file has no encoding for {} values",
       to_string(dtype));
}

}  // namespace weft
