#include "weft/base/compiled_dim.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>

#include "weft/base/dim.h"
#include "weft/base/fail.h"

namespace weft {
namespace {

enum Kind { symbol_kind, floor_kind, ceil_kind, pow2_kind, max_kind, broadcast_kind };

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r))
    fail(ErrorKind::shape_mismatch, "SizeOverflow", "", "a dimension exceeds 64 bits");
  return r;
}

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r))
    fail(ErrorKind::shape_mismatch, "SizeOverflow", "", "a dimension exceeds 64 bits");
  return r;
}

std::int64_t saturated_add(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (!__builtin_add_overflow(a, b, &r)) return r;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

std::int64_t saturated_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (!__builtin_mul_overflow(a, b, &r)) return r;
  return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

std::int64_t floor_of(std::int64_t a, std::int64_t k) { return a / k - (a % k != 0 && a < 0 ? 1 : 0); }
std::int64_t ceil_of(std::int64_t a, std::int64_t k) { return a / k + (a % k != 0 && a > 0 ? 1 : 0); }

constexpr std::int64_t largest_pow2 = std::int64_t{1} << 62;

std::int64_t pow2_of(std::int64_t a) {
  if (a > largest_pow2) fail(ErrorKind::shape_mismatch, "SizeOverflow", "", "a dimension exceeds 64 bits");
  return a <= 1 ? 1 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(a)));
}

// Far above what graphs need; below it, expanding products of sums that a file holds stays cheap.
constexpr std::size_t max_terms = 64, max_text = 2048;

[[noreturn]] void fail_complex() {
  fail(ErrorKind::invalid_argument, "BadDim", "", "a dimension has more than {} terms or {} characters", max_terms,
       max_text);
}

std::int64_t broadcast_of(std::int64_t a, std::int64_t b) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  fail(ErrorKind::shape_mismatch, "ShapeMismatch", "",
       "sizes {} and {} do not broadcast: make them equal or one of them 1", a, b);
}

struct Atom {
  int kind = symbol_kind;
  std::string name;           // of a symbol
  std::vector<Dim> operands;  // of the others
  std::int64_t k = 0;         // divisor
  std::string key;            // its text, which orders and identifies it
};

struct Term {
  std::int64_t coefficient = 0;
  std::vector<Atom> factors;  // ascending keys
  std::string key() const {
    std::string text;
    for (const Atom& atom : factors) text += (text.empty() ? "" : "*") + atom.key;
    return text;
  }
};

}  // namespace

struct Dim::Expression {
  std::map<std::string, Term> terms;  // by key; "" is the constant
  std::string text;

  void add(Term term) {
    if (term.coefficient == 0) return;
    std::string key = term.key();
    const auto [it, fresh] = terms.try_emplace(std::move(key), term);
    if (terms.size() > max_terms) fail_complex();
    if (fresh) return;
    it->second.coefficient = checked_add(it->second.coefficient, term.coefficient);
    if (it->second.coefficient == 0) terms.erase(it);
  }

  void print() {
    // Products first, the constant last: "2*n + past + 1".
    const auto append = [&](const Term& term) {
      const std::string key = term.key();
      const std::int64_t c = term.coefficient;
      std::string piece;
      if (key.empty())
        piece = fmt::format("{}", c);
      else if (c == 1)
        piece = key;
      else if (c == -1)
        piece = "-" + key;
      else
        piece = fmt::format("{}*{}", c, key);
      if (text.empty())
        text = piece;
      else if (piece.front() == '-')
        text += " - " + piece.substr(1);
      else
        text += " + " + piece;
    };
    for (const auto& [key, term] : terms)
      if (!key.empty()) append(term);
    if (const auto constant = terms.find(""); constant != terms.end()) append(constant->second);
    if (text.size() > max_text) fail_complex();
  }
};

