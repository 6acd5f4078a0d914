// The binary form of a Graph IR.
#include "graph_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  fuzz::be_quiet();
  fuzz::accepts([&] { fuzz::use(graph_ir::decode(std::as_bytes(std::span(data, size))).graph); });
  return 0;
}
