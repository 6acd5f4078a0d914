// A chat template, rendered over a conversation.
#include <ctime>

#include "fuzz.h"
#include "weft/text/jinja/json_value.h"
#include "weft/text/jinja/template.h"

namespace {

constexpr weft::jinja::TemplateLimits limits{.output_bytes = 1 << 18, .steps = 5000, .work_bytes = 1 << 20};

constexpr const char* conversation = R"({
  "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "H\u00eb, \u4e16 <b>"},
               {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1.5}}}]},
               {"role": "user", "content": [{"type": "text", "text": " a b\n"}, {"type": "image"}]}],
  "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}],
  "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true,
  "a": 1, "b": "two", "c": [1, 2, 3], "d": {"x": "y", "n": null}, "f": 2.5, "t": true, "e": "", "z": 0
})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  static const jinja::Value context = jinja::value_from_json(conversation);
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  fuzz::accepts([&] { jinja::Template::compile(source, "t", limits).render(context, [] { return std::tm{}; }); });
  return 0;
}
