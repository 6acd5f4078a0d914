"""Cases of Resize: torch, in f64 but for nearest, which is exact."""

import numpy as np
import torch
import torch.nn.functional as F
from case_writer import bf16, bf16_values

kernels = torch._C._nn
RUN = {
    "nearest": [kernels.upsample_nearest1d, kernels.upsample_nearest2d, kernels.upsample_nearest3d],
    "linear": [kernels.upsample_linear1d, kernels.upsample_bilinear2d, kernels.upsample_trilinear3d],
    "area": [F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d],
}


def build(add):
    rng = np.random.default_rng(183)

    def normal(*dims, kind="f4"):
        return rng.standard_normal(dims).astype(kind)

    def resize(name, mode, x, scale, align=False, values=None, rounded=None):
        dims = x.dims if values is not None else x.shape
        size = [int(np.floor(d * scale * (1 + 2.0**-22))) for d in dims[2:]]
        axes = len(size)
        exact = torch.from_numpy(np.asarray(x if values is None else values, "f8"))

        def run(v):
            if mode == "area":
                return RUN[mode][axes - 1](v, size).numpy()
            if mode == "nearest":  # the index is made in f32 for f32 alone
                return RUN[mode][axes - 1](v.float(), size, *[scale] * axes).numpy()
            return RUN[mode][axes - 1](v, size, align, *[scale] * axes).numpy()

        y = run(exact)
        y = y.astype(x.dtype) if rounded is None else rounded(y)
        attributes = {"mode": mode, "scale": scale, **({"align_corners": True} if align else {})}
        if mode == "nearest":
            add("resize_" + name, "Resize", attributes, [x], [y])
        else:
            add("resize_" + name, "Resize", attributes, [x], [y], "sum", [run(exact.abs())])

    for mode in RUN:
        resize(mode + "_signal", mode, normal(2, 3, 7), 2.0)
        resize(mode + "_image", mode, normal(2, 2, 5, 7), 1.7)
        resize(mode + "_volume", mode, normal(1, 2, 3, 4, 3), 1.5)
        resize(mode + "_down", mode, normal(2, 2, 9, 8), 0.4)
        resize(mode + "_f16", mode, normal(1, 2, 5, kind="f2"), 2.0)
        x = bf16(normal(1, 2, 5))
        resize(mode + "_bf16", mode, x, 3.0, False, bf16_values(x), bf16)
        none = [np.zeros((0, 2, 6), "f4")]
        add(f"resize_{mode}_no_batch", "Resize", {"mode": mode, "scale": 2.0}, [normal(0, 2, 3)], none)
    resize("linear_f64", "linear", normal(1, 2, 5, kind="f8"), 2.0)
    resize("corners", "linear", normal(2, 2, 5, 4), 1.7, True)
    resize("corners_volume", "linear", normal(1, 2, 3, 2, 4), 2.0, True)
    resize("corners_to_one", "linear", normal(1, 2, 4), 0.25, True)
