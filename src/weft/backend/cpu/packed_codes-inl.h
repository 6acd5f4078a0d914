// How to read each packed integer type: its constants, unpacking to bytes, its scales. Included by one .cpp per
// level of the CPU, inside that level's target, with an operations object L that says what a vector is: 16 rows, or
// one row of a panel. Includes nothing; <cstdint>, <utility> and
// packed_layout.h come before it.
#pragma once

namespace weft::cpu {
namespace {

#define WEFT_INLINE __attribute__((always_inline)) inline
#define WEFT_INLINE_LAMBDA __attribute__((always_inline))

template <int value>
struct Constant {
  constexpr operator int() const { return value; }
};

template <class Body, int... index>
WEFT_INLINE void unroll_over(Body&& body, std::integer_sequence<int, index...>) {
  (body(Constant<index>{}), ...);
}
// body(Constant<0>) ... body(Constant<count - 1>).
template <int count, class Body>
WEFT_INLINE void unroll(Body&& body) {
  unroll_over(body, std::make_integer_sequence<int, count>{});
}

using Bytes = const std::uint8_t*;

// Each type has: record, chunk, group: values of a record, of what `unpack` does at once, of one scale. zero; bits:
// of a code. `unpack(l, values of a record, chunk, emit)` calls emit(vector, Constant<index>) for all groups of four
// of the chunk. `scale` and `minimum` are those of group g of a record.
template <int code_zero, bool has_minimum, bool fifth>
struct Nibbles {
  static constexpr int record = 32, chunk = 32, group = 32, zero = code_zero, bits = fifth ? 5 : 4;
  static constexpr bool minimums = has_minimum;
  static constexpr int scale_bytes = has_minimum ? 64 : 32, value_bytes = fifth ? 320 : 256;

  template <class L, class Emit>
  static WEFT_INLINE void unpack(L l, Bytes values, int, Emit&& emit) {
    if constexpr (fifth) {
      const auto plane = l.load(values);
      unroll<4>([&](auto j) WEFT_INLINE_LAMBDA {
        constexpr int at = j;
        const auto pair = l.load(values + 64 + 64 * at);
        emit(l.merge(l.template pick<0>(pair, 15), l.template pick<at - 4>(plane, 16)), Constant<at>{});
        emit(l.merge(l.template pick<4>(pair, 15), l.template pick<at>(plane, 16)), Constant<at + 4>{});
      });
    } else {
      unroll<4>([&](auto j) WEFT_INLINE_LAMBDA {
        constexpr int at = j;
        const auto pair = l.load(values + 64 * at);
        emit(l.template pick<0>(pair, 15), Constant<at>{});
        emit(l.template pick<4>(pair, 15), Constant<at + 4>{});
      });
    }
  }
  template <class L>
  static WEFT_INLINE auto scale(L l, Bytes scales, int) {
    return l.f16(scales);
  }
  template <class L>
  static WEFT_INLINE auto minimum(L l, Bytes scales, int) {
    return l.f16(scales + 32);
  }
};
using Q4_0 = Nibbles<8, false, false>;
using Q4_1 = Nibbles<0, true, false>;
using Q5_0 = Nibbles<16, false, true>;
using Q5_1 = Nibbles<0, true, true>;

struct Q8_0 {
  static constexpr int record = 32, chunk = 32, group = 32, zero = 128, bits = 8;
  static constexpr bool minimums = false;
  static constexpr int scale_bytes = 32, value_bytes = 512;

  template <class L, class Emit>
  static WEFT_INLINE void unpack(L l, Bytes values, int, Emit&& emit) {
    unroll<8>([&](auto j) WEFT_INLINE_LAMBDA { emit(l.load(values + 64 * j), j); });
  }
  template <class L>
  static WEFT_INLINE auto scale(L l, Bytes scales, int) {
    return l.f16(scales);
  }
};

// The blocks of `.model`: a scale of n / 256, shared by 127 or 8 steps.
struct Q8 : Q8_0 {
  static constexpr float divisor = 256 * 127;  // a value is n q / divisor, rounded once

