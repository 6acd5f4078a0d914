// A `.model` file: the container, every tensor and what its sections hold.
#include "graph_check.h"
#include "tokenizer_check.h"
#include "weft/formats/model_file.h"

namespace {

void read(const std::filesystem::path& path, bool legacy) {
  using namespace weft;
  // A copy on the heap has bounds that the sanitizer knows.
  const ModelFile model = ModelFile::open(path, {.legacy = legacy, .copy = true, .verify = VerifyHashes::none});
  for (const ModelTensor& info : model.tensors()) fuzz::accepts([&] { model.tensor(info).to_f32(); });
  fuzz::accepts([&] {
    const auto graph = model.graph();
    if (!graph) return;
    fuzz::use(graph->format == ModelGraphSection::Format::binary
                  ? graph_ir::decode(graph->bytes, {.source = graph->where}).graph
                  : graph_ir::parse_toml(graph->text, graph->where));
  });
  fuzz::accepts([&] {
    if (const auto mir = model.mir()) graph_from_binary(*mir);
  });
  fuzz::accepts([&] { model.chat(); });
  fuzz::accepts([&] { fuzz::use(model.vocabulary()); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::be_quiet();
  static weft::fuzz::InputFile input;
  const std::filesystem::path path = input.hold(data, size);
  for (const bool legacy : {false, true}) weft::fuzz::accepts([&] { read(path, legacy); });
  return 0;
}
