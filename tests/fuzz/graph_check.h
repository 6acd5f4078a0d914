// What may be done with a Graph IR from outside.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fuzz.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/to_mir.h"
#include "weft/formats/graph_ir/toml_form.h"
#include "weft/formats/graph_ir/validate.h"
#include "weft/ir/binary.h"

namespace weft::fuzz {

// A form that a graph is written in reads back and is written the same again.
inline void use(const graph_ir::Graph& graph) {
  std::string toml;
  if (accepts([&] { toml = graph_ir::to_toml(graph, {.weights = true}); }))
    expect(graph_ir::to_toml(graph_ir::parse_toml(toml), {.weights = true}) == toml);
  std::vector<std::byte> blob;
  if (accepts([&] { blob = graph_ir::encode(graph, {.weights = true}); }))
    expect(graph_ir::encode(graph_ir::decode(blob, {.dialect = graph_ir::Dialect::seed}).graph, {.weights = true}) ==
           blob);
  accepts([&] { graph_ir::validate(graph); });
  accepts([&] {
    const std::vector<std::byte> mir = to_binary(graph_ir::to_mir(graph));
    expect(to_binary(graph_from_binary(mir)) == mir);
  });
}

}  // namespace weft::fuzz
