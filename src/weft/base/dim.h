// A dimension: a static size or an expression over named symbols. Kept in one normal form, a sum of products over
// atoms (a symbol, or floor_div, ceil_div, pow2_ceil, max, broadcast of dims), so that equality is structural.
// Every atom is monotone, so bounds follow by interval arithmetic. Immutable value; sharing between threads is safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"

namespace weft {

using DimBinding = std::map<std::string, std::int64_t, std::less<>>;

struct Interval {
  std::int64_t low = 0, high = 0;
};
using DimBounds = std::map<std::string, Interval, std::less<>>;

class WEFT_API Dim {
 public:
  Dim(std::int64_t size = 0);  // implicit on purpose: `{n, 64}` is a shape
  // A name of letters, digits, '_' and '.', not starting with a digit.
  static Dim symbol(std::string_view name);
  // Reads what text() prints; throws BadDim.
  static Dim parse(std::string_view text);

  bool is_static() const { return expression_ == nullptr; }
  std::optional<std::int64_t> value() const;
  std::string text() const;
  void collect_symbols(std::set<std::string>& names) const;

  // The size under a binding; UnboundSymbol when a name has none, ShapeMismatch where a broadcast does not hold.
  std::int64_t eval(const DimBinding& binding) const;
  // The range of sizes; a symbol without bounds makes it nothing.
  std::optional<Interval> bounds(const DimBounds& bounds) const;
  Dim substitute(const std::map<std::string, Dim, std::less<>>& replacements) const;

  friend WEFT_API bool operator==(const Dim& a, const Dim& b);
  friend WEFT_API Dim operator+(const Dim& a, const Dim& b);
  friend WEFT_API Dim operator-(const Dim& a, const Dim& b);
  friend WEFT_API Dim operator*(const Dim& a, const Dim& b);
  friend WEFT_API Dim floor_div(const Dim& a, std::int64_t k);
  friend WEFT_API Dim ceil_div(const Dim& a, std::int64_t k);
  friend WEFT_API Dim pow2_ceil(const Dim& a);
  friend WEFT_API Dim max(const Dim& a, const Dim& b);
  // The NumPy rule for two sizes: equal, or one of them 1. Unequal statics are a ShapeMismatch; otherwise what is not
  // known yet becomes a broadcast atom, which eval() checks.
  friend WEFT_API Dim broadcast(const Dim& a, const Dim& b);
  // a / b when it is a whole expression; nothing when that cannot be shown.
  friend WEFT_API std::optional<Dim> exact_div(const Dim& a, const Dim& b);

  struct Expression;

 private:
  friend class CompiledDim;
  explicit Dim(std::shared_ptr<const Expression> expression);
  static Dim from_expression(Expression expression);
  static Dim atom(int kind, std::string name, std::vector<Dim> operands, std::int64_t k);
  static Dim lattice(int kind, const Dim& a, const Dim& b);  // max and broadcast

  std::int64_t size_ = 0;
  std::shared_ptr<const Expression> expression_;  // null when static
};

}  // namespace weft