  template <class L>
  static WEFT_INLINE auto scale(L l, Bytes scales, int) {
    return l.mul(l.i16(scales), l.set(1 / divisor));
  }
};
struct Q4 : Q4_0 {
  template <class L>
  static WEFT_INLINE auto scale(L l, Bytes scales, int) {
    return l.mul(l.i16(scales), l.set(1.f / (256 * 8)));
  }
};

struct Ternary {
  static constexpr int record = 32, chunk = 32, group = 32, zero = 1, bits = 2;
  static constexpr bool minimums = false;
  static constexpr int scale_bytes = 0, value_bytes = 128;

  template <class L, class Emit>
  static WEFT_INLINE void unpack(L l, Bytes values, int, Emit&& emit) {
    unroll<2>([&](auto j) WEFT_INLINE_LAMBDA {
      constexpr int at = j;
      const auto codes = l.load(values + 64 * at);
      emit(l.template pick<0>(codes, 3), Constant<4 * at>{});
      emit(l.template pick<2>(codes, 3), Constant<4 * at + 1>{});
      emit(l.template pick<4>(codes, 3), Constant<4 * at + 2>{});
      emit(l.template pick<6>(codes, 3), Constant<4 * at + 3>{});
    });
  }
  template <class L>
  static WEFT_INLINE auto scale(L l, Bytes, int) {
    return l.set(1);
  }
};

// q4_k and q5_k.
template <bool fifth>
struct PairedNibbles {
  static constexpr int record = 256, chunk = 64, group = 32, zero = 0, bits = fifth ? 5 : 4;
  static constexpr bool minimums = true;
  static constexpr int scale_bytes = 320, value_bytes = fifth ? 2560 : 2048;

  template <class L, class Emit>
  static WEFT_INLINE void unpack(L l, Bytes values, int pair, Emit&& emit) {
    unroll<8>([&](auto j) WEFT_INLINE_LAMBDA {
      constexpr int at = j;
      if constexpr (fifth) {
        const auto nibbles = l.load(values + 512 + 512 * pair + 64 * at);
        const auto plane = l.shift(l.load(values + 64 * at), 2 * pair);  // now its two lowest bits count
        emit(l.merge(l.template pick<0>(nibbles, 15), l.template pick<-4>(plane, 16)), Constant<at>{});
        emit(l.merge(l.template pick<4>(nibbles, 15), l.template pick<-3>(plane, 16)), Constant<at + 8>{});
      } else {
        const auto nibbles = l.load(values + 512 * pair + 64 * at);
        emit(l.template pick<0>(nibbles, 15), Constant<at>{});
        emit(l.template pick<4>(nibbles, 15), Constant<at + 8>{});
      }
    });
  }
  template <class L>
  static WEFT_INLINE auto scale(L l, Bytes scales, int g) {
    return l.mul(l.f16(scales), l.u8(scales + 64 + 16 * g));
  }
  template <class L>
  static WEFT_INLINE auto minimum(L l, Bytes scales, int g) {
    return l.negate(l.mul(l.f16(scales + 32), l.u8(scales + 192 + 16 * g)));
  }
};
using Q4_K = PairedNibbles<false>;
using Q5_K = PairedNibbles<true>;

struct Q6_K {
  static constexpr int record = 256, chunk = 128, group = 16, zero = 32, bits = 6;
  static constexpr bool minimums = false;
  static constexpr int scale_bytes = 288, value_bytes = 3072;

  template <class L, class Emit>
  static WEFT_INLINE void unpack(L l, Bytes values, int half, Emit&& emit) {
    Bytes in = values + 1536 * half;
    unroll<8>([&](auto j) WEFT_INLINE_LAMBDA {
      constexpr int at = j;
      const auto even = l.load(in + 64 * at), odd = l.load(in + 512 + 64 * at), top = l.load(in + 1024 + 64 * at);
      emit(l.merge(l.template pick<0>(even, 15), l.template pick<-4>(top, 48)), Constant<at>{});
      emit(l.merge(l.template pick<0>(odd, 15), l.template pick<-2>(top, 48)), Constant<at + 8>{});
      emit(l.merge(l.template pick<4>(even, 15), l.template pick<0>(top, 48)), Constant<at + 16>{});
      emit(l.merge(l.template pick<4>(odd, 15), l.template pick<2>(top, 48)), Constant<at + 24>{});
    });
  }
  template <class L>
  static WEFT_INLINE auto scale(L l, Bytes scales, int g) {
    return l.mul(l.f16(scales), l.i8(scales + 32 + 16 * g));
  }
};

struct Q2_K {
  static constexpr int record = 256, chunk = 128, group = 16, zero = 0, bits = 2;
  static constexpr bool minimums = true;
  static constexpr int scale_bytes = 320, value_bytes = 1024;