namespace {

using Expression = Dim::Expression;

Term product(const Term& a, const Term& b) {
  Term out{checked_mul(a.coefficient, b.coefficient), a.factors};
  out.factors.insert(out.factors.end(), b.factors.begin(), b.factors.end());
  std::stable_sort(out.factors.begin(), out.factors.end(), [](const Atom& x, const Atom& y) { return x.key < y.key; });
  return out;
}

// a / b for single products, if b's factors all occur in a and its coefficient divides.
std::optional<Term> quotient(const Term& a, const Term& b) {
  if (b.coefficient == 0) return std::nullopt;
  // Its own case because INT64_MIN / -1 does not fit.
  if (b.coefficient != -1 && a.coefficient % b.coefficient != 0) return std::nullopt;
  Term out{b.coefficient == -1 ? checked_mul(a.coefficient, -1) : a.coefficient / b.coefficient, a.factors};
  for (const Atom& factor : b.factors) {
    const auto it =
        std::find_if(out.factors.begin(), out.factors.end(), [&](const Atom& atom) { return atom.key == factor.key; });
    if (it == out.factors.end()) return std::nullopt;
    out.factors.erase(it);
  }
  return out;
}

// The greatest term by degree, then by the exponents of the atoms in key order. Long division needs an order that
// products keep, which the order of the keys as text is not.
const Term& leading_term(const Expression& expression) {
  const auto below = [](const auto& left, const auto& right) {
    const std::vector<Atom>&a = left.second.factors, &b = right.second.factors;
    if (a.size() != b.size()) return a.size() < b.size();
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i].key != b[i].key) return a[i].key > b[i].key;
    return false;
  };
  return std::max_element(expression.terms.begin(), expression.terms.end(), below)->second;
}

Expression expand(const Dim& dim, const std::shared_ptr<const Expression>& expression) {
  if (expression) {
    Expression copy = *expression;
    copy.text.clear();
    return copy;
  }
  Expression constant;
  constant.add({*dim.value(), {}});
  return constant;
}

std::int64_t eval_atom(const Atom& atom, const DimBinding& binding) {
  switch (atom.kind) {
    case symbol_kind: {
      const auto it = binding.find(atom.name);
      if (it == binding.end())
        fail(ErrorKind::invalid_argument, "UnboundSymbol", "", "dimension {} has no value in this run", atom.name);
      return it->second;
    }
    case floor_kind: return floor_of(atom.operands[0].eval(binding), atom.k);
    case ceil_kind: return ceil_of(atom.operands[0].eval(binding), atom.k);
    case pow2_kind: return pow2_of(atom.operands[0].eval(binding));
    default: {
      std::int64_t size = atom.operands[0].eval(binding);
      for (std::size_t i = 1; i < atom.operands.size(); ++i) {
        const std::int64_t other = atom.operands[i].eval(binding);
        size = atom.kind == max_kind ? std::max(size, other) : broadcast_of(size, other);
      }
      return size;
    }
  }
}

std::optional<Interval> atom_bounds(const Atom& atom, const DimBounds& bounds) {
  if (atom.kind == symbol_kind) {
    const auto it = bounds.find(atom.name);
    if (it == bounds.end()) return std::nullopt;
    return it->second;
  }
  const auto first = atom.operands[0].bounds(bounds);
  if (!first) return std::nullopt;
  Interval range = *first;
  switch (atom.kind) {
    case floor_kind: return Interval{floor_of(range.low, atom.k), floor_of(range.high, atom.k)};
    case ceil_kind: return Interval{ceil_of(range.low, atom.k), ceil_of(range.high, atom.k)};
    case pow2_kind:
      return Interval{pow2_of(std::min(range.low, largest_pow2)),
                      range.high > largest_pow2 ? INT64_MAX : pow2_of(range.high)};
    default: break;
  }
  for (std::size_t i = 1; i < atom.operands.size(); ++i) {
    const auto other = atom.operands[i].bounds(bounds);
    if (!other) return std::nullopt;
    // A size 0 beside a size 1 broadcasts to 0, below their maximum.
    const bool may_vanish =
        atom.kind == broadcast_kind && ((range.low < 1 && other->low <= 1) || (other->low < 1 && range.low <= 1));
    range = {may_vanish ? std::min(range.low, other->low) : std::max(range.low, other->low),
             std::max(range.high, other->high)};
  }
  return range;
}

}  // namespace

