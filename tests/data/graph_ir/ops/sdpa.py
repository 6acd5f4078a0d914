"""Sdpa, SdpaCross, FlashAttention: torch in f64; SdpaWindow: numpy."""

import numpy as np
import torch
from attention import arrange
from case_writer import bf16, bf16_values
from window_attention import window_attend

LAYOUTS = ["bhsd", "bshd", "packed3", "shd", "hsd", "packed2", "rows", "packed1"]


def attend(q, k, v, causal=False, window=0, scale=None, softcap=0.0, mask=None):
    """[B, H, S, D] arrays; a mask of numbers is added, one of bools says what is allowed."""
    q, k, v = (torch.from_numpy(np.asarray(t, "f8")) for t in (q, k, v))
    heads, rows, width, keys = q.shape[1], q.shape[2], q.shape[3], k.shape[2]
    k, v = (torch.repeat_interleave(t, heads // t.shape[1], 1) for t in (k, v))
    z = torch.matmul(q, k.transpose(-1, -2)) * (width**-0.5 if scale is None else float(np.float32(scale)))
    if softcap:
        z = softcap * torch.tanh(z / softcap)
    allowed = torch.ones(rows, keys, dtype=torch.bool)
    own = keys - rows + torch.arange(rows)[:, None]
    at = torch.arange(keys)[None, :]
    if causal:
        allowed &= at <= own
    if window:
        allowed &= (at > own - window) & (at < own + window)
    if mask is not None and mask.dtype == bool:
        allowed = allowed & torch.from_numpy(mask)
    elif mask is not None:
        z = z + torch.from_numpy(mask.astype("f8"))
    z = z.masked_fill(~allowed.expand(z.shape), -torch.inf)
    p = torch.nan_to_num(torch.softmax(z, -1), nan=0.0) if keys else torch.zeros_like(z)
    return torch.matmul(p, v).numpy()


def build(add):
    rng = np.random.default_rng(360)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    def case(op, name, batch, heads, kv_heads, rows, keys, width, layout="bhsd", kv_layout=None, causal=False, mask=None,
             open=(), kv_batch=None, **attrs):
        q = normal(batch, heads, rows, width)
        k, v = (normal(kv_batch or batch, kv_heads, keys, width) for _ in range(2))
        y = attend(q, k, v, causal, attrs.get("window", 0), attrs.get("scale"), attrs.get("softcap", 0.0), mask)
        operands = [arrange(q, layout)] + [arrange(t, kv_layout or layout) for t in (k, v)]
        operands += [] if mask is None else [mask]
        params = {"num_heads": heads, "head_dim": width}
        attrs = dict(attrs)
        if op != "SdpaCross":
            params["kv_heads"] = kv_heads
        if op == "Sdpa":
            params["causal"] = causal
        elif causal:
            attrs["causal"] = True
        add(f"{op}_{name}".lower(), op, operands, [arrange(y, layout).astype("f4")], "attention", params, attrs, open=open)

    for op in ("Sdpa", "FlashAttention", "SdpaCross"):
        grouped = op != "SdpaCross"
        kv = lambda heads, group: heads // group if grouped else heads  # noqa: E731
        case(op, "plain", 1, 2, 2, 3, 3, 8)
        case(op, "batch", 3, 4, kv(4, 2), 5, 5, 8)
        case(op, "wide_group", 1, 6, kv(6, 6), 3, 4, 5)
        case(op, "batch_of_one_keys", 3, 2, kv(2, 2), 4, 7, 8, kv_batch=1)
        case(op, "more_keys", 2, 2, 2, 3, 9, 4)
        case(op, "more_queries", 1, 2, 2, 9, 3, 4)
        case(op, "long", 1, 1, 1, 2, 600, 2)
        case(op, "one_query", 1, 3, 3, 1, 5, 7)
        for layout in LAYOUTS:
            batch, rows = (2 if layout in ("bhsd", "bshd", "packed3") else 1), (1 if layout == "packed1" else 5)
            case(op, "layout_" + layout, batch, 4, kv(4, 2), rows, 5, 6, layout,
                 kv_layout="packed2" if layout in ("packed1", "rows") else layout)
        case(op, "scaled", 1, 2, 2, 3, 5, 8, scale=0.25)
        case(op, "mask_allows", 2, 2, 2, 3, 5, 8, mask=rng.random((3, 5)) < 0.7)
        case(op, "mask_by_batch", 2, 2, 2, 3, 5, 8, mask=rng.random((2, 1, 1, 5)) < 0.7)
        case(op, "mask_hides_a_row", 1, 2, 2, 3, 5, 8, mask=np.arange(15).reshape(3, 5) >= 5)
        case(op, "mask_adds", 2, 2, 2, 3, 5, 8, mask=normal(2, 2, 3, 5))
        case(op, "mask_adds_by_head", 2, 2, 2, 3, 5, 8, mask=normal(2, 3, 5))
        case(op, "mask_adds_infinity", 1, 2, 2, 3, 5, 8, mask=np.where(rng.random((3, 5)) < 0.4, -np.inf, 0).astype("f4"))
        case(op, "no_batch", 0, 2, 2, 3, 5, 8)
        case(op, "no_queries", 1, 2, 2, 0, 5, 8)
        case(op, "no_keys", 1, 2, 2, 3, 0, 8, "packed2")
        case(op, "open", 2, 4, kv(4, 2), 3, 5, 8, "bshd", open=[(0, 1), (1, 1), (2, 1)])
        case(op, "open_batch", 2, 2, 2, 3, 5, 8, "packed3", open=[(0, 0), (1, 0), (2, 0), (0, 1)])
        if grouped:
            case(op, "causal", 2, 4, 2, 5, 5, 8, causal=True)
            case(op, "causal_after_more", 1, 2, 1, 3, 9, 8, causal=True)
            case(op, "causal_window", 1, 2, 2, 6, 9, 8, causal=True, window=3)
            case(op, "window", 1, 2, 2, 6, 9, 8, window=3)
            case(op, "softcap", 1, 2, 2, 4, 6, 8, causal=True, softcap=2.5)
            case(op, "everything", 2, 4, 2, 4, 6, 8, causal=True, window=4, softcap=5.0, scale=0.5, mask=normal(4, 6))
        q, k, v = normal(1, 2, 3, 8).astype("f2"), bf16(normal(1, 2, 4, 8)), normal(1, 2, 4, 8).astype("f2")
        y = attend(q, bf16_values(k), v)
        params = {"num_heads": 2, "head_dim": 8}
        params.update({"kv_heads": 2} if grouped else {})
        params.update({"causal": False} if op == "Sdpa" else {})
        add(f"{op}_halves".lower(), op, [q, k, v], [y.astype("f4")], "attention", params)

    def windows(name, batch, heads, tokens, width, window, layout="bhsd", shift=0, bias=None, open=(), **attrs):
        q, k, v = (normal(batch, heads, tokens, width) for _ in range(3))
        scale = None if "scale" not in attrs else float(np.float32(attrs["scale"]))
        y = window_attend(*(t.astype("f8") for t in (q, k, v)), window, shift, scale,
                          None if bias is None else bias.astype("f8"))
        operands = [arrange(t, layout) for t in (q, k, v)] + ([] if bias is None else [bias])
        attrs = {**attrs, **({"shift": shift} if shift else {})}
        add("windows_" + name, "SdpaWindow", operands, [arrange(y, layout).astype("f4")], "attention",
            {"num_heads": heads, "head_dim": width, "window_size": window}, attrs, open=open, by="NumPy")

    windows("whole", 1, 2, 8, 4, 8)
    windows("even", 2, 2, 12, 8, 4)
    windows("shorter_last", 1, 3, 10, 4, 4)
    windows("one_token", 1, 2, 5, 4, 1)
    windows("wider_than_tokens", 2, 1, 5, 16, 9)
    windows("shifted", 2, 2, 12, 8, 4, shift=2)
    windows("shifted_shorter_last", 1, 2, 11, 8, 4, shift=3)
    windows("shift_by_more_than_all", 1, 2, 7, 4, 3, shift=16)
    windows("scaled", 1, 2, 9, 4, 3, scale=0.3)
    for layout in LAYOUTS[:-1]:
        windows("layout_" + layout, 2 if layout in ("bhsd", "bshd", "packed3") else 1, 3, 10, 5, 4, layout, shift=1)
    windows("one_of_one", 1, 3, 1, 5, 4, "packed1")
    windows("bias", 2, 2, 10, 4, 4, bias=normal(2, 4, 4))
    windows("bias_shifted", 1, 3, 11, 4, 4, shift=2, bias=normal(3, 4, 4))
    windows("bias_by_window", 2, 2, 10, 4, 4, shift=1, bias=normal(3, 2, 4, 4))
    hiding = np.where(rng.random((2, 5, 5)) < 0.4, -np.inf, normal(2, 5, 5)).astype("f4")
    hiding[0, 3] = -np.inf
    windows("bias_that_hides", 1, 2, 13, 4, 5, bias=hiding)
    windows("no_tokens", 2, 2, 0, 4, 3)
    windows("no_batch", 0, 2, 5, 4, 3)
    windows("open", 2, 2, 10, 4, 4, "bshd", shift=2, bias=normal(2, 4, 4), open=[(0, 1), (1, 1), (2, 1)])
