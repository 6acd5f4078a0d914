// Convolutions and pooling as MIR.
#include "weft/base/fail.h"
#include "weft/formats/graph_ir/lower.h"

namespace weft::graph_ir {
namespace {

using Sizes = std::vector<std::int64_t>;

// A field with a number an axis, or with one number for all of `axes`.
Sizes field(const LowerContext& c, std::string_view name, std::size_t axes) {
  const ParamValue& value = c.node.op.param(name);
  if (const auto* word = std::get_if<std::uint32_t>(&value)) return Sizes(axes, *word);
  const auto& words = std::get<std::vector<std::uint32_t>>(value);
  return {words.begin(), words.end()};
}

std::size_t spatial_axes(const LowerContext& c) { return c.shape(c.raw(1)).rank() - 2; }

void emit_conv(LowerContext& c, const char* op, const Attributes& attributes) {
  std::vector<Value> operands;
  for (std::size_t i = 0; i < c.input_count(); ++i) operands.push_back(c.real(i));
  c.result(0, c.emit(op, std::move(operands), attributes));
}

const weft::Dim& channels_of(LowerContext& c) {
  const weft::Shape& x = c.shape(c.raw(0));
  return x[x.rank() - spatial_axes(c) - 1];
}

}  // namespace

void lower_conv(LowerContext& c) {
  const std::size_t axes = spatial_axes(c);
  Attributes attributes{{"groups", std::int64_t{c.node.op.get<std::uint32_t>("groups")}}};
  for (const char* name : {"kernel", "stride", "padding", "dilation"})
    attributes.emplace_back(name, field(c, name, axes));
  emit_conv(c, "Conv", attributes);
}

void lower_conv_transpose(LowerContext& c) {
  Attributes attributes{{"groups", attr_or_default<std::int64_t>(c.node, "groups")}};
  for (const char* name : {"kernel", "stride", "padding"}) attributes.emplace_back(name, field(c, name, 2));
  for (const char* name : {"dilation", "output_padding"})
    attributes.emplace_back(name, attr_or_default<Sizes>(c.node, name));
  emit_conv(c, "ConvTranspose", attributes);
}

void lower_causal_conv(LowerContext& c) {
  const std::int64_t kernel = c.node.op.get<std::uint32_t>("kernel");
  const std::int64_t channels = c.known_size(channels_of(c), "the channels of x"),
                     read = c.known_size(c.shape(c.raw(1))[1], "the channels that W reads");
  emit_conv(c, "Conv",
            {{"kernel", Sizes{kernel}},
             {"padding", Sizes{kernel - 1}},
             {"padding_hi", Sizes{0}},
             {"groups", channels / read},
             {"pad_mode", attr_or_default<std::string>(c.node, "pad_mode")}});
}

void lower_depthwise_conv(LowerContext& c) {
  const std::size_t axes = spatial_axes(c);
  Attributes attributes{{"groups", c.known_size(channels_of(c), "the channels of x")}};
  for (const char* name : {"kernel", "stride"}) attributes.emplace_back(name, field(c, name, axes));
  for (const char* name : {"padding", "dilation"})
    attributes.emplace_back(name, Sizes(axes, attr_or_default<std::int64_t>(c.node, name)));
  emit_conv(c, "Conv", attributes);
}

void lower_pool(LowerContext& c) {
  Attributes attributes{{"kind", c.node.op.get<std::uint8_t>("mode") == 0 ? "max" : "mean"}};
  for (const char* name : {"kernel", "stride", "padding"}) attributes.emplace_back(name, field(c, name, 2));
  c.result(0, c.emit("Pool", {c.real(0)}, attributes));
}

}  // namespace weft::graph_ir