Dim::Dim(std::int64_t size) : size_(size) {}
Dim::Dim(std::shared_ptr<const Expression> expression) : expression_(std::move(expression)) {}

Dim Dim::from_expression(Expression expression) {
  if (expression.terms.empty()) return Dim(0);
  if (expression.terms.size() == 1 && expression.terms.begin()->first.empty())
    return Dim(expression.terms.begin()->second.coefficient);
  expression.print();
  return Dim(std::make_shared<const Expression>(std::move(expression)));
}

Dim Dim::atom(int kind, std::string name, std::vector<Dim> operands, std::int64_t k) {
  Atom atom{kind, std::move(name), std::move(operands), k, ""};
  switch (kind) {
    case symbol_kind: atom.key = atom.name; break;
    case floor_kind: atom.key = fmt::format("floor_div({}, {})", atom.operands[0].text(), k); break;
    case ceil_kind: atom.key = fmt::format("ceil_div({}, {})", atom.operands[0].text(), k); break;
    case pow2_kind: atom.key = fmt::format("pow2_ceil({})", atom.operands[0].text()); break;
    default:
      for (const Dim& operand : atom.operands) atom.key += (atom.key.empty() ? "" : ", ") + operand.text();
      atom.key = fmt::format("{}({})", kind == max_kind ? "max" : "broadcast", atom.key);
  }
  Expression expression;
  expression.add({1, {std::move(atom)}});
  return from_expression(std::move(expression));
}

Dim Dim::symbol(std::string_view name) {
  constexpr std::string_view digits = "0123456789",
                             letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789";
  if (name.empty() || name.size() > 256 || digits.find(name[0]) != std::string_view::npos ||
      name.find_first_not_of(letters) != std::string_view::npos)
    fail(ErrorKind::invalid_argument, "BadDim", "",
         "\"{}\" names no dimension: expected up to 256 letters, digits, '_' and '.', no digit first",
         name.substr(0, 256));
  return atom(symbol_kind, std::string(name), {}, 0);
}

std::optional<std::int64_t> Dim::value() const {
  if (expression_) return std::nullopt;
  return size_;
}

std::string Dim::text() const { return expression_ ? expression_->text : std::to_string(size_); }

void Dim::collect_symbols(std::set<std::string>& names) const {
  if (!expression_) return;
  for (const auto& [key, term] : expression_->terms)
    for (const Atom& atom : term.factors) {
      if (atom.kind == symbol_kind) names.insert(atom.name);
      for (const Dim& operand : atom.operands) operand.collect_symbols(names);
    }
}

std::int64_t Dim::eval(const DimBinding& binding) const {
  if (!expression_) return size_;
  std::int64_t sum = 0;
  for (const auto& [key, term] : expression_->terms) {
    std::int64_t value = term.coefficient;
    for (const Atom& atom : term.factors) value = checked_mul(value, eval_atom(atom, binding));
    sum = checked_add(sum, value);
  }
  return sum;
}

std::optional<Interval> Dim::bounds(const DimBounds& bounds) const {
  if (!expression_) return Interval{size_, size_};
  Interval sum{0, 0};
  for (const auto& [key, term] : expression_->terms) {
    Interval range{term.coefficient, term.coefficient};
    for (const Atom& atom : term.factors) {
      const auto factor = atom_bounds(atom, bounds);
      if (!factor) return std::nullopt;
      const auto [low, high] =
          std::minmax({saturated_mul(range.low, factor->low), saturated_mul(range.low, factor->high),
                       saturated_mul(range.high, factor->low), saturated_mul(range.high, factor->high)});
      range = {low, high};
    }
    sum = {saturated_add(sum.low, range.low), saturated_add(sum.high, range.high)};
  }
  return sum;
}

