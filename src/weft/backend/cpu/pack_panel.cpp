#include "weft/backend/cpu/pack_panel.h"

#include <cstring>

#include "weft/backend/cpu/packed_layout.h"

namespace weft::cpu {
namespace {

// Where one row's part of a record goes: its lane of the record's scales and values.
struct Lane {
  std::uint8_t* scales;
  std::uint8_t* values;
  int lane;

  // Array `offset` bytes into the scales.
  void half(int offset, const std::uint8_t* in) const { std::memcpy(scales + offset + 2 * lane, in, 2); }
  void byte(int offset, int value) const { scales[offset + lane] = static_cast<std::uint8_t>(value); }

  // `count` dwords into vectors that follow each other.
  template <int count, std::uint32_t flip = 0>
  void dwords(int offset, const std::uint8_t* in) const {
    std::uint8_t* out = values + offset + 4 * lane;
    for (int i = 0; i < count; ++i) {
      std::uint32_t value;
      std::memcpy(&value, in + 4 * i, 4);
      value ^= flip;
      std::memcpy(out + 64 * i, &value, 4);
    }
  }
  void dword(int offset, std::uint32_t value) const { std::memcpy(values + offset + 4 * lane, &value, 4); }
};

// Bit 4g + i of `bits` to bit g of byte i. The product spreads four bits to four bytes.
std::uint32_t bit_planes(std::uint32_t bits) {
  std::uint32_t planes = 0;
  for (unsigned g = 0; g < 8; ++g) planes |= (((bits >> (4 * g) & 15u) * 0x00204081u) & 0x01010101u) << g;
  return planes;
}

// A row's block to its lane; `in` is one block of the file type.
void place_q4_0(const Lane& to, const std::uint8_t* in) {
  to.half(0, in);
  to.dwords<4>(0, in + 2);
}
void place_q4_1(const Lane& to, const std::uint8_t* in) {
  to.half(0, in);
  to.half(32, in + 2);
  to.dwords<4>(0, in + 4);
}
void place_fifth_bits(const Lane& to, const std::uint8_t* in) {
  std::uint32_t bits;
  std::memcpy(&bits, in, 4);
  to.dword(0, bit_planes(bits));
}
void place_q5_0(const Lane& to, const std::uint8_t* in) {
  to.half(0, in);
  place_fifth_bits(to, in + 2);
  to.dwords<4>(64, in + 6);
}
void place_q5_1(const Lane& to, const std::uint8_t* in) {
  to.half(0, in);
  to.half(32, in + 2);
  place_fifth_bits(to, in + 4);
  to.dwords<4>(64, in + 8);
}
void place_q8_0(const Lane& to, const std::uint8_t* in) {
  to.half(0, in);
  to.dwords<8, 0x80808080u>(0, in + 2);
}

// d, dmin and the six-bit scales and minimums of q4_k and q5_k: those of sub-blocks 0-3 are the low six bits of bytes
// 0-3 and 4-7, those of 4-7 nibbles of bytes 8-11 below the top two bits of the former.
void place_sub_scales(const Lane& to, const std::uint8_t* in) {
  to.half(0, in);
  to.half(32, in + 2);
  const std::uint8_t* s = in + 4;
  for (int i = 0; i < 4; ++i) {
    to.byte(64 + 16 * i, s[i] & 63);
    to.byte(64 + 16 * (i + 4), (s[i + 8] & 15) | s[i] >> 6 << 4);
    to.byte(192 + 16 * i, s[i + 4] & 63);
    to.byte(192 + 16 * (i + 4), s[i + 8] >> 4 | s[i + 4] >> 6 << 4);
  }
}
void place_q4_k(const Lane& to, const std::uint8_t* in) {
  place_sub_scales(to, in);
  to.dwords<32>(0, in + 16);
}
void place_q5_k(const Lane& to, const std::uint8_t* in) {
  place_sub_scales(to, in);
  to.dwords<8>(0, in + 16);
  to.dwords<32>(512, in + 48);
}

void place_q6_k(const Lane& to, const std::uint8_t* in) {
  to.half(0, in + 208);
  for (int s = 0; s < 16; ++s) to.byte(32 + 16 * s, in[192 + s]);
  for (int half = 0; half < 2; ++half) {
    to.dwords<16>(1536 * half, in + 64 * half);
    to.dwords<8>(1536 * half + 1024, in + 128 + 32 * half);
  }
}

void place_q2_k(const Lane& to, const std::uint8_t* in) {
  to.half(0, in + 80);
  to.half(32, in + 82);
  for (int s = 0; s < 16; ++s) to.byte(64 + 16 * s, in[s]);
  to.dwords<16>(0, in + 16);
}

// Sixteen six-bit scales plus 32: low nibbles in bytes 0-7, scales 8-15 in their upper halves, top bits in bytes 8-11.
void place_q3_k(const Lane& to, const std::uint8_t* in) {
  to.half(0, in + 108);
  const std::uint8_t* s = in + 96;
  for (int i = 0; i < 16; ++i) {
    const int low = s[i & 7] >> (i < 8 ? 0 : 4) & 15, high = s[8 + (i & 3)] >> (2 * (i >> 2)) & 3;
    to.byte(32 + 16 * i, (low | high << 4) - 32);
  }
  to.dwords<8>(0, in);
  to.dwords<16>(512, in + 32);
}

// Codes 0, 1, 2 stand for 0, +1, -1, and 3 for nothing: what is kept is the value plus one.
void place_ternary(const Lane& to, const std::uint8_t* in) {
  constexpr std::uint32_t kept[4] = {1, 2, 0, 1};
  for (int vector = 0; vector < 2; ++vector) {
    std::uint32_t codes = 0;
    for (int group = 0; group < 4; ++group)
      for (int i = 0; i < 4; ++i) codes |= kept[in[4 * vector + group] >> (2 * i) & 3] << (8 * i + 2 * group);
    to.dword(64 * vector, codes);
  }
}

template <auto place, int block_bytes>
void pack_blocks(const PanelLayout& layout, const std::uint8_t* rows, std::size_t row_bytes, int count,
                 std::int64_t columns, std::uint8_t* panel) {
  for (std::int64_t block = 0; block < columns / layout.record_values; ++block) {
    std::uint8_t *scales = panel + layout.scales_at(block), *values = panel + layout.values_at(block);
    for (int lane = 0; lane < count; ++lane)
      place(Lane{scales, values, lane}, rows + static_cast<std::size_t>(lane) * row_bytes + block * block_bytes);
  }
}

template <class T>
void pack_floats(const std::uint8_t* rows, std::size_t row_bytes, int count, std::int64_t columns,
                 std::uint8_t* panel) {
  // Tiles of columns, so that a line of the panel is complete before it leaves the cache.
  constexpr std::int64_t tile = 64;
  for (std::int64_t k = 0; k < columns; k += tile) {
    const std::int64_t end = k + tile < columns ? k + tile : columns;
    for (int lane = 0; lane < count; ++lane) {
      const std::uint8_t* in = rows + static_cast<std::size_t>(lane) * row_bytes;
      for (std::int64_t i = k; i < end; ++i)
        std::memcpy(panel + (16 * i + lane) * static_cast<std::int64_t>(sizeof(T)),
                    in + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    }
  }
}

}  // namespace

void pack_panel(DType dtype, const std::uint8_t* rows, std::size_t row_bytes, int count, std::int64_t columns,
                std::uint8_t* panel) {
  const PanelLayout layout = panel_layout(dtype);
  const auto blocks = [&]<auto place, int block_bytes>() {
    pack_blocks<place, block_bytes>(layout, rows, row_bytes, count, columns, panel);
  };
  switch (dtype) {
    case DType::f32:
    case DType::fx16_16: pack_floats<std::uint32_t>(rows, row_bytes, count, columns, panel); break;
    case DType::f16:
    case DType::fx8_8:
    case DType::bf16: pack_floats<std::uint16_t>(rows, row_bytes, count, columns, panel); break;
    case DType::ternary: blocks.operator()<place_ternary, 8>(); break;
    case DType::q4:
    case DType::q4_0: blocks.operator()<place_q4_0, 18>(); break;
    case DType::q4_1: blocks.operator()<place_q4_1, 20>(); break;
    case DType::q5_0: blocks.operator()<place_q5_0, 22>(); break;
    case DType::q5_1: blocks.operator()<place_q5_1, 24>(); break;
    case DType::q8:
    case DType::q8_0: blocks.operator()<place_q8_0, 34>(); break;
    case DType::q2_k: blocks.operator()<place_q2_k, 84>(); break;
    case DType::q3_k: blocks.operator()<place_q3_k, 110>(); break;
    case DType::q4_k: blocks.operator()<place_q4_k, 144>(); break;
    case DType::q5_k: blocks.operator()<place_q5_k, 176>(); break;
    case DType::q6_k: blocks.operator()<place_q6_k, 210>(); break;
    default: break;
  }
}

}  // namespace weft::cpu
