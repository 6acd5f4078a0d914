// Builder functions of images and signals.
#include <utility>

#include "weft/base/fail.h"
#include "weft/ops/builder.h"
#include "weft/ops/builder_operands.h"

namespace weft {
namespace {

using Sizes = std::vector<std::int64_t>;

// The spatial sizes of weights.
Sizes kernel_of(Var w, const char* op) {
  Sizes kernel;
  for (std::size_t axis = 2; axis < w.shape().rank(); ++axis) {
    const auto size = w.shape()[axis].value();
    if (!size)
      fail(ErrorKind::invalid_argument, "BadOperand", op, "the kernel {} must have known sizes", w.shape().text());
    kernel.push_back(*size);
  }
  return kernel;
}

// Operands up to the last one that is there.
std::vector<Var> given(std::vector<Var> operands) {
  while (!operands.empty() && !operands.back().defined()) operands.pop_back();
  return operands;
}

}  // namespace

Var conv(Var x, Var w, Var bias, ConvOptions options) {
  return emit(x.graph(), "Conv", given({x, w, bias}),
              {{"kernel", AttributeValue(kernel_of(w, "[Conv]"))},
               {"stride", AttributeValue(std::move(options.stride))},
               {"padding", AttributeValue(std::move(options.padding))},
               {"padding_hi", AttributeValue(std::move(options.padding_hi))},
               {"dilation", AttributeValue(std::move(options.dilation))},
               {"groups", options.groups},
               {"pad_mode", options.replicate ? "replicate" : "zeros"}});
}

Var conv_transpose(Var x, Var w, Var bias, ConvTransposeOptions options) {
  return emit(x.graph(), "ConvTranspose", given({x, w, bias}),
              {{"kernel", AttributeValue(kernel_of(w, "[ConvTranspose]"))},
               {"stride", AttributeValue(std::move(options.stride))},
               {"padding", AttributeValue(std::move(options.padding))},
               {"output_padding", AttributeValue(std::move(options.output_padding))},
               {"dilation", AttributeValue(std::move(options.dilation))},
               {"groups", options.groups}});
}

namespace {

Var pool(Var x, const char* kind, PoolOptions options) {
  return emit(x.graph(), "Pool", {x},
              {{"kind", kind},
               {"kernel", AttributeValue(std::move(options.kernel))},
               {"stride", AttributeValue(std::move(options.stride))},
               {"padding", AttributeValue(std::move(options.padding))}});
}

}  // namespace

Var max_pool(Var x, PoolOptions options) { return pool(x, "max", std::move(options)); }
Var mean_pool(Var x, PoolOptions options) { return pool(x, "mean", std::move(options)); }

Var group_norm(Var x, std::int64_t groups, Var gain, Var bias, double eps) {
  return emit(x.graph(), "GroupNorm", given({x, gain, bias}), {{"num_groups", groups}, {"eps", eps}});
}

Var instance_norm(Var x, Var gain, Var bias, double eps) {
  return emit(x.graph(), "GroupNorm", given({x, gain, bias}), {{"eps", eps}});
}

Var batch_norm(Var x, Var gain, Var bias, BatchNormOptions options) {
  return emit(x.graph(), "BatchNorm", given({x, gain, bias}),
              {{"channel_axis", options.channel_axis}, {"eps", options.eps}});
}

Var batch_norm_inference(Var x, Var gain, Var bias, Var mean, Var variance, BatchNormOptions options) {
  return emit(x.graph(), "BatchNormInference", {x, gain, bias, mean, variance},
              {{"channel_axis", options.channel_axis}, {"eps", options.eps}});
}

Var ada_layer_norm(Var x, Var scale, Var shift, AdaLayerNormOptions options) {
  return emit(x.graph(), "AdaLayerNorm", {x, scale, shift},
              {{"norm", options.rms ? "rms_norm" : "layer_norm"}, {"eps", options.eps}});
}

Var resize(Var x, const std::string& mode, double scale, bool align_corners) {
  return emit(x.graph(), "Resize", {x}, {{"mode", mode.c_str()}, {"scale", scale}, {"align_corners", align_corners}});
}

Var unpatchify(Var x, UnpatchifyOptions options) {
  Attributes attributes{{"patch", AttributeValue(std::move(options.patch))},
                        {"order", options.channels_last ? "ppc" : "cpp"}};
  add_if(attributes, "grid_h", options.grid_h);
  add_if(attributes, "grid_w", options.grid_w);
  return emit(x.graph(), "Unpatchify", given({x, options.image}), attributes);
}

}  // namespace weft
