"""Cases of Reduce, ArgMax, ArgMin, Softmax and LogSoftmax."""

import warnings

import numpy as np
import torch
from case_writer import bf16, bf16_values

warnings.filterwarnings("ignore", category=RuntimeWarning)
FUNCTIONS = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}


def build(add):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((4, 3, 5, 2)).astype("f4")
    wide = x.astype("f8")
    for op, function in FUNCTIONS.items():
        rule = {"max": "exact", "min": "exact", "prod": "elementwise"}.get(op, "sum")
        for axes in ([3], [0], [1, 2], [0, -1], [3, 1], [0, 1, 2, 3], []):
            for keep in (False, True):
                axis = tuple(axes)
                y = function(wide, axis, keepdims=keep)
                magnitude = FUNCTIONS["mean" if op == "mean" else "sum"](np.abs(wide), axis, keepdims=keep)
                name = "".join(str(a % 4) for a in axes) or "none"
                add(f"{op}_{name}{'_keep' if keep else ''}", "Reduce", {"op": op, "axes": axes, "keep_dim": keep}, [x],
                    [np.asarray(y, "f4")], rule, [magnitude] if rule == "sum" else None)
        y = function(wide, 2)
        magnitude = np.abs(wide).sum(2)
        add(f"{op}_f64", "Reduce", {"op": op, "axes": [2]}, [wide], [y], rule, [magnitude] if rule == "sum" else None)
        half = x.astype("f2")
        add(f"{op}_f16", "Reduce", {"op": op, "axes": [2]}, [half], [function(half.astype("f8"), 2).astype("f2")], rule,
            [magnitude] if rule == "sum" else None)
        brain = bf16(x)
        add(f"{op}_bf16", "Reduce", {"op": op, "axes": [2]}, [brain],
            [bf16(function(bf16_values(brain).astype("f8"), 2))], rule, [magnitude] if rule == "sum" else None)
        special = np.array([[1, np.nan, 2], [np.inf, 1, -1], [np.inf, -np.inf, 0]], "f4")
        add(f"{op}_special", "Reduce", {"op": op, "axes": [1]}, [special], [function(special, 1)])
        if op != "mean":
            for dtype in ("i1", "i4", "i8", "u1", "u8"):
                info = np.iinfo(dtype)
                i = rng.integers(info.min, info.max, (4, 6), dtype=dtype, endpoint=True)
                add(f"{op}_{i.dtype.name}", "Reduce", {"op": op, "axes": [1]}, [i],
                    [function(i, 1, dtype=i.dtype) if op in ("sum", "prod") else function(i, 1)])
            b = np.array([[True, True], [True, False], [False, False]])
            y = function(b, 1)
            add(f"{op}_bool", "Reduce", {"op": op, "axes": [1]}, [b], [y.astype("i8") if op in ("sum", "prod") else y])
    empty = {"sum": 0, "mean": np.nan, "max": -np.inf, "min": np.inf, "prod": 1}
    for op, value in empty.items():
        add(f"{op}_empty", "Reduce", {"op": op, "axes": [0]}, [np.zeros((0, 2), "f4")], [np.full(2, value, "f4")])
        add(f"{op}_of_no_rows", "Reduce", {"op": op, "axes": [1]}, [np.zeros((0, 2), "f4")], [np.zeros(0, "f4")])
    add("max_empty_i16", "Reduce", {"op": "max", "axes": [0]}, [np.zeros(0, "i2")], [np.array(-32768, "i2")])
    add("min_empty_u8", "Reduce", {"op": "min", "axes": [0]}, [np.zeros(0, "u1")], [np.array(255, "u1")])
    # Naive f32 loses the ones; f64 keeps them.
    large = np.array([2.0**24] + [1.0] * 64 + [-(2.0**24)], "f4")
    add("sum_in_f64", "Reduce", {"op": "sum", "axes": [0]}, [large], [np.array(64, "f4")])

    ties = np.array([[1, 3, 3, 0], [np.nan, 1, 2, np.nan], [5, np.nan, 7, 1], [np.nan] * 4, [-np.inf] * 4], "f4")
    for name, op, sign in (("argmax", "ArgMax", 1), ("argmin", "ArgMin", -1)):
        best = (sign * ties).argmax(1)
        skip = np.where(np.isnan(ties), -np.inf, sign * ties).argmax(1)
        add(f"{name}_nan_wins", op, {}, [ties], [best.astype("i4")])
        add(f"{name}_nan_ignored", op, {"nan": "ignore"}, [ties], [skip.astype("i4")])
        for axis in (0, 1, 2, -2):
            add(f"{name}_{axis}".replace("-", "m"), op, {"axis": axis, "keep_dim": axis > 0, "index_dtype": "i64"}, [x],
                [np.expand_dims((sign * x).argmax(axis), axis) if axis > 0 else (sign * x).argmax(axis)])
        add(f"{name}_f32_index", op, {"index_dtype": "f32"}, [x], [(sign * x).argmax(-1).astype("f4")])
        add(f"{name}_vector", op, {}, [x[0, 0, :, 0]], [np.array((sign * x[0, 0, :, 0]).argmax(), "i4")])
        u = np.array([[0, 2**63, 2**64 - 1], [2**53 + 1, 2**53, 2**53 + 2]], "u8")
        add(f"{name}_uint64", op, {}, [u], [(u.argmax(1) if sign > 0 else u.argmin(1)).astype("i4")])
        add(f"{name}_bool", op, {}, [np.array([[False, True, True]])], [np.array([1 if sign > 0 else 0], "i4")])

    for axis in (0, 1, -1):
        t = torch.from_numpy(wide * 4)
        single = (wide * 4).astype("f4")
        exact = torch.from_numpy(single.astype("f8"))
        name = str(axis).replace("-", "m")
        add(f"softmax_{name}", "Softmax", {"axis": axis}, [single], [exact.softmax(axis).numpy().astype("f4")], "softmax")
        add(f"softmax_f64_{name}", "Softmax", {"axis": axis}, [t.numpy()], [t.softmax(axis).numpy()], "softmax")
        add(f"log_softmax_{name}", "LogSoftmax", {"axis": axis}, [single],
            [exact.log_softmax(axis).numpy().astype("f4")], "transcendental")
    half = (wide * 4).astype("f2")
    add("softmax_f16", "Softmax", {}, [half], [torch.from_numpy(half.astype("f8")).softmax(-1).numpy().astype("f2")],
        "softmax")
    rows = np.array([[-np.inf, -np.inf], [-np.inf, 0], [np.inf, 0], [np.nan, 0], [1000, 1001], [-1000, -1001]], "f4")
    y = torch.from_numpy(rows.astype("f8")).softmax(-1).numpy().astype("f4")
    add("softmax_rows_nan", "Softmax", {"empty_row": "nan"}, [rows], [y], "softmax")
    zeros = y.copy()
    zeros[0] = 0
    add("softmax_rows_zeros", "Softmax", {}, [rows], [zeros], "softmax")
    add("log_softmax_rows", "LogSoftmax", {}, [rows],
        [torch.from_numpy(rows.astype("f8")).log_softmax(-1).numpy().astype("f4")], "transcendental")
    add("softmax_empty", "Softmax", {}, [np.zeros((3, 0), "f4")], [np.zeros((3, 0), "f4")])
    add("softmax_axis_of_none", "Softmax", {"axis": 0}, [np.zeros((3, 0), "f4")], [np.zeros((3, 0), "f4")])
