"""Cases of Cast, StopGradient, BitCast, Encode, Decode and ToIndex."""

import numpy as np
from case_writer import Typed, bf16, bf16_values

INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")


def saturate(values, dtype):
    info = np.iinfo(dtype)
    out = []
    for x in values.astype("f8"):
        out.append(0 if np.isnan(x) else info.max if x == np.inf else info.min if x == -np.inf else
                   min(max(int(x), info.min), info.max))
    return np.array(out, dtype)


def q8_0(x):
    """f16 scale max|x| / 127, codes rounded half away from zero against the unrounded f32 scale."""
    raw = b""
    for block in x.reshape(-1, 32):
        scale = np.float32(np.abs(block).max() / np.float32(127))
        t = block / scale if scale else block
        codes = np.trunc(t + np.copysign(np.float32(0.5), t))
        raw += np.float16(scale).tobytes() + codes.astype("i1").tobytes()
    return Typed("q8_0", x.shape, raw)


def q8_0_values(typed):
    rows = np.frombuffer(typed.raw, np.uint8).reshape(-1, 34)
    scale = rows[:, :2].copy().view("f2").astype("f4")
    return (scale * rows[:, 2:].copy().view("i1").astype("f4")).reshape(typed.dims)


def build(add):
    rng = np.random.default_rng(5)
    x = np.array([0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.7, 126.9, 127.4, -128.9, 300, -300, 65504, 65519, 65520, 1e5, 1e10,
                  -1e10, 1e19, -1e19, 1e30, np.inf, -np.inf, np.nan, 2**31 - 1, 2.0**31, 2.0**63, 1e-8, 6e-8])
    with np.errstate(all="ignore"):
        floats = {"float32": x.astype("f4"), "float64": x, "float16": x.astype("f2")}
    for name, v in floats.items():
        for dtype in INTEGERS:
            add(f"{name}_to_{dtype}", "Cast", {"to": {"i": "i", "u": "u"}[dtype[0]] + str(int(dtype[1]) * 8)}, [v],
                [saturate(v, dtype)])
        add(f"{name}_to_bool", "Cast", {"to": "bool"}, [v], [v != 0])
        for other, target in (("f32", "f4"), ("f64", "f8"), ("f16", "f2")):
            with np.errstate(all="ignore"):
                add(f"{name}_to_{other}", "Cast", {"to": other}, [v], [v.astype(target)])
    # Just above the middle of two f16 (bf16) values, by less than f32 resolves: one rounding goes up, two go down.
    sticky = np.array([1 + 2**-11 + 2**-40, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 3 * 2**-11 - 2**-40, 2**-24 * 1.5 + 2**-60])
    add("f64_to_f16_once", "Cast", {"to": "f16"}, [sticky], [sticky.astype("f2")])
    sticky = np.array([1 + 2**-8 + 2**-40, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 3 * 2**-8 - 2**-40])
    up = [0x3F81, 0x3F80, 0x3F82, 0x3F81]
    add("f64_to_bf16_once", "Cast", {"to": "bf16"}, [sticky], [Typed("bf16", [4], np.array(up, "<u2").tobytes())])
    v = rng.standard_normal(40).astype("f4") * 100
    add("f32_to_bf16", "Cast", {"to": "bf16"}, [v], [bf16(v)])
    add("bf16_to_f32", "Cast", {"to": "f32"}, [bf16(v)], [bf16_values(bf16(v))])
    for source in INTEGERS:
        info = np.iinfo(source)
        i = np.array([info.min, info.max, 0, 1, 100, info.max - 1, info.max // 3], source)
        for target in INTEGERS:
            add(f"{i.dtype.name}_to_{target}", "Cast", {"to": target[0] + str(int(target[1]) * 8)}, [i],
                [i.astype(target)])
        for other, target in (("f32", "f4"), ("f64", "f8"), ("f16", "f2"), ("bool", "?")):
            with np.errstate(all="ignore"):
                add(f"{i.dtype.name}_to_{other}", "Cast", {"to": other}, [i], [i.astype(target)])
    # 64-bit integers that would round twice by way of f64.
    wide = np.array([2**60 + 2**36 + 1, 2**60 + 2**36, 2**60 + 3 * 2**36, 2**63 - 1, -(2**60) - 2**36 - 1])
    add("i64_to_f32_once", "Cast", {"to": "f32"}, [wide], [wide.astype("f4")])
    add("i64_to_f64", "Cast", {"to": "f64"}, [wide], [wide.astype("f8")])
    middle = np.array([2**60 + 2**52 + 1, 2**60 + 2**52, 2**60 + 3 * 2**52])
    up = [0x5D81, 0x5D80, 0x5D82]
    add("i64_to_bf16_once", "Cast", {"to": "bf16"}, [middle], [Typed("bf16", [3], np.array(up, "<u2").tobytes())])
    add("bool_to_f32", "Cast", {"to": "f32"}, [np.array([True, False])], [np.array([1, 0], "f4")])
    add("bool_to_i64", "Cast", {"to": "i64"}, [np.array([True, False])], [np.array([1, 0])])
    z = np.array([1 + 2j, -3.5 - 1j], "c8")
    add("c64_to_f32", "Cast", {"to": "f32"}, [z], [z.real.copy()])
    add("f32_to_c64", "Cast", {"to": "c64"}, [np.array([1.5, -2], "f4")], [np.array([1.5, -2], "c8")])
    add("empty_to_i8", "Cast", {"to": "i8"}, [np.zeros((0, 3), "f4")], [np.zeros((0, 3), "i1")])

    add("stop_gradient", "StopGradient", {}, [v], [v])
    add("bit_cast_f32_i32", "BitCast", {"to": "i32"}, [v], [v.view("i4")])
    add("bit_cast_i16_f16", "BitCast", {"to": "f16"}, [np.arange(-3, 3, dtype="i2")],
        [np.arange(-3, 3, dtype="i2").view("f2")])

    w = (rng.standard_normal((3, 64)) * 2).astype("f4")
    w[1, :32] = 0
    add("encode_q8_0", "Encode", {"dtype": "q8_0"}, [w], [q8_0(w)])
    add("decode_q8_0", "Decode", {}, [q8_0(w)], [q8_0_values(q8_0(w))])
    add("encode_f16", "Encode", {"dtype": "f16"}, [w], [w.astype("f2")])
    add("encode_bf16", "Encode", {"dtype": "bf16"}, [w], [bf16(w)])
    halves = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 200, -200, 127.5], "f4")
    add("encode_i8", "Encode", {"dtype": "i8"}, [halves], [np.clip(np.rint(halves), -128, 127).astype("i1")])
    add("encode_bool", "Encode", {"dtype": "bool"}, [halves - np.float32(0.5)], [halves != 0.5])
    fixed = np.trunc(halves * 256 + np.copysign(0.5, halves)).clip(-32768, 32767).astype("<i2")
    tiny = np.array([0.5, 1.5, -0.5, -2.5, 3], "f4") / np.float32(256)
    away = np.array([1, 2, -1, -3, 3], "<i2")
    add("encode_fx8_8", "Encode", {"dtype": "fx8_8"}, [halves], [Typed("fx8_8", [8], fixed.tobytes())])
    add("encode_fx8_8_halves", "Encode", {"dtype": "fx8_8"}, [tiny], [Typed("fx8_8", [5], away.tobytes())])
    add("decode_fx8_8", "Decode", {}, [Typed("fx8_8", [5], away.tobytes())], [away.astype("f4") / 256])
    add("decode_f16", "Decode", {}, [w.astype("f2")], [w.astype("f2").astype("f4")])
    add("decode_i8", "Decode", {}, [np.array([-128, 5], "i1")], [np.array([-128, 5], "f4")])
    add("decode_f32", "Decode", {}, [w], [w])

    ids = np.array([[0, 5, -3], [2**24, 151935, -(2**31)]])
    add("to_index_f32", "ToIndex", {}, [ids.astype("f4")], [ids.astype("f4").astype("i4")])
    add("to_index_i64", "ToIndex", {}, [ids], [ids.astype("i4")])
    add("to_index_u8", "ToIndex", {}, [np.array([0, 255], "u1")], [np.array([0, 255], "i4")])
