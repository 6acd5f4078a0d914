"""GeGlu, SwiGlu and FusedSwiGlu: torch in f64."""

from __main__ import Named

import numpy as np
import torch
from torch.nn.functional import gelu, silu


def wide(x):
    return torch.from_numpy(np.asarray(x, "f8"))


def f4(y):
    return y.numpy().astype("f4")


SHAPES = [(1, 2), (2, 6), (4,), (3, 16), (2, 3, 10), (5, 66), (1, 1, 4), (2, 2, 2, 8), (0, 4), (3, 0), (2, 0, 6)]
LAYERS = [((1,), 8, 4), ((3,), 7, 5), ((2, 3), 8, 8), ((), 6, 3), ((5,), 33, 17), ((0,), 8, 3), ((2, 0), 4, 4), ((1,), 1, 1),
          ((9,), 64, 12)]


def build(add):
    rng = np.random.default_rng(350)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    def reduction(k):
        return f"reduction:{max(k, 1)}"

    for op, kinds in (("SwiGlu", ((silu, {}),)), ("GeGlu", ((gelu, {}), (lambda x: gelu(x, approximate="tanh"), {"approximate": True})))):
        for i, dims in enumerate(SHAPES):
            act, attrs = kinds[i % len(kinds)]
            x, y = normal(*dims), normal(*dims)
            first, second = torch.chunk(wide(x), 2, -1) if dims[-1] else (wide(x), wide(x))
            z = act(first) * second if op == "SwiGlu" else first * act(second)
            opened = [(0, 0)] if i % 3 == 1 else [(0, len(dims) - 1)] if i % 3 == 2 else []
            add(f"{op}_halves_{i}".lower(), op, [x], [f4(z)], "elementwise", attrs=attrs, open=opened)
            opened = [(0, 0), (1, 0)] if i % 2 else []
            add(f"{op}_pair_{i}".lower(), op, [x, y], [f4(act(wide(x)) * wide(y))], "elementwise", attrs=attrs, open=opened)
        for i, (lead, k, n) in enumerate(LAYERS):
            act, attrs = kinds[i % len(kinds)]
            x, gate, up, down = normal(*lead, k), normal(n, k), normal(n, k), normal(5, n)
            z = (act(wide(x) @ wide(gate).T) * (wide(x) @ wide(up).T)) @ wide(down).T
            weights = [Named(w, weight=i % 2 == 0) for w in (gate, up, down)]
            add(f"{op}_layer_{i}".lower(), op, [x, *weights], [f4(z)], reduction(k * n), attrs=attrs,
                open=[(0, 0)] if i % 2 and lead else [])
    for i, dims in enumerate(SHAPES):
        x, y = normal(*dims), normal(*dims)
        add(f"fused_pair_{i}", "FusedSwiGlu", [x, y], [f4(silu(wide(x)) * wide(y))], "elementwise",
            open=[(0, 0), (1, 0)] if i % 2 else [])
    for i, (lead, k, n) in enumerate(LAYERS):
        x, gate, up = normal(*lead, k), normal(n, k), normal(n, k).astype("f2")
        z = silu(wide(x) @ wide(gate).T) * (wide(x) @ wide(up).T)
        add(f"fused_layer_{i}", "FusedSwiGlu", [x, Named(gate, weight=i % 2 == 0), Named(up, weight=i % 2 == 0)], [f4(z)],
            reduction(k), open=[(0, 0)] if i % 2 and lead else [])
