// Every op against values that numpy or PyTorch computed: the cases in tests/data/ops/*.txt, which
// tests/data/generate_op_values.py writes, each run as a graph of one node.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "case_file.h"
#include "run_node.h"
#include "tolerance.h"

namespace weft::test {
namespace {

struct Expected {
  Tensor value;
  Rule rule = Rule::exact;
  std::vector<float> magnitudes;
};

struct Case {
  std::string file, name, op;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<Tensor> inputs;
  std::vector<Expected> outputs;
  std::vector<StateDecl> states;
  std::vector<std::vector<Tensor>> held;  // per state
};

[[noreturn]] void refuse(const Case& at, const std::string& reason) {
  throw std::runtime_error(at.file + ", case " + at.name + ": " + reason);
}

AttributeValue parse_value(const Case& at, const AttributeSpec& spec, const std::string& text) {
  const auto items = [&] {
    std::vector<std::string> parts;
    std::stringstream inner(text.substr(1, text.size() - 2));
    for (std::string part; std::getline(inner, part, ',');) parts.push_back(part);
    return parts;
  };
  switch (spec.type) {
    case AttributeType::boolean: return text == "true";
    case AttributeType::integer: return std::int64_t{std::stoll(text)};
    case AttributeType::real: return std::stod(text);
    case AttributeType::text:
    case AttributeType::choice: return text;
    case AttributeType::integers: {
      std::vector<std::int64_t> values;
      for (const std::string& part : items()) values.push_back(std::stoll(part));
      return values;
    }
    case AttributeType::reals: {
      std::vector<double> values;
      for (const std::string& part : items()) values.push_back(std::stod(part));
      return values;
    }
    case AttributeType::dtype: return dtype_from_name(text).value();
    case AttributeType::shape: return Shape::parse(text);
    case AttributeType::tensor: break;
  }
  refuse(at, "an attribute of this type has no text in a case");
}

Case read_case(const CaseFile& file, const StoredCase& stored) {
  Case at;
  at.file = stored.file;
  at.name = stored.name;
  for (const auto& [key, rest] : stored.lines) {
    if (key == "op") {
      at.op = rest;
    } else if (key == "with") {
      const std::size_t split = std::min(rest.find(' '), rest.size());
      at.attributes.emplace_back(rest.substr(0, split), split < rest.size() ? rest.substr(split + 1) : "");
    } else if (key == "state") {
      std::istringstream words(rest);
      std::string slot, dtype, widths;
      words >> slot >> dtype;
      std::getline(words, widths);
      StateDecl state;
      state.name = slot;
      state.dtype = dtype_from_name(dtype).value();
      state.length = Dim::symbol("held_" + slot);
      for (const Dim& width : Shape::parse(widths.substr(1))) state.planes.push_back(width.value().value());
      at.states.push_back(state);
      at.held.emplace_back();
    } else if (key == "held") {
      at.held.back().push_back(file.tensor(stored, rest).first);
    } else if (key == "in") {
      at.inputs.push_back(rest == "absent" ? Tensor() : file.tensor(stored, rest).first);
    } else if (key == "out") {
      auto [value, tail] = file.tensor(stored, rest);
      const auto rule = rule_named(tail);
      if (!rule) stored.refuse("no rule is called " + tail);
      at.outputs.push_back({value, *rule, {}});
    } else if (key == "magnitude") {
      Expected& output = at.outputs.back();
      output.magnitudes = file.floats(stored, std::stoull(rest), static_cast<std::size_t>(output.value.numel()));
    } else {
      stored.refuse("an unknown line: " + key);
    }
  }
  return at;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const CaseFile& file : case_files("ops"))
    for (const StoredCase& stored : file.cases()) cases.push_back(read_case(file, stored));
  return cases;
}

void run_case(const Case& at) {
  SCOPED_TRACE(at.file + ", case " + at.name);
  const OpSchema& schema = OpRegistry::global().at(at.op);
  Attributes attributes;
  for (const auto& [name, text] : at.attributes) {
    const auto index = schema.attribute_index(name);
    if (!index) refuse(at, "the op has no attribute " + name);
    attributes.emplace_back(name, parse_value(at, schema.attributes[*index], text));
  }
  RunState state;
  for (std::size_t i = 0; i < at.states.size(); ++i) state.hold(at.states[i].name, at.held[i]);
  std::vector<Tensor> actual;
  try {
    actual = run_node(at.op, at.inputs, attributes, state, at.states);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
    return;
  }
  ASSERT_EQ(actual.size(), at.outputs.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const Expected& expected = at.outputs[i];
    if (const auto found = difference(actual[i], expected.value, expected.rule, expected.magnitudes))
      ADD_FAILURE() << "output " << i << ": " << *found;
  }
}

TEST(OpValues, AgreeWithStoredOnes) {
  const std::vector<Case> cases = all_cases();
  ASSERT_FALSE(cases.empty());
  for (const Case& at : cases) run_case(at);
}

TEST(OpValues, EveryOpHasACase) {
  std::set<std::string> covered;
  for (const Case& at : all_cases()) covered.insert(at.op);
  for (const OpSchema* schema : OpRegistry::global().all()) {
    if (schema->op_class == OpClass::leaf || schema->family.starts_with("test")) continue;
    EXPECT_TRUE(covered.contains(schema->name)) << schema->name << " has no case in tests/data/ops";
  }
}

TEST(OpValues, TheComparisonCanFail) {
  const float one[] = {1.0f}, next[] = {std::nextafter(1.0f, 2.0f)}, far[] = {1.0f + 9 * 0x1p-23f};
  const Tensor a = Tensor::from(one, {1}), b = Tensor::from(next, {1}), c = Tensor::from(far, {1});
  EXPECT_TRUE(difference(b, a, Rule::exact));
  EXPECT_FALSE(difference(b, a, Rule::elementwise));
  EXPECT_FALSE(difference(b, a, Rule::sum));
  EXPECT_TRUE(difference(c, a, Rule::transcendental));
  EXPECT_TRUE(difference(c, a, Rule::sum));
  EXPECT_TRUE(difference(a, Tensor::from(one, {}), Rule::row));
}

}  // namespace
}  // namespace weft::test