Dim Dim::substitute(const std::map<std::string, Dim, std::less<>>& replacements) const {
  if (!expression_) return *this;
  Dim sum(0);
  for (const auto& [key, term] : expression_->terms) {
    Dim value(term.coefficient);
    for (const Atom& atom : term.factors) {
      std::vector<Dim> operands;
      for (const Dim& operand : atom.operands) operands.push_back(operand.substitute(replacements));
      switch (atom.kind) {
        case symbol_kind: {
          const auto it = replacements.find(atom.name);
          value = value * (it == replacements.end() ? symbol(atom.name) : it->second);
          break;
        }
        case floor_kind: value = value * floor_div(operands[0], atom.k); break;
        case ceil_kind: value = value * ceil_div(operands[0], atom.k); break;
        case pow2_kind: value = value * pow2_ceil(operands[0]); break;
        default: {
          Dim size = operands[0];
          for (std::size_t i = 1; i < operands.size(); ++i)
            size = atom.kind == max_kind ? max(size, operands[i]) : broadcast(size, operands[i]);
          value = value * size;
        }
      }
    }
    sum = sum + value;
  }
  return sum;
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_static() != b.is_static()) return false;
  return a.is_static() ? a.size_ == b.size_ : a.expression_->text == b.expression_->text;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return Dim(checked_add(a.size_, b.size_));
  Expression sum = expand(a, a.expression_);
  for (const auto& [key, term] : expand(b, b.expression_).terms) sum.add(term);
  return Dim::from_expression(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_static() && b.is_static()) return Dim(checked_mul(a.size_, b.size_));
  Expression out;
  const Expression left = expand(a, a.expression_), right = expand(b, b.expression_);
  for (const auto& [left_key, x] : left.terms)
    for (const auto& [right_key, y] : right.terms) out.add(product(x, y));
  return Dim::from_expression(std::move(out));
}

std::optional<Dim> exact_div(const Dim& a, const Dim& b) {
  if (b == Dim(0)) return std::nullopt;
  const Expression divisor = expand(b, b.expression_);
  const Term& leading = leading_term(divisor);
  Dim rest = a, out(0);
  // Long division; each step gives one term of the quotient.
  for (std::size_t step = 0; step <= max_terms; ++step) {
    if (rest == Dim(0)) return out;
    const Expression left = expand(rest, rest.expression_);
    const auto term = quotient(leading_term(left), leading);
    if (!term) return std::nullopt;
    Expression piece;
    piece.add(*term);
    const Dim q = Dim::from_expression(std::move(piece));
    out = out + q;
    rest = rest - q * b;
  }
  return std::nullopt;
}

namespace {
void expect_divisor(std::int64_t k) {
  if (k <= 0) fail(ErrorKind::invalid_argument, "BadDim", "", "a dimension is divided by {}: expected 1 or more", k);
}
}  // namespace

Dim floor_div(const Dim& a, std::int64_t k) {
  expect_divisor(k);
  if (a.is_static()) return Dim(floor_of(a.size_, k));
  if (const auto exact = exact_div(a, Dim(k))) return *exact;
  return Dim::atom(floor_kind, "", {a}, k);
}

Dim ceil_div(const Dim& a, std::int64_t k) {
  expect_divisor(k);
  if (a.is_static()) return Dim(ceil_of(a.size_, k));
  if (const auto exact = exact_div(a, Dim(k))) return *exact;
  return Dim::atom(ceil_kind, "", {a}, k);
}

Dim pow2_ceil(const Dim& a) {
  if (a.is_static()) return Dim(pow2_of(a.size_));
  return Dim::atom(pow2_kind, "", {a}, 0);
}

