// What inference says about one node, as text that a test can compare.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/ir/builder.h"

namespace weft::test {

// "[n, 4] f32", outputs joined by "; ", then " if a == b" for each constraint. Where inference refuses: its error code.
// Operands are types in the same spelling; "" is an absent one.
inline std::string inferred(std::string_view op, const std::vector<std::string>& operands,
                            const Attributes& attributes = {}) {
  Graph graph("node");
  std::vector<Var> inputs;
  for (const std::string& type : operands) {
    const std::size_t space = type.rfind(' ');
    if (type.empty()) {
      inputs.emplace_back();
      continue;
    }
    inputs.push_back(emit(graph, "Input", {},
                          {{"name", "x" + std::to_string(inputs.size())},
                           {"shape", Shape::parse(type.substr(0, space))},
                           {"dtype", dtype_from_name(type.substr(space + 1)).value()}}));
  }
  try {
    std::string text;
    const std::vector<Var> outputs = emit_all(graph, op, inputs, attributes);
    for (const Var& output : outputs) text += (text.empty() ? "" : "; ") + output.type().text();
    for (const Constraint& constraint : graph.nodes().back().constraints)
      text += " if " + constraint.a.text() + " == " + constraint.b.text();
    return text;
  } catch (const Error& error) {
    return error.code();
  }
}

// The code of the Error that a call throws, "" without one.
template <class Call>
std::string error_code(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

template <class Call>
std::string error_text(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace weft::test
