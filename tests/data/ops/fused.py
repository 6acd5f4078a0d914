"""Cases of the fused ops: numpy in f64."""

import math

import numpy as np
from case_writer import bf16, bf16_values
from linalg import q4_0, q8_0

erf = np.vectorize(math.erf)


def silu(x):
    return x / (1 + np.exp(-x))


ACTIVATIONS = {
    "none": lambda x: x,
    "silu": silu,
    "gelu": lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2))),
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
}


def build(add):
    rng = np.random.default_rng(200)

    def normal(*dims, kind="f4"):
        return rng.standard_normal(dims).astype(kind)

    def wide(x):
        return None if x is None else np.asarray(x, "f8")

    def product(x, w, bias=None, transposed=True):
        """The product, and the sum of magnitudes that its error is relative to."""
        x, w = wide(x), wide(w).T if transposed else wide(w)
        y, size = x @ w, np.abs(x) @ np.abs(w)
        return (y, size) if bias is None else (y + wide(bias), size + np.abs(wide(bias)))

    def trimmed(inputs):
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        return inputs

    t_b = {"transpose_b": True}

    def normed(x, gain, eps):
        x = wide(x)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * wide(gain)

    # Activations have slopes of about 1 at most, so an error of the product stays what it is.
    def bias_act(name, x, w, bias=None, residual=None, act=None, values=None, transposed=True, kind="f4"):
        y, size = product(x, w if values is None else values, bias, transposed)
        y = ACTIVATIONS[act or "none"](y)
        if residual is not None:
            y, size = y + wide(residual), size + np.abs(wide(residual))
        attributes = {**(t_b if transposed else {}), **({"activation": act} if act else {})}
        inputs = trimmed([x, w, bias, residual])
        add("fused_matmul_bias_act_" + name, "FusedMatMulBiasAct", attributes, inputs, [y.astype(kind)], "sum",
            [size.astype("f4")])

    x, w, plain = normal(5, 33), normal(19, 33), normal(33, 19)
    bias_act("product", x, w)
    bias_act("bias", x, w, normal(19))
    bias_act("residual", x, w, None, normal(5, 19))
    bias_act("act", x, w, None, None, "gelu")
    bias_act("all", x, w, normal(19), normal(5, 19), "silu")
    bias_act("plain_weights", x, plain, normal(19), normal(5, 19), "tanh", transposed=False)
    bias_act("one_row", normal(33), w, normal(19), normal(19), "relu")
    bias_act("batches", normal(2, 3, 33), w, normal(19), normal(2, 3, 19), "silu")
    bias_act("no_rows", normal(0, 33), w, normal(19))
    bias_act("f64", normal(3, 70, kind="f8"), normal(18, 70, kind="f8"), normal(18, kind="f8"), None, "silu", kind="f8")
    packed, values = q8_0(rng, 37, 96)
    bias_act("q8_0", normal(3, 96), packed, normal(37), normal(3, 37), "silu", values)
    packed, values = q4_0(rng, 18, 64)
    bias_act("q4_0", normal(1, 64), packed, None, normal(1, 18), None, values)
    half = normal(19, 33, kind="f2")
    bias_act("f16_weights", x, half, normal(19), None, "gelu", half)

    def shared(name, x, weights, biases, transposed=True):
        """weights: arrays, or pairs of a packed tensor and its values."""
        pairs = [w if isinstance(w, tuple) else (w, w) for w in weights]
        results = [product(x, values, bias, transposed) for (_, values), bias in zip(pairs, biases)]
        biased = [i for i, bias in enumerate(biases) if bias is not None]
        attributes = {**({"biased": biased} if biased else {}), **(t_b if transposed else {})}
        inputs = [x] + [stored for stored, _ in pairs] + [bias for bias in biases if bias is not None]
        add("fused_shared_matmul_" + name, "FusedSharedMatMul", attributes, inputs,
            [y.astype("f4") for y, _ in results], "sum", [size.astype("f4") for _, size in results])

    shared("qkv", x, [normal(16, 33), normal(8, 33), normal(8, 33)], [None] * 3)
    shared("biases", x, [normal(16, 33), normal(8, 33), normal(8, 33)], [normal(16), normal(8), normal(8)])
    shared("some_biases", normal(2, 3, 33), [normal(7, 33), normal(5, 33), normal(9, 33)], [normal(7), None, normal(9)])
    shared("one", x, [normal(16, 33)], [None])
    shared("plain_weights", x, [normal(33, 4), normal(33, 6)], [None, normal(6)], False)
    shared("packed", normal(2, 64), [q8_0(rng, 19, 64), q4_0(rng, 8, 64), normal(8, 64)], [normal(19), None, None])

    def with_norm(name, op, x, weights, result, eps):
        gain = normal(x.shape[-1])
        rows = normed(x, gain, eps)
        results = result(rows)
        blank = {"FusedMatMulBiasAct": 2, "FusedGatedMatMul": 2}.get(op, 0)
        add(name, op, {**t_b, "norm_eps": eps}, [x] + weights + [None] * blank + [gain],
            [y.astype("f4") for y, _ in results], "sum", [size.astype("f4") for _, size in results])

    def gated(name, x, gate, up, gate_bias=None, up_bias=None, act=None, values=None, transposed=True):
        gate_values, up_values = values or (gate, up)
        (g, g_size), (u, u_size) = product(x, gate_values, gate_bias, transposed), product(x, up_values, up_bias, transposed)
        g = ACTIVATIONS[act or "silu"](g)
        y = g * u
        size = g_size * np.abs(u) + u_size * np.abs(g)
        attributes = {**(t_b if transposed else {}), **({"activation": act} if act else {})}
        add("fused_gated_matmul_" + name, "FusedGatedMatMul", attributes, trimmed([x, gate, up, gate_bias, up_bias]),
            [y.astype("f4")], "sum", [size.astype("f4")])

    gated("silu", x, normal(19, 33), normal(19, 33))
    gated("gelu", x, normal(19, 33), normal(19, 33), None, None, "gelu")
    gated("identity", x, normal(19, 33), normal(19, 33), None, None, "none")
    gated("biases", x, normal(19, 33), normal(19, 33), normal(19), normal(19))
    gated("up_bias", normal(2, 3, 33), normal(19, 33), normal(19, 33), None, normal(19))
    gated("plain_weights", x, normal(33, 19), normal(33, 19), normal(19), None, "relu", None, False)
    (gate, gate_values), (up, up_values) = q4_0(rng, 18, 64), q4_0(rng, 18, 64)
    gated("q4_0", normal(3, 64), gate, up, None, None, None, (gate_values, up_values))

    a, b = normal(19, 33), normal(19, 33)
    with_norm("fused_matmul_bias_act_norm", "FusedMatMulBiasAct", x, [a], lambda rows: [product(rows, a)], 1e-5)
    with_norm("fused_shared_matmul_norm", "FusedSharedMatMul", normal(2, 3, 33), [a, b],
              lambda rows: [product(rows, a), product(rows, b)], 1e-6)

    def gate_of(rows):
        (g, g_size), (u, u_size) = product(rows, a), product(rows, b)
        return [(silu(g) * u, g_size * np.abs(u) + u_size * np.abs(silu(g)))]

    with_norm("fused_gated_matmul_norm", "FusedGatedMatMul", x, [a, b], gate_of, 1e-3)

    def swiglu(name, x, gate_first=False, values=None, out=None, **attributes):
        first, second = np.split(wide(x if values is None else values), 2, -1)
        y = second * silu(first) if gate_first else first * silu(second)
        attributes = {**({"gate_first": True} if gate_first else {}), **attributes}
        # Two roundings, of which the first is a transcendental function's.
        y = y.astype(x.dtype) if out is None else out(y)
        add("fused_swiglu_" + name, "FusedSwiGLU", attributes, [x], [y], "transcendental")

    swiglu("up_first", normal(3, 14))
    swiglu("gate_first", normal(2, 3, 10), True)
    swiglu("vector", normal(8))
    swiglu("empty", normal(0, 8))
    swiglu("f64", normal(3, 14, kind="f8"))

    def residual_norm(name, op, x, residual, gain=None, bias=None, eps=None, axis=None):
        # The sum is rounded before it is normalized.
        total = (x + residual).astype(x.dtype)
        axes = tuple(range(x.ndim if axis is None else axis % x.ndim, x.ndim)) or (-1,)
        t = wide(total)
        if op == "FusedResidualLN":
            t = t - t.mean(axes, keepdims=True)
        y = t / np.sqrt(np.mean(t * t, axes, keepdims=True) + (eps or (1e-5 if op == "FusedResidualLN" else 1e-6)))
        y = y if gain is None else y * wide(gain)
        y = y if bias is None else y + wide(bias)
        attributes = {**({"eps": eps} if eps else {}), **({} if axis is None else {"axis": axis})}
        add(name, op, attributes, trimmed([x, residual, gain, bias]), [y.astype(x.dtype), total], ["row", "exact"])

    for op, name in (("FusedResidualRmsNorm", "fused_residual_rms_norm_"), ("FusedResidualLN", "fused_residual_ln_")):
        residual_norm(name + "plain", op, normal(3, 8), normal(3, 8))
        residual_norm(name + "gain", op, normal(2, 3, 8), normal(2, 3, 8), normal(8))
        residual_norm(name + "gain_bias", op, normal(5, 70), normal(5, 70), normal(70), normal(70), 1e-3)
        residual_norm(name + "bias", op, normal(5, 70), normal(5, 70), None, normal(70))
        residual_norm(name + "no_rows", op, normal(0, 8), normal(0, 8), normal(8))
        residual_norm(name + "f64", op, normal(3, 40, kind="f8"), normal(3, 40, kind="f8"), normal(40, kind="f8"))
    residual_norm("fused_residual_ln_axis", "FusedResidualLN", normal(2, 3, 4), normal(2, 3, 4), normal(3, 4),
                  normal(3, 4), None, 1)

    def region(name, chain, inputs, output, rule="exact"):
        add("elementwise_region_" + name, "ElementwiseRegion", {"chain": chain}, inputs, [output], rule)

    a, b, row = normal(3, 5), normal(3, 5), normal(5)
    region("one_step", "t0 = add(x0, x1)", [a, b], a + b)
    region("chain", "t0 = mul(x0, x1); t1 = add(t0, x2)", [a, b, row], (a * b) + row)
    region("scalar", "t0 = mul(x0, x1); t1 = sub(t0, x0)", [a, np.array(0.5, "f4")], a * np.float32(0.5) - a)
    region("silu", "t0 = silu(x0); t1 = mul(t0, x1)", [a, b], (silu(wide(a)) * b).astype("f4"), "transcendental")
    region("where", "t0 = gt(x0, x1); t1 = where(t0, x0, x2); t2 = neg(t1)", [a, b, row],
           -np.where(a > b, a, np.broadcast_to(row, a.shape)))
    region("casts", "t0 = cast[f16](x0); t1 = add(t0, t0); t2 = cast[f32](t1)", [a],
           (a.astype("f2") + a.astype("f2")).astype("f4"))
    region("slope", "t0 = leaky_relu[0.25](x0); t1 = max(t0, x1)", [a, b],
           np.maximum(np.where(a > 0, a, np.float32(0.25) * a), b))
    region("integers", "t0 = mul(x0, x1); t1 = bit_xor(t0, x0)", [np.arange(12, dtype="i4").reshape(3, 4) - 5,
           np.array([1, -2, 3, 4], "i4")],
           ((np.arange(12, dtype="i4").reshape(3, 4) - 5) * np.array([1, -2, 3, 4], "i4"))
           ^ (np.arange(12, dtype="i4").reshape(3, 4) - 5))
    brain = bf16(normal(4, 6))
    region("bf16", "t0 = neg(x0); t1 = abs(t0)", [brain], bf16(np.abs(bf16_values(brain))))
    cube = normal(2, 3, 5)
    region("leading_ones", "t0 = add(x0, x1); t1 = relu(t0)", [cube, row.reshape(1, 1, 5)],
           np.maximum(cube + row, np.float32(0)))
