// The vocabulary of a GGUF file, and the tokenizer that is made of it.
#include "tokenizer_check.h"
#include "weft/formats/gguf_vocabulary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  fuzz::be_quiet();
  static fuzz::InputFile input;
  const std::filesystem::path path = input.hold(data, size);
  fuzz::accepts([&] { fuzz::use(read_gguf_vocabulary(GgufFile::open(path))); });
  return 0;
}
