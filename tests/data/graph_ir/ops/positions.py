"""Rope, SinusoidalEmbed, RelativePosEmbedding: numpy in f64; TokenEmbed and PosEmbed: torch."""

from __main__ import Named

import numpy as np
import torch
from case_writer import bf16, bf16_values
from linalg import q4_0, q8_0
from position import relative_bias, sinusoid
from rope import pairs_of, turn


def position_of(index, dims, head_dim, count, head_major):
    """Which position the head vector at `index` (row-major over all axes but the last) turns by."""
    rows = list(dims[:-1]) + ([dims[-1] // head_dim] if dims[-1] != head_dim else [])
    if len(rows) <= 1:
        total = rows[0] if rows else 1
        return index // (total // count)
    at = np.unravel_index(index, rows)
    if head_major:
        lead = np.ravel_multi_index(at[:-2], rows[:-2]) if len(rows) > 2 else 0
        return (lead * rows[-1] + at[-1]) % count
    return np.ravel_multi_index(at[:-1], rows[:-1]) % count


def build(add):
    rng = np.random.default_rng(380)

    def normal(*dims):
        return np.array(rng.standard_normal(dims)).astype("f4")

    def rope(name, dims, head_dim, positions, rope_dim=None, base=1e4, open=(), **attrs):
        x = normal(*dims)
        r = rope_dim or head_dim
        layout = attrs.get("rope_layout", "prefix")
        style = "interleaved" if attrs.get("rope_interleaved") else "neox"
        span = r if layout == "prefix" else head_dim
        angle = np.asarray(positions, "f8").reshape(-1, 1) * np.float64(base) ** (-2.0 * np.arange(r // 2) / span)
        flat = x.reshape(-1, head_dim)
        y = np.empty(flat.shape)
        for i, vector in enumerate(flat):
            at = position_of(i, dims, head_dim, len(positions), attrs.get("head_major", False))
            y[i] = turn(vector, np.cos(angle[at]), np.sin(angle[at]), pairs_of(head_dim, r, style, layout))
        add("rope_" + name, "Rope", [x, np.array(positions, "f4")], [y.reshape(dims).astype("f4")], "elementwise",
            {"head_dim": head_dim, "rope_dim": r, "base": float(base)}, attrs, open=open, by="NumPy")

    rope("heads", (5, 3, 8), 8, range(5))
    rope("heads_later", (5, 3, 8), 8, range(1000, 1005))
    rope("far", (3, 2, 16), 16, [32767, 100000, 1], base=1e6)
    rope("batches", (2, 5, 3, 8), 8, range(5))
    rope("batches_own_positions", (2, 5, 3, 8), 8, range(10))
    rope("packed", (5, 24), 8, range(5))
    rope("packed_one_position", (5, 24), 8, [7])
    rope("packed_repeats", (6, 16), 8, [3, 4, 9])
    rope("packed_batches", (2, 5, 16), 8, range(5))
    rope("rows", (6, 8), 8, range(6))
    rope("rows_share", (6, 8), 8, [2, 5, 9])
    rope("one_position", (4, 3, 8), 8, [11])
    rope("vector", (8,), 8, [5])
    rope("vector_of_heads", (24,), 8, [5])
    rope("partial", (5, 3, 8), 8, range(5), rope_dim=4)
    rope("smallest", (5, 1, 2), 2, range(5))
    rope("proportional", (5, 3, 8), 8, range(5), rope_dim=4, rope_layout="proportional")
    rope("interleaved", (5, 3, 8), 8, range(5), rope_interleaved=True)
    rope("interleaved_partial", (5, 3, 8), 8, range(5), rope_dim=6, rope_interleaved=True)
    rope("head_major", (3, 5, 8), 8, range(5), head_major=True)
    rope("head_major_batches", (2, 3, 5, 8), 8, range(5), head_major=True)
    rope("no_tokens", (0, 3, 8), 8, [4])
    rope("no_heads", (5, 0, 8), 8, range(5))
    rope("open", (5, 3, 8), 8, range(5), open=[(0, 0), (1, 0)])
    rope("packed_open", (5, 24), 8, range(5), open=[(0, 0), (1, 0)])
    rope("odd_base", (5, 3, 10), 10, range(5), base=513.7)

    for i, (dims, dim) in enumerate((
        ((), 6), ((1,), 8), ((3,), 5), ((3,), 1), ((2, 3), 16), ((5,), 32), ((0,), 4), ((2, 0), 6), ((7,), 7), ((1, 1), 2),
        ((2, 2, 2), 3), ((31,), 10), ((4,), 64), ((1,), 320), ((2,), 11), ((3, 1), 9), ((6,), 4), ((2, 5), 2), ((1,), 1), ((9,), 12),
    )):
        t = np.array(rng.random(dims) * [1, 50, 1000, 20000][i % 4]).astype("f4")
        layout = ["interleaved", "sin_cos", "cos_sin"][i % 3]
        add(f"sinusoid_{i}", "SinusoidalEmbed", [t], [sinusoid(t, dim, layout).astype("f4")], "elementwise", {"dim": dim},
            {} if layout == "interleaved" else {"layout": layout}, open=[(0, 0)] if i % 2 and dims else [], by="NumPy")

    for i, (buckets, both, far, heads, sq, sk) in enumerate((
        (32, True, 128, 3, 9, 9), (32, False, 128, 2, 5, 300), (8, True, 20, 2, 30, 30), (7, False, 64, 1, 3, 40),
        (2, False, 3, 2, 4, 6), (64, True, 300, 1, 1, 500), (32, True, 128, 2, 2, 0), (32, True, 128, 2, 0, 3),
        (16, True, 64, 4, 6, 6), (4, False, 10, 2, 1, 17), (32, False, 128, 2, 1, 1), (10, True, 40, 3, 5, 8),
    )):
        table = normal(buckets, heads)
        attrs = {**({} if both else {"bidirectional": False}), **({} if far == 128 else {"max_distance": far})}
        bias = relative_bias(table, np.arange(sq) + sk - sq, np.arange(sk), buckets, both, far)
        scores = normal(*[(2,), (), (1,)][i % 3], heads, sq, sk)
        last = scores.ndim - 1
        add(f"relative_scores_{i}", "RelativePosEmbedding", [Named(table, weight=i % 2 == 0), scores],
            [(scores.astype("f8") + bias).astype("f4")], "exact", {"num_buckets": buckets}, attrs,
            open=[(1, last), (1, last - 1)] if i % 2 else [], by="NumPy")
        q_pos, k_pos = rng.integers(0, 200, sq).astype("f4" if i % 2 else "i4"), rng.integers(0, 200, sk)
        bias = relative_bias(table, q_pos, k_pos, buckets, both, far)
        add(f"relative_positions_{i}", "RelativePosEmbedding", [Named(table, weight=i % 2 == 0), q_pos, k_pos], [bias[None]],
            "exact", {"num_buckets": buckets}, attrs, open=[(1, 0), (2, 0)] if i % 2 else [], by="NumPy")

    def lookup(op, i, dims, table, values, kind, weight, opened):
        ids = rng.integers(0, values.shape[0], dims).astype(kind) if values.shape[0] else np.zeros(dims, kind)
        y = torch.nn.functional.embedding(torch.from_numpy(np.asarray(ids, "i8")), torch.from_numpy(values))
        add(f"{op.lower()}_{i}", op, [np.array(ids), Named(table, weight=weight)], [y.numpy()], "exact", open=opened)

    kinds = ["f4", "i4", "i8", "u1", "i1"]
    places = [(1,), (5,), (2, 3), (), (7, 1), (2, 2, 2), (0,), (3, 0), (33,), (1, 1), (4, 5)]
    for op in ("TokenEmbed", "PosEmbed"):
        for i in range(22):
            dims = places[i % len(places)]
            rows, width = [(9, 4), (1, 1), (100, 33), (5, 64), (17, 3)][i % 5]
            values = normal(rows, width)
            table = values
            if i % 5 == 1:
                table, values = values.astype("f2"), values.astype("f2").astype("f4")
            if i % 5 == 2:
                table = bf16(values)
                values = bf16_values(table)
            if i % 5 == 3:
                table, values = (q8_0 if i % 2 else q4_0)(rng, rows, width)
            weight = i % 2 == 0 or i % 5 == 3
            lookup(op, i, dims, table, np.ascontiguousarray(values), kinds[i % 4 + (1 if i % 7 == 6 else 0)], weight,
                   [(0, 0)] if i % 2 and dims else [])