// Both take any number of operands in one atom, each once and in text order: max(max(a, b), a) is max(a, b).
Dim Dim::lattice(int kind, const Dim& a, const Dim& b) {
  std::map<std::string, Dim> operands;
  std::optional<std::int64_t> size;  // of the static operands together
  const auto gather = [&](const Dim& operand) {
    if (const auto value = operand.value())
      size = !size ? *value : kind == max_kind ? std::max(*size, *value) : broadcast_of(*size, *value);
    else
      operands.emplace(operand.text(), operand);
  };
  for (const Dim* side : {&a, &b}) {
    const Term* only =
        side->expression_ && side->expression_->terms.size() == 1 ? &side->expression_->terms.begin()->second : nullptr;
    if (only != nullptr && only->coefficient == 1 && only->factors.size() == 1 && only->factors[0].kind == kind)
      for (const Dim& operand : only->factors[0].operands) gather(operand);
    else
      gather(*side);
  }
  if (kind == broadcast_kind && size == 1 && !operands.empty()) size.reset();
  if (size) operands.emplace(std::to_string(*size), Dim(*size));
  if (operands.size() == 1) return operands.begin()->second;
  std::vector<Dim> ordered;
  for (auto& [text, operand] : operands) ordered.push_back(std::move(operand));
  return Dim::atom(kind, "", std::move(ordered), 0);
}

Dim max(const Dim& a, const Dim& b) { return Dim::lattice(max_kind, a, b); }
Dim broadcast(const Dim& a, const Dim& b) { return Dim::lattice(broadcast_kind, a, b); }

namespace {

class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  Dim parse_all() {
    const Dim dim = sum(0);
    skip_space();
    if (at_ != text_.size()) refuse("unexpected text");
    return dim;
  }

 private:
  [[noreturn]] void refuse(const char* reason) const {
    fail(ErrorKind::invalid_argument, "BadDim", "", "dimension \"{}\" at character {}: {}", text_.substr(0, 64), at_,
         reason);
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse("an operator or a closing parenthesis is missing");
  }

  Dim sum(int depth) {
    if (depth > max_depth) refuse("nested too deeply");
    Dim total = term(depth, accept('-'));
    for (;;) {
      if (accept('+'))
        total = total + term(depth, false);
      else if (accept('-'))
        total = total + term(depth, true);
      else
        return total;
    }
  }

  Dim term(int depth, bool negative) {
    skip_space();
    // The sign belongs to the number: the most negative one has no positive counterpart.
    Dim total = at_digit() ? Dim(number(negative)) : negative ? Dim(-1) * factor(depth) : factor(depth);
    while (accept('*')) total = total * factor(depth);
    return total;
  }

  bool at_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

  std::int64_t number(bool negative = false) {
    skip_space();
    if (!at_digit()) refuse("a number is expected");
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    const std::uint64_t most = static_cast<std::uint64_t>(INT64_MAX) + (negative ? 1 : 0);
    if (error != std::errc() || value > most) refuse("a number exceeds 64 bits");
    at_ = static_cast<std::size_t>(end - text_.data());
    return static_cast<std::int64_t>(negative ? 0 - value : value);
  }

  Dim factor(int depth) {
    skip_space();
    if (at_ == text_.size()) refuse("it ends too early");
    if (at_digit()) return Dim(number());
    if (accept('(')) {
      const Dim inner = sum(depth + 1);
      expect(')');
      return inner;
    }
    const std::size_t start = at_;
    const auto is_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (name.empty()) refuse("a name or a number is expected");
    if (!accept('(')) return Dim::symbol(name);
    const Dim first = sum(depth + 1);
    Dim out;
    if (name == "pow2_ceil") {
      out = pow2_ceil(first);
    } else {
      expect(',');
      if (name == "floor_div")
        out = floor_div(first, number());
      else if (name == "ceil_div")
        out = ceil_div(first, number());
      else if (name == "max" || name == "broadcast")
        out = operands(first, name == "max", depth);
      else
        refuse("an unknown function");
    }
    expect(')');
    return out;
  }

