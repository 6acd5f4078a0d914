"""Ops that move elements: torch."""

import numpy as np
import torch


def build(add):
    rng = np.random.default_rng(320)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    def t(x):
        return torch.from_numpy(np.array(x))

    perms = [
        ((3,), [0]), ((2, 3), [1, 0]), ((2, 3), [0, 1]), ((2, 3), []), ((2, 3, 4), [2, 0, 1]), ((2, 3, 4), [1, 2, 0]),
        ((2, 3, 4), [0, 2, 1]), ((2, 3, 4), []), ((5, 1, 7), [2, 1, 0]), ((2, 3, 4, 5), [0, 2, 1, 3]),
        ((2, 3, 4, 5), [3, 1, 0, 2]), ((2, 3, 4, 5), [0, 3, 1, 2]), ((1, 1, 1), [1, 2, 0]), ((2, 2, 2, 2, 3), [4, 3, 0, 1, 2]),
        ((33, 17), [1, 0]), ((0, 3), [1, 0]), ((2, 0, 4), [2, 0, 1]), ((3, 0), []), ((2, 1, 3, 1, 2, 1), [5, 4, 3, 2, 1, 0]),
        ((9, 8, 7), [1, 0, 2]),
    ]
    for op, key in (("Transpose", "perm"), ("Permute", "dims")):
        for i, (dims, perm) in enumerate(perms):
            x = normal(*dims)
            y = t(x).permute(perm or list(reversed(range(len(dims))))).numpy()
            add(f"{op.lower()}_{i}", op, [x], [y], "exact", {key: perm}, open=[(0, i % len(dims))] if i % 3 == 0 else [])
        for kind in ("f2", "i4", "u1", "?"):
            x = rng.integers(0, 2, (3, 5)).astype(kind)
            add(f"{op.lower()}_{x.dtype.name}", op, [x], [t(x).permute(1, 0).numpy()], "exact", {key: [1, 0]})

    shapes = [
        ((6,), [2, 3]), ((2, 3), [6]), ((2, 3), [-1]), ((2, 3, 4), [4, -1]), ((2, 3, 4), [-1, 12]), ((24,), [2, 3, 4]),
        ((1,), []), ((), [1, 1]), ((2, 3), [2, 3]), ((4, 5), [2, 2, 5]), ((4, 5), [1, 20]), ((7, 3), [3, 7]),
        ((2, 2, 2, 2), [16, 1]), ((3, 0), [0, 7]), ((0,), [4, 0]), ((2, 0, 3), [-1, 5]), ((8, 9), [2, -1, 9]),
        ((5, 33), [165]), ((1, 1, 1, 6), [6]), ((3, 4), [2, 1, 3, 1, 2]),
    ]
    for i, (dims, shape) in enumerate(shapes):
        x = normal(*dims)
        opened = [(0, 0)] if -1 in shape and dims[0] else []
        add(f"reshape_{i}", "Reshape", [x], [x.reshape(shape)], "exact", {"shape": shape}, open=opened)
    for kind in ("f2", "i4", "u1", "?"):
        x = rng.integers(0, 2, (3, 4)).astype(kind)
        add("reshape_" + x.dtype.name, "Reshape", [x], [t(x).reshape(2, 6).numpy()], "exact", {"shape": [2, -1]})

    concats = [
        (0, [(2, 3), (4, 3)]), (1, [(2, 3), (2, 1)]), (1, [(2, 3), (2, 1), (2, 5)]), (0, [(5,)]), (0, [(5,), (1,)]),
        (2, [(2, 3, 4), (2, 3, 1)]), (1, [(2, 3, 4), (2, 1, 4)]), (0, [(2, 3, 4), (1, 3, 4)]), (3, [(1, 2, 3, 4)] * 2),
        (1, [(2, 0), (2, 3)]), (0, [(0, 3), (0, 3)]), (1, [(0, 3), (0, 2)]), (1, [(3, 7)] * 5), (0, [(1, 1)] * 7),
        (2, [(2, 2, 2, 2), (2, 2, 9, 2)]), (1, [(1, 1, 5), (1, 3, 5)]), (0, [(17,), (16,), (15,)]), (0, [(0,), (3,)]),
        (1, [(33, 2), (33, 1)]), (4, [(1, 2, 1, 2, 3), (1, 2, 1, 2, 1)]),
    ]
    for i, (axis, dims) in enumerate(concats):
        parts = [normal(*d) for d in dims]
        add(f"concat_{i}", "Concat", parts, [torch.cat([t(p) for p in parts], axis).numpy()], "exact", {"axis": axis},
            open=[(k, 0) for k in range(len(parts))] if i % 4 == 1 else [(0, axis)] if i % 4 == 2 else [])

    splits = [
        (0, (5, 3), [2, 3]), (1, (2, 6), [1, 2, 3]), (1, (2, 6), [6]), (0, (4,), [1, 1, 1, 1]), (2, (2, 3, 7), [3, 4]),
        (1, (2, 3, 7), [1, 2]), (0, (2, 3, 7), [1, 1]), (1, (3, 5), [0, 5]), (1, (3, 5), [2, 0, 3]), (0, (0, 3), [0]),
        (1, (0, 3), [1, 2]), (3, (1, 2, 3, 8), [4, 4]), (2, (1, 2, 3, 8), [2, 1]), (0, (17,), [16, 1]), (1, (1, 33), [32, 1]),
        (1, (5, 2), [1, 1]), (0, (7, 2), [3, 3, 1]), (1, (2, 2, 2, 2, 3), [1, 1]), (4, (2, 2, 2, 2, 3), [2, 1]),
        (0, (9, 9), [4, 5]), (1, (2, 0, 4), [0, 0]),
    ]
    for i, (axis, dims, sizes) in enumerate(splits):
        x = normal(*dims)
        add(f"split_{i}", "Split", [x], [p.numpy() for p in torch.split(t(x), sizes, axis)], "exact",
            {"axis": axis, "sizes": sizes}, open=[(0, (axis + 1) % len(dims))] if i % 3 == 1 else [(0, axis)] if i % 3 == 2 else [])

    chunks = [
        (0, (4, 3), 2), (1, (2, 6), 3), (1, (2, 6), 1), (0, (4,), 4), (2, (2, 3, 8), 2), (1, (2, 3, 7), 3), (0, (2, 3, 7), 2),
        (1, (3, 5), 5), (0, (0, 3), 3), (1, (0, 4), 2), (3, (1, 2, 3, 8), 4), (2, (1, 2, 3, 8), 3), (0, (16,), 2),
        (1, (1, 32), 8), (1, (5, 2), 2), (0, (9, 2), 3), (1, (2, 2, 2, 2, 3), 2), (4, (2, 2, 2, 2, 3), 3), (0, (9, 9), 9),
        (1, (3, 12), 6), (1, (2, 0), 2),
    ]
    for i, (axis, dims, count) in enumerate(chunks):
        x = normal(*dims)
        add(f"chunk_{i}", "Chunk", [x], np.split(x, count, axis), "exact", {"axis": axis, "chunks": count},
            open=[(0, axis)] if i % 3 == 1 else [(0, (axis + 1) % len(dims))] if i % 3 == 2 and len(dims) > 1 else [],
            by="NumPy")
