// The TOML form of a Graph IR.
#include "graph_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  fuzz::be_quiet();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::accepts([&] { fuzz::use(graph_ir::parse_toml(text)); });
  return 0;
}
