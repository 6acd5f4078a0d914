// The tests of "x is TEST".
#include <algorithm>
#include <string>
#include <unordered_map>

#include "weft/base/error.h"
#include "weft/text/code_points.h"
#include "weft/text/jinja/filters.h"
#include "weft/text/jinja/operators.h"
#include "weft/text/jinja/parameters.h"
#include "weft/text/jinja/value_text.h"

namespace weft::jinja {
namespace {

template <bool (*check)(const Value&)>
bool plain(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "the test", arguments, {});
  return check(subject);
}

bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_undefined(const Value& v) { return v.is_undefined(); }
bool is_none(const Value& v) { return v.is_none(); }
bool is_boolean(const Value& v) { return v.boolean() != nullptr; }
bool is_true(const Value& v) { return v.boolean() != nullptr && *v.boolean(); }
bool is_false(const Value& v) { return v.boolean() != nullptr && !*v.boolean(); }
bool is_integer(const Value& v) { return v.boolean() == nullptr && v.integer().has_value(); }
bool is_float(const Value& v) { return v.real() != nullptr; }
bool is_number(const Value& v) { return v.number().has_value(); }
bool is_string(const Value& v) { return v.text() != nullptr; }
bool is_mapping(const Value& v) { return v.mapping() != nullptr; }
bool is_callable(const Value& v) { return v.is_undefined() || (v.object() != nullptr && v.object()->callable()); }
bool is_sequence(const Value& v) {
  return v.is_undefined() || v.text() != nullptr || v.mapping() != nullptr ||
         (v.sequence() != nullptr && v.sequence()->kind <= Sequence::Kind::range);
}
bool is_iterable(const Value& v) {
  return v.is_undefined() || v.text() != nullptr || v.mapping() != nullptr || v.sequence() != nullptr ||
         v.iterator() != nullptr;
}
bool is_escaped(const Value& v) { return v.is_markup(); }

template <int remainder>
bool has_parity(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "the test", arguments, {});
  return equal(binary(run, "%", subject, 2), remainder);
}

bool divisible_by(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "divisibleby", arguments, {"num"}, 1);
  return equal(binary(run, "%", subject, p.get(0)), 0);
}

template <bool upper>
bool has_case(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "the test", arguments, {});
  const std::u32string all = text::to_code_points(str(run, subject));
  const auto right = upper ? text::is_upper : text::is_lower, wrong = upper ? text::is_lower : text::is_upper;
  return std::any_of(all.begin(), all.end(), right) && std::none_of(all.begin(), all.end(), wrong);
}

enum class Relation { eq, ne, lt, le, gt, ge, in };

template <Relation relation>
bool related(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "the test", arguments, {"other"}, 1);
  constexpr std::string_view names[] = {"==", "!=", "<", "<=", ">", ">=", "in"};
  return compare(run, names[static_cast<int>(relation)], subject, p.get(0));
}

bool same_as(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "sameas", arguments, {"other"}, 1);
  return subject.type_name() == p.get(0).type_name() && equal(subject, p.get(0));
}

bool names_filter(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "filter", arguments, {});
  try {
    find_filter(run, str(run, subject));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Test find_test(Run& run, std::string_view name) {
  static const std::unordered_map<std::string_view, Test> tests{
      {"defined", plain<is_defined>},
      {"undefined", plain<is_undefined>},
      {"none", plain<is_none>},
      {"boolean", plain<is_boolean>},
      {"true", plain<is_true>},
      {"false", plain<is_false>},
      {"integer", plain<is_integer>},
      {"float", plain<is_float>},
      {"number", plain<is_number>},
      {"string", plain<is_string>},
      {"mapping", plain<is_mapping>},
      {"sequence", plain<is_sequence>},
      {"iterable", plain<is_iterable>},
      {"callable", plain<is_callable>},
      {"escaped", plain<is_escaped>},
      {"filter", names_filter},
      {"odd", has_parity<1>},
      {"even", has_parity<0>},
      {"divisibleby", divisible_by},
      {"upper", has_case<true>},
      {"lower", has_case<false>},
      {"sameas", same_as},
      {"in", related<Relation::in>},
      {"eq", related<Relation::eq>},
      {"equalto", related<Relation::eq>},
      {"==", related<Relation::eq>},
      {"ne", related<Relation::ne>},
      {"!=", related<Relation::ne>},
      {"lt", related<Relation::lt>},
      {"lessthan", related<Relation::lt>},
      {"<", related<Relation::lt>},
      {"le", related<Relation::le>},
      {"<=", related<Relation::le>},
      {"gt", related<Relation::gt>},
      {"greaterthan", related<Relation::gt>},
      {">", related<Relation::gt>},
      {"ge", related<Relation::ge>},
      {">=", related<Relation::ge>},
  };
  const auto found = tests.find(name);
  if (found == tests.end()) run.fail("there is no test \"{}\"", name);
  return found->second;
}

}  // namespace weft::jinja
