"""LeakyRelu, PRelu and Glu: torch."""

import numpy as np
import torch
from torch.nn.functional import leaky_relu

SHAPES = [(1,), (7,), (2, 3), (3, 17), (4, 1, 5), (2, 3, 5, 7), (1, 1), (5, 33), (2, 2, 2, 2, 3), (16,), (31,), (2, 64)]
EMPTY = [(0,), (0, 5), (3, 0), (2, 0, 4)]


def build(add):
    rng = np.random.default_rng(300)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    def leaky(name, x, slope, open=()):
        slope = float(np.float32(slope))
        y = leaky_relu(torch.from_numpy(x.astype("f8")), slope).numpy().astype("f4")
        add("leaky_relu_" + name, "LeakyRelu", [x], [y], "elementwise", {"slope": slope}, open=open)

    slopes = [0.01, 0.2, 0.0, 1.0, -0.5, 3.0]
    for i, dims in enumerate(SHAPES + EMPTY):
        name = "x".join(map(str, dims))
        leaky(name, normal(*dims), slopes[i % len(slopes)], [(0, 0)] if i % 2 else [])
    inf, nan = np.inf, np.nan
    leaky("edges", np.array([0.0, -0.0, inf, -inf, nan, 1e-40, -1e-40], "f4"), 0.1)
    leaky("large", normal(9) * np.float32(1e30), 0.25)
    leaky("tiny_slope", normal(3, 9), 1e-8)
    leaky("scalar", normal(), 0.3)