  template <class L, class Emit>
  static WEFT_INLINE void unpack(L l, Bytes values, int half, Emit&& emit) {
    unroll<8>([&](auto j) WEFT_INLINE_LAMBDA {
      constexpr int at = j;
      const auto codes = l.load(values + 512 * half + 64 * at);
      emit(l.template pick<0>(codes, 3), Constant<at>{});
      emit(l.template pick<2>(codes, 3), Constant<at + 8>{});
      emit(l.template pick<4>(codes, 3), Constant<at + 16>{});
      emit(l.template pick<6>(codes, 3), Constant<at + 24>{});
    });
  }
  template <class L>
  static WEFT_INLINE auto scale(L l, Bytes scales, int g) {
    return l.mul(l.f16(scales), l.u4(scales + 64 + 16 * g, 0));
  }
  template <class L>
  static WEFT_INLINE auto minimum(L l, Bytes scales, int g) {
    return l.negate(l.mul(l.f16(scales + 32), l.u4(scales + 64 + 16 * g, 4)));
  }
};

struct Q3_K {
  static constexpr int record = 256, chunk = 128, group = 16, zero = 4, bits = 3;
  static constexpr bool minimums = false;
  static constexpr int scale_bytes = 288, value_bytes = 1536;

  template <class L, class Emit>
  static WEFT_INLINE void unpack(L l, Bytes values, int half, Emit&& emit) {
    unroll<8>([&](auto j) WEFT_INLINE_LAMBDA {
      constexpr int at = j;
      const auto plane = l.shift(l.load(values + 64 * at), 4 * half);  // now its four lowest bits count
      const auto codes = l.load(values + 512 + 512 * half + 64 * at);
      emit(l.merge(l.template pick<0>(codes, 3), l.template pick<-2>(plane, 4)), Constant<at>{});
      emit(l.merge(l.template pick<2>(codes, 3), l.template pick<-1>(plane, 4)), Constant<at + 8>{});
      emit(l.merge(l.template pick<4>(codes, 3), l.template pick<0>(plane, 4)), Constant<at + 16>{});
      emit(l.merge(l.template pick<6>(codes, 3), l.template pick<1>(plane, 4)), Constant<at + 24>{});
    });
  }
  template <class L>
  static WEFT_INLINE auto scale(L l, Bytes scales, int g) {
    return l.mul(l.f16(scales), l.i8(scales + 32 + 16 * g));
  }
};

template <class Code>
constexpr PanelLayout layout_of = {Code::record, Code::scale_bytes, Code::value_bytes};

// body(Type{}) for the type of an integer matrix.
template <class Body>
WEFT_INLINE void with_code(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::q4_0: body(Q4_0{}); break;
    case DType::q4_1: body(Q4_1{}); break;
    case DType::q5_0: body(Q5_0{}); break;
    case DType::q5_1: body(Q5_1{}); break;
    case DType::q8_0: body(Q8_0{}); break;
    case DType::q4: body(Q4{}); break;
    case DType::q8: body(Q8{}); break;
    case DType::ternary: body(Ternary{}); break;
    case DType::q2_k: body(Q2_K{}); break;
    case DType::q3_k: body(Q3_K{}); break;
    case DType::q4_k: body(Q4_K{}); break;
    case DType::q5_k: body(Q5_K{}); break;
    case DType::q6_k: body(Q6_K{}); break;
    default: break;
  }
}

}  // namespace
}  // namespace weft::cpu
