"""Cases of Attention: numpy in f64 on [B, H, S, D], rearranged to each layout."""

import numpy as np
from case_writer import Typed, bf16, bf16_values


def attend(q, k, v, causal=False, window=None, scale=None, softcap=None, hidden=None, bias=None, sink=None):
    """q [B, H, Sq, D], k [B or 1, Hkv, Sk, D], v [.., Dv]; hidden and bias broadcast to [B, H, Sq, Sk]."""
    b, heads, sq, d = q.shape
    sk = k.shape[2]
    k, v = (np.repeat(t, heads // t.shape[1], 1) for t in (k, v))
    z = np.einsum("bhid,bhjd->bhij", q, np.broadcast_to(k, (b, *k.shape[1:])))
    z = z * (1 / np.sqrt(d) if scale is None else scale)
    if softcap is not None:
        z = softcap * np.tanh(z / softcap)
    if bias is not None:
        z = z + bias
    own = sk - sq + np.arange(sq)[:, None]
    j = np.arange(sk)[None, :]
    visible = np.ones((sq, sk), bool)
    if causal:
        visible &= j <= own
    if window is not None:
        visible &= j > own - window
        if not causal:
            visible &= j < own + window
    z = np.where(visible, z, -np.inf)
    if hidden is not None:
        z = np.where(hidden, -np.inf, z)
    extra = np.full((b, heads, sq, 1), -np.inf) if sink is None else np.broadcast_to(sink[:, None, None], (b, heads, sq, 1))
    top = np.maximum(z.max(-1, keepdims=True, initial=-np.inf), extra)
    top = np.where(np.isneginf(top), 0, top)
    w = np.exp(z - top)
    total = w.sum(-1, keepdims=True) + np.exp(extra - top)
    p = np.divide(w, total, out=np.zeros_like(w), where=total != 0)
    return np.einsum("bhij,bhjd->bhid", p, np.broadcast_to(v, (b, *v.shape[1:])))


def arrange(t, layout):
    """From [B, H, S, D]."""
    b, h, s, d = t.shape
    token_major = t.transpose(0, 2, 1, 3)
    return {
        "bhsd": t,
        "bshd": token_major,
        "hsd": t.reshape(h, s, d) if b == 1 else None,
        "shd": token_major.reshape(s, h, d) if b == 1 else None,
        "packed3": token_major.reshape(b, s, h * d),
        "packed2": token_major.reshape(s, h * d) if b == 1 else None,
        "packed1": token_major.reshape(h * d) if b * s == 1 else None,
        "rows": token_major.reshape(s * h, d) if b == 1 else None,
    }[layout].copy()


def build(add):
    rng = np.random.default_rng(121)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    def case(name, b=1, h=2, hkv=2, sq=5, sk=5, d=8, dv=None, layout="packed3", kv_layout=None, v_layout=None, kv_batch=None,
             attributes=None, mask=None, hidden=None, bias=None, sink=None, kind="f4", kv=None, **options):
        q = normal(b, h, sq, d).astype(kind)
        kv_batch = b if kv_batch is None else kv_batch
        k = normal(kv_batch, hkv, sk, d).astype(kind)
        v = normal(kv_batch, hkv, sk, dv or d).astype(kind)
        if kv:
            k, v = kv(k, v)
        wide = [t.astype("f8") for t in (q, k, v)]
        y = attend(*wide, hidden=hidden, bias=None if bias is None else bias.astype("f8"),
                   sink=None if sink is None else sink.astype("f8"), **options)
        kv_layout = kv_layout or layout
        given = {"num_heads": h, "head_dim": d}
        names = {"causal": "causal", "window": "window_keys", "scale": "scale", "softcap": "softcap"}
        given.update({names[key]: value for key, value in options.items()})
        given.update(attributes or {})
        inputs = [arrange(q, layout), arrange(k, kv_layout), arrange(v, v_layout or kv_layout), mask, bias, sink]
        while inputs[-1] is None:
            inputs.pop()
        add("attention_" + name, "Attention", given, inputs, [arrange(y.astype(kind), layout)], "row")

    case("plain")
    case("causal", causal=True)
    case("batch", b=3, causal=True)
    for layout, name in (("packed1", "packed_vector"), ("packed2", "packed_tokens"), ("shd", "shd"), ("hsd", "hsd"),
                         ("rows", "rows"), ("bshd", "bshd"), ("bhsd", "bhsd")):
        sq = 1 if layout == "packed1" else 5
        case("layout_" + name, sq=sq, sk=7, h=4, hkv=4, layout=layout, causal=True,
             attributes={"num_kv_heads": 4} if layout == "rows" else None,
             kv_layout="packed2" if layout == "packed1" else None)
    case("layout_batch_bshd", b=2, h=4, hkv=2, layout="bshd", sk=9, causal=True)
    case("layout_batch_bhsd", b=2, h=4, hkv=2, layout="bhsd", sk=9, causal=True)
    case("layout_bshd_before_bhsd", b=2, h=5, hkv=5, layout="bshd")
    case("layout_named", b=2, h=5, hkv=5, layout="bhsd", attributes={"layout": "bhsd"})
    case("layout_heads_then_cache", h=4, hkv=2, sq=3, sk=8, layout="shd", kv_layout="packed2", causal=True,
         attributes={"num_kv_heads": 2})
    case("layout_mixed", h=4, hkv=2, sq=3, sk=8, layout="hsd", kv_layout="shd", v_layout="packed2", causal=True,
         attributes={"num_kv_heads": 2})
    case("layout_rows_cache", h=4, hkv=2, sq=3, sk=8, layout="rows", kv_layout="packed2", causal=True,
         attributes={"num_kv_heads": 2})
    case("layout_one_key_head", h=4, hkv=1, sq=3, sk=8, layout="shd", causal=True)
    case("groups", h=6, hkv=2, sq=4, sk=9, causal=True)
    case("groups_given", h=6, hkv=3, attributes={"num_kv_heads": 3})
    case("one_key_head", h=6, hkv=1, causal=True)
    case("keys_shared_by_batch", b=3, kv_batch=1)
    case("values_wider", dv=20, causal=True)
    case("values_narrower", dv=3, layout="bshd")
    case("one_token", sq=1, sk=1, causal=True)
    case("one_query", sq=1, sk=37, causal=True)
    case("width_of_one", d=1, dv=1)
    case("scale", scale=0.3)
    case("scale_negative", scale=-0.3)
    case("softcap", softcap=1.5, scale=2.0, causal=True)
    case("softcap_masked", softcap=0.7, scale=4.0, window=2, causal=True)
    case("window", window=2, causal=True, sk=9)
    case("window_of_one", window=1, causal=True)
    case("window_wide", window=100, causal=True)
    case("window_both_sides", window=3)
    case("fewer_keys", sq=6, sk=4, causal=True)
    case("fewer_keys_window", sq=6, sk=4, window=2)
    case("no_keys", sq=2, sk=0)
    case("no_queries", sq=0, sk=3)
    case("blocks", h=4, hkv=2, sq=70, sk=133, d=20, causal=True)
    case("blocks_window", h=2, hkv=1, sq=70, sk=133, d=16, causal=True, window=40)
    case("strict", sq=3, sk=3, causal=True, attributes={"strict": True})

    keep = rng.random((3, 7)) > 0.4
    case("mask_keys", b=3, sk=7, mask=keep, hidden=~keep[:, None, None, :])
    case("mask_keys_float", b=3, sk=7, mask=keep.astype("f4"), hidden=~keep[:, None, None, :])
    halves = np.array([[0.49, 0.5, 1, 0, -1, 2, np.nan]] * 3, "f4")
    case("mask_threshold", b=3, sk=7, mask=halves, hidden=~(halves >= 0.5)[:, None, None, :])
    case("mask_integers", b=3, sk=7, mask=keep.astype("i4"), hidden=~keep[:, None, None, :])
    keep = rng.random((5, 7)) > 0.4
    case("mask_queries", b=3, sk=7, mask=keep, hidden=~keep)
    case("mask_queries_causal", sk=7, mask=keep, hidden=~keep, causal=True)
    keep = rng.random((3, 5, 7)) > 0.4
    case("mask_batch", b=3, sk=7, mask=keep, hidden=~keep[:, None])
    keep = rng.random((2, 5, 7)) > 0.4
    case("mask_heads", b=3, sk=7, mask=keep, hidden=~keep)
    case("mask_named_batch", b=2, sk=7, mask=keep, hidden=~keep[:, None], attributes={"mask_axes": "batch"})
    case("mask_named_right", b=2, sk=7, mask=keep, hidden=~keep, attributes={"mask_axes": "right"})
    keep = rng.random((3, 1, 1, 7)) > 0.4
    case("mask_broadcast", b=3, sk=7, mask=keep, hidden=~keep)
    keep = rng.random((3, 2, 5, 7)) > 0.4
    case("mask_full", b=3, sk=7, mask=keep, hidden=~keep)
    keep = rng.random(7) > 0.4
    case("mask_vector", b=3, sk=7, mask=keep, hidden=~keep)
    keep = np.ones((5, 7), bool)
    keep[1] = False
    case("mask_hides_a_query", sk=7, mask=keep, hidden=~keep)

    case("bias", b=3, sk=7, bias=normal(3, 2, 5, 7))
    case("bias_queries", b=3, sk=7, bias=normal(5, 7), causal=True)
    case("bias_heads", b=3, sk=7, bias=normal(2, 1, 7))
    low = normal(5, 7)
    low[2] = -np.inf
    low[3, 1:] = -np.inf
    case("bias_infinite", sk=7, bias=low)
    case("bias_softcap", sk=7, bias=normal(5, 7), softcap=0.5)
    case("sink", sink=normal(2))
    case("sink_large", sink=np.array([30, -30], "f4"), causal=True)
    case("sink_all_hidden", sq=6, sk=4, sink=normal(2), causal=True)
    keep = rng.random((5, 7)) > 0.4
    case("everything", b=2, h=4, hkv=2, sk=7, d=8, dv=5, causal=True, window=4, softcap=2.0, scale=0.7, mask=keep,
         hidden=~keep, bias=normal(4, 5, 7), sink=normal(4))

    def spoiled(k, v):
        k[:, :, 0] = np.nan
        v[:, :, 1] = np.inf
        return k, v

    # What is hidden does not reach the result, whatever it is; the expected values are those of clean keys.
    q, k, v = normal(1, 2, 3, 8), normal(1, 2, 6, 8), normal(1, 2, 6, 8)
    hidden = np.array([True, True, False, False, False, False])
    y = attend(*(t.astype("f8") for t in (q, k, v)), hidden=hidden)
    bad_k, bad_v = spoiled(k.copy(), v.copy())
    add("attention_hidden_not_finite", "Attention", {"num_heads": 2, "head_dim": 8},
        [arrange(q, "bhsd"), arrange(bad_k, "bhsd"), arrange(bad_v, "bhsd"), ~hidden],
        [arrange(y.astype("f4"), "bhsd")], "row")
    bad_k, _ = spoiled(k.copy(), v.copy())
    nan = np.full((1, 2, 3, 8), np.nan, "f4")
    add("attention_visible_nan", "Attention", {"num_heads": 2, "head_dim": 8},
        [arrange(q, "bhsd"), arrange(bad_k, "bhsd"), arrange(v, "bhsd")], [nan], "row")

    case("f64", kind="f8", causal=True, sk=9)
    case("f16", kind="f2", causal=True, sk=9)
    q, k, v = (bf16(normal(4, 16)) for _ in range(3))
    wide = [bf16_values(t).astype("f8").reshape(1, 4, 2, 8).transpose(0, 2, 1, 3) for t in (q, k, v)]
    add("attention_bf16", "Attention", {"num_heads": 2, "head_dim": 8, "causal": True}, [q, k, v],
        [bf16(arrange(attend(*wide, causal=True), "packed2"))], "row")
    q, k, v = normal(1, 2, 3, 8), normal(1, 2, 6, 8).astype("f2"), normal(1, 2, 6, 8).astype("f2")
    y = attend(*(t.astype("f8") for t in (q, k, v)), causal=True)
    add("attention_f16_cache", "Attention", {"num_heads": 2, "head_dim": 8, "causal": True},
        [arrange(q, "shd"), arrange(k, "packed2"), arrange(v, "packed2")], [arrange(y.astype("f4"), "shd")], "row")
    scale = (rng.random((6, 2)) * 0.02).astype("f2")
    codes = rng.integers(-127, 128, (6, 2, 32)).astype("i1")
    raw = np.concatenate([scale[..., None].view("u1"), codes.view("u1")], -1)
    packed = (scale.astype("f8")[..., None] * codes).reshape(1, 6, 2, 32).transpose(0, 2, 1, 3)
    q, v = normal(1, 2, 3, 32), normal(1, 2, 6, 32)
    y = attend(q.astype("f8"), packed, v.astype("f8"), causal=True)
    add("attention_q8_0_keys", "Attention", {"num_heads": 2, "head_dim": 32, "causal": True},
        [arrange(q, "shd"), Typed("q8_0", [6, 64], raw.tobytes()), arrange(v, "packed2")],
        [arrange(y.astype("f4"), "shd")], "row")
