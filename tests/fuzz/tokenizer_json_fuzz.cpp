// A tokenizer.json, and the tokenizer that is made of it.
#include "tokenizer_check.h"
#include "weft/formats/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  fuzz::be_quiet();
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  fuzz::accepts([&] { fuzz::use(read_tokenizer_json(json, "tokenizer.json")); });
  return 0;
}