  Dim operands(Dim total, bool is_max, int depth) {
    do {
      const Dim next = sum(depth + 1);
      total = is_max ? max(total, next) : broadcast(total, next);
    } while (accept(','));
    return total;
  }

  // A dim's text of max_text characters cannot nest deeper: "max(" and ", n)" cost eight a level.
  static constexpr int max_depth = static_cast<int>(max_text / 8);
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Dim Dim::parse(std::string_view text) { return DimParser(text).parse_all(); }

// --- compiled dims ----------------------------------------------------------------------------------------------

CompiledDim::CompiledDim(const Dim& dim, FunctionRef<std::int32_t(std::string_view)> symbol_index) {
  compile(dim, symbol_index);
}

void CompiledDim::compile(const Dim& dim, FunctionRef<std::int32_t(std::string_view)> symbol_index) {
  if (!dim.expression_) {
    code_.push_back({Operation::constant, dim.size_});
    return;
  }
  bool first_term = true;
  for (const auto& [key, term] : dim.expression_->terms) {
    code_.push_back({term.factors.empty() ? Operation::constant : Operation::coefficient, term.coefficient});
    for (const Atom& atom : term.factors) {
      if (atom.kind == symbol_kind) {
        code_.push_back({Operation::symbol, symbol_index(atom.name)});
      } else {
        bool first_operand = true;
        for (const Dim& operand : atom.operands) {
          compile(operand, symbol_index);
          if (!first_operand) code_.push_back({atom.kind == max_kind ? Operation::max : Operation::broadcast, 0});
          first_operand = false;
        }
        if (atom.kind == floor_kind) code_.push_back({Operation::floor_div, atom.k});
        if (atom.kind == ceil_kind) code_.push_back({Operation::ceil_div, atom.k});
        if (atom.kind == pow2_kind) code_.push_back({Operation::pow2_ceil, 0});
      }
      code_.push_back({Operation::multiply, 0});
    }
    if (!first_term) code_.push_back({Operation::add, 0});
    first_term = false;
  }
  if (first_term) code_.push_back({Operation::constant, 0});
}

template <bool upper>
std::int64_t CompiledDim::run(std::span<const std::int64_t> symbols) const {
  // Deep enough for any dim: each nesting level keeps a sum, a product and an operand.
  std::array<std::int64_t, 64> stack;
  std::size_t top = 0;
  for (const Instruction& at : code_) {
    switch (at.operation) {
      case Operation::constant:
      case Operation::coefficient:
      case Operation::symbol:
        if (top == stack.size()) fail(ErrorKind::invalid_argument, "BadDim", "", "a dimension is nested too deeply");
        stack[top] = at.operation == Operation::symbol ? symbols[static_cast<std::size_t>(at.value)] : at.value;
        // What is subtracted may be nothing.
        if (upper && at.operation == Operation::coefficient) stack[top] = std::max<std::int64_t>(at.value, 0);
        ++top;
        break;
      case Operation::floor_div: stack[top - 1] = floor_of(stack[top - 1], at.value); break;
      case Operation::ceil_div: stack[top - 1] = ceil_of(stack[top - 1], at.value); break;
      case Operation::pow2_ceil: stack[top - 1] = pow2_of(stack[top - 1]); break;
      case Operation::add: --top, stack[top - 1] = checked_add(stack[top - 1], stack[top]); break;
      case Operation::multiply: --top, stack[top - 1] = checked_mul(stack[top - 1], stack[top]); break;
      case Operation::max: --top, stack[top - 1] = std::max(stack[top - 1], stack[top]); break;
      case Operation::broadcast:
        --top;
        stack[top - 1] = upper ? std::max(stack[top - 1], stack[top]) : broadcast_of(stack[top - 1], stack[top]);
        break;
    }
  }
  return stack[0];
}

std::int64_t CompiledDim::eval(std::span<const std::int64_t> symbols) const { return run<false>(symbols); }
std::int64_t CompiledDim::upper_bound(std::span<const std::int64_t> symbols) const { return run<true>(symbols); }

}  // namespace weft
