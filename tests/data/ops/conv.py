"""Cases of Conv and ConvTranspose: torch in f64."""

import numpy as np
import torch
import torch.nn.functional as F
from case_writer import bf16, bf16_values

CONV = [F.conv1d, F.conv2d, F.conv3d]
TRANSPOSE = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d]


def build(add):
    rng = np.random.default_rng(180)

    def normal(*dims, kind="f4"):
        return rng.standard_normal(dims).astype(kind)

    def wide(x):
        return None if x is None else torch.from_numpy(np.asarray(x, "f8"))

    def case(name, op, x, w, bias, run, **attributes):
        """run(x, w, bias) in f64; what it gives for magnitudes is what errors of the sums are relative to."""
        y = run(wide(x), wide(w), wide(bias)).numpy()
        sizes = run(wide(np.abs(x)), wide(np.abs(w)), None if bias is None else wide(np.abs(bias))).numpy()
        given = {"kernel": list(w.shape[2:]), **attributes}
        inputs = [x, w] if bias is None else [x, w, bias]
        add(name, op, given, inputs, [y.astype(x.dtype)], "sum", [sizes])

    def conv(name, x, w, bias=None, stride=None, padding=None, high=None, dilation=None, groups=1, replicate=False):
        axes = w.ndim - 2
        ones, low = [1] * axes, padding or [0] * axes
        pads = [v for pair in zip(low[::-1], (high or low)[::-1]) for v in pair]

        def run(x, w, bias):
            single = x.ndim == axes + 1
            x = x[None] if single else x
            if replicate:  # torch pads the last axes only, and not 3 axes of a batch without channels
                for axis in range(axes):
                    x = x.transpose(2 + axis, -1)
                    flat = F.pad(x.reshape(x.shape[0], -1, x.shape[-1]), [low[axis], (high or low)[axis]], "replicate")
                    x = flat.reshape(*x.shape[:-1], flat.shape[-1]).transpose(2 + axis, -1)
            else:
                x = F.pad(x, pads)
            y = CONV[axes - 1](x, w, bias, stride or ones, 0, dilation or ones, groups)
            return y[0] if single else y

        given = {"stride": stride, "padding": padding, "padding_hi": high, "dilation": dilation}
        given = {key: value for key, value in given.items() if value is not None}
        if groups != 1:
            given["groups"] = groups
        if replicate:
            given["pad_mode"] = "replicate"
        case("conv_" + name, "Conv", x, w, bias, run, **given)

    conv("signal", normal(2, 3, 9), normal(4, 3, 3), normal(4))
    conv("image", normal(2, 3, 5, 6), normal(4, 3, 3, 2), normal(4))
    conv("volume", normal(1, 2, 3, 4, 5), normal(3, 2, 2, 3, 2), normal(3))
    conv("no_bias", normal(2, 3, 5, 6), normal(4, 3, 2, 2))
    conv("unbatched", normal(3, 9), normal(4, 3, 3), normal(4), [2], [1])
    conv("stride", normal(2, 2, 9, 8), normal(3, 2, 3, 3), None, [2, 3], [1, 1])
    conv("dilation", normal(1, 2, 9, 8), normal(3, 2, 3, 2), None, None, [2, 1], None, [2, 3])
    conv("groups", normal(2, 4, 5, 5), normal(6, 2, 3, 3), normal(6), None, [1, 1], None, None, 2)
    conv("depthwise", normal(2, 3, 7), normal(6, 1, 3), normal(6), None, [1], None, None, 3)
    conv("behind_alone", normal(2, 2, 6), normal(3, 2, 4), None, None, [0], [3])
    conv("uneven_padding", normal(1, 2, 5, 4), normal(2, 2, 3, 3), None, [2, 1], [2, 0], [0, 1])
    conv("replicate", normal(2, 2, 7), normal(3, 2, 4), normal(3), None, [3], [0], None, 1, True)
    conv("replicate_image", normal(2, 2, 4, 5), normal(3, 2, 3, 3), None, None, [2, 1], [1, 3], None, 1, True)
    conv("replicate_volume", normal(1, 2, 3, 2, 4), normal(2, 2, 3, 2, 3), None, [1, 2, 1], [2, 1, 1], None, None, 1, True)
    conv("f64", normal(2, 3, 9, kind="f8"), normal(4, 3, 3, kind="f8"), normal(4, kind="f8"), None, [1])
    conv("f16", normal(2, 3, 9, kind="f2"), normal(4, 3, 3, kind="f2"), normal(4, kind="f2"), None, [1])
    conv("f16_f32_w", normal(2, 3, 9, kind="f2"), normal(4, 3, 3), normal(4))
    x, w = bf16(normal(2, 3, 9)), normal(4, 3, 3)
    values = bf16_values(x)
    y = F.conv1d(wide(values), wide(w)).numpy()
    sizes = F.conv1d(wide(np.abs(values)), wide(np.abs(w))).numpy()
    add("conv_bf16", "Conv", {"kernel": [3]}, [x, w], [bf16(y)], "sum", [sizes])
    add("conv_no_inputs", "Conv", {"kernel": [2]}, [normal(1, 0, 3), normal(2, 0, 2)], [np.zeros((1, 2, 2), "f4")])
    add("conv_no_batch", "Conv", {"kernel": [2]}, [normal(0, 3, 4), normal(2, 3, 2)], [np.zeros((0, 2, 3), "f4")])

    def transposed(name, x, w, bias=None, groups=1, **lists):
        axes = w.ndim - 2
        get = {"stride": [1] * axes, "padding": [0] * axes, "output_padding": [0] * axes, "dilation": [1] * axes, **lists}

        def run(x, w, bias):
            single = x.ndim == axes + 1
            y = TRANSPOSE[axes - 1](
                x[None] if single else x, w, bias, get["stride"], get["padding"], get["output_padding"], groups, get["dilation"]
            )
            return y[0] if single else y

        case("conv_transpose_" + name, "ConvTranspose", x, w, bias, run, **lists, **({} if groups == 1 else {"groups": groups}))

    transposed("signal", normal(2, 3, 5), normal(3, 4, 4), normal(4), stride=[2], padding=[1])
    transposed("image", normal(2, 3, 4, 3), normal(3, 2, 3, 2), normal(2))
    transposed("volume", normal(1, 2, 3, 2, 3), normal(2, 2, 2, 3, 2), normal(2), stride=[2, 1, 3], padding=[0, 1, 1])
    transposed("stride", normal(1, 2, 4, 3), normal(2, 3, 3, 3), None, stride=[2, 3])
    transposed("stride_over_kernel", normal(2, 2, 4), normal(2, 3, 2), normal(3), stride=[5])
    transposed("output_padding", normal(1, 2, 4, 3), normal(2, 3, 3, 3), None, stride=[2, 3], output_padding=[1, 2])
    transposed("dilation", normal(1, 2, 4, 3), normal(2, 3, 3, 2), None, stride=[2, 1], dilation=[3, 2], padding=[1, 1])
    transposed("groups", normal(2, 4, 3, 3), normal(4, 3, 3, 3), normal(6), 2, stride=[2, 2], padding=[1, 1])
    transposed("depthwise", normal(1, 3, 5), normal(3, 1, 4), None, 3, stride=[2])
    transposed("unbatched", normal(3, 5), normal(3, 2, 3), normal(2), stride=[2])
    transposed("f64", normal(2, 3, 5, kind="f8"), normal(3, 2, 3, kind="f8"), None, stride=[2])
    transposed("f16", normal(2, 3, 5, kind="f2"), normal(3, 2, 3, kind="f2"), normal(2, kind="f2"), stride=[2])
