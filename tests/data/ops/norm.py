"""Cases of RmsNorm and LayerNorm: numpy in f64, LayerNorm also against torch."""

import numpy as np
import torch
from case_writer import bf16, bf16_values


def rms(x, gain, bias, eps):
    y = x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps)
    y = y if gain is None else y * gain
    return y if bias is None else y + bias


def build(add):
    rng = np.random.default_rng(100)

    def normal(*dims, kind="f4"):
        return rng.standard_normal(dims).astype(kind)

    def wide(x):
        return None if x is None else x.astype("f8")

    def rms_case(name, x, gain=None, bias=None, eps=None):
        attributes = {} if eps is None else {"eps": eps}
        y = rms(wide(x), wide(gain), wide(bias), 1e-6 if eps is None else eps).astype(x.dtype)
        inputs = [x] if gain is None and bias is None else [x, gain] if bias is None else [x, gain, bias]
        add("rms_norm_" + name, "RmsNorm", attributes, inputs, [y], "row")

    rms_case("plain", normal(3, 8))
    rms_case("gain", normal(3, 8), normal(8))
    rms_case("gain_bias", normal(2, 3, 8), normal(8), normal(8), 1e-5)
    rms_case("bias", normal(3, 8), None, normal(8))
    rms_case("heads", normal(2, 4, 16), normal(16))
    rms_case("vector", normal(300), normal(300))
    rms_case("one_element", normal(4, 1))
    rms_case("zeros", np.zeros((2, 5), "f4"), normal(5))
    rms_case("eps_dominates", normal(2, 5) * np.float32(1e-4), normal(5), None, 0.5)
    rms_case("no_eps", normal(2, 5), None, None, 0.0)
    rms_case("large", normal(2, 64) * np.float32(1e30))
    rms_case("many_rows", normal(70, 96), normal(96))
    rms_case("no_rows", normal(0, 5), normal(5))
    rms_case("no_columns", normal(3, 0))
    rms_case("f64", normal(3, 40, kind="f8"), normal(40, kind="f8"))
    rms_case("f16", normal(3, 40, kind="f2"), normal(40, kind="f2"))
    rms_case("f16_f32_gain", normal(3, 40, kind="f2"), normal(40))
    x = bf16(normal(3, 40))
    gain = normal(40)
    y = rms(wide(bf16_values(x)), wide(gain), None, 1e-6)
    add("rms_norm_bf16", "RmsNorm", {}, [x, gain], [bf16(y)], "row")

    def layer_case(name, x, gain=None, bias=None, eps=None, axis=None):
        attributes = {} if eps is None else {"eps": eps}
        if axis is not None:
            attributes["axis"] = axis
        dims = x.shape[-1 if axis is None else axis :]
        y = torch.nn.functional.layer_norm(
            torch.from_numpy(wide(x)),
            dims,
            None if gain is None else torch.from_numpy(wide(gain)),
            None if bias is None else torch.from_numpy(wide(bias)),
            1e-5 if eps is None else eps,
        ).numpy()
        inputs = [x] if gain is None and bias is None else [x, gain] if bias is None else [x, gain, bias]
        # The error of a difference from the mean is relative to what was subtracted: rows have means of about 1 at most.
        add("layer_norm_" + name, "LayerNorm", attributes, inputs, [y.astype(x.dtype)], "row")

    layer_case("plain", normal(3, 8))
    layer_case("gain_bias", normal(3, 8), normal(8), normal(8))
    layer_case("gain", normal(2, 3, 8), normal(8), None, 1e-12)
    layer_case("bias", normal(3, 8), None, normal(8))
    layer_case("axis_1_of_3", normal(2, 3, 4), normal(3, 4), normal(3, 4), None, 1)
    layer_case("axis_minus_2", normal(5, 2, 3, 4), normal(3, 4), normal(3, 4), 1e-3, -2)
    layer_case("axis_0", normal(3, 4), normal(3, 4), None, None, 0)
    layer_case("vector", normal(300))
    layer_case("offset", normal(3, 64) + np.float32(100))
    layer_case("constant_row", np.full((2, 6), 3.25, "f4"), normal(6), normal(6))
    # torch leaves a rounding error of the division here.
    add("layer_norm_one_element", "LayerNorm", {}, [normal(4, 1)], [np.zeros((4, 1), "f4")])
    layer_case("many_rows", normal(70, 96), normal(96), normal(96))
    layer_case("no_rows", normal(0, 5), normal(5))
    layer_case("f64", normal(3, 40, kind="f8"), normal(40, kind="f8"), normal(40, kind="f8"))
    layer_case("f16", normal(3, 40, kind="f2"), normal(40, kind="f2"), normal(40, kind="f2"))
