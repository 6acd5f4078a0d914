"""Cases of MatMul: numpy's matmul in f64 (or in wrapping integers)."""

import numpy as np
from case_writer import Typed, bf16, bf16_values


def q8_0(rng, rows, columns):
    """Random blocks of 32: an f16 scale and 32 signed bytes. The tensor and its values."""
    scale = (rng.random((rows, columns // 32)) * 0.02).astype("f2")
    codes = rng.integers(-127, 128, (rows, columns // 32, 32)).astype("i1")
    raw = np.concatenate([scale[..., None].view("u1"), codes.view("u1")], -1)
    values = scale.astype("f4")[..., None] * codes.astype("f4")
    return Typed("q8_0", [rows, columns], raw.tobytes()), values.reshape(rows, columns)


def q4_0(rng, rows, columns):
    """Blocks of 32: an f16 scale, then nibbles minus 8; the low nibbles are the first 16 values."""
    scale = (rng.random((rows, columns // 32)) * 0.2).astype("f2")
    codes = rng.integers(0, 16, (rows, columns // 32, 32)).astype("u1")
    packed = codes[..., :16] | (codes[..., 16:] << 4)
    raw = np.concatenate([scale[..., None].view("u1"), packed], -1)
    values = scale.astype("f4")[..., None] * (codes.astype("f4") - 8)
    return Typed("q4_0", [rows, columns], raw.tobytes()), values.reshape(rows, columns)


def fixed_point(rng, rows, columns, name, kind, fraction):
    codes = rng.integers(-30000, 30000, (rows, columns)).astype(kind)
    return Typed(name, [rows, columns], codes.tobytes()), (codes / 2.0**fraction).astype("f4")


def build(add):
    rng = np.random.default_rng(80)

    def normal(*dims):
        return rng.standard_normal(dims)

    def product(name, a, b, attributes=None, kind="f4", a_values=None, b_values=None):
        attributes = attributes or {}
        x = np.asarray(a if a_values is None else a_values, "f8")
        w = np.asarray(b if b_values is None else b_values, "f8")
        if attributes.get("transpose_a"):
            x = x.swapaxes(-1, -2)
        if attributes.get("transpose_b"):
            w = w.swapaxes(-1, -2)
        y = np.matmul(x, w)
        magnitude = np.matmul(np.abs(x), np.abs(w))
        out = bf16(y) if kind == "bf16" else y.astype(kind)
        add("matmul_" + name, "MatMul", attributes, [a, b], [out], "sum", [magnitude.astype("f4")])

    t_b, t_a = {"transpose_b": True}, {"transpose_a": True}
    a, b = normal(5, 7).astype("f4"), normal(7, 19).astype("f4")
    product("plain", a, b)
    product("transpose_b", a, np.ascontiguousarray(b.T), t_b)
    product("transpose_a", np.ascontiguousarray(a.T), b, t_a)
    product("transpose_both", np.ascontiguousarray(a.T), np.ascontiguousarray(b.T), {**t_a, **t_b})
    # More terms than one panel holds, and as many rows as make whole tiles and a rest.
    long_a, long_b = normal(6, 1157).astype("f4"), normal(21, 1157).astype("f4")
    product("long_sums", long_a, long_b, t_b)
    product("long_sums_plain", long_a, np.ascontiguousarray(long_b.T))
    product("vector_matrix", normal(7).astype("f4"), b)
    product("matrix_vector", a, normal(7).astype("f4"))
    product("vector_vector", normal(7).astype("f4"), normal(7).astype("f4"))
    product("vector_transposed", normal(7).astype("f4"), np.ascontiguousarray(b.T), t_b)
    product("vector_batch", normal(7).astype("f4"), normal(3, 7, 2).astype("f4"))
    product("batch_vector", normal(3, 2, 7).astype("f4"), normal(7).astype("f4"))
    product("batches", normal(2, 3, 4, 5).astype("f4"), normal(2, 3, 5, 6).astype("f4"))
    product("batches_broadcast", normal(2, 1, 4, 5).astype("f4"), normal(3, 5, 6).astype("f4"))
    product("batches_broadcast_left", normal(4, 5).astype("f4"), normal(3, 2, 5, 6).astype("f4"))
    product("batch_folds_into_rows", normal(2, 3, 4, 5).astype("f4"), normal(5, 6).astype("f4"))
    product("batch_of_one_right", normal(2, 3, 4).astype("f4"), normal(1, 4, 5).astype("f4"))
    product("batch_transpose_a", normal(2, 5, 4).astype("f4"), normal(1, 5, 6).astype("f4"), t_a)
    product("batch_transpose_both", normal(3, 5, 4).astype("f4"), normal(3, 6, 5).astype("f4"), {**t_a, **t_b})
    product("no_terms", normal(3, 0).astype("f4"), normal(0, 2).astype("f4"))
    product("no_rows", normal(0, 3).astype("f4"), normal(3, 2).astype("f4"))
    product("no_columns", normal(2, 3).astype("f4"), normal(3, 0).astype("f4"))
    product("cancels", (a * 1e6).astype("f4"), (b * 1e-6).astype("f4"))
    product("f64", normal(3, 40), normal(40, 18), kind="f8")
    product("f64_transpose_b", normal(5, 600), normal(17, 600), t_b, kind="f8")
    half_a, half_b = normal(4, 33).astype("f2"), normal(33, 5).astype("f2")
    product("f16", half_a, half_b, kind="f2")
    product("f16_transpose_b", half_a, np.ascontiguousarray(half_b.T), t_b, kind="f2")
    brain_a, brain_b = bf16(normal(4, 33)), bf16(normal(33, 5))
    product("bf16", brain_a, brain_b, kind="bf16", a_values=bf16_values(brain_a), b_values=bf16_values(brain_b))
    product("f16_weights", normal(3, 33).astype("f4"), np.ascontiguousarray(half_b.T), t_b)
    packed = bf16(normal(6, 33))
    product("bf16_weights", normal(2, 4, 33).astype("f4"), packed, t_b, b_values=bf16_values(packed))

    for rows, name in ((1, "row"), (3, "rows"), (9, "tiles")):
        w, values = q8_0(rng, 37, 608)
        product("q8_0_" + name, normal(rows, 608).astype("f4"), w, t_b, b_values=values)
    w, values = q4_0(rng, 18, 96)
    product("q4_0", normal(2, 96).astype("f4"), w, t_b, b_values=values)
    product("q4_0_vector", normal(96).astype("f4"), w, t_b, b_values=values)
    product("q4_0_transpose_a", normal(96, 3).astype("f4"), w, {**t_a, **t_b}, b_values=values)
    product("q4_0_f16_rows", normal(2, 96).astype("f2"), w, t_b, kind="f2", b_values=values)
    w, values = fixed_point(rng, 5, 11, "fx16_16", "<i4", 16)
    product("fx16_16", normal(3, 11).astype("f4"), w, t_b, b_values=values)
    w, values = fixed_point(rng, 5, 11, "fx8_8", "<i2", 8)
    product("fx8_8", normal(3, 11).astype("f4"), w, t_b, b_values=values)

    for kind in ("i1", "u1", "i2", "u4", "i4", "i8"):
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        x = rng.integers(low, high, (3, 4), dtype=kind, endpoint=True)
        y = rng.integers(low, high, (2, 4, 5), dtype=kind, endpoint=True)
        with np.errstate(over="ignore"):
            wide = np.matmul(x.astype("i8"), y.astype("i8"))
        add(f"matmul_{np.dtype(kind).name}", "MatMul", {}, [x, y], [wide.astype(kind)])
    x = rng.integers(-9, 9, (3, 4), dtype="i4")
    y = rng.integers(-9, 9, (5, 3), dtype="i4")
    add("matmul_int32_transposed", "MatMul", {**t_a, **t_b}, [x, y], [x.T @ y.T])
