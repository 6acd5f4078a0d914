#include "weft/formats/graph_ir/model.h"

#include <algorithm>
#include <array>
#include <bit>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/op_table.h"

namespace weft::graph_ir {
namespace {

constexpr std::array<std::pair<BackendHint, std::string_view>, 5> hints{{{BackendHint::cpu, "cpu"},
                                                                         {BackendHint::wgpu_rs, "wgpu+rs"},
                                                                         {BackendHint::honeycrisp, "honeycrisp"},
                                                                         {BackendHint::nox, "nox"},
                                                                         {BackendHint::cuda, "cuda"}}};

constexpr std::array<std::pair<std::string_view, DType>, 5> dtype_aliases{
    {{"q2k", DType::q2_k}, {"q3k", DType::q3_k}, {"q4k", DType::q4_k}, {"q5k", DType::q5_k}, {"q6k", DType::q6_k}}};

constexpr std::uint8_t last_dtype_tag = static_cast<std::uint8_t>(DType::q5_1);

struct SameBits {
  bool operator()(float a, float b) const { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }
  bool operator()(const std::optional<float>& a, const std::optional<float>& b) const {
    return a.has_value() == b.has_value() && (!a || (*this)(*a, *b));
  }
  bool operator()(const std::vector<float>& a, const std::vector<float>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), *this);
  }
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
  template <class A, class B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

}  // namespace

const ParamValue& Op::param(std::string_view field) const {
  const OpDef& def = op_def(tag);
  for (std::size_t i = 0; i < def.fields.size() && i < params.size(); ++i)
    if (def.fields[i].name == field) return params[i];
  fail(ErrorKind::invalid_argument, "BadParam", fmt::format("[{}]", def.name), "there is no parameter \"{}\"", field);
}

void Op::wrong_type(std::string_view field) const {
  fail(ErrorKind::invalid_argument, "BadParam", fmt::format("[{}]", op_def(tag).name),
       "parameter \"{}\" was asked for under a type that it does not have", field);
}

std::string_view to_string(BackendHint hint) {
  for (const auto& [value, name] : hints)
    if (value == hint) return name;
  return "unknown";
}

std::optional<BackendHint> backend_hint_from_name(std::string_view name) {
  for (const auto& [value, text] : hints)
    if (text == name) return value;
  return std::nullopt;
}

std::optional<BackendHint> backend_hint_from_value(std::uint8_t value) {
  for (const auto& [hint, text] : hints)
    if (static_cast<std::uint8_t>(hint) == value) return hint;
  return std::nullopt;
}

bool same_value(const AttrValue& a, const AttrValue& b) { return std::visit(SameBits{}, a, b); }

bool operator==(const Op& a, const Op& b) {
  return a.tag == b.tag && std::equal(a.params.begin(), a.params.end(), b.params.begin(), b.params.end(),
                                      [](const ParamValue& x, const ParamValue& y) {
                                        return x.index() == y.index() && std::visit(SameBits{}, x, y);
                                      });
}

bool operator==(const Node& a, const Node& b) {
  return a.id == b.id && a.op == b.op && a.inputs == b.inputs && a.outputs == b.outputs &&
         a.backend_hint == b.backend_hint &&
         std::equal(a.attrs.begin(), a.attrs.end(), b.attrs.begin(), b.attrs.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && same_value(x.second, y.second); });
}

bool operator==(const Graph& a, const Graph& b) {
  return a.nodes == b.nodes && a.inputs == b.inputs && a.outputs == b.outputs && a.weights == b.weights;
}

std::optional<std::string_view> dtype_text(DType dtype) {
  if (static_cast<std::uint8_t>(dtype) > last_dtype_tag) return std::nullopt;
  if (dtype == DType::fx16_16) return "u32";
  if (dtype == DType::fx8_8) return "u16";
  return to_string(dtype);
}

std::optional<DType> dtype_from_text(std::string_view text) {
  for (std::uint8_t tag = 0; tag <= last_dtype_tag; ++tag)
    if (const auto dtype = static_cast<DType>(tag); dtype_text(dtype) == text) return dtype;
  for (const auto& [alias, dtype] : dtype_aliases)
    if (alias == text) return dtype;
  return std::nullopt;
}

}  // namespace weft::graph_ir
