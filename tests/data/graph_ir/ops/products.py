"""Products of matrices and what is made of them: torch and numpy in f64."""

from __main__ import Named

import numpy as np
import torch
from case_writer import bf16, bf16_values
from linalg import fixed_point, q4_0, q8_0


def wide(x):
    return torch.from_numpy(np.asarray(x, "f8"))


def f4(y):
    return np.asarray(y).astype("f4")


def build(add):
    rng = np.random.default_rng(340)

    def normal(*dims):
        return np.array(rng.standard_normal(dims)).astype("f4")

    def reduction(k):
        return f"reduction:{max(k, 1)}"

    # --- Matmul: W is [N, K], or has leading axes that broadcast with x's.
    for i, (a, b) in enumerate((
        ((1, 8), (4, 8)), ((3, 8), (5, 8)), ((8,), (5, 8)), ((2, 3, 8), (4, 8)), ((2, 3, 4, 7), (9, 7)), ((1, 1), (1, 1)),
        ((5, 33), (17, 33)), ((2, 64), (64, 64)), ((1, 300), (3, 300)), ((70, 16), (2, 16)), ((2, 3, 5), (2, 4, 5)),
        ((3, 5), (2, 4, 5)), ((2, 1, 3, 5), (3, 4, 5)), ((5, 1, 2, 8), (3, 4, 8)), ((1, 4, 6), (3, 2, 6)),
        ((0, 8), (4, 8)), ((3, 8), (0, 8)), ((3, 0), (4, 0)), ((2, 0, 8), (4, 8)), ((129, 31), (33, 31)),
    )):
        x, w = normal(*a), normal(*b)
        y = torch.matmul(wide(x), wide(w).transpose(-1, -2))
        open_rows = [(0, 0)] if i % 2 and len(a) > 1 else []
        add(f"matmul_{i}", "Matmul", [x, Named(w, weight=i % 3 == 0)], [f4(y)], reduction(a[-1]), open=open_rows)
    x, w = normal(3, 9).astype("f2"), bf16(normal(5, 9))
    add("matmul_halves", "Matmul", [x, w], [f4(wide(x) @ wide(bf16_values(w)).T)], reduction(9))
    # Rows that the 8-bit products of packed weights take as they are: whole numbers up to 127 in every 32.
    for name, (w, values) in (
        ("q8_0", q8_0(rng, 7, 64)),
        ("q4_0", q4_0(rng, 18, 96)),
        ("u32", fixed_point(rng, 5, 32, "fx16_16", "<i4", 16)),
        ("u16", fixed_point(rng, 5, 32, "fx8_8", "<i2", 8)),
    ):
        for rows in (1, 5):
            x = rng.integers(-126, 127, (rows, values.shape[1])).astype("f4")
            x[:, ::32] = 127
            add(f"matmul_{name}_{rows}", "Matmul", [x, Named(w, weight=True)], [f4(wide(x) @ wide(values).T)],
                reduction(values.shape[1]))

    # --- LoraApply
    for i, (lead, k, n, rank, alpha) in enumerate((
        ((1,), 8, 8, 2, 4.0), ((3,), 8, 5, 2, 4.0), ((2, 3), 8, 8, 1, 1.0), ((2, 3), 7, 5, 3, 16.0), ((5,), 33, 17, 4, 8.0),
        ((1,), 1, 1, 1, 0.5), ((2,), 64, 64, 16, 32.0), ((4, 1), 6, 6, 6, -2.0), ((9,), 16, 3, 8, 0.1), ((2, 2, 2), 5, 5, 2, 3.7),
        ((0,), 8, 8, 2, 4.0), ((2, 0), 8, 3, 2, 4.0), ((31,), 12, 12, 5, 10.0),
    )):
        down, up = normal(rank, k), normal(n, rank)
        x, y = normal(*lead, k), normal(*lead, n)
        scale = float(np.float32(np.float32(alpha) / np.float32(rank)))
        product = scale * ((wide(x) @ wide(down).T) @ wide(up).T)
        params = {"rank": rank, "alpha": alpha}
        size = reduction(k * rank)
        opened = [(0, 0), (1, 0)] if i % 2 else []
        weights = [Named(down, weight=i % 3 == 0), Named(up, weight=i % 3 == 0)]
        add(f"lora_{i}", "LoraApply", [y, x, *weights], [f4(wide(y) + product)], size, params, open=opened)
        if k == n:
            add(f"lora_to_x_{i}", "LoraApply", [x, *weights], [f4(wide(x) + product)], size, params, open=opened[:1])

    # --- FusedNormMatmul
    for i, (lead, k, n) in enumerate((
        ((1,), 8, 4), ((3,), 8, 5), ((2, 3), 8, 8), ((2, 3), 7, 5), ((5,), 33, 17), ((1,), 1, 1), ((2,), 64, 64), ((4, 1), 6, 6),
        ((9,), 16, 3), ((2, 2, 2), 5, 5), ((0,), 8, 8), ((2, 0), 8, 3), ((31,), 12, 12), ((), 8, 4), ((3,), 300, 2), ((70,), 16, 2),
        ((2, 5), 9, 1), ((1, 1, 1), 10, 11), ((6,), 17, 31),
    )):
        eps = float(np.float32([1e-6, 1e-5, 0.25][i % 3]))
        x, g, w = normal(*lead, k), normal(k), normal(n, k)
        h = wide(x) / torch.sqrt((wide(x) ** 2).mean(-1, keepdim=True) + eps) * wide(g)
        add(f"norm_matmul_{i}", "FusedNormMatmul", [x, g, Named(w, weight=i % 2 == 0)], [f4(h @ wide(w).T)],
            reduction(k), {"eps": eps}, open=[(0, 0)] if i % 2 and lead else [])
    x, g, w = normal(2, 24), bf16(normal(24)), normal(6, 24).astype("f2")
    h = wide(x) / torch.sqrt((wide(x) ** 2).mean(-1, keepdim=True) + float(np.float32(1e-6))) * wide(bf16_values(g))
    add("norm_matmul_halves", "FusedNormMatmul", [x, g, Named(w, weight=True)], [f4(h @ wide(w).T)], reduction(24),
        {"eps": 1e-6})

    # --- Kron
    for i, (a, b) in enumerate((
        ((2, 3), (4, 5)), ((3,), (4,)), ((), ()), ((), (2, 3)), ((2, 3), ()), ((5, 2, 3), (1, 4)), ((3,), (2, 2, 5)),
        ((2, 1, 3, 2), (1, 2, 2, 3)), ((1, 1), (3, 2)), ((2, 0), (3, 2)), ((0, 2), (3, 2)), ((0,), (0,)), ((7, 1), (1, 7)),
        ((1,), (31,)), ((5, 5), (5, 5)), ((2, 2, 2), (2, 2, 2)), ((33,), (2,)), ((4, 3), (2,)), ((2,), (4, 3)), ((6, 1, 2), (3, 2, 1)),
    )):
        x, y = normal(*a), normal(*b)
        z = np.kron(x.astype("f8"), y.astype("f8"))
        opened = [(0, 0)] if i % 3 == 1 and a else [(1, 0), (0, 0)] if i % 3 == 2 and a and b else []
        add(f"kron_{i}", "Kron", [x, y], [f4(z)], "exact", open=opened, by="NumPy")
    x, y = normal(3, 2).astype("f2"), normal(2, 2)
    add("kron_halves", "Kron", [x, y], [f4(np.kron(x.astype("f8"), y))], "exact", by="NumPy")

    # --- MatrixInverse
    for i, dims in enumerate((
        (1, 1), (2, 2), (3, 3), (5, 5), (4, 3, 3), (2, 3, 6, 6), (40, 40), (0, 3, 3), (2, 0, 0), (0, 0), (7, 2, 2), (1, 9, 9),
        (17, 17), (2, 2, 2, 2), (3, 1, 1), (10, 10), (5, 4, 4), (1, 1, 5, 5), (33, 33), (6, 6), (2, 8, 8),
    )):
        a = normal(*dims) + np.float32(3) * np.eye(dims[-1], dtype="f4")
        y = torch.linalg.inv(wide(a)) if a.size else wide(a)
        opened = [(0, 0)] if i % 2 and len(dims) > 2 else [(0, 0), (0, 1)] if i % 4 == 1 and len(dims) == 2 else []
        add(f"inverse_{i}", "MatrixInverse", [a], [f4(y)], "norm", open=opened)
