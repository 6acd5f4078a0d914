"""Cases of SinusoidalEmbed, RelativePositionBias and InterpolateTable: numpy in f64; T5's buckets in torch."""

import math

import numpy as np
import torch


def sinusoid(t, dim, layout="interleaved"):
    t = np.atleast_1d(t).astype("f8")
    half = dim // 2
    angles = t[..., None] * np.exp(-np.arange(half) * math.log(10000.0) / max(half, 1))
    y = np.zeros((*t.shape, dim))
    sin, cos = np.sin(angles), np.cos(angles)
    if layout == "interleaved":
        y[..., 0 : 2 * half : 2], y[..., 1 : 2 * half : 2] = sin, cos
    else:
        first, second = (sin, cos) if layout == "sin_cos" else (cos, sin)
        y[..., :half], y[..., half : 2 * half] = first, second
    return y


def t5_bucket(offset, num_buckets, bidirectional, max_distance):
    """As T5 computes it, in f32."""
    offset = torch.as_tensor(offset)
    start = torch.zeros_like(offset)
    if bidirectional:
        num_buckets //= 2
        start += (offset > 0).long() * num_buckets
        distance = offset.abs()
    else:
        distance = (-offset).clamp(min=0)
    exact = num_buckets // 2
    far = exact + (
        torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact) * (num_buckets - exact)
    ).long()
    far = far.clamp(max=num_buckets - 1)
    return (start + torch.where(distance < exact, distance, far)).numpy()


def relative_bias(table, q_pos, k_pos, num_buckets, bidirectional=True, max_distance=128):
    offset = np.asarray(k_pos, "i8")[None, :] - np.asarray(q_pos, "i8")[:, None]
    return table[t5_bucket(offset, num_buckets, bidirectional, max_distance)].transpose(2, 0, 1)


def build(add):
    rng = np.random.default_rng(122)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    for name, t, dim in (
        ("scalar", np.float32(3), 6),
        ("one", np.array([0], "f4"), 8),
        ("odd", normal(3), 5),
        ("single", normal(3), 1),
        ("batch", np.abs(normal(2, 3)) * 40, 16),
        ("late", np.array([999, 123456, -7.25], "f4"), 32),
        ("none", np.zeros((0,), "f4"), 4),
    ):
        for layout in ("interleaved", "sin_cos", "cos_sin"):
            add(f"sinusoid_{name}_{layout}", "SinusoidalEmbed", {"dim": dim, "layout": layout}, [np.array(t)],
                [sinusoid(t, dim, layout).astype("f4")], "transcendental")

    for name, buckets, both, far, sq, sk in (
        ("square", 32, True, 128, 9, 9),
        ("causal", 32, False, 128, 5, 300),
        ("few", 8, True, 20, 30, 30),
        ("odd_causal", 7, False, 64, 3, 40),
        ("two", 2, False, 3, 4, 6),
        ("wide", 64, True, 300, 1, 500),
        ("no_keys", 32, True, 128, 2, 0),
    ):
        table = normal(buckets, 3)
        bias = relative_bias(table, np.arange(sq) + sk - sq, np.arange(sk), buckets, both, far)
        attributes = {"num_buckets": buckets, "bidirectional": both, "max_distance": far}
        scores = normal(*((2,) if name == "square" else ()), 3, sq, sk)
        add("relative_scores_" + name, "RelativePositionBias", attributes, [table, scores],
            [(scores.astype("f8") + bias).astype("f4")], "exact")
        q_pos, k_pos = rng.integers(0, 200, sq).astype("i4"), rng.integers(0, 200, sk)
        bias = relative_bias(table, q_pos, k_pos, buckets, both, far)
        add("relative_positions_" + name, "RelativePositionBias", attributes, [table, None, q_pos, k_pos], [bias[None]],
            "exact")
    table = normal(32, 2)
    offsets = np.array([-128, -64, -16, -8, -1, 0, 1, 8, 12, 16, 32, 64, 127], "i4")
    buckets = [15, 14, 10, 8, 1, 0, 17, 24, 25, 26, 28, 30, 31]
    add("relative_known_buckets", "RelativePositionBias", {"num_buckets": 32}, [table, None, np.zeros(1, "i4"), offsets],
        [table[buckets].T[None, :, None, :]], "exact")

    table = normal(11)
    for name, t in (
        ("inside", rng.random((2, 3)).astype("f4") * 10),
        ("entries", np.arange(11, dtype="f4")),
        ("outside", np.array([-3, 10, 10.5, 1e30, -np.inf, np.inf, np.nan], "f4")),
        ("scalar", np.float32(4.25)),
        ("none", np.zeros((0, 2), "f4")),
    ):
        y = np.interp(np.asarray(t, "f8"), np.arange(11), table.astype("f8"))
        add("interpolate_table_" + name, "InterpolateTable", {}, [np.array(t), table], [np.array(y).astype("f4")],
            "elementwise")
    add("interpolate_table_of_one", "InterpolateTable", {}, [normal(4), table[:1]], [np.full(4, table[0])])
