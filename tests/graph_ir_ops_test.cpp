// Every Graph IR op against other people's answers: the cases in tests/data/graph_ir/ops/*.txt, which
// tests/data/generate_graph_ir_values.py writes. Each becomes a graph of one node, goes through the binary and the TOML
// form, the inference of the Graph IR, MIR and back, the reference backend and the cpu backend. A table says what held.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "case_file.h"
#include "run_threads.h"
#include "tolerance.h"
#include "weft/base/fail.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/from_mir.h"
#include "weft/formats/graph_ir/op_table.h"
#include "weft/formats/graph_ir/to_mir.h"
#include "weft/formats/graph_ir/toml_form.h"
#include "weft/formats/graph_ir/validate.h"
#include "weft/runtime/graph_executor.h"

namespace weft::test {
namespace {

struct Answer {
  Tensor value;
  GraphTolerance tolerance;
};

struct OneRun {
  NamedTensors inputs;
  std::vector<Answer> answers;
};

struct OpCase {
  std::string op, place, compared_with;
  std::string toml;         // the graph, with unknown sizes where the case says so
  std::string static_toml;  // the same with all sizes
  std::map<std::string, Tensor> weights;
  std::vector<OneRun> runs;
  bool empty = false;  // some tensor has no elements
};

struct Operand {
  std::string name;
  Tensor value;
  bool weight = false;
  std::set<std::size_t> open;  // axes
};

std::string spec_toml(const Operand& operand, bool all_sizes) {
  std::vector<std::int64_t> dims = operand.value.dims();
  if (!all_sizes)
    for (const std::size_t axis : operand.open) dims.at(axis) = graph_ir::unknown_dim;
  return fmt::format("[[{}]]\nname = \"{}\"\nshape = [{}]\ndtype = \"{}\"\n", operand.weight ? "weight" : "input",
                     operand.name, fmt::join(dims, ", "), graph_ir::dtype_text(operand.value.dtype()).value());
}

std::string quoted(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) result.push_back('"' + name + '"');
  return fmt::format("[{}]", fmt::join(result, ", "));
}

OpCase read_case(const CaseFile& file, const StoredCase& stored) {
  OpCase at;
  at.place = stored.file + ", case " + stored.name;
  at.runs.emplace_back();
  std::vector<Operand> operands;
  std::vector<std::string> results;
  std::string params, attrs;
  for (const auto& [key, rest] : stored.lines) {
    const std::size_t split = std::min(rest.find(' '), rest.size());
    if (key == "op") {
      at.op = rest;
    } else if (key == "with") {
      params += rest.substr(0, split) + " =" + rest.substr(split) + '\n';
    } else if (key == "attr") {
      attrs += rest.substr(0, split) + " =" + rest.substr(split) + '\n';
    } else if (key == "by") {
      at.compared_with = rest;
    } else if (key == "run") {
      at.runs.emplace_back();
    } else if (key == "in" || key == "weight") {
      auto [value, name] = file.tensor(stored, rest);
      if (name.empty())
        name = std::string(
            1, static_cast<char>('a' + (at.runs.size() == 1 ? operands.size() : at.runs.back().inputs.size())));
      at.empty |= value.numel() == 0;
      if (key == "weight")
        at.weights[name] = value;
      else
        at.runs.back().inputs[name] = value;
      if (at.runs.size() == 1) operands.push_back({name, value, key == "weight", {}});
    } else if (key == "open") {
      operands.at(std::stoull(rest)).open.insert(std::stoull(rest.substr(split)));
    } else if (key == "out") {
      auto [value, tolerance] = file.tensor(stored, rest);
      const auto known = graph_tolerance(tolerance);
      if (!known) stored.refuse("no tolerance is called " + tolerance);
      at.empty |= value.numel() == 0;
      if (at.runs.size() == 1) results.push_back(fmt::format("y{}", results.size()));
      at.runs.back().answers.push_back({value, *known});
    } else {
      stored.refuse("an unknown line: " + key);
    }
  }
  std::vector<std::string> names;
  for (const Operand& operand : operands) names.push_back(operand.name);
  const auto toml = [&](bool all_sizes) {
    std::string text = fmt::format("[graph]\nformat = \"weft-graph\"\nversion = 1\noutputs = {}\n", quoted(results));
    for (const bool weight : {false, true})
      for (const Operand& operand : operands)
        if (operand.weight == weight && operand.name != "pos") text += spec_toml(operand, all_sizes);
    text += fmt::format("[[node]]\nid = 7\nop = \"{}\"\ninputs = {}\noutputs = {}\n", at.op, quoted(names),
                        quoted(results));
    if (!params.empty()) text += "[node.params]\n" + params;
    if (!attrs.empty()) text += "[node.attrs]\n" + attrs;
    return text;
  };
  at.toml = toml(false);
  at.static_toml = toml(true);
  return at;
}

bool fits(const graph_ir::ValueType& type, const Tensor& value, bool exactly) {
  if (type.dtype != value.dtype() || !type.shape || type.shape->size() != value.rank()) return false;
  for (std::size_t axis = 0; axis < value.rank(); ++axis)
    if ((*type.shape)[axis] != value.dim(axis) && (exactly || (*type.shape)[axis] != graph_ir::unknown_dim))
      return false;
  return true;
}

// What one stage of a case found wrong; nothing when it held.
using Finding = std::optional<std::string>;

Finding check_binary(const graph_ir::Graph& graph) {
  graph_ir::EncodeOptions options;
  options.weights = true;
  const std::vector<std::byte> bytes = graph_ir::encode(graph, options);
  const graph_ir::Graph read = graph_ir::decode(bytes).graph;
  if (!(read == graph)) return "is another graph once stored and read";
  if (graph_ir::encode(read, options) != bytes) return "has other bytes when stored again";
  return std::nullopt;
}

Finding check_toml(const graph_ir::Graph& graph) {
  graph_ir::TextOptions options;
  options.weights = true;
  const std::string text = graph_ir::to_toml(graph, options);
  const graph_ir::Graph read = graph_ir::parse_toml(text);
  if (!(read == graph)) return "is another graph once printed and read";
  if (graph_ir::to_toml(read, options) != text) return "has another text when printed again";
  return std::nullopt;
}

Finding check_inference(const OpCase& at, const graph_ir::Graph& graph) {
  const graph_ir::Graph known = graph_ir::parse_toml(at.static_toml);
  graph_ir::ValidateOptions strict;
  strict.weights_indexed = true;
  const graph_ir::TypeMap open_types = graph_ir::validate(graph, strict).types,
                          types = graph_ir::validate(known, strict).types;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const Tensor& value = at.runs[0].answers[i].value;
    const bool all_known = at.op != "KvCache";  // which holds more rows each run
    if (!fits(types.at(graph.outputs[i]), value, all_known)) return "does not have the answer's type";
    if (!fits(open_types.at(graph.outputs[i]), value, false)) return "cannot have the answer's type";
  }
  return std::nullopt;
}

