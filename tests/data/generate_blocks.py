#!/usr/bin/env python3
"""Golden vectors of every packed element type, computed with numpy from the closed forms of the formats.

  /usr/bin/python3 generate_blocks.py          writes blocks.bin beside itself

The file is a sequence of records, little-endian: u8 length and name of the dtype; u32 count of values; u32 count of
bytes; f32[count] values; the bytes. Names that start with '>' ask the encoder to turn the values into the bytes, the
others ask the decoder to turn the bytes into the values.
"""
import os
import struct

import numpy as np

F = np.float32
rng = np.random.default_rng(20240607)
records = []


def f16(raw):
    return raw.copy().view("<f2").astype(F)[..., 0]


def half_bytes(x):
    return np.asarray(x, F).astype("<f2").view(np.uint8).reshape(-1, 2)


def rounded(x):
    x = np.asarray(x, np.float64)
    return np.trunc(x + np.copysign(0.5, x))


def quotient(a, b):
    b = np.broadcast_to(np.asarray(b, F), np.shape(a))
    return np.divide(np.asarray(a, F), b, out=np.zeros(np.shape(a), F), where=b != 0)


# --- decoders: raw uint8 [blocks, bytes] -> f32 [blocks, values] ----------------------------------------------------

def nibbles(b):
    return np.concatenate([b & 15, b >> 4], 1).astype(np.int32)


def bits32(b):
    word = b.copy().view("<u4")
    return ((word >> np.arange(32, dtype=np.uint32)) & 1).astype(np.int32)


def d_q8_0(r):
    return f16(r[:, :2])[:, None] * r[:, 2:].copy().view(np.int8).astype(F)


def d_q4_0(r):
    return f16(r[:, :2])[:, None] * (nibbles(r[:, 2:]) - 8).astype(F)


def d_q4_1(r):
    return f16(r[:, :2])[:, None] * nibbles(r[:, 4:]).astype(F) + f16(r[:, 2:4])[:, None]


def d_q5_0(r):
    q = nibbles(r[:, 6:]) + 16 * bits32(r[:, 2:6])
    return f16(r[:, :2])[:, None] * (q - 16).astype(F)


def d_q5_1(r):
    q = nibbles(r[:, 8:]) + 16 * bits32(r[:, 4:8])
    return f16(r[:, :2])[:, None] * q.astype(F) + f16(r[:, 2:4])[:, None]


def d_q8(r):
    n = r[:, :2].copy().view("<i2").astype(np.float64)
    return (r[:, 2:].copy().view(np.int8) * (n / 256) / 127).astype(F)


def d_q4(r):
    n = r[:, :2].copy().view("<i2").astype(np.float64)
    return ((nibbles(r[:, 2:]) - 8) * (n / 256) / 8).astype(F)


