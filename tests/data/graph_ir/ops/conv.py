"""Convolutions and pooling: torch in f64."""

import numpy as np
import torch
import torch.nn.functional as F


def t(x):
    return torch.from_numpy(np.asarray(x, "f8"))


def build(add):
    rng = np.random.default_rng(310)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    def answer(y):
        return [y.numpy().astype("f4")]

    def conv(name, batch, cin, cout, size, kernel, stride=1, padding=0, dilation=1, groups=1, bias=True, open=((0, 0),), kind="f4"):
        axes = len(size)

        def each(value):
            return list(value) if isinstance(value, (list, tuple)) else [value] * axes

        kernel, stride, padding, dilation = each(kernel), each(stride), each(padding), each(dilation)
        x = normal(*([] if batch is None else [batch]), cin, *size)
        w = normal(cout, cin // groups, *kernel)
        operands = [v.astype(kind) for v in [x, w] + ([normal(cout)] if bias else [])]
        x, w = operands[:2]
        run = [F.conv1d, F.conv2d, F.conv3d][axes - 1]
        wide = t(x) if batch is not None else t(x)[None]
        if wide.numel() == 0 and batch == 0:
            shape = list(run(torch.zeros([1, *wide.shape[1:]]).double(), t(w), None, stride, padding, dilation, groups).shape)
            y = torch.zeros([0, *shape[1:]])
        elif cin == 0:  # torch makes no channels of what is the bias alone
            y = run(torch.zeros([batch, 1, *size]).double(), torch.zeros([cout, 1, *kernel]).double(), t(operands[2]))
        else:
            y = run(wide, t(w), t(operands[2]) if bias else None, stride, padding, dilation, groups)
        y = y if batch is not None else y[0]
        params = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        if axes == 1:
            params = {key: value[0] for key, value in params.items()}
        terms = cin // groups * int(np.prod(kernel))
        add(
            f"conv{axes}d_{name}",
            f"Conv{axes}d",
            operands,
            answer(y),
            f"reduction:{max(terms, 1)}",
            {**params, "groups": groups},
            open=open if batch is not None else [],
        )

    #    name batch cin cout size kernel stride padding dilation groups
    conv("plain", 1, 3, 4, [9], 3)
    conv("batch", 3, 4, 6, [11], 3)
    conv("same", 2, 3, 5, [13], 5, 1, 2)
    conv("stride", 2, 4, 4, [17], 3, 2, 1)
    conv("stride_3", 2, 2, 7, [16], 4, 3)
    conv("dilation", 2, 3, 4, [15], 3, 1, 2, 2)
    conv("groups", 2, 6, 9, [7], 3, 1, 1, 1, 3)
    conv("depthwise", 2, 5, 5, [9], 3, 1, 1, 1, 5)
    conv("everything", 3, 4, 6, [19], 3, 2, 3, 2, 2)
    conv("pointwise", 2, 7, 5, [6], 1)
    conv("no_bias", 2, 3, 4, [9], 3, bias=False)
    conv("one_output", 2, 3, 4, [5], 5)
    conv("one_element", 2, 3, 4, [1], 1)
    conv("padding_over_kernel", 1, 2, 3, [4], 2, 1, 5)
    conv("unbatched", None, 3, 4, [9], 3, 2, 1)
    conv("no_batch", 0, 3, 4, [9], 3)
    conv("no_inputs", 2, 0, 3, [5], 3)
    conv("long", 1, 2, 3, [150], 7, 1, 3)
    conv("many_channels", 1, 40, 19, [21], 3, 1, 1)
    conv("open_length", 2, 3, 4, [14], 3, 2, 1, open=[(0, 0), (0, 2)])
    conv("wide_stride", 2, 3, 2, [20], 2, 7)
    conv("f16", 2, 3, 4, [9], 3, kind="f2")

    conv("plain", 1, 3, 4, [5, 6], 3)
    conv("batch", 2, 2, 3, [7, 5], 3)
    conv("same", 1, 3, 5, [6, 9], 3, 1, 1)
    conv("uneven_kernel", 2, 3, 4, [7, 8], [3, 2])
    conv("uneven_everything", 2, 4, 6, [9, 11], [3, 2], [2, 1], [1, 0], [1, 2], 2)
    conv("stride", 1, 3, 4, [9, 9], 3, 2, 1)
    conv("stride_3", 2, 2, 3, [10, 7], 3, 3)
    conv("dilation", 1, 2, 3, [9, 8], 3, 1, 2, 2)
    conv("groups", 2, 4, 6, [5, 5], 3, 1, 1, 1, 2)
    conv("depthwise", 2, 3, 6, [6, 5], 3, 1, 1, 1, 3)
    conv("pointwise", 2, 5, 4, [5, 3], 1)
    conv("pointwise_stride", 2, 5, 4, [5, 7], 1, 2)
    conv("no_bias", 1, 3, 4, [5, 6], 3, bias=False)
    conv("one_output", 1, 3, 4, [4, 3], [4, 3])
    conv("unbatched", None, 2, 3, [6, 7], 3, 1, 1)
    conv("no_batch", 0, 2, 3, [6, 7], 3, 1, 1)
    conv("no_inputs", 1, 0, 3, [4, 4], 3)
    conv("many_channels", 1, 33, 17, [5, 4], 3, 1, 1)
    conv("wide_image", 1, 2, 3, [3, 41], 3, 1, 1)
    conv("large_kernel", 1, 2, 2, [9, 9], 7, 2, 3)
    conv("f16", 2, 2, 3, [5, 6], 3, kind="f2")
    conv("open_sides", 2, 3, 2, [7, 9], 3, 2, 1, open=[(0, 0), (0, 2), (0, 3)])

    conv("plain", 1, 2, 3, [3, 4, 5], 2)
    conv("batch", 3, 2, 2, [4, 3, 3], 2)
    conv("same", 1, 2, 3, [3, 4, 5], 3, 1, 1)
    conv("uneven", 1, 2, 3, [4, 5, 6], [1, 2, 3])
    conv("stride", 2, 2, 3, [5, 5, 5], 3, 2, 1)
    conv("uneven_stride", 1, 2, 2, [4, 6, 5], 2, [1, 2, 3])
    conv("dilation", 1, 2, 2, [5, 5, 6], 2, 1, 1, 2)
    conv("uneven_dilation", 1, 1, 2, [4, 5, 6], 2, 1, 0, [1, 2, 3])
    conv("groups", 2, 4, 6, [3, 3, 3], 2, 1, 0, 1, 2)
    conv("depthwise", 1, 3, 3, [3, 4, 3], 3, 1, 1, 1, 3)
    conv("everything", 2, 2, 4, [5, 6, 7], [2, 3, 2], [2, 1, 2], [1, 1, 0], [2, 1, 1], 2)
    conv("pointwise", 2, 3, 4, [2, 3, 2], 1)
    conv("no_bias", 1, 2, 2, [3, 3, 4], 2, bias=False)
    conv("one_output", 1, 2, 3, [2, 3, 2], [2, 3, 2])
    conv("one_frame", 2, 2, 3, [1, 5, 4], [1, 3, 3], 1, [0, 1, 1])
    conv("unbatched", None, 2, 3, [3, 3, 4], 2)
    conv("no_batch", 0, 2, 3, [3, 3, 4], 2)
    conv("no_inputs", 1, 0, 2, [2, 2, 2], 2)
    conv("many_channels", 1, 9, 7, [2, 3, 3], 2, 1, 1)
    conv("open_sides", 1, 2, 2, [4, 5, 6], 2, 2, open=[(0, 0), (0, 2), (0, 3), (0, 4)])

    def transposed(name, batch, cin, cout, size, kernel, stride=1, padding=0, dilation=1, groups=1, extra=0, bias=True, open=()):
        def pair(value):
            return list(value) if isinstance(value, (list, tuple)) else [value] * 2

        kernel, stride, padding, dilation, extra = map(pair, (kernel, stride, padding, dilation, extra))
        x = normal(*([] if batch is None else [batch]), cin, *size)
        w = normal(cin, cout // groups, *kernel)
        operands = [x, w] + ([normal(cout)] if bias else [])
        b = t(operands[2]) if bias else None
        wide = t(x) if batch is not None else t(x)[None]
        if batch == 0:
            wide = torch.zeros([1, *wide.shape[1:]]).double()
        if cin == 0:  # torch refuses what is the bias alone
            y = b[None, :, None, None].expand(batch, cout, *[(size[i] - 1) * stride[i] + kernel[i] for i in (0, 1)])
        else:
            y = F.conv_transpose2d(wide, t(w), b, stride, padding, extra, groups, dilation)
        y = y[:0] if batch == 0 else y if batch is not None else y[0]
        attrs = {}
        if dilation != [1, 1]:
            attrs["dilation"] = dilation
        if groups != 1:
            attrs["groups"] = groups
        if extra != [0, 0]:
            attrs["output_padding"] = extra
        params = {"kernel": kernel, "stride": stride, "padding": padding}
        terms = cin // groups * int(np.prod(kernel))
        add("conv_transpose2d_" + name, "ConvTranspose2d", operands, answer(y), f"reduction:{max(terms, 1)}", params, attrs, open)

    transposed("plain", 1, 2, 3, [4, 5], 3)
    transposed("batch", 3, 2, 2, [3, 4], 3, open=[(0, 0)])
    transposed("stride", 1, 3, 2, [4, 3], 3, 2)
    transposed("stride_padding", 2, 2, 3, [4, 5], 4, 2, 1)
    transposed("stride_over_kernel", 1, 2, 3, [4, 3], 2, 3)
    transposed("uneven", 2, 2, 3, [3, 4], [2, 3], [1, 2], [0, 1])
    transposed("output_padding", 1, 2, 3, [4, 3], 3, 2, 1, extra=1)
    transposed("uneven_output_padding", 1, 2, 3, [4, 3], 3, [2, 3], 1, extra=[0, 2])
    transposed("dilation", 1, 2, 2, [4, 4], 3, 1, 0, 2)
    transposed("dilation_stride", 2, 2, 2, [3, 4], [2, 3], 2, 1, [3, 2])
    transposed("dilated_output_padding", 1, 2, 2, [3, 4], 2, 1, 0, 2, 1, 1)
    transposed("groups", 2, 4, 6, [3, 3], 3, 2, 1, 1, 2)
    transposed("depthwise", 1, 3, 3, [4, 5], 3, 2, 1, 1, 3)
    transposed("everything", 2, 4, 4, [3, 5], [3, 2], [2, 3], [1, 1], [2, 1], 2, [1, 2])
    transposed("pointwise", 2, 5, 3, [4, 3], 1)
    transposed("no_bias", 1, 2, 3, [4, 5], 3, 2, bias=False)
    transposed("one_pixel", 2, 3, 2, [1, 1], 4, 2, 1)
    transposed("unbatched", None, 2, 3, [3, 4], 3, 2)
    transposed("no_batch", 0, 2, 3, [3, 4], 3, 2)
    transposed("no_inputs", 1, 0, 2, [3, 3], 2, 2)
    transposed("many_channels", 1, 21, 9, [3, 4], 3, 2, 1)
    transposed("open_sides", 2, 2, 2, [5, 3], 4, 2, 1, open=[(0, 0), (0, 2), (0, 3)])

    def causal(name, batch, cin, cout, length, kernel, groups=1, zeros=False, bias=True, open=((0, 0),)):
        x = normal(*([] if batch is None else [batch]), cin, length)
        w = normal(cout, cin // groups, kernel)
        operands = [x, w] + ([normal(cout)] if bias else [])
        wide = t(x) if batch is not None else t(x)[None]
        padded = F.pad(wide, [kernel - 1, 0], "constant" if zeros else "replicate") if wide.numel() else wide
        if wide.numel() or batch is None:
            y = F.conv1d(padded, t(w), t(operands[2]) if bias else None, groups=groups)
            y = y if batch is not None else y[0]
        else:
            y = torch.zeros([batch, cout, length])
        attrs = {"pad_mode": "zeros"} if zeros else {}
        terms = cin // groups * kernel
        where = open if batch is not None else []
        add("causal_conv1d_" + name, "CausalConv1d", operands, answer(y), f"reduction:{terms}", {"kernel": kernel}, attrs, where)

    causal("plain", 1, 3, 4, 9, 3)
    causal("batch", 3, 2, 5, 11, 4)
    causal("zeros", 2, 3, 4, 9, 3, 1, True)
    causal("depthwise", 2, 6, 6, 13, 4, 6)
    causal("depthwise_zeros", 2, 6, 6, 13, 4, 6, True)
    causal("multiplier", 2, 3, 6, 7, 3, 3)
    causal("groups", 2, 4, 6, 10, 5, 2)
    causal("groups_zeros", 2, 6, 3, 10, 2, 3, True)
    causal("pointwise", 2, 4, 3, 5, 1)
    causal("pointwise_zeros", 2, 4, 3, 5, 1, 1, True)
    causal("kernel_over_length", 2, 2, 3, 3, 6)
    causal("kernel_over_length_zeros", 2, 2, 3, 3, 6, 1, True)
    causal("one_element", 2, 3, 4, 1, 4)
    causal("no_bias", 2, 3, 4, 8, 3, bias=False)
    causal("no_bias_zeros", 2, 3, 4, 8, 3, 1, True, False)
    causal("unbatched", None, 3, 4, 9, 3)
    causal("unbatched_zeros", None, 4, 4, 9, 2, 4, True)
    causal("no_batch", 0, 3, 4, 9, 3)
    causal("long", 1, 2, 3, 140, 7)
    causal("many_channels", 1, 24, 17, 19, 3)
    causal("open_length", 2, 3, 4, 15, 4, open=[(0, 0), (0, 2)])

    def depthwise(name, batch, channels, size, kernel, stride=1, multiplier=1, padding=0, dilation=1, bias=True, open=((0, 0),)):
        axes = len(size)
        x = normal(*([] if batch is None else [batch]), channels, *size)
        w = normal(channels * multiplier, 1, *[kernel] * axes)
        operands = [x, w] + ([normal(channels * multiplier)] if bias else [])
        b = t(operands[2]) if bias else None
        wide = t(x) if batch is not None else t(x)[None]
        if batch == 0:
            wide = torch.zeros([1, *wide.shape[1:]]).double()
        y = [F.conv1d, F.conv2d][axes - 1](wide, t(w), b, stride, padding, dilation, channels)
        y = y[:0] if batch == 0 else y if batch is not None else y[0]
        attrs = {}
        if padding:
            attrs["padding"] = padding
        if dilation != 1:
            attrs["dilation"] = dilation
        where = open if batch is not None else []
        params = {"kernel": kernel, "stride": stride}
        add("depthwise_conv_" + name, "DepthwiseConv", operands, answer(y), f"reduction:{kernel ** axes}", params, attrs, where)

    depthwise("signal", 1, 4, [9], 3)
    depthwise("signal_batch", 3, 5, [11], 3, 1, 1, 1)
    depthwise("signal_stride", 2, 3, [13], 3, 2, 1, 1)
    depthwise("signal_multiplier", 2, 3, [9], 3, 1, 2)
    depthwise("signal_dilation", 2, 3, [12], 3, 1, 1, 2, 2)
    depthwise("signal_everything", 2, 3, [17], 4, 3, 2, 3, 2)
    depthwise("signal_unbatched", None, 3, [9], 3, 1, 1, 1)
    depthwise("signal_no_batch", 0, 3, [9], 3)
    depthwise("signal_no_bias", 2, 3, [9], 5, bias=False)
    depthwise("signal_long", 1, 2, [130], 9, 1, 1, 4)
    depthwise("image", 1, 3, [5, 6], 3)
    depthwise("image_batch", 2, 3, [7, 5], 3, 1, 1, 1)
    depthwise("image_stride", 2, 3, [9, 8], 3, 2, 1, 1)
    depthwise("image_multiplier", 1, 2, [5, 6], 3, 1, 3, 1)
    depthwise("image_dilation", 1, 2, [9, 8], 3, 1, 1, 2, 2)
    depthwise("image_everything", 2, 2, [9, 11], 2, 3, 2, 1, 3)
    depthwise("image_unbatched", None, 2, [6, 5], 3, 2)
    depthwise("image_no_batch", 0, 2, [6, 5], 3)
    depthwise("image_no_bias", 2, 3, [5, 5], 5, 1, 1, 2, bias=False)
    depthwise("pointwise", 2, 6, [4, 3], 1)
    depthwise("open_sides", 2, 2, [7, 9], 3, 2, 1, 1, open=[(0, 0), (0, 2), (0, 3)])
    depthwise("wide", 1, 2, [3, 70], 3, 1, 1, 1)

    def pool(name, mode, dims, kernel, stride=0, padding=0, open=((0, 0),), x=None):
        def pair(value):
            return list(value) if isinstance(value, (list, tuple)) else [value] * 2

        kernel, stride, padding = pair(kernel), pair(stride), pair(padding)
        x = normal(*dims) if x is None else x
        step = [s or k for s, k in zip(stride, kernel)]
        wide = t(x) if x.ndim == 4 else t(x)[None]
        empty = wide.numel() == 0
        if empty:
            wide = torch.zeros([max(size, 1) for size in wide.shape]).double()
        y = F.max_pool2d(wide, kernel, step, padding) if mode == "max" else F.avg_pool2d(wide, kernel, step, padding)
        if empty:
            y = torch.zeros([*x.shape[: x.ndim - 2], *y.shape[2:]])
        elif x.ndim == 3:
            y = y[0]
        params = {"mode": mode, "kernel": kernel, "stride": stride, "padding": padding}
        tolerance = "exact" if mode == "max" else f"reduction:{kernel[0] * kernel[1]}"
        add(f"pool_{name}", "Pool", [x], answer(y), tolerance, params, open=open if x.ndim == 4 else [])

    edges = np.array([[[[np.nan, -np.inf, 1, 2], [np.inf, -np.inf, -3, 0], [4, 5, -0.0, np.inf], [-np.inf] * 4]]], "f4")
    pool("max", "max", [1, 2, 6, 6], 2)
    pool("max_batch", "max", [3, 2, 7, 9], 2)
    pool("max_stride", "max", [2, 3, 9, 8], 3, 2)
    pool("max_padding", "max", [2, 3, 9, 8], 3, 2, 1)
    pool("max_overlap", "max", [1, 2, 6, 7], 3, 1, 1)
    pool("max_uneven", "max", [2, 2, 8, 9], [2, 3], [0, 1], [1, 1])
    pool("max_one_window", "max", [2, 2, 4, 5], [4, 5])
    pool("max_one_pixel", "max", [2, 3, 4, 5], 1)
    pool("max_unbatched", "max", [3, 6, 5], 2, 1)
    pool("max_no_batch", "max", [0, 3, 6, 5], 2)
    pool("max_no_channels", "max", [2, 0, 6, 5], 2)
    pool("max_edges", "max", None, 2, 1, x=edges)
    pool("max_wide", "max", [1, 1, 3, 90], [3, 5], [1, 2], [1, 2])
    pool("avg", "avg", [1, 2, 6, 6], 2)
    pool("avg_batch", "avg", [3, 2, 7, 9], 2)
    pool("avg_stride", "avg", [2, 3, 9, 8], 3, 2)
    pool("avg_padding", "avg", [2, 3, 9, 8], 3, 2, 1)
    pool("avg_uneven", "avg", [2, 2, 8, 9], [2, 3], [0, 1], [1, 1])
    pool("avg_whole", "avg", [2, 5, 7, 7], 7)
    pool("avg_unbatched", "avg", [3, 6, 5], 2, 1)
    pool("avg_no_batch", "avg", [0, 3, 6, 5], 2)
    pool("avg_wide", "avg", [1, 1, 3, 90], [3, 5], [1, 2], [1, 2])
    pool("max_f16", "max", None, 2, x=normal(1, 2, 5, 6).astype("f2"))
    pool("avg_f16", "avg", None, 2, x=normal(1, 2, 5, 6).astype("f2"))
    pool("avg_open_sides", "avg", [2, 3, 9, 8], 3, 2, 1, [(0, 0), (0, 2), (0, 3)])
    pool("max_open_sides", "max", [2, 3, 9, 8], 3, 2, 1, [(0, 0), (0, 2), (0, 3)])
