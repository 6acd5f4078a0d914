// Every op against values that numpy or PyTorch computed: the cases in tests/data/ops/*.txt, which
// tests/data/generate_op_values.py writes, each run as a graph of one node.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

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

class CaseFile {
 public:
  explicit CaseFile(const std::filesystem::path& path) : name_(path.filename().string()) {
    std::ifstream text(path);
    std::ifstream data(std::filesystem::path(path).replace_extension(".bin"), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(data), {});
    for (std::string line; std::getline(text, line);)
      if (!line.empty() && line[0] != '#') read(line);
  }
  const std::vector<Case>& cases() const { return cases_; }

 private:
  void read(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string key = line.substr(0, space), rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (key == "case") {
      cases_.emplace_back();
      cases_.back().file = name_;
      cases_.back().name = rest;
      return;
    }
    Case& at = cases_.at(cases_.size() - 1);
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
      at.held.back().push_back(tensor(at, rest).first);
    } else if (key == "in") {
      at.inputs.push_back(rest == "absent" ? Tensor() : tensor(at, rest).first);
    } else if (key == "out") {
      auto [value, tail] = tensor(at, rest);
      const auto rule = rule_named(tail);
      if (!rule) refuse(at, "no rule is called " + tail);
      at.outputs.push_back({value, *rule, {}});
    } else if (key == "magnitude") {
      Expected& output = at.outputs.back();
      output.magnitudes.resize(static_cast<std::size_t>(output.value.numel()));
      const auto stored = slice(at, std::stoull(rest), output.magnitudes.size() * sizeof(float));
      std::memcpy(output.magnitudes.data(), stored.data(), stored.size());
    } else {
      refuse(at, "an unknown line: " + line);
    }
  }

  std::span<const std::byte> slice(const Case& at, std::size_t offset, std::size_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) refuse(at, "its bytes lie outside the .bin");
    return std::as_bytes(std::span(bytes_)).subspan(offset, size);
  }

  // "f32 [2, 3] 128 tail"
  std::pair<Tensor, std::string> tensor(const Case& at, const std::string& text) const {
    const std::size_t open = text.find('['), close = text.find(']');
    const DType dtype = dtype_from_name(text.substr(0, open - 1)).value();
    const auto dims = Shape::parse(text.substr(open, close - open + 1)).static_dims().value();
    std::istringstream words(text.substr(close + 1));
    std::size_t offset = 0;
    std::string tail;
    words >> offset >> tail;
    return {Tensor::copy_bytes(slice(at, offset, byte_size(dtype, dims)), dtype, dims), tail};
  }

  std::string name_;
  std::vector<char> bytes_;
  std::vector<Case> cases_;
};

std::vector<Case> all_cases() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/tests/data/ops"))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Case> cases;
  for (const auto& path : paths) {
    const CaseFile file(path);
    cases.insert(cases.end(), file.cases().begin(), file.cases().end());
  }
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