def d_ternary(r):
    codes = (r[:, :, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
    return np.array([0, 1, -1, 0], F)[codes].reshape(len(r), -1)


I = np.arange(256)
N, J, L = I // 128, I % 128 // 32, I % 32
S = I // 32
K = 8 * N + 2 * J + L // 16


def d_q2_k(r):
    sc, qs = r[:, :16], r[:, 16:80]
    t = sc[:, K].astype(np.int32)
    q = (qs[:, 32 * N + L] >> (2 * J)) & 3
    d, dmin = f16(r[:, 80:82])[:, None], f16(r[:, 82:84])[:, None]
    return d * (t & 15).astype(F) * q.astype(F) - dmin * (t >> 4).astype(F)


def d_q3_k(r):
    hmask, qs, sc = r[:, :32], r[:, 32:96], r[:, 96:108].astype(np.int32)
    a, g = K % 4, K // 4
    lo = (sc[:, a + 4 * (g % 2)] >> (4 * (g // 2))) & 15
    hi = (sc[:, 8 + a] >> (2 * g)) & 3
    scale = (lo | hi << 4) - 32
    q = ((qs[:, 32 * N + L] >> (2 * J)) & 3).astype(np.int32)
    q -= 4 * (1 - ((hmask[:, L] >> (4 * N + J)) & 1).astype(np.int32))
    return f16(r[:, 108:110])[:, None] * scale.astype(F) * q.astype(F)


def six_bits(sc):
    sc = sc.astype(np.int32)
    scale = np.where(S < 4, sc[:, S % 4] & 63, (sc[:, S % 4 + 8] & 15) | (sc[:, S % 4] >> 6) << 4)
    least = np.where(S < 4, sc[:, S % 4 + 4] & 63, (sc[:, S % 4 + 8] >> 4) | (sc[:, S % 4 + 4] >> 6) << 4)
    return scale.astype(F), least.astype(F)


def d_q4_k(r):
    scale, least = six_bits(r[:, 4:16])
    q = (r[:, 16:][:, 32 * (S // 2) + L] >> (4 * (S % 2))) & 15
    return f16(r[:, :2])[:, None] * scale * q.astype(F) - f16(r[:, 2:4])[:, None] * least


def d_q5_k(r):
    scale, least = six_bits(r[:, 4:16])
    q = (r[:, 48:][:, 32 * (S // 2) + L] >> (4 * (S % 2))) & 15
    q = q | ((r[:, 16:48][:, L] >> S) & 1) << 4
    return f16(r[:, :2])[:, None] * scale * q.astype(F) - f16(r[:, 2:4])[:, None] * least


def d_q6_k(r):
    ql, qh, sc = r[:, :128], r[:, 128:192], r[:, 192:208].copy().view(np.int8)
    q = (ql[:, 64 * N + 32 * (J % 2) + L] >> (4 * (J // 2))) & 15
    q = (q | ((qh[:, 32 * N + L] >> (2 * J)) & 3) << 4).astype(np.int32) - 32
    return f16(r[:, 208:210])[:, None] * sc[:, K].astype(F) * q.astype(F)


# dtype: (values, bytes, decoder, positions of f16 fields)
FORMATS = {
    "q8_0": (32, 34, d_q8_0, [0]), "q4_0": (32, 18, d_q4_0, [0]), "q4_1": (32, 20, d_q4_1, [0, 2]),
    "q5_0": (32, 22, d_q5_0, [0]), "q5_1": (32, 24, d_q5_1, [0, 2]), "q8": (32, 34, d_q8, []),
    "q4": (32, 18, d_q4, []), "ternary": (4, 1, d_ternary, []), "q2_k": (256, 84, d_q2_k, [80, 82]),
    "q3_k": (256, 110, d_q3_k, [108]), "q4_k": (256, 144, d_q4_k, [0, 2]), "q5_k": (256, 176, d_q5_k, [0, 2]),
    "q6_k": (256, 210, d_q6_k, [208]),
}


# --- encoders: f32 [blocks, values] -> uint8 [blocks, bytes] --------------------------------------------------------

def pack4(q):
    q = q.astype(np.uint8)
    return (q[:, :16] & 15) | (q[:, 16:] & 15) << 4


def high_bits(q):
    return np.packbits((q.astype(np.uint8) >> 4) & 1, axis=1, bitorder="little")


def i16_bytes(n):
    return n.astype("<i2").view(np.uint8).reshape(-1, 2)


def e_q8_0(x):
    d = np.abs(x).max(1) / F(127)
    q = np.clip(rounded(quotient(x, d[:, None])), -128, 127).astype(np.int8)
    return np.concatenate([half_bytes(d), q.view(np.uint8)], 1)


def symmetric(x, half):
    most = x[np.arange(len(x)), np.abs(x).argmax(1)]
    d = np.where(most == 0, F(0), most / F(-half))
    return d, np.minimum(2 * half - 1, np.floor(quotient(x, d[:, None]).astype(np.float64) + half + 0.5))


def e_q4_0(x):
    d, q = symmetric(x, 8)
    return np.concatenate([half_bytes(d), pack4(q)], 1)


def e_q5_0(x):
    d, q = symmetric(x, 16)
    return np.concatenate([half_bytes(d), high_bits(q), pack4(q)], 1)


def ranged(x, levels):
    m, d = half_bytes(x.min(1)), half_bytes((x.max(1) - x.min(1)) / F(levels))
    q = np.clip(rounded(quotient(x - f16(m)[:, None], f16(d)[:, None])), 0, levels)
    return d, m, q


def e_q4_1(x):
    d, m, q = ranged(x, 15)
    return np.concatenate([d, m, pack4(q)], 1)


def e_q5_1(x):
    d, m, q = ranged(x, 31)
    return np.concatenate([d, m, high_bits(q), pack4(q)], 1)


def fixed(x, top):
    n = np.ceil(256 * np.abs(x).max(1).astype(np.float64))
    return n, rounded(quotient(x * F(top * 256), n.astype(F)[:, None]))


def e_q8(x):
    n, q = fixed(x, 127)
    return np.concatenate([i16_bytes(n), np.clip(q, -127, 127).astype(np.int8).view(np.uint8)], 1)


def e_q4(x):
    n, q = fixed(x, 8)
    return np.concatenate([i16_bytes(n), pack4(np.clip(q, -8, 7) + 8)], 1)


def e_ternary(x):
    code = np.where(x >= 0.5, 1, np.where(x <= -0.5, 2, 0)).astype(np.uint8)
    return (code << np.array([0, 2, 4, 6], np.uint8)).sum(1, dtype=np.uint8)[:, None]


def scatter(target, index, value):
    """target[:, index] |= value, indices may repeat."""
    for i, at in enumerate(index):
        target[:, at] |= value[:, i].astype(np.uint8)


def asymmetric(x, width, levels, top):
    parts = x.reshape(len(x), -1, width)
    low = np.minimum(F(0), parts.min(2))
    s = np.maximum(F(0), (parts.max(2) - low) / F(levels))
    m = -low
    d, dmin = half_bytes(s.max(1) / F(top)), half_bytes(m.max(1) / F(top))
    df, mf = f16(d)[:, None], f16(dmin)[:, None]
    scale = np.clip(rounded(quotient(s, df)), 0, top).astype(F)
    least = np.clip(rounded(quotient(m, mf)), 0, top).astype(F)
    q = rounded(quotient(parts + (mf * least)[:, :, None], (df * scale)[:, :, None]))
    return d, dmin, scale.astype(int), least.astype(int), np.clip(q, 0, levels).astype(int).reshape(len(x), 256)


def e_q2_k(x):
    d, dmin, scale, least, q = asymmetric(x, 16, 3, 15)
    qs = np.zeros((len(x), 64), np.uint8)
    scatter(qs, 32 * N + L, q << (2 * J))
    return np.concatenate([(scale | least << 4).astype(np.uint8), qs, d, dmin], 1)


def six_bit_bytes(scale, least):
    out = np.zeros((len(scale), 12), np.uint8)
    for s in range(4):
        out[:, s] = scale[:, s] | scale[:, s + 4] >> 4 << 6
        out[:, s + 4] = least[:, s] | least[:, s + 4] >> 4 << 6
        out[:, s + 8] = (scale[:, s + 4] & 15) | (least[:, s + 4] & 15) << 4
    return out


def e_q4_k(x):
    d, dmin, scale, least, q = asymmetric(x, 32, 15, 63)
    qs = np.zeros((len(x), 128), np.uint8)
    scatter(qs, 32 * (S // 2) + L, q << (4 * (S % 2)))
    return np.concatenate([d, dmin, six_bit_bytes(scale, least), qs], 1)


def e_q5_k(x):
    d, dmin, scale, least, q = asymmetric(x, 32, 31, 63)
    qs, qh = np.zeros((len(x), 128), np.uint8), np.zeros((len(x), 32), np.uint8)
    scatter(qs, 32 * (S // 2) + L, (q & 15) << (4 * (S % 2)))
    scatter(qh, L, (q >> 4) << S)
    return np.concatenate([d, dmin, six_bit_bytes(scale, least), qh, qs], 1)


def sym_parts(x, low, high, top):
    parts = x.reshape(len(x), 16, 16)
    s = np.abs(parts).max(2) / F(high)
    d = half_bytes(s.max(1) / F(top))
    df = f16(d)[:, None]
    scale = np.clip(rounded(quotient(s, df)), 0, top)
    q = np.clip(rounded(quotient(parts, (df * scale.astype(F))[:, :, None])), low, high)
    return d, scale.astype(int), q.astype(int).reshape(len(x), 256)


def e_q3_k(x):
    d, scale, q = sym_parts(x, -4, 3, 31)
    hmask, qs = np.zeros((len(x), 32), np.uint8), np.zeros((len(x), 64), np.uint8)
    scatter(hmask, L, (q >= 0).astype(int) << (4 * N + J))
    scatter(qs, 32 * N + L, (q & 3) << (2 * J))
    sc, k = np.zeros((len(x), 12), np.uint8), np.arange(16)
    a, g = k % 4, k // 4
    scatter(sc, a + 4 * (g % 2), ((scale + 32) & 15) << (4 * (g // 2)))
    scatter(sc, 8 + a, ((scale + 32) >> 4) << (2 * g))
    return np.concatenate([hmask, qs, sc, d], 1)


def e_q6_k(x):
    d, scale, q = sym_parts(x, -32, 31, 127)
    ql, qh = np.zeros((len(x), 128), np.uint8), np.zeros((len(x), 64), np.uint8)
    scatter(ql, 64 * N + 32 * (J % 2) + L, ((q + 32) & 15) << (4 * (J // 2)))
    scatter(qh, 32 * N + L, ((q + 32) >> 4) << (2 * J))
    return np.concatenate([ql, qh, scale.astype(np.uint8), d], 1)


def record(name, values, raw):
    values = np.ascontiguousarray(values, F)
    raw = np.ascontiguousarray(raw, np.uint8)
    records.append(struct.pack("<B", len(name)) + name.encode() + struct.pack("<II", values.size, raw.size)
                   + values.astype("<f4").tobytes() + raw.tobytes())


for name, (values, size, decode, halves) in FORMATS.items():
    blocks = 16 if values == 4 else 4 if values == 32 else 2
    raw = rng.integers(0, 256, (blocks, size), np.uint8)
    for at in halves:  # random finite scales of either sign; one subnormal, one zero
        raw[:, at:at + 2] = half_bytes(rng.standard_normal(blocks) * 2.0 ** rng.integers(-12, 3, blocks))
    if halves:
        raw[0, halves[0]:halves[0] + 2] = [0x1B, 0x80]
    record(name, decode(raw), raw)
    encode = globals()["e_" + name]
    x = (rng.standard_normal((blocks, values)) * 2.0 ** rng.integers(-6, 3, (blocks, 1))).astype(F)
    if values > 4:
        x[-1] = np.abs(x[-1]) + F(0.25)   # one sign only
    if values == 32:
        x[1] = 0
        x[2] = np.tile(np.array([1.5, -1.5, 0.75, 0], F), 8)  # ties for the largest magnitude
    coded = encode(x)
    assert coded.shape == (blocks, size) and coded.dtype == np.uint8, name
    record(">" + name, x, coded)
    # What was encoded decodes near the values; the bounds per format are checked on the C++ side.
    near = np.abs(decode(coded) - x).max() / np.abs(x).max()
    print(f"{name:8} {near:.4f}")

scalars = np.concatenate([rng.standard_normal(24) * 2.0 ** rng.integers(-20, 16, 24), [0, -0.0, 0.5, -2.5]]).astype(F)
record(">f16", scalars.clip(-6e4, 6e4), scalars.clip(-6e4, 6e4).astype("<f2").view(np.uint8))
bf = scalars.view(np.uint32).astype(np.uint64)
record(">bf16", scalars, ((bf + 0x7FFF + ((bf >> 16) & 1)) >> 16).astype("<u2").view(np.uint8))
small = (rng.standard_normal(24) * 40).astype(F)
record(">fx16_16", small, rounded(small.astype(np.float64) * 65536).astype("<i4").view(np.uint8))
record(">fx8_8", small, rounded(small.astype(np.float64) * 256).astype("<i2").view(np.uint8))
fx = rng.integers(-2**31, 2**31, 24, np.int32)
record("fx16_16", (fx / 65536.0).astype(F), fx.astype("<i4").view(np.uint8))
fx = rng.integers(-2**15, 2**15, 24).astype(np.int16)
record("fx8_8", (fx / 256.0).astype(F), fx.astype("<i2").view(np.uint8))
for name, kind in (("i8", "<i1"), ("u8", "<u1"), ("i16", "<i2"), ("u16", "<u2"), ("i32", "<i4"), ("u32", "<u4"),
                   ("i64", "<i8"), ("u64", "<u8"), ("f64", "<f8")):
    n = np.frombuffer(rng.bytes(16 * np.dtype(kind).itemsize), kind) if kind != "<f8" else rng.standard_normal(16)
    record(name, n.astype(F), np.ascontiguousarray(n).view(np.uint8))
    if kind != "<f8":
        y = (rng.standard_normal(16) * 60 + (128 if kind[1] == "u" else 0)).astype(F)
        y[:4] = [2.5, 3.5, 0.5, 1e30]
        info = np.iinfo(kind)
        whole = [min(max(int(v), info.min), info.max) for v in np.rint(y.astype(np.float64))]
        record(">" + name, y, np.array(whole, kind).view(np.uint8))

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "blocks.bin"), "wb") as f:
    f.write(b"".join(records))
