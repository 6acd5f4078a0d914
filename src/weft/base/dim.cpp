#include "weft/base/dim.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

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

std::int64_t floor_of(std::int64_t a, std::int64_t k) { return a / k - (a % k != 0 && a < 0 ? 1 : 0); }
std::int64_t ceil_of(std::int64_t a, std::int64_t k) { return -floor_of(-a, k); }
std::int64_t pow2_of(std::int64_t a) {
  return a <= 1 ? 1 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(a)));
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
  if (b.coefficient == 0 || a.coefficient % b.coefficient != 0) return std::nullopt;
  Term out{a.coefficient / b.coefficient, a.factors};
  for (const Atom& factor : b.factors) {
    const auto it =
        std::find_if(out.factors.begin(), out.factors.end(), [&](const Atom& atom) { return atom.key == factor.key; });
    if (it == out.factors.end()) return std::nullopt;
    out.factors.erase(it);
  }
  return out;
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
    case max_kind: return std::max(atom.operands[0].eval(binding), atom.operands[1].eval(binding));
    default: return broadcast_of(atom.operands[0].eval(binding), atom.operands[1].eval(binding));
  }
}

std::optional<Interval> atom_bounds(const Atom& atom, const DimBounds& bounds) {
  if (atom.kind == symbol_kind) {
    const auto it = bounds.find(atom.name);
    if (it == bounds.end()) return std::nullopt;
    return it->second;
  }
  const auto a = atom.operands[0].bounds(bounds);
  if (!a) return std::nullopt;
  switch (atom.kind) {
    case floor_kind: return Interval{floor_of(a->low, atom.k), floor_of(a->high, atom.k)};
    case ceil_kind: return Interval{ceil_of(a->low, atom.k), ceil_of(a->high, atom.k)};
    case pow2_kind: return Interval{pow2_of(a->low), pow2_of(a->high)};
    default: break;
  }
  const auto b = atom.operands[1].bounds(bounds);
  if (!b) return std::nullopt;
  return Interval{std::max(a->low, b->low), std::max(a->high, b->high)};
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
      atom.key = fmt::format("{}({}, {})", kind == max_kind ? "max" : "broadcast", atom.operands[0].text(),
                             atom.operands[1].text());
  }
  Expression expression;
  expression.add({1, {std::move(atom)}});
  return from_expression(std::move(expression));
}

Dim Dim::symbol(std::string_view name) { return atom(symbol_kind, std::string(name), {}, 0); }

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
          std::minmax({checked_mul(range.low, factor->low), checked_mul(range.low, factor->high),
                       checked_mul(range.high, factor->low), checked_mul(range.high, factor->high)});
      range = {low, high};
    }
    sum = {checked_add(sum.low, range.low), checked_add(sum.high, range.high)};
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
        case max_kind: value = value * max(operands[0], operands[1]); break;
        default: value = value * broadcast(operands[0], operands[1]);
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
  const Term& leading = divisor.terms.rbegin()->second;
  Dim rest = a, out(0);
  // Long division; each step removes the rest's last term, and a divisor of t terms adds at most t - 1 new ones.
  for (int step = 0; step < 64; ++step) {
    if (rest == Dim(0)) return out;
    const Expression left = expand(rest, rest.expression_);
    const auto term = quotient(left.terms.rbegin()->second, leading);
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

Dim max(const Dim& a, const Dim& b) {
  if (a == b) return a;
  if (a.is_static() && b.is_static()) return Dim(std::max(a.size_, b.size_));
  const bool swap = b.text() < a.text();
  return Dim::atom(max_kind, "", swap ? std::vector{b, a} : std::vector{a, b}, 0);
}

Dim broadcast(const Dim& a, const Dim& b) {
  if (a == b || b == Dim(1)) return a;
  if (a == Dim(1)) return b;
  if (a.is_static() && b.is_static()) return Dim(broadcast_of(a.size_, b.size_));
  const bool swap = b.text() < a.text();
  return Dim::atom(broadcast_kind, "", swap ? std::vector{b, a} : std::vector{a, b}, 0);
}

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
    fail(ErrorKind::invalid_argument, "BadDim", "", "dimension \"{}\" at character {}: {}", text_, at_, reason);
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
    if (depth > 32) refuse("nested too deeply");
    Dim total = accept('-') ? Dim(-1) * term(depth) : term(depth);
    for (;;) {
      if (accept('+'))
        total = total + term(depth);
      else if (accept('-'))
        total = total - term(depth);
      else
        return total;
    }
  }

  Dim term(int depth) {
    Dim total = factor(depth);
    while (accept('*')) total = total * factor(depth);
    return total;
  }

  std::int64_t number() {
    skip_space();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) refuse("a number is expected");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  Dim factor(int depth) {
    skip_space();
    if (at_ == text_.size()) refuse("it ends too early");
    if (text_[at_] >= '0' && text_[at_] <= '9') return Dim(number());
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
      else if (name == "max")
        out = max(first, sum(depth + 1));
      else if (name == "broadcast")
        out = broadcast(first, sum(depth + 1));
      else
        refuse("an unknown function");
    }
    expect(')');
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Dim Dim::parse(std::string_view text) { return DimParser(text).parse_all(); }

}  // namespace weft
