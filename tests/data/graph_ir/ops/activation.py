"""LeakyRelu, PRelu and Glu: torch."""

import numpy as np
import torch
import torch.nn.functional as F

SHAPES = [(1,), (7,), (2, 3), (3, 17), (4, 1, 5), (2, 3, 5, 7), (1, 1), (5, 33), (2, 2, 2, 2, 3), (16,), (31,), (2, 64)]
EMPTY = [(0,), (0, 5), (3, 0), (2, 0, 4)]


def build(add):
    rng = np.random.default_rng(300)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    def leaky(name, x, slope, open=()):
        slope = float(np.float32(slope))
        y = F.leaky_relu(torch.from_numpy(x.astype("f8")), slope).numpy().astype("f4")
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

    def wide(x):
        return torch.from_numpy(np.asarray(x, "f8"))

    def p_relu(name, x, slopes, open=()):
        a = normal(slopes).astype(x.dtype)
        y = F.prelu(wide(x), wide(a)) if x.size and x.ndim > 1 else wide(np.where(x > 0, x, a.astype("f8") * x) if x.ndim == 1 else x)
        add("p_relu_" + name, "PRelu", [x, a], [y.numpy().astype("f4")], "elementwise", open=open)

    for i, dims in enumerate(SHAPES + EMPTY):
        channels = dims[0] if len(dims) == 1 else dims[1]
        name = "x".join(map(str, dims))
        p_relu(name, normal(*dims), channels, [(0, 0)] if i % 2 and len(dims) > 1 else [])
        if i % 2:
            p_relu(name + "_one", normal(*dims), 1, [(0, 0)] if len(dims) > 1 else [])
    p_relu("edges", np.array([[0.0, -0.0, inf, -inf, nan]], "f4"), 1)

    p_relu("f16", normal(3, 5).astype("f2"), 5)
    leaky("f16", normal(3, 5).astype("f2"), 0.25)

    def glu(name, dims, dim=None, open=((0, 0),), kind="f4"):
        x = normal(*dims).astype(kind)
        axis = -1 if dim is None else dim
        a, b = np.split(x.astype("f8"), 2, axis)
        y = a / (1 + np.exp(-b))
        if x.size:
            assert np.allclose(F.glu(wide(x), axis).numpy(), y)
        add("glu_" + name, "Glu", [x], [y.astype("f4")], "elementwise", None, {} if dim is None else {"dim": dim}, open)

    def glu_of_two(name, dims, open=((0, 0), (1, 0))):
        a, b = normal(*dims), normal(*dims)
        add("glu_of_two_" + name, "Glu", [a, b], [(a * torch.sigmoid(wide(b)).numpy()).astype("f4")], "elementwise", open=open)

    glu("vector", [8], open=[])
    glu("rows", [3, 6])
    glu("batch", [4, 3, 10])
    glu("odd_half", [5, 14])
    glu("image", [2, 6, 3, 5], 1)
    glu("first_axis", [4, 7], 0, [(0, 1)])
    glu("middle_axis", [2, 8, 5], -2)
    glu("last_axis_by_number", [2, 3, 8], 2)
    glu("first_axis_from_end", [6, 2, 3], -3, [(0, 1)])
    glu("wide", [2, 134])
    glu("one_each", [9, 2])
    glu("many", [3, 2, 2, 2, 4])
    glu("f16", [3, 8], kind="f2")
    glu("no_rows", [0, 6])
    glu("no_columns", [3, 0])
    glu_of_two("vector", [9])
    glu_of_two("rows", [3, 7])
    glu_of_two("batch", [4, 3, 5])
    glu_of_two("image", [2, 3, 3, 5])
    glu_of_two("wide", [2, 67])
    glu_of_two("none", [0, 7])
    glu_of_two("one", [1, 1], [])
