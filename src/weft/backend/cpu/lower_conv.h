// What the rules of convolutions share.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/backend/cpu/lowering.h"
#include "weft/ops/windows.h"

namespace weft::cpu {

struct ConvOperands {
  lir::Operand x, w, bias, y;        // bias: perhaps none
  lir::WeightId weight = lir::none;  // w packed, where it is known before a run
};

inline ops::ImageDims conv_image(const std::int64_t* sizes, const lir::Operand& operand, std::size_t spatial_axes) {
  ops::ImageDims dims;
  const std::size_t channel = operand.dims.size() - spatial_axes - 1;
  if (channel == 1) dims.batch = sizes[operand.dims[0]];
  dims.channels = sizes[operand.dims[channel]];
  for (std::size_t i = 0; i < spatial_axes; ++i)
    dims.spatial[3 - spatial_axes + i] = sizes[operand.dims[channel + 1 + i]];
  return dims;
}

// Of a Conv whose groups have one input channel each; w as it is.
std::unique_ptr<lir::Step> depthwise_step(ConvOperands at, const ops::Windows& windows, std::size_t axes, bool nearest,
                                          CpuLevel level);

}  // namespace weft::cpu
