"""Cases of Rope: a loop over head vectors in f64, with cosine and sine rounded to f32 first."""

import numpy as np
from case_writer import bf16, bf16_values


def turn(vector, cos, sin, pairs):
    """One head vector; pairs lists the (first, second) element of each turned pair."""
    y = vector.astype("f8").copy()
    for j, (a, b) in enumerate(pairs):
        y[a] = vector[a] * cos[j] - vector[b] * sin[j]
        y[b] = vector[b] * cos[j] + vector[a] * sin[j]
    return y


def pairs_of(head_dim, rotary, style, layout):
    half = rotary // 2 if layout == "prefix" else head_dim // 2
    return [(2 * j, 2 * j + 1) if style == "interleaved" else (j, j + half) for j in range(rotary // 2)]


def build(add):
    rng = np.random.default_rng(120)

    def rope(name, x, row_of, attributes, positions=None, factors=None, tables=None, values=None, rounded=None):
        """row_of(index of the head vector) -> row of the angles."""
        values = x if values is None else values
        d = attributes["head_dim"]
        r = attributes.get("rotary_dim", d)
        style, layout = attributes.get("style", "neox"), attributes.get("layout", "prefix")
        span = r if layout == "prefix" else d
        if tables is None:
            frequency = np.float64(attributes.get("theta", 10000.0)) ** (-2.0 * np.arange(r // 2) / span)
            if factors is not None:
                frequency = frequency / factors.astype("f8")
            scale = attributes.get("position_scale", 1.0)
            angle = np.asarray(positions, "f8").reshape(-1, 1) * scale * frequency
            cos, sin = np.cos(angle).astype("f4").astype("f8"), np.sin(angle).astype("f4").astype("f8")
            inputs = [x, positions] if factors is None else [x, positions, factors]
        else:
            cos, sin = (t.reshape(t.shape[-2:]).astype("f8") for t in tables)
            attributes = {**attributes, "tables": True}
            inputs = [x, *tables]
        flat = values.reshape(-1, d)
        y = np.empty(flat.shape, "f8")
        for i, vector in enumerate(flat):
            row = row_of(i)
            y[i] = turn(vector, cos[row], sin[row], pairs_of(d, r, style, layout))
        y = y.reshape(values.shape)
        # Products of two elements with factors of at most one.
        size = np.abs(flat).max(-1, keepdims=True, initial=0) * np.ones(flat.shape)
        out = rounded(y) if rounded else y.astype(values.dtype)
        add("rope_" + name, "Rope", attributes, inputs, [out], "sum", [(2 * size).reshape(values.shape).astype("f4")])

    def normal(*dims, kind="f4"):
        return rng.standard_normal(dims).astype(kind)

    # The vectors of the Graph IR's page.
    one = np.array([1], "f4")
    rope("vector_4", np.array([1, 2, 3, 4], "f4"), lambda i: 0, {"head_dim": 4}, one)
    eight = np.arange(1, 9, dtype="f4")
    rope("vector_8_prefix", eight, lambda i: 0, {"head_dim": 8, "rotary_dim": 4}, one)
    rope("vector_8_proportional", eight, lambda i: 0,
         {"head_dim": 8, "rotary_dim": 4, "layout": "proportional"}, one)

    five = np.arange(5, dtype="f4") + 2
    x = normal(5, 3, 8)
    per_head = lambda i: i // 3  # noqa: E731
    rope("heads", x, per_head, {"head_dim": 8}, five)
    rope("heads_interleaved", x, per_head, {"head_dim": 8, "style": "interleaved"}, five)
    rope("heads_partial", x, per_head, {"head_dim": 8, "rotary_dim": 6}, five)
    rope("heads_partial_interleaved", x, per_head, {"head_dim": 8, "rotary_dim": 2, "style": "interleaved"}, five)
    rope("heads_proportional_interleaved", x, per_head,
         {"head_dim": 8, "rotary_dim": 4, "style": "interleaved", "layout": "proportional"}, five)
    rope("heads_theta", x, per_head, {"head_dim": 8, "theta": 500000.0}, five)
    rope("heads_scaled", x, per_head, {"head_dim": 8, "position_scale": 0.25}, five)
    rope("heads_factors", x, per_head, {"head_dim": 8}, five, factors=np.array([1, 2, 4.5, 8], "f4"))
    rope("heads_integers", x, per_head, {"head_dim": 8}, five.astype("i4"))
    rope("heads_longs", x, per_head, {"head_dim": 8}, five.astype("i8"))
    rope("heads_far", x, per_head, {"head_dim": 8}, five + np.float32(131000))
    rope("one_position", x, lambda i: 0, {"head_dim": 8}, np.array([7], "f4"))
    rope("scalar_position", x, lambda i: 0, {"head_dim": 8}, np.array(7, "f4"))
    rope("head_major", normal(3, 5, 8), lambda i: i % 5, {"head_dim": 8, "heads": "head_major"}, five)
    rope("batch_token_major", normal(2, 5, 3, 8), lambda i: i // 3 % 5, {"head_dim": 8}, five)
    rope("batch_head_major", normal(2, 3, 5, 8), lambda i: i % 5, {"head_dim": 8, "heads": "head_major"}, five)
    ten = np.arange(10, dtype="f4").reshape(2, 5) * 3
    rope("batch_per_token", normal(2, 5, 3, 8), lambda i: i // 3, {"head_dim": 8}, ten)
    rope("batch_head_major_per_token", normal(2, 3, 5, 8), lambda i: i // 15 * 5 + i % 5,
         {"head_dim": 8, "heads": "head_major"}, ten)
    rope("packed", normal(5, 24), per_head, {"head_dim": 8}, five)
    rope("packed_batch", normal(2, 5, 24), lambda i: i // 3 % 5, {"head_dim": 8}, five)
    rope("packed_vector", normal(24), lambda i: 0, {"head_dim": 8}, one)
    rope("packed_one_head", normal(2, 5, 8), lambda i: i % 5, {"head_dim": 8}, five)
    rope("rows_of_heads", normal(15, 8), per_head, {"head_dim": 8}, five)
    rope("rows_head_major", normal(15, 8), lambda i: i % 5, {"head_dim": 8, "heads": "head_major"}, five)
    rope("no_tokens", normal(0, 3, 8), per_head, {"head_dim": 8}, np.zeros(0, "f4"))
    rope("many", normal(90, 12, 16), lambda i: i // 12, {"head_dim": 16}, np.arange(90, dtype="i4"))
    rope("f64", normal(5, 3, 8, kind="f8"), per_head, {"head_dim": 8}, five)
    rope("f16", normal(5, 3, 8, kind="f2"), per_head, {"head_dim": 8}, five)
    brain = bf16(normal(5, 3, 8))
    rope("bf16", brain, per_head, {"head_dim": 8}, five, values=bf16_values(brain), rounded=bf16)

    def tables(rows, width):
        angle = rng.random((rows, width)) * 6
        return np.cos(angle).astype("f4"), np.sin(angle).astype("f4")

    rope("tables", normal(2, 5, 3, 8), lambda i: i // 3 % 5, {"head_dim": 8}, tables=tables(5, 4))
    rope("tables_wide", normal(5, 24), per_head, {"head_dim": 8, "rotary_dim": 6}, tables=tables(5, 4))
    rope("tables_packed", normal(2, 5, 24), lambda i: i // 3 % 5, {"head_dim": 8}, tables=tables(5, 4))
    rope("tables_longer", normal(2, 5, 24), lambda i: i // 3 % 5, {"head_dim": 8}, tables=tables(9, 4))
    rope("tables_per_token", normal(2, 5, 24), per_head, {"head_dim": 8}, tables=tables(10, 4))
    rope("tables_named_position", normal(2, 5, 24), lambda i: i // 3 % 5, {"head_dim": 8, "rows": "position"},
         tables=tables(10, 4))
    rope("tables_leading_ones", normal(5, 3, 8), per_head, {"head_dim": 8},
         tables=tuple(t[None, None] for t in tables(5, 4)))
    rope("tables_head_major", normal(2, 3, 5, 8), lambda i: i % 5,
         {"head_dim": 8, "heads": "head_major", "style": "interleaved"}, tables=tables(5, 4))