std::vector<NamedTensors> execute(const OpCase& at, const weft::Graph& mir, ExecConfig config,
                                  std::vector<Placement>* placements = nullptr) {
  GraphExecutor executor = GraphExecutor::prepare(mir, weft::WeightMap(at.weights), std::move(config));
  if (placements != nullptr) *placements = executor.placements();
  std::vector<NamedTensors> results;
  for (const OneRun& run : at.runs) {
    const NamedTensors found = executor.run(run.inputs);
    NamedTensors& kept = results.emplace_back();
    for (const auto& [name, tensor] : found)
      kept[name] = Tensor::copy_bytes(tensor.bytes(), tensor.dtype(), tensor.dims());
  }
  return results;
}

Finding compare(const OpCase& at, const std::vector<NamedTensors>& found) {
  for (std::size_t run = 0; run < at.runs.size(); ++run)
    for (std::size_t i = 0; i < at.runs[run].answers.size(); ++i) {
      const Answer& answer = at.runs[run].answers[i];
      if (auto wrong = graph_difference(found[run].at(fmt::format("y{}", i)), answer.value, answer.tolerance))
        return fmt::format("run {}, output {}: {}", run, i, *wrong);
    }
  return std::nullopt;
}

bool same(const std::vector<NamedTensors>& a, const std::vector<NamedTensors>& b) {
  for (std::size_t run = 0; run < a.size(); ++run)
    for (const auto& [name, tensor] : a[run])
      if (!same_bytes(tensor, b[run].at(name))) return false;
  return true;
}

// On one thread and on three; `by_reference` collects ops that had no kernel of the cpu backend.
Finding check_cpu(const OpCase& at, const weft::Graph& mir, std::set<std::string>& by_reference) {
  static const auto one = std::make_shared<ThreadPool>(1), three = std::make_shared<ThreadPool>(3);
  std::vector<Placement> placements;
  ExecConfig config;
  config.pool = one;
  const std::vector<NamedTensors> alone = execute(at, mir, config, &placements);
  for (const Placement& placement : placements)
    if (placement.backend == "reference") by_reference.insert(mir.node(placement.node).schema->name);
  if (Finding wrong = compare(at, alone)) return wrong;
  config.pool = three;
  if (!same(alone, execute(at, mir, config))) return "depends on the number of threads";
  return std::nullopt;
}

