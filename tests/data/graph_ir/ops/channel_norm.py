"""BatchNorm, GroupNorm, InstanceNorm and AdaLN: torch in f64."""

import numpy as np
import torch
import torch.nn.functional as F


def t(x):
    return None if x is None else torch.from_numpy(np.asarray(x, "f8"))


def build(add):
    rng = np.random.default_rng(320)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    def per_channel(dims, vector):
        return vector.reshape([1, -1] + [1] * (len(dims) - 2)) if len(dims) > 1 else vector

    def case(op, name, operands, y, params, attrs=None, open=((0, 0),)):
        params = {key: float(np.float32(value)) if isinstance(value, float) else value for key, value in params.items()}
        add(f"{name}", op, operands, [np.asarray(y).astype("f4")], "norm", params, attrs, open)

    def batch(name, dims, affine, running, eps=1e-5, momentum=0.1, x=None, open=((0, 0),)):
        x = normal(*dims) if x is None else x
        channels = dims[0] if len(dims) == 1 else dims[1]
        gain, bias = (normal(channels), normal(channels)) if affine else (None, None)
        mean, variance = (normal(channels), rng.random(channels).astype("f4") + 0.1) if running else (None, None)
        wide = x.astype("f8")
        if running:
            y = (wide - per_channel(dims, mean)) / np.sqrt(per_channel(dims, variance.astype("f8")) + np.float32(eps))
        elif x.size:
            axes = tuple(i for i in range(len(dims)) if i != (0 if len(dims) == 1 else 1))
            centered = wide - wide.mean(axes, keepdims=True)
            y = centered / np.sqrt((centered**2).mean(axes, keepdims=True) + np.float32(eps))
        else:
            y = wide
        if affine:
            y = y * per_channel(dims, gain) + per_channel(dims, bias)
        if len(dims) > 1 and x.size and (running or x.size // channels > 1):
            theirs = F.batch_norm(t(x), t(mean), t(variance), t(gain), t(bias), not running, 0.1, float(np.float32(eps)))
            assert np.allclose(theirs.numpy(), y, 1e-9, 1e-9), name
        operands = [v for v in (x, gain, bias, mean, variance) if v is not None]
        case("BatchNorm", "batch_norm_" + name, operands, y, {"eps": eps, "momentum": momentum}, open=open)

    batch("running", [2, 3, 4, 5], True, True)
    batch("running_batch", [5, 4, 3], True, True)
    batch("running_rows", [7, 6], True, True, 1e-3)
    batch("running_vector", [9], True, True, open=[])
    batch("running_volume", [2, 3, 2, 3, 4], True, True)
    batch("running_wide", [1, 2, 3, 67], True, True)
    batch("running_momentum", [2, 3, 4], True, True, 1e-5, 0.75)
    batch("running_no_batch", [0, 3, 4], True, True)
    batch("running_no_pixels", [2, 3, 0], True, True)
    batch("running_no_eps", [2, 3, 5], True, True, 0.0)
    batch("own", [2, 3, 4, 5], True, False)
    batch("own_batch", [5, 4, 3], True, False)
    batch("own_rows", [7, 6], True, False, 1e-3)
    batch("own_vector", [9], True, False, open=[])
    batch("own_volume", [2, 3, 2, 3, 4], True, False)
    batch("own_no_batch", [0, 3, 4], True, False)
    batch("own_offset", [3, 2, 9], True, False, x=normal(3, 2, 9) + np.float32(50))
    batch("plain", [2, 3, 4, 5], False, False)
    batch("plain_rows", [6, 5], False, False, 0.5)
    batch("plain_momentum", [3, 2, 7], False, False, 1e-5, 0.5)
    batch("plain_no_channels", [3, 0, 7], False, False)
    batch("plain_wide", [2, 2, 81], False, False)
    batch("own_f16", [3, 2, 7], True, False, x=normal(3, 2, 7).astype("f2"))
    batch("running_f16", [3, 2, 7], True, True, x=normal(3, 2, 7).astype("f2"))
    batch("open_length", [3, 2, 7], True, False, open=[(0, 0), (0, 2)])

    def group(name, dims, groups, vectors=2, eps=1e-5, x=None, open=((0, 0),)):
        x = normal(*dims) if x is None else x
        gain, bias = (normal(dims[1]) if vectors > 0 else None), (normal(dims[1]) if vectors > 1 else None)
        operands = [v for v in (x, gain, bias) if v is not None]
        y = F.group_norm(t(x), groups or dims[1], t(gain), t(bias), float(np.float32(eps))) if x.size else t(x)
        if groups:
            case("GroupNorm", "group_norm_" + name, operands, y, {"eps": eps, "num_groups": groups}, open=open)
        else:
            case("InstanceNorm", "instance_norm_" + name, operands, y, {"eps": eps}, open=open)

    group("plain", [2, 4, 3, 5], 2)
    group("batch", [5, 6, 3], 3)
    group("one_group", [2, 5, 4], 1)
    group("all_groups", [2, 5, 4], 5)
    group("rows", [3, 8], 2)
    group("volume", [2, 4, 2, 3, 2], 2)
    group("no_vectors", [2, 4, 3, 5], 2, 0)
    group("gain", [2, 4, 3, 5], 2, 1)
    group("wide", [1, 2, 3, 67], 1)
    group("many_channels", [1, 32, 2, 3], 8)
    group("one_pixel", [3, 6, 1, 1], 2)
    group("eps", [2, 4, 5], 2, 2, 0.25)
    group("no_eps", [2, 4, 5], 2, 2, 0.0)
    group("offset", [2, 4, 9], 2, x=normal(2, 4, 9) + np.float32(50))
    group("constant", [2, 4, 3], 2, x=np.full((2, 4, 3), 2.5, "f4"))
    group("no_batch", [0, 4, 3], 2)
    group("no_pixels", [2, 4, 0], 2)
    group("large", [2, 4, 9], 2, x=normal(2, 4, 9) * np.float32(1e18))
    group("small", [2, 4, 9], 2, x=normal(2, 4, 9) * np.float32(1e-12))
    group("f16", [2, 4, 9], 2, x=normal(2, 4, 9).astype("f2"))
    group("open_sides", [2, 4, 3, 5], 2, open=[(0, 0), (0, 2), (0, 3)])

    group("plain", [2, 4, 3, 5], None)
    group("batch", [5, 6, 3], None)
    group("odd", [3, 5, 7], None)
    group("one_channel", [4, 1, 9], None)
    group("rows", [3, 8], None)
    group("volume", [2, 3, 2, 3, 2], None)
    group("no_vectors", [2, 4, 3, 5], None, 0)
    group("gain", [2, 4, 3, 5], None, 1)
    group("wide", [1, 2, 3, 67], None)
    group("many_channels", [1, 32, 2, 3], None)
    group("one_pixel", [3, 6, 1, 1], None)
    group("eps", [2, 4, 5], None, 2, 0.25)
    group("no_eps", [2, 4, 5], None, 2, 0.0)
    group("offset", [2, 4, 9], None, x=normal(2, 4, 9) + np.float32(50))
    group("constant", [2, 4, 3], None, x=np.full((2, 4, 3), 2.5, "f4"))
    group("no_batch", [0, 4, 3], None)
    group("no_pixels", [2, 4, 0], None)
    group("no_channels", [2, 0, 3], None)
    group("large", [2, 4, 9], None, x=normal(2, 4, 9) * np.float32(1e18))
    group("open_everything", [2, 4, 3, 5], None, 0, open=[(0, 0), (0, 1), (0, 2), (0, 3)])

    def ada(name, dims, scale, shift, eps=None, x=None, open=()):
        x, scale, shift = (normal(*dims) if x is None else x), normal(*scale), normal(*shift)

        def spread(v):
            v = v.astype("f8")
            return v.reshape([v.shape[0]] + [1] * (len(dims) - 2) + [v.shape[1]]) if v.ndim == 2 and len(dims) > 2 else v

        y = F.layer_norm(t(x), dims[-1:], None, None, float(np.float32(1e-6 if eps is None else eps))).numpy()
        y = y * (1 + spread(scale)) + spread(shift)
        attrs = {} if eps is None else {"eps": float(np.float32(eps))}
        case("AdaLN", "ada_ln_" + name, [x, scale, shift], y, {}, attrs, open)

    ada("vectors", [2, 3, 8], [8], [8], open=[(0, 0)])
    ada("by_sample", [2, 3, 8], [2, 8], [2, 8])
    ada("full", [2, 3, 8], [2, 3, 8], [2, 3, 8])
    ada("mixed", [2, 3, 8], [2, 8], [8])
    ada("mixed_full", [2, 3, 8], [2, 3, 8], [2, 8])
    ada("rows", [5, 7], [5, 7], [5, 7])
    ada("rows_vectors", [5, 7], [7], [7], open=[(0, 0)])
    ada("vector", [19], [19], [19])
    ada("image", [2, 3, 4, 5], [2, 5], [2, 5])
    ada("image_full", [2, 3, 4, 5], [2, 3, 4, 5], [5])
    ada("wide", [2, 3, 67], [2, 67], [2, 67])
    ada("many_rows", [2, 33, 16], [2, 16], [2, 16])
    ada("odd", [3, 5, 9], [3, 9], [3, 9])
    ada("eps", [2, 3, 8], [2, 8], [2, 8], 0.125)
    ada("no_eps", [2, 3, 8], [8], [8], 0.0)
    ada("offset", [2, 3, 16], [2, 16], [2, 16], x=normal(2, 3, 16) + np.float32(50))
    ada("one_sample", [1, 4, 6], [1, 6], [1, 6])
    ada("no_batch", [0, 4, 6], [0, 6], [6])
    ada("no_rows", [2, 0, 6], [2, 6], [2, 6])
    ada("f16", [2, 5, 6], [2, 6], [6], x=normal(2, 5, 6).astype("f2"))
    ada("open_rows", [2, 5, 6], [2, 6], [2, 6], open=[(0, 1)])
    ada("open_batch", [3, 5, 6], [3, 6], [6], open=[(0, 0), (1, 0)])
