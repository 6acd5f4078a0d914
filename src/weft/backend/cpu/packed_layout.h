// Where a panel keeps what. Internal to the linear kernels.
//
// Integer types: records, one per block of the file type (32 values, or 256 of the K types), each of scales and values,
// so that a panel is one stream and the panels of a matrix continue it. Where the scales of a record fill no whole
// lines of 64 bytes, two records form a span: the scales of both, then the values of both; of an odd last record the
// span lacks the second values. Values begin with a line. Arrays over the 16 rows of the panel are written [16].
// "Groups" are 4 consecutive k of 16 rows, 64 bytes: row r has bytes 4r to 4r+3, as vpdpbusd wants them. All values are
// unsigned; the kernels subtract `zero`. Two groups that share a vector, as low and high nibbles, are those that share
// a byte in the file, so packing only moves dwords.
//
//   type        scales                                   values
//   q4_0        f16 d[16]                                4 vectors; j: groups j and j+4
//   q4_1        f16 d[16], f16 m[16]                     as q4_0
//   q5_0        f16 d[16]                                1 plane: bit g is the fifth bit in group g; then as q4_0
//   q5_1        f16 d[16], f16 m[16]                     as q5_0
//   q8_0        f16 d[16]                                8 groups
//   q4_k        f16 d[16], dmin[16], u8 sc[8][16],       per 64 values 8 vectors; j: group j of the first and of
//               u8 m[8][16]                              the second 32
//   q5_k        as q4_k                                  8 planes; j: bit s is the fifth bit in group j of sub-block s;
//                                                        then as q4_k
//   q6_k        f16 d[16], i8 sc[16][16]                 per 128 values (four 32s): 8 vectors of group j of 32s 0 and
//                                                        2, 8 of 1 and 3, 8 with the top two bits of all four
//   q2_k        f16 d[16], dmin[16], u8 sc[16][16]       per 128 values 8 vectors; j: two bits for group j of each
//               (low nibble scale, high nibble minimum)  of the four 32s
//   q8          i16 n[16]                                as q8_0
//   q4          i16 n[16]                                as q4_0
//   ternary     none                                     records of 32 values, codes plus one: 2 vectors; j: two bits
//   for
//                                                        groups 4j to 4j+3
//   q3_k        f16 d[16], i8 sc[16][16]                 8 planes; j: bit s is the third bit in group j of 32 number s;
//                                                        then as q2_k
//
// Float and fixed-point types: [k][16] in their own type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/dtype.h"

namespace weft::cpu {

struct PanelLayout {
  std::int64_t record_values = 0;  // 0: a float or fixed-point type, whose value_bytes are those of one column
  std::int64_t scale_bytes = 0;    // of one record
  std::int64_t value_bytes = 0;

  constexpr std::int64_t span_records() const { return scale_bytes % 64 == 0 ? 1 : 2; }
  constexpr std::int64_t span_bytes() const { return span_records() * (scale_bytes + value_bytes); }
  // Where in the panel the scales and the values of a record are.
  constexpr std::int64_t scales_at(std::int64_t record) const {
    return record / span_records() * span_bytes() + record % span_records() * scale_bytes;
  }
  constexpr std::int64_t values_at(std::int64_t record) const {
    return record / span_records() * span_bytes() + span_records() * scale_bytes +
           record % span_records() * value_bytes;
  }
  constexpr std::int64_t panel_bytes(std::int64_t columns) const {
    const std::int64_t bytes =
        record_values == 0 ? columns * value_bytes : values_at(columns / record_values - 1) + value_bytes;
    return (bytes + 63) / 64 * 64;
  }
};

// All zeros for a type that does not pack.
constexpr PanelLayout panel_layout(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::fx16_16: return {0, 0, 64};
    case DType::f16:
    case DType::bf16:
    case DType::fx8_8: return {0, 0, 32};
    case DType::ternary: return {32, 0, 128};
    case DType::q4:
    case DType::q4_0: return {32, 32, 256};
    case DType::q4_1: return {32, 64, 256};
    case DType::q5_0: return {32, 32, 320};
    case DType::q5_1: return {32, 64, 320};
    case DType::q8:
    case DType::q8_0: return {32, 32, 512};
    case DType::q2_k: return {256, 320, 1024};
    case DType::q3_k: return {256, 288, 1536};
    case DType::q4_k: return {256, 320, 2048};
    case DType::q5_k: return {256, 320, 2560};
    case DType::q6_k: return {256, 288, 3072};
    default: return {};
  }
}

}  // namespace weft::cpu
