"""Cases of GroupNorm, BatchNorm, BatchNormInference and AdaLayerNorm: torch in f64."""

import numpy as np
import torch
import torch.nn.functional as F
from case_writer import bf16, bf16_values


def build(add):
    rng = np.random.default_rng(102)

    def normal(*dims, kind="f4"):
        return rng.standard_normal(dims).astype(kind)

    def wide(x):
        return None if x is None else torch.from_numpy(np.asarray(x, "f8"))

    def given(*operands):
        while operands[-1] is None:
            operands = operands[:-1]
        return list(operands)

    def norm(name, op, attributes, inputs, y, x, rounded=None):
        """The error is relative to what is normalized, whose largest magnitude is about that of the whole result."""
        y = y.numpy() if isinstance(y, torch.Tensor) else y
        sizes = np.full(y.shape, 10 * max(1.0, np.abs(y).max(initial=0)))
        add(name, op, attributes, inputs, [y.astype(x.dtype) if rounded is None else rounded(y)], "sum", [sizes])

    def group(name, x, groups, gain=None, bias=None, eps=None):
        attributes = {} if groups is None else {"num_groups": groups}
        if eps is not None:
            attributes["eps"] = eps
        y = F.group_norm(wide(x), groups or x.shape[1], wide(gain), wide(bias), 1e-5 if eps is None else eps)
        norm("group_norm_" + name, "GroupNorm", attributes, given(x, gain, bias), y, x)

    group("plain", normal(2, 4, 3, 5), 2)
    group("gain_bias", normal(2, 6, 5), 3, normal(6), normal(6))
    group("gain", normal(2, 6, 5), 3, normal(6), None, 0.1)
    group("bias", normal(2, 6, 5), 3, None, normal(6))
    group("of_all", normal(2, 5, 3), 1, normal(5), normal(5))
    group("of_each", normal(2, 5, 3), None, normal(5), normal(5))
    group("rows", normal(3, 8), 4, normal(8), normal(8))
    group("offset", normal(2, 4, 30) + np.float32(100), 2)
    group("f64", normal(2, 4, 5, kind="f8"), 2, normal(4, kind="f8"), normal(4, kind="f8"))
    group("f16", normal(2, 4, 5, kind="f2"), 2, normal(4, kind="f2"), normal(4))
    add("group_norm_no_batch", "GroupNorm", {"num_groups": 2}, [normal(0, 4, 5)], [np.zeros((0, 4, 5), "f4")])

    def batch(name, x, axis, gain=None, bias=None, eps=None, mean=None, variance=None, values=None, rounded=None):
        attributes = {"channel_axis": axis}
        if eps is not None:
            attributes["eps"] = eps
        turned = np.moveaxis(np.asarray(x if values is None else values, "f8"), axis, 0)
        flat = torch.from_numpy(turned.reshape(turned.shape[0], -1).T.copy())
        own = mean is None
        y = F.batch_norm(flat, wide(mean), wide(variance), wide(gain), wide(bias), own, 0.0, 1e-5 if eps is None else eps)
        y = np.moveaxis(y.numpy().T.reshape(turned.shape), 0, axis)
        op, title = ("BatchNorm", "batch_norm_") if own else ("BatchNormInference", "batch_norm_inference_")
        inputs = given(x, gain, bias) if own else [x, gain, bias, mean, variance]
        norm(title + name, op, attributes, inputs, np.ascontiguousarray(y), x, rounded)

    def some(count, kind="f4"):
        return rng.random(count).astype(kind) + np.asarray(0.2, kind)

    batch("images", normal(2, 3, 4, 5), 1, normal(3), normal(3))
    batch("plain", normal(4, 3, 5), 1)
    batch("bias", normal(4, 3, 5), 1, None, normal(3), 0.5)
    batch("rows", normal(7, 5), -1, normal(5), normal(5))
    batch("first_axis", normal(3, 9), 0, normal(3))
    batch("f64", normal(2, 3, 9, kind="f8"), 1, normal(3, kind="f8"), normal(3, kind="f8"))
    batch("images", normal(2, 3, 4, 5), 1, normal(3), normal(3), None, normal(3), some(3))
    batch("eps", normal(2, 3, 4), 1, normal(3), normal(3), 0.25, normal(3), some(3))
    batch("rows", normal(7, 5), -1, normal(5), normal(5), None, normal(5), some(5))
    batch("f16", normal(2, 3, 9, kind="f2"), 1, normal(3), normal(3), None, normal(3), some(3))
    x = bf16(normal(2, 3, 9))
    batch("bf16", x, 1, normal(3), normal(3), None, normal(3), some(3), bf16_values(x), bf16)
    add("batch_norm_none", "BatchNorm", {"channel_axis": 1}, [normal(0, 3, 4)], [np.zeros((0, 3, 4), "f4")])

    def ada(name, x, scale, shift, eps=None, rms=False):
        attributes = {"norm": "rms_norm"} if rms else {}
        if eps is not None:
            attributes["eps"] = eps
        eps = 1e-6 if eps is None else eps
        v = wide(x)
        n = v / torch.sqrt((v * v).mean(-1, keepdim=True) + eps) if rms else F.layer_norm(v, v.shape[-1:], None, None, eps)

        def spread(m):
            m = wide(m)
            return m.reshape(m.shape[0], *[1] * (x.ndim - 2), m.shape[1]) if m.ndim == 2 and x.ndim > 2 else m

        norm("ada_layer_norm_" + name, "AdaLayerNorm", attributes, [x, scale, shift], n * (1 + spread(scale)) + spread(shift), x)

    ada("vectors", normal(2, 3, 8), normal(8), normal(8))
    ada("samples", normal(2, 3, 4, 8), normal(2, 8), normal(2, 8), 1e-3)
    ada("full", normal(2, 3, 8), normal(2, 3, 8), normal(8))
    ada("rms", normal(2, 3, 8), normal(2, 8), normal(8), None, True)
    ada("vector", normal(9), normal(9), normal(9))
    ada("f64", normal(2, 3, 8, kind="f8"), normal(2, 8, kind="f8"), normal(8, kind="f8"))
    ada("f16", normal(2, 3, 8, kind="f2"), normal(2, 8), normal(8, kind="f2"))
    add("ada_layer_norm_none", "AdaLayerNorm", {}, [normal(0, 3, 4), normal(0, 4), normal(4)], [np.zeros((0, 3, 4), "f4")])
