#include "weft/base/block_codec.h"

namespace weft {

void decode_to_f32(DType, std::span<const std::byte>, std::span<float>) {}
void encode_from_f32(DType, std::span<const float>, std::span<std::byte>) {}

}  // namespace weft
