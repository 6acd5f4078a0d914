"""Cases of WindowAttention: tokens rolled, attended to under a mask of windows and regions, and rolled back."""

import numpy as np
from attention import arrange, attend


def window_attend(q, k, v, window, shift=0, scale=None, bias=None):
    """All [B, H, S, D]; bias [H, w, w] or [n, H, w, w]."""
    tokens, heads = q.shape[2], q.shape[1]
    rolled = [np.roll(t, -shift, 2) for t in (q, k, v)]
    at = np.arange(tokens)
    wrapped = at >= tokens - shift % max(tokens, 1)
    hidden = (at[:, None] // window != at[None, :] // window) | (wrapped[:, None] != wrapped[None, :])
    full = None
    if bias is not None:
        place = at % window
        planes = bias if bias.ndim == 4 else np.broadcast_to(bias, (max(-(-tokens // window), 1), *bias.shape))
        full = np.zeros((heads, tokens, tokens))
        for i in at:
            full[:, i, :] = planes[i // window][:, place[i], :][:, place]
    return np.roll(attend(*rolled, scale=scale, hidden=hidden, bias=full), shift, 2)


def build(add):
    rng = np.random.default_rng(125)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    def case(name, batch, heads, tokens, width, window, layout="bhsd", shift=0, scale=None, bias=None):
        q, k, v = (normal(batch, heads, tokens, width) for _ in range(3))
        wide = [t.astype("f8") for t in (q, k, v)]
        y = window_attend(*wide, window, shift, scale, None if bias is None else bias.astype("f8"))
        stored = layout.rstrip("123")
        attributes = {"num_heads": heads, "head_dim": width, "window_size": window, "shift": shift, "layout": stored,
                      "k_layout": stored, "v_layout": stored}
        if scale is not None:
            attributes["scale"] = scale
        inputs = [arrange(t, layout) for t in (q, k, v)] + ([] if bias is None else [bias])
        add("window_attention_" + name, "WindowAttention", attributes, inputs, [arrange(y, layout).astype("f4")], "row")

    case("whole", 1, 2, 8, 4, 8)
    case("even", 2, 2, 12, 8, 4)
    case("shorter_last", 1, 3, 10, 4, 4)
    case("one_token", 1, 2, 5, 4, 1)
    case("wider_than_tokens", 2, 1, 5, 16, 9)
    case("shifted", 2, 2, 12, 8, 4, shift=2)
    case("shifted_shorter_last", 1, 2, 11, 8, 4, shift=3)
    case("shift_by_more_than_all", 1, 2, 7, 4, 3, shift=16)
    case("scaled", 1, 2, 9, 4, 3, scale=0.3)
    for layout in ("bshd", "hsd", "shd", "packed2", "packed3", "rows"):
        case("layout_" + layout, 2 if layout in ("bshd", "packed3") else 1, 3, 10, 5, 4, layout, shift=1)
    case("bias", 2, 2, 10, 4, 4, bias=normal(2, 4, 4))
    case("bias_shifted", 1, 3, 11, 4, 4, shift=2, bias=normal(3, 4, 4))
    case("bias_by_window", 2, 2, 10, 4, 4, shift=1, bias=normal(3, 2, 4, 4))
    hiding = np.where(rng.random((2, 5, 5)) < 0.4, -np.inf, normal(2, 5, 5)).astype("f4")
    hiding[0, 3] = -np.inf
    case("bias_that_hides", 1, 2, 13, 4, 5, bias=hiding)
    case("no_tokens", 2, 2, 0, 4, 3)
    case("swin", 1, 2, 98, 16, 49, "packed3", shift=24, bias=normal(2, 49, 49))
