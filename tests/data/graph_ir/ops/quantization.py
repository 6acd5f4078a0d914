"""Quantize and Dequantize: numpy."""

from __main__ import Named

import numpy as np
from case_writer import Typed, bf16, bf16_values
from cast import q8_0, q8_0_values
from linalg import fixed_point
from linalg import q4_0 as random_q4_0

SHAPES = [(1,), (7,), (2, 3), (3, 17), (0,), (4, 1, 5), (3, 0)]


def half_away(x):
    return np.trunc(x + np.copysign(0.5, x))


def build(add):
    rng = np.random.default_rng(400)

    def integer(kind):
        info = np.iinfo(kind)
        return lambda x: np.clip(np.rint(x.astype("f8")), info.min, info.max).astype(kind)

    def fixed(name, kind, fraction):
        info = np.iinfo(kind)
        return lambda x: Typed(name, x.shape, np.clip(half_away(x.astype("f8") * 2.0**fraction), info.min, info.max)
                               .astype(kind).tobytes())

    plain = {
        "f32": lambda x: x,
        "f16": lambda x: x.astype("f2"),
        "bf16": bf16,
        "i8": integer("i1"),
        "u8": integer("u1"),
        "i32": integer("i4"),
        "bool": lambda x: x != 0,
        "u32": fixed("fx16_16", "i4", 16),
        "u16": fixed("fx8_8", "i2", 8),
    }
    for i, (name, code) in enumerate(plain.items()):
        for k in range(3):
            dims = SHAPES[(3 * i + k) % len(SHAPES)]
            x = (rng.standard_normal(dims) * [1, 40, 1000][k]).astype("f4")
            with np.errstate(over="ignore"):
                add(f"quantize_{name}_{k}", "Quantize", [x], [code(x)], "exact", {"dtype": name},
                    open=[(0, 0)] if k == 1 else [], by="NumPy")
        x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.0, 127.5, 128.5, 300, -300], "f4")
        add(f"quantize_{name}_ties", "Quantize", [x], [code(x)], "exact", {"dtype": name}, by="NumPy")
    for k, dims in enumerate(((32,), (2, 64), (3, 2, 32), (0, 32), (5, 96))):
        x = rng.standard_normal(dims).astype("f4")
        add(f"quantize_q8_0_{k}", "Quantize", [x], [q8_0(x)], "exact", {"dtype": "q8_0"},
            open=[(0, 0)] if k == 1 else [], by="NumPy")

    def decoded(name, x, values, weight=False, open=()):
        add("dequantize_" + name, "Dequantize", [Named(x, weight=weight)], [np.asarray(values, "f4")], "exact", open=open,
            by="NumPy")

    for i, dims in enumerate(SHAPES):
        x = rng.standard_normal(dims).astype("f4")
        opened = [(0, 0)] if i % 2 else []
        decoded(f"f16_{i}", x.astype("f2"), x.astype("f2"), open=opened)
        decoded(f"bf16_{i}", bf16(x), bf16_values(bf16(x)), open=opened)
    decoded("f32", x, x)
    for kind in ("i1", "u1", "i4", "i8", "?"):
        info = None if kind == "?" else np.iinfo(kind)
        x = rng.integers(0, 2, (3, 5)).astype(kind) if info is None else rng.integers(info.min, info.max, (3, 5), kind)
        decoded(np.dtype(kind).name, x, x)
    for name, kind, fraction in (("fx16_16", "<i4", 16), ("fx8_8", "<i2", 8)):
        x, values = fixed_point(rng, 3, 7, name, kind, fraction)
        decoded(name, x, values)
    for k, dims in enumerate(((32,), (2, 64), (0, 32))):
        x = q8_0(rng.standard_normal(dims).astype("f4"))
        decoded(f"q8_0_{k}", x, q8_0_values(x).reshape(dims), weight=k == 1)
    x, values = random_q4_0(rng, 3, 64)
    decoded("q4_0", x, values, weight=True)