enum Stage : std::size_t { binary, toml, inference, mir_and_back, reference, cpu, stages };

struct Row {
  std::size_t cases = 0, empty = 0;
  std::array<std::size_t, stages> held = {};
  std::set<std::string> compared_with, by_reference;
};

void run_case(const OpCase& at, Row& row) {
  const auto stage = [&](Stage which, const char* name, const std::function<Finding()>& check) {
    Finding wrong;
    try {
      wrong = check();
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    if (wrong)
      ADD_FAILURE() << at.place << ", " << name << ": " << *wrong;
    else
      ++row.held[which];
  };
  ++row.cases;
  row.empty += at.empty ? 1 : 0;
  row.compared_with.insert(at.compared_with);
  const graph_ir::Graph graph = graph_ir::parse_toml(at.toml);
  stage(binary, "binary", [&] { return check_binary(graph); });
  stage(toml, "TOML", [&] { return check_toml(graph); });
  stage(inference, "inference", [&] { return check_inference(at, graph); });
  weft::Graph mir;
  stage(mir_and_back, "MIR and back", [&]() -> Finding {
    mir = graph_ir::to_mir(graph);
    const graph_ir::Graph back = graph_ir::from_mir(mir).graph;
    if (back == graph) return std::nullopt;
    return "comes back as\n" + graph_ir::to_toml(back) + "and was\n" + graph_ir::to_toml(graph);
  });
  stage(reference, "reference", [&] {
    ExecConfig config;
    config.backend = "reference";
    return compare(at, execute(at, mir, config));
  });
  stage(cpu, "cpu", [&] { return check_cpu(at, mir, row.by_reference); });
}

TEST(GraphIrOps, AgreeWithStoredAnswersInEveryFormAndOnEveryBackend) {
  std::map<std::string, Row> rows;
  for (const CaseFile& file : case_files("graph_ir/ops"))
    for (const StoredCase& stored : file.cases()) {
      const OpCase at = read_case(file, stored);
      run_case(at, rows[at.op]);
    }
  ASSERT_FALSE(rows.empty());
  std::string table =
      fmt::format("{:<22}{:>6}{:>7}{:>8}{:>6}{:>11}{:>10}{:>11}{:>6}  {:<16}{}\n", "op", "cases", "empty", "binary",
                  "TOML", "inference", "and back", "reference", "cpu", "compared with", "without a cpu kernel");
  std::string missing;
  for (const graph_ir::OpDef& def : graph_ir::all_ops()) {
    const std::string name(def.name);
    const auto found = rows.find(name);
    if (found == rows.end()) {
      missing += ' ' + name;
      continue;
    }
    const Row& row = found->second;
    table += fmt::format("{:<22}{:>6}{:>7}{:>8}{:>6}{:>11}{:>10}{:>11}{:>6}  {:<16}{}\n", name, row.cases, row.empty,
                         row.held[binary], row.held[toml], row.held[inference], row.held[mir_and_back],
                         row.held[reference], row.held[cpu], fmt::to_string(fmt::join(row.compared_with, ", ")),
                         fmt::join(row.by_reference, ", "));
    EXPECT_GE(row.cases, 20u) << name;
    EXPECT_GE(row.empty, 1u) << name << " has no case with an empty tensor";
    for (const std::size_t held : row.held) EXPECT_EQ(held, row.cases) << name;
    EXPECT_EQ(row.compared_with.count(""), 0u) << name;
    rows.erase(found);
  }
  std::cout << table;
  EXPECT_EQ(missing, "") << "ops without cases";
  EXPECT_TRUE(rows.empty()) << rows.begin()->first << " is no op";
}

TEST(GraphIrOps, TheComparisonCanFail) {
  const float one[] = {1.0f, 100.0f}, off[] = {1.0f, 100.001f};
  const Tensor a = Tensor::from(one, {2}), b = Tensor::from(off, {2});
  EXPECT_FALSE(graph_difference(a, a, *graph_tolerance("exact")));
  EXPECT_TRUE(graph_difference(b, a, *graph_tolerance("exact")));
  EXPECT_TRUE(graph_difference(b, a, *graph_tolerance("elementwise")));
  EXPECT_TRUE(graph_difference(b, a, *graph_tolerance("reduction:36")));
  EXPECT_FALSE(graph_difference(b, a, *graph_tolerance("attention")));
  EXPECT_TRUE(graph_difference(a, Tensor::from(one, {2, 1}), *graph_tolerance("attention")));
  EXPECT_FALSE(graph_tolerance("roughly"));
}

}  // namespace
}  // namespace weft::test
