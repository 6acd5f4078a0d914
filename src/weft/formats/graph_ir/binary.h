// The binary form of a Graph IR: little-endian, counted fields, byte for byte what the `~~~graph` section stores.
// Reading understands two dialects and writes one; whatever the bytes are, it throws an Error or returns a graph, and
// never allocates more than a small multiple of the blob. Stateless.
//
//   graph := u32 count, node each; u32 count, tensor spec each; u32 count, string each; optional trailer
//   node  := u32 id, u16 tag, payload, strings (inputs), strings (outputs), u8 flag, u8 hint if flagged
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/base/export.h"
#include "weft/base/warning.h"
#include "weft/formats/graph_ir/model.h"

namespace weft::graph_ir {

// `seed` is the documented layout and the one weft writes; `glia` ends after the nodes and spells three fields
// differently; `automatic` takes the first of the two that reads the whole blob.
enum class Dialect { automatic, seed, glia };

struct DecodeLimits {
  std::uint64_t blob_bytes = std::uint64_t{64} << 20;
  std::uint32_t nodes = 1u << 20;
  std::uint32_t operands = 65536;  // inputs, and outputs, of one node; split sizes
  std::uint32_t io = 65536;        // inputs, and outputs, of the graph
  std::uint32_t rank = 8;          // also entries of a shape or permutation
  std::uint32_t name_bytes = 1024;
};

struct DecodeOptions {
  Dialect dialect = Dialect::automatic;
  DecodeLimits limits = {};
  // The tensors index of the file; it tells weights from inputs and fills Graph::weights. Without one, names under
  // "model." and "lm_head." count as weights.
  const WeightMap* weights = nullptr;
  std::string source = "graph";  // opens the places in messages
};

struct Decoded {
  Graph graph;
  Dialect dialect = Dialect::seed;
  bool weights_in_blob = false;  // the trailer listed weights
  std::vector<Warning> warnings;
};

WEFT_API Decoded decode(std::span<const std::byte> blob, const DecodeOptions& options = {});

enum class Trailer {
  automatic,  // written when attributes, or input names that a reader could not recover, need it
  never,      // a graph that needs it is NotRepresentable; attributes without effect are dropped
};

struct EncodeOptions {
  Trailer trailer = Trailer::automatic;
  bool weights = false;  // list Graph::weights in the trailer, for a graph that travels without its index
};

// The same graph gives the same bytes, and decode reads back what encode wrote; NotRepresentable where the layout or
// its limits have no room for a value.
WEFT_API std::vector<std::byte> encode(const Graph& graph, const EncodeOptions& options = {});

}  // namespace weft::graph_ir
