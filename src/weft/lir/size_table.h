// The distinct sizes of a program. Each dim is compiled once and known by an id; a run evaluates all of them from the
// values of the symbols.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/compiled_dim.h"
#include "weft/base/shape.h"

namespace weft::lir {

using SizeId = std::int32_t;

class SizeTable {
 public:
  SizeId add(const Dim& dim);
  std::vector<SizeId> add(const Shape& shape);
  // The number of a symbol, a new one where it has none.
  std::int32_t symbol(std::string_view name);
  std::optional<std::int32_t> find_symbol(std::string_view name) const;

  const Dim& dim(SizeId id) const { return dims_[static_cast<std::size_t>(id)]; }
  const std::vector<std::string>& symbols() const { return symbols_; }
  std::size_t size() const { return dims_.size(); }
  // The most that sizes are while no symbol exceeds its value here; refuses no broadcast.
  void eval_upper(std::span<const std::int64_t> symbols, std::span<std::int64_t> sizes) const;
  // Sizes of all ids for the values of all symbols. Allocates nothing.
  void eval(std::span<const std::int64_t> symbols, std::span<std::int64_t> sizes) const;

 private:
  std::vector<std::string> symbols_;
  std::vector<Dim> dims_;
  std::vector<CompiledDim> compiled_;
  std::map<std::string, SizeId> by_text_;
};

}  // namespace weft::lir
