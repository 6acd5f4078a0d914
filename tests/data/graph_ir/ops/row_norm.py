"""Norms over the last axis, and Softmax: torch in f64."""

import numpy as np
import torch
from case_writer import bf16, bf16_values
from torch.nn.functional import layer_norm

SHAPES = [(1, 8), (3, 8), (2, 3, 7), (5,), (4, 1), (2, 2, 2, 9), (70, 16), (1, 300), (2, 3, 4, 5), (6, 33), (7, 2), (1, 1),
          (2, 17), (3, 64), (2, 1, 31), (9, 10), (4, 5, 6)]
EMPTY = [(0, 5), (2, 0, 3), (3, 0)]


def wide(x):
    return None if x is None else torch.from_numpy(np.asarray(x, "f8"))


def rms(x, gain, eps):
    y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps)
    return y if gain is None else y * gain


def build(add):
    rng = np.random.default_rng(330)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    def f4(y):
        return y.numpy().astype("f4")

    epsilons = [1e-6, 1e-5, 0.25, 1e-12, 0.0]
    for i, dims in enumerate(SHAPES + EMPTY):
        eps = float(np.float32(epsilons[i % len(epsilons)]))
        x, gain, bias = normal(*dims), normal(dims[-1]), normal(dims[-1])
        opened = [(0, 0)] if i % 3 == 1 else [(0, len(dims) - 2)] if i % 3 == 2 and len(dims) > 1 else []
        name = "x".join(map(str, dims))
        gain_1 = gain if i % 3 else None
        add("rms_norm_" + name, "RmsNorm", [x] if gain_1 is None else [x, gain], [f4(rms(wide(x), wide(gain_1), eps))],
            "norm", {"eps": eps}, open=opened)
        operands = [x, gain, bias][: 1 + i % 3]
        if eps > 0 or dims[-1] > 1:
            y = layer_norm(wide(x), dims[-1:], *[wide(o) for o in operands[1:]], eps=eps)
            add("layer_norm_" + name, "LayerNorm", operands, [f4(y)], "norm", {"eps": eps}, open=opened)
        skip = normal(*dims)
        total = x + skip
        y = f4(rms(wide(x) + wide(skip), wide(gain), eps))
        add("skip_norm_" + name, "FusedSkipNorm", [x, skip, gain], [y, total], "norm", {"eps": eps}, open=opened)

        for dim in {0: [-1], 1: [0], 2: [-2 if len(dims) > 1 else 0]}[i % 3]:
            x = normal(*dims) * np.float32(4)
            add(f"softmax_{name}_{dim}", "Softmax", [x], [f4(torch.softmax(wide(x), dim))], "norm", {"dim": dim},
                open=opened)
    x = normal(2, 24).astype("f2")
    gain = bf16(normal(24))
    y = f4(rms(wide(x), wide(bf16_values(gain)), float(np.float32(1e-6))))
    add("rms_norm_halves", "RmsNorm", [x, gain], [y], "norm", {"eps": 1e-6})
    y = layer_norm(wide(x), (24,), wide(bf16_values(gain)), eps=float(np.float32(1e-5)))
    add("layer_norm_halves", "LayerNorm", [x, gain], [f4(y)], "norm", {"eps": 1e-5})
    x = normal(3, 40) + np.float32(100)
    add("layer_norm_offset", "LayerNorm", [x], [f4(layer_norm(wide(x), (40,), eps=float(np.float32(1e-5))))], "norm",
        {"eps": 1e-5})
    x = normal(3, 5)
    x[1] = -np.inf
    x[2, :2] = -np.inf
    add("softmax_hidden", "Softmax", [x], [f4(torch.softmax(wide(x), -1))], "norm", {"dim": -1})
    x = normal(3, 5)
    x[0, 1], x[1, 2] = np.inf, np.nan
    add("softmax_infinite", "Softmax", [x], [f4(torch.softmax(wide(x), -1))], "norm", {"dim": -1})
