#include "weft/lir/size_table.h"

#include <algorithm>

namespace weft::lir {

SizeId SizeTable::add(const Dim& dim) {
  const auto [it, fresh] = by_text_.try_emplace(dim.text(), static_cast<SizeId>(dims_.size()));
  if (fresh) {
    compiled_.emplace_back(dim, [this](std::string_view name) { return symbol(name); });
    dims_.push_back(dim);
  }
  return it->second;
}

std::vector<SizeId> SizeTable::add(const Shape& shape) {
  std::vector<SizeId> ids;
  for (const Dim& dim : shape) ids.push_back(add(dim));
  return ids;
}

std::optional<std::int32_t> SizeTable::find_symbol(std::string_view name) const {
  const auto it = std::find(symbols_.begin(), symbols_.end(), name);
  if (it == symbols_.end()) return std::nullopt;
  return static_cast<std::int32_t>(it - symbols_.begin());
}

std::int32_t SizeTable::symbol(std::string_view name) {
  if (const auto known = find_symbol(name)) return *known;
  symbols_.emplace_back(name);
  return static_cast<std::int32_t>(symbols_.size()) - 1;
}

void SizeTable::eval(std::span<const std::int64_t> symbols, std::span<std::int64_t> sizes) const {
  for (std::size_t i = 0; i < compiled_.size(); ++i) sizes[i] = compiled_[i].eval(symbols);
}

void SizeTable::eval_upper(std::span<const std::int64_t> symbols, std::span<std::int64_t> sizes) const {
  for (std::size_t i = 0; i < compiled_.size(); ++i) sizes[i] = compiled_[i].upper_bound(symbols);
}

}  // namespace weft::lir
