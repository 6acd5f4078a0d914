"""Cases of Pool: torch in f64."""

import numpy as np
import torch
import torch.nn.functional as F
from case_writer import bf16, bf16_values

MAX = [F.max_pool1d, F.max_pool2d, F.max_pool3d]
MEAN = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d]


def build(add):
    rng = np.random.default_rng(182)

    def normal(*dims, kind="f4"):
        return rng.standard_normal(dims).astype(kind)

    def pool(name, kind, x, kernel, stride=None, padding=None, values=None, rounded=None, ceil=False):
        axes = len(kernel)
        given = {"kind": kind, "kernel": kernel}
        if stride is not None:
            given["stride"] = stride
        if padding is not None:
            given["padding"] = padding
        if ceil:
            given["ceil_mode"] = True
        step = [s or k for s, k in zip(stride or [0] * axes, kernel)]
        pads = padding or [0] * axes
        wide = torch.from_numpy(np.asarray(x if values is None else values, "f8"))
        single = wide.ndim == axes + 1
        wide = wide[None] if single else wide

        def run(v):
            y = (MAX if kind == "max" else MEAN)[axes - 1](v, kernel, step, pads, ceil_mode=ceil).numpy()
            return y[0] if single else y

        y = run(wide)
        y = y.astype(x.dtype) if rounded is None else rounded(y)
        if kind == "max":
            add(f"pool_{name}", "Pool", given, [x], [y])
        else:
            add(f"pool_{name}", "Pool", given, [x], [y], "sum", [run(wide.abs())])

    for kind in ("max", "mean"):
        pool(kind + "_signal", kind, normal(2, 3, 9), [3], [2], [1])
        pool(kind + "_image", kind, normal(2, 3, 5, 7), [2, 3])
        pool(kind + "_volume", kind, normal(1, 2, 4, 5, 4), [2, 3, 2], [1, 2, 0], [1, 1, 0])
        pool(kind + "_unbatched", kind, normal(3, 5, 7), [3, 3], [1, 1], [1, 1])
        pool(kind + "_whole", kind, normal(2, 5, 4, 3), [4, 3])
        pool(kind + "_f64", kind, normal(2, 3, 9, kind="f8"), [3])
        pool(kind + "_f16", kind, normal(2, 3, 9, kind="f2"), [3])
        x = bf16(normal(2, 3, 9))
        pool(kind + "_bf16", kind, x, [3], None, None, bf16_values(x), bf16)
        none = [np.zeros((0, 3, 2), "f4")]
        add(f"pool_{kind}_no_batch", "Pool", {"kind": kind, "kernel": [2]}, [normal(0, 3, 5)], none)
    inf, nan = np.inf, np.nan
    edges = np.array([[[nan, 1, -inf, -inf, inf, 2, 1, nan, -0.0, 0.0]]], "f4")
    best = np.array([[[nan, -inf, inf, nan, -0.0]]], "f4")
    add("pool_max_edges", "Pool", {"kind": "max", "kernel": [2]}, [edges], [best])
    for kind in ("max", "mean"):
        pool(kind + "_ceil_signal", kind, normal(2, 3, 10), [3], [2], [1], ceil=True)
        pool(kind + "_ceil_last_in_padding", kind, normal(1, 2, 5), [2], [3], [1], ceil=True)
        pool(kind + "_ceil_gaps", kind, normal(2, 2, 11), [2], [5], ceil=True)
        pool(kind + "_ceil_image", kind, normal(2, 3, 6, 9), [3, 2], [2, 2], [1, 0], ceil=True)
        pool(kind + "_ceil_volume", kind, normal(1, 2, 4, 5, 6), [2, 3, 3], [3, 2, 2], [1, 1, 0], ceil=True)
        pool(kind + "_ceil_even", kind, normal(2, 3, 8), [2], ceil=True)
        pool(kind + "_ceil_wider_than_x", kind, normal(1, 2, 2), [3], [2], ceil=True)
