"""Interpolate, PixelShuffle, PixelUnshuffle, PatchEmbed and Unpatchify: torch, and numpy where it has no such op."""

import numpy as np
import torch
import torch.nn.functional as F
from case_writer import Typed
from __main__ import Named


def build(add):
    rng = np.random.default_rng(330)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    def wide(x):
        return torch.from_numpy(np.asarray(x, "f8"))

    kernels = torch._C._nn
    run = {
        ("nearest", 1): lambda x, size, s, a: kernels.upsample_nearest1d(x, size, s),
        ("nearest", 2): lambda x, size, s, a: kernels.upsample_nearest2d(x, size, s, s),
        ("bilinear", 1): lambda x, size, s, a: kernels.upsample_linear1d(x, size, a, s),
        ("bilinear", 2): lambda x, size, s, a: kernels.upsample_bilinear2d(x, size, a, s, s),
        ("area", 1): lambda x, size, s, a: F.adaptive_avg_pool1d(x, size),
        ("area", 2): lambda x, size, s, a: F.adaptive_avg_pool2d(x, size),
    }

    def resize(name, mode, dims, scale, align=False, open=((0, 0),), kind="f4"):
        x, scale = normal(*dims).astype(kind), float(np.float32(scale))
        size = [int(np.floor(d * scale * (1 + 2.0**-22))) for d in dims[2:]]
        if x.size:
            y = run[mode, len(size)](torch.from_numpy(x.astype("f4")) if mode == "nearest" else wide(x), size, scale, align).numpy()
        else:
            y = np.zeros([*dims[:2], *size])
        attrs = {"align_corners": True} if align else {}
        tolerance = "exact" if mode == "nearest" else f"reduction:{4 if mode == 'bilinear' else 16}"
        add("interpolate_" + name, "Interpolate", [x], [y.astype("f4")], tolerance, {"mode": mode, "scale": scale}, attrs, open)

    resize("nearest", "nearest", [1, 2, 3, 4], 2.0)
    resize("nearest_batch", "nearest", [3, 2, 5, 3], 3.0)
    resize("nearest_down", "nearest", [2, 2, 9, 7], 0.5)
    resize("nearest_seven_tenths", "nearest", [2, 2, 10, 20], 0.7)
    resize("nearest_odd", "nearest", [2, 1, 7, 5], 1.7)
    resize("nearest_signal", "nearest", [2, 3, 11], 2.5)
    resize("nearest_same", "nearest", [2, 3, 5], 1.0)
    resize("nearest_wide", "nearest", [1, 1, 2, 45], 2.0)
    resize("nearest_no_batch", "nearest", [0, 2, 3, 4], 2.0)
    resize("bilinear", "bilinear", [1, 2, 3, 4], 2.0)
    resize("bilinear_batch", "bilinear", [3, 2, 5, 3], 3.0)
    resize("bilinear_down", "bilinear", [2, 2, 9, 7], 0.5)
    resize("bilinear_seven_tenths", "bilinear", [2, 2, 10, 20], 0.7)
    resize("bilinear_odd", "bilinear", [2, 1, 7, 5], 1.7)
    resize("bilinear_signal", "bilinear", [2, 3, 11], 2.5)
    resize("bilinear_wide", "bilinear", [1, 1, 3, 45], 2.0)
    resize("bilinear_no_channels", "bilinear", [2, 0, 3, 4], 2.0)
    resize("corners", "bilinear", [2, 2, 3, 4], 2.0, True)
    resize("corners_odd", "bilinear", [1, 2, 5, 7], 1.7, True)
    resize("corners_signal", "bilinear", [2, 2, 9], 0.4, True)
    resize("corners_to_one", "bilinear", [2, 2, 4, 4], 0.25, True)
    resize("area", "area", [2, 2, 8, 6], 0.5)
    resize("area_odd", "area", [2, 2, 9, 7], 0.4)
    resize("area_up", "area", [1, 2, 3, 4], 1.5)
    resize("area_signal", "area", [2, 3, 13], 0.3)
    resize("area_wide", "area", [1, 1, 6, 66], 0.5)
    resize("nearest_f16", "nearest", [1, 2, 3, 4], 2.0, kind="f2")
    resize("bilinear_f16", "bilinear", [1, 2, 3, 4], 2.0, kind="f2")
    resize("open_double", "bilinear", [2, 2, 5, 3], 2.0, open=[(0, 0), (0, 2), (0, 3)])
    resize("open_third", "area", [2, 2, 10, 7], 1 / 3, open=[(0, 2), (0, 3)])
    resize("open_odd", "nearest", [2, 2, 10, 7], 1.234567, open=[(0, 2), (0, 3)])

    def ids(*dims, kind="f4"):
        return (np.arange(int(np.prod(dims))) % 251).reshape(dims).astype(kind)

    def shuffle(name, dims, factor, kind="f4", open=((0, 0),)):
        x = ids(*dims, kind=kind)
        back = "pixel_unshuffle_" + name
        lead = list(dims[:-3])
        if x.size:
            y = F.pixel_shuffle(torch.from_numpy(x.astype("f8")), factor).numpy().astype(kind)
        else:
            c, h, w = dims[-3:]
            y = np.zeros(lead + [c // factor**2, h * factor, w * factor], kind)
        add("pixel_shuffle_" + name, "PixelShuffle", [x], [y], "exact", {"upscale_factor": factor}, open=open)
        add(back, "PixelUnshuffle", [y], [x], "exact", {"downscale_factor": factor}, open=open)

    shuffle("two", [1, 4, 2, 3], 2)
    shuffle("batch", [3, 8, 2, 3], 2)
    shuffle("three", [2, 9, 3, 2], 3)
    shuffle("four", [1, 16, 2, 1], 4)
    shuffle("one", [2, 3, 4, 5], 1)
    shuffle("channels", [2, 20, 3, 3], 2)
    shuffle("unbatched", [4, 3, 5], 2, open=[])
    shuffle("unbatched_three", [18, 2, 3], 3, open=[])
    shuffle("leading_axes", [2, 3, 4, 2, 3], 2)
    shuffle("wide", [1, 4, 1, 70], 2)
    shuffle("tall", [1, 4, 33, 1], 2)
    shuffle("one_pixel", [5, 4, 1, 1], 2)
    shuffle("odd", [3, 12, 5, 7], 2)
    shuffle("five", [1, 25, 2, 3], 5)
    shuffle("no_batch", [0, 4, 2, 3], 2)
    shuffle("no_channels", [2, 0, 2, 3], 2, open=[])
    shuffle("no_rows", [2, 4, 0, 3], 2, open=[])
    shuffle("f16", [2, 4, 3, 5], 2, "f2")
    shuffle("u8", [2, 4, 3, 5], 2, "u1")
    shuffle("i32", [2, 9, 2, 2], 3, "i4")
    shuffle("many", [4, 8, 3, 3], 2)

    def q8_0(values):
        """Rows of q8_0 blocks, and what they decode to."""
        blocks = values.astype("f8").reshape(-1, 32)
        d = (np.abs(blocks).max(1) / 127).astype("f2")
        codes = np.rint(blocks / d.astype("f8")[:, None]).clip(-127, 127).astype("i1")
        raw = b"".join(scale.tobytes() + row.tobytes() for scale, row in zip(d, codes))
        return Typed("q8_0", values.shape, raw), (codes * d.astype("f8")[:, None]).reshape(values.shape)

    def embed(name, dims, features, patch, bias=True, flat=False, time=None, weight=None, open=((0, 0),)):
        image = normal(*dims)
        channels, axes = dims[1], len(dims) - 2
        kernel = [patch] * axes if time is None else [time, patch, patch]
        w = normal(features, channels, *kernel)
        b = normal(features) if bias else None
        stored, exact = w, w.astype("f8")
        terms = channels * int(np.prod(kernel))
        if flat:
            stored, exact = w.reshape(features, -1), exact.reshape(features, -1)
        if weight == "q8_0":
            stored, exact = q8_0(stored)
        elif weight == "f16":
            stored = stored.astype("f2")
            exact = stored.astype("f8")
        operands = [image, Named(stored, weight=weight is not None)] + ([b] if bias else [])
        exact = torch.from_numpy(exact.reshape(features, channels, *kernel))
        conv = F.conv2d if axes == 2 else F.conv3d
        counts = [size // k for size, k in zip(dims[2:], kernel)]
        if image.size:
            y = conv(wide(image), exact, None if b is None else wide(b), kernel).flatten(2).transpose(1, 2)
        else:
            y = torch.zeros([dims[0], int(np.prod(counts)), features])
        # Integer weights meet activations as int8 on the cpu backend.
        tolerance = "quantized" if weight == "q8_0" else f"reduction:{terms}"
        add("patch_embed_" + name, "PatchEmbed", operands, [y.numpy().astype("f4")], tolerance, {"patch_size": patch}, open=open)

    embed("plain", [1, 3, 4, 6], 5, 2)
    embed("batch", [3, 3, 6, 4], 8, 2)
    embed("no_bias", [2, 3, 4, 6], 5, 2, False)
    embed("three", [2, 1, 9, 6], 7, 3)
    embed("one", [2, 3, 3, 5], 4, 1)
    embed("whole", [2, 3, 4, 4], 6, 4)
    embed("odd", [1, 2, 15, 5], 9, 5)
    embed("wide", [1, 1, 2, 132], 3, 2)
    embed("features", [1, 3, 4, 4], 37, 2)
    embed("no_batch", [0, 3, 4, 6], 5, 2)
    embed("no_rows", [2, 3, 0, 6], 5, 2, open=[])
    embed("video", [2, 3, 4, 4, 6], 5, 2, time=2)
    embed("video_one_frame", [1, 2, 3, 4, 4], 5, 2, time=1)
    embed("video_no_bias", [1, 2, 6, 4, 4], 5, 4, False, time=3)
    embed("weight", [2, 3, 4, 6], 5, 2, weight="f32")
    embed("f16_weight", [2, 3, 4, 6], 5, 2, weight="f16")
    embed("flat_weight", [2, 3, 4, 6], 5, 2, True, True, weight="f32")
    embed("flat_f16_weight", [2, 3, 4, 6], 6, 2, True, True, weight="f16")
    embed("flat_no_bias", [3, 3, 6, 6], 7, 3, False, True, weight="f32")
    embed("flat_no_batch", [0, 3, 4, 6], 5, 2, True, True, weight="f32")
    embed("flat_q8_0", [2, 2, 8, 12], 6, 4, True, True, weight="q8_0")
    embed("flat_q8_0_no_bias", [1, 2, 8, 8], 16, 4, False, True, weight="q8_0")

    def unpatchify(name, batch, grid, patch, channels, attrs, order="cpp", ref=False, kind="f4", open=((0, 0),)):
        rows, columns = grid
        high, broad = patch
        x = ids(batch, rows * columns, high * broad * channels, kind=kind)
        if order == "cpp":
            y = x.reshape(batch, rows, columns, channels, high, broad).transpose(0, 3, 1, 4, 2, 5)
        else:
            y = x.reshape(batch, rows, columns, high, broad, channels).transpose(0, 5, 1, 3, 2, 4)
            attrs = {**attrs, "order": order}
        y = np.ascontiguousarray(y.reshape(batch, channels, rows * high, columns * broad))
        if order == "cpp" and x.size and kind == "f4":
            fold = F.fold(torch.from_numpy(x).transpose(1, 2), y.shape[2:], patch, stride=patch)
            assert np.array_equal(fold.numpy(), y)
        operands = [x] + ([normal(*y.shape)] if ref else [])
        by = "PyTorch" if order == "cpp" and kind == "f4" else "NumPy"
        add("unpatchify_" + name, "Unpatchify", operands, [y], "exact", None, attrs, open, by)

    unpatchify("square", 1, [2, 2], [2, 2], 3, {"patch_size": 2})
    unpatchify("batch", 3, [3, 3], [2, 2], 1, {"patch_size": 2})
    unpatchify("grid", 2, [2, 3], [2, 2], 2, {"patch_size": 2, "grid_h": 2, "grid_w": 3})
    unpatchify("grid_h", 2, [2, 5], [2, 2], 2, {"patch_size": 2, "grid_h": 2})
    unpatchify("grid_w", 2, [4, 3], [2, 2], 2, {"patch_size": 2, "grid_w": 3})
    unpatchify("uneven_patch", 2, [2, 2], [2, 3], 2, {"patch_size": [2, 3]})
    unpatchify("uneven_all", 2, [3, 2], [1, 4], 3, {"patch_size": [1, 4], "grid_w": 2})
    unpatchify("ppc", 2, [2, 2], [2, 2], 3, {"patch_size": 2}, "ppc")
    unpatchify("ppc_grid", 3, [2, 3], [3, 3], 2, {"patch_size": 3, "grid_h": 2}, "ppc")
    unpatchify("ppc_uneven", 1, [3, 2], [2, 3], 4, {"patch_size": [2, 3], "grid_h": 3, "grid_w": 2}, "ppc")
    unpatchify("ref", 2, [2, 3], [2, 2], 3, {}, ref=True, open=[])
    unpatchify("ref_batch", 3, [1, 4], [3, 3], 1, {}, ref=True, open=[])
    unpatchify("ref_ppc", 2, [3, 2], [2, 2], 2, {}, "ppc", True, open=[])
    unpatchify("ref_open", 2, [2, 3], [2, 2], 3, {}, ref=True, open=[(0, 0), (1, 0)])
    unpatchify("one_patch", 2, [1, 1], [4, 4], 3, {"patch_size": 4})
    unpatchify("one_pixel", 2, [3, 3], [1, 1], 5, {"patch_size": 1})
    unpatchify("wide", 1, [1, 33], [2, 2], 1, {"patch_size": 2, "grid_h": 1})
    unpatchify("no_batch", 0, [2, 2], [2, 2], 3, {"patch_size": 2})
    unpatchify("no_channels", 2, [2, 2], [2, 2], 0, {"patch_size": 2})
    unpatchify("f16", 2, [2, 2], [2, 2], 3, {"patch_size": 2}, kind="f2")
    unpatchify("u8", 2, [2, 2], [3, 3], 2, {"patch_size": 3}, kind="u1")
    unpatchify("open_grid", 2, [2, 3], [2, 2], 2, {"patch_size": 2, "grid_h": 2, "grid_w": 3}, open=[(0, 0), (0, 1)])
