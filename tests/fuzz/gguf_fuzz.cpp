// A GGUF file: its header, every value and every tensor.
#include "fuzz.h"
#include "weft/formats/gguf_file.h"
#include "weft/formats/gguf_value.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  fuzz::be_quiet();
  static fuzz::InputFile input;
  const std::filesystem::path path = input.hold(data, size);
  fuzz::accepts([&] {
    const GgufFile file = GgufFile::open(path);
    for (const GgufEntry& entry : file.metadata()) {
      gguf_text(entry.value);
      for (const auto& find : {+[](const GgufFile&f, std::string_view key) { f.find_ints(key); },
                               +[](const GgufFile&f, std::string_view key) { f.find_numbers(key); },
                               +[](const GgufFile&f, std::string_view key) { f.find_bools(key); },
                               +[](const GgufFile&f, std::string_view key) { f.find_strings(key); },
                               +[](const GgufFile&f, std::string_view key) { f.find_number(key); }})
        fuzz::accepts([&] { find(file, entry.key); });
    }
    for (const GgufTensor& info : file.tensors()) file.tensor(info).to_f32();
  });
  return 0;
}
