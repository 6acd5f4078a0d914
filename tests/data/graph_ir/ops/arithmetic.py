"""Elementwise ops: torch in f64."""

import numpy as np
import torch
from case_writer import bf16, bf16_values

SHAPES = [(1,), (7,), (2, 3), (3, 17), (4, 1, 5), (2, 3, 5, 7), (1, 1), (5, 33), (2, 2, 2, 2, 3), (16,), (31,), (2, 64)]
EMPTY = [(0,), (0, 5), (3, 0), (2, 0, 4)]
PAIRS = [
    ((1,), (1,)), ((7,), (7,)), ((2, 3), (2, 3)), ((3, 17), (17,)), ((17,), (3, 17)), ((4, 1, 5), (1, 6, 5)), ((), (2, 3)),
    ((2, 3), ()), ((2, 1, 4), (3, 1)), ((5, 33), (5, 1)), ((2, 2, 2, 2, 3), (2, 1, 3)), ((1, 1), (4, 4)), ((31,), (1,)),
    ((2, 64), (2, 64)), ((3, 1), (1, 3)), ((0,), (1,)), ((0, 5), (1, 5)), ((3, 0), (3, 0)), ((2, 0, 4), (4,)),
]


def build(add):
    rng = np.random.default_rng(310)

    def normal(*dims):
        return np.array(rng.standard_normal(dims)).astype("f4")

    def wide(x):
        return torch.from_numpy(np.asarray(x, "f8"))

    def text(dims):
        return "x".join(map(str, dims)) or "scalar"

    def binary(op, function):
        for i, (a, b) in enumerate(PAIRS):
            x, y = normal(*a), normal(*b)
            add(f"{op}_{text(a)}_{text(b)}".lower(), op, [x, y], [function(wide(x), wide(y)).numpy().astype("f4")], "exact",
                open=[(0, 0)] if i % 3 == 1 and a else [])
        x, y = normal(3, 5).astype("f2"), bf16(normal(5))
        z = function(wide(x), wide(bf16_values(y))).numpy().astype("f4")
        add(f"{op}_halves".lower(), op, [x, y], [z], "exact")
        edges = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 3e38], "f4")
        with np.errstate(over="ignore"):
            z = function(wide(edges)[:, None], wide(edges)).numpy().astype("f4")
        add(f"{op}_edges".lower(), op, [edges[:, None].copy(), edges], [z], "exact")

    binary("Add", torch.add)
    binary("Sub", torch.sub)
    binary("Mul", torch.mul)
    binary("Div", torch.div)

    def unary(op, function, params=None, label="", tolerance="elementwise", scale=3.0):
        for i, dims in enumerate(SHAPES + EMPTY):
            x = normal(*dims) * np.float32(scale)
            add(f"{op}_{label}{text(dims)}".lower(), op, [x], [function(wide(x)).numpy().astype("f4")], tolerance, params,
                open=[(0, 0)] if i % 2 else [])
        for name, x in (
            ("edges", np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40], "f4")),
            ("large", normal(9) * np.float32(1e30)),
            ("small", normal(9) * np.float32(1e-20)),
            ("scalar", normal()),
        ):
            y = function(wide(x)).numpy().astype("f4")
            add(f"{op}_{label}{name}".lower(), op, [x], [y], tolerance, params)

    silu, gelu = torch.nn.functional.silu, torch.nn.functional.gelu
    for op, function in (("Silu", silu), ("Relu", torch.relu), ("Sigmoid", torch.sigmoid), ("Tanh", torch.tanh)):
        unary(op, function, tolerance="exact" if op == "Relu" else "elementwise")
    unary("Gelu", lambda x: gelu(x), {"approximate": False}, "erf_")
    unary("Gelu", lambda x: gelu(x, approximate="tanh"), {"approximate": True}, "tanh_")

    bounds = [(-1.0, 0.5), (None, 0.25), (0.0, None), (None, None), (2.0, -2.0), (-np.inf, 1.0)]
    for i, dims in enumerate(SHAPES + EMPTY + [()]):
        low, high = bounds[i % len(bounds)]
        x = normal(*dims)
        y = wide(x)
        y = y if low is None and high is None else torch.clamp(y, low, high)
        params = {} if low is None else {"min": float(low)}
        params.update({} if high is None else {"max": float(high)})
        add("clamp_" + text(dims), "Clamp", [x], [y.numpy().astype("f4")], "exact", params, open=[(0, 0)] if i % 2 and dims else [])
    edges = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 2], "f4")
    for name, low, high in (("both", -1.0, 1.5), ("low", -1.0, None), ("high", None, 1.5), ("crossed", 1.0, -1.0)):
        params = {} if low is None else {"min": low}
        params.update({} if high is None else {"max": high})
        y = torch.clamp(wide(edges), low, high).numpy().astype("f4")
        add("clamp_edges_" + name, "Clamp", [edges], [y], "exact", params)

    fills = [(0.0, 3.4028235e38, -3.4028235e38), (1.5, 2.0, -2.0), (-1.0, np.inf, -np.inf), (np.nan, 0.0, 0.0)]
    for i, dims in enumerate(SHAPES + EMPTY + [(), (9,), (40,), (3, 3)]):
        x = normal(*dims)
        x = np.where(rng.random(dims) < 0.5, rng.choice([np.nan, np.inf, -np.inf], dims), x).astype("f4")
        nan, high, low = fills[i % len(fills)]
        y = torch.nan_to_num(torch.from_numpy(np.array(x)), nan, high, low).numpy().astype("f4")
        add(f"nan_to_num_{i}_{text(dims)}", "NanToNum", [x], [y], "exact", {"nan": nan, "posinf": high, "neginf": low},
            open=[(0, 0)] if i % 2 and dims else [])
