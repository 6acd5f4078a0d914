"""Cases of Activation, Binary, Compare, Where, Fma, Clamp and NanToNum, from PyTorch and numpy in f64."""

import warnings

import numpy as np
import torch
import torch.nn.functional as F
from case_writer import Typed, bf16, bf16_values

warnings.filterwarnings("ignore", category=RuntimeWarning)
INF, NAN = np.inf, np.nan

# PyTorch's own gelu, softplus and elu lose digits in their tails: these are the same functions without cancellation.
ACTIVATIONS = {
    "gelu": lambda x: 0.5 * x * torch.special.erfc(-x / np.sqrt(2)),
    "gelu_approx": lambda x: x * torch.sigmoid(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)),
    "gelu_quick": lambda x: x * torch.sigmoid(1.702 * x),
    "silu": F.silu,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "neg": torch.neg,
    "abs": torch.abs,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "atan": torch.atan,
    "round": torch.round,
    "recip": torch.reciprocal,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "sign": lambda x: torch.from_numpy(np.sign(x.numpy())),
    "softplus": lambda x: x.clamp(min=0) + torch.log1p(torch.exp(-x.abs())),
    "elu": lambda x: torch.where(x > 0, x, torch.expm1(x)),
    "erf": torch.erf,
    "hard_swish": F.hardswish,
    "hard_sigmoid": F.hardsigmoid,
    "mish": F.mish,
    "softsign": F.softsign,
    "log_sigmoid": F.logsigmoid,
    "log1p": torch.log1p,
    "expm1": torch.expm1,
    "asin": torch.asin,
    "acos": torch.acos,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "asinh": torch.asinh,
    "acosh": torch.acosh,
    "atanh": torch.atanh,
    "lgamma": torch.lgamma,
    "digamma": torch.digamma,
    "erf_inv": torch.erfinv,
    "leaky_relu": F.leaky_relu,
    "trunc": torch.trunc,
    "cbrt": lambda x: torch.from_numpy(np.cbrt(x.numpy())),
}
EXACT = {"relu", "neg", "abs", "round", "floor", "ceil", "sign", "trunc", "sqrt", "recip"}
DOMAIN = {"log": 0.1, "sqrt": 0, "rsqrt": 0.1, "acosh": 1, "log1p": -0.9}
UNIT = {"asin", "acos", "atanh", "erf_inv"}
EDGES = np.array([0.0, -0.0, INF, -INF, NAN, 1e-30, -1e-30, 0.5, -0.5, 1.5, 2.5, -3, 3, 60, -60, -100, 88.5])


def inputs_of(kind, rng):
    if kind in UNIT:
        return rng.uniform(-0.999, 0.999, (5, 11))
    if kind in ("digamma", "lgamma"):
        return np.concatenate([rng.uniform(0.05, 40, (3, 11)), -rng.uniform(0.1, 0.9, (1, 11)) - np.arange(11)])
    if kind in DOMAIN:
        return DOMAIN[kind] + np.abs(rng.standard_normal((5, 11))) * 3
    return rng.standard_normal((5, 11)) * 3


def check_rewritten_forms():
    x = torch.linspace(-3, 3, 101, dtype=torch.float64)
    for kind, function in (("gelu", F.gelu), ("gelu_approx", lambda v: F.gelu(v, approximate="tanh")),
                           ("softplus", F.softplus), ("elu", F.elu)):
        assert torch.allclose(ACTIVATIONS[kind](x), function(x), rtol=1e-12, atol=1e-14), kind


def forward(kind, x, dtype=np.float64):
    return ACTIVATIONS[kind](torch.from_numpy(np.asarray(x, dtype))).numpy()


def build_activations(add):
    check_rewritten_forms()
    rng = np.random.default_rng(1)
    for kind in ACTIVATIONS:
        rule = "exact" if kind in EXACT else "transcendental"
        x = inputs_of(kind, rng)
        single = x.astype("f4")
        add(f"{kind}_f32", "Activation", {"kind": kind}, [single], [forward(kind, single).astype("f4")], rule)
        # In the tail of gelu a rounded x / sqrt 2 alone moves erfc by more than 8 units of f64.
        double = x[0] / 4 if kind == "gelu" else x[0]
        add(f"{kind}_f64", "Activation", {"kind": kind}, [double], [forward(kind, double)], rule)
        half = x[1].astype("f2")
        add(f"{kind}_f16", "Activation", {"kind": kind}, [half], [forward(kind, half).astype("f2")], rule)
        brain = bf16(x[2])
        add(f"{kind}_bf16", "Activation", {"kind": kind}, [brain], [bf16(forward(kind, bf16_values(brain)))], rule)
        if kind in ("digamma", "lgamma"):
            edges = np.array([0.5, 1, 2, 3, 100, 1e10, NAN])
        elif kind in ("relu", "neg", "abs", "sign"):
            edges = EDGES[[0, 2, 3, 4, 5, 6, 9, 12]]  # their PyTorch forms lose the sign of -0
        else:
            edges = EDGES
        edges = edges.astype("f4")
        with np.errstate(all="ignore"):
            add(f"{kind}_edges", "Activation", {"kind": kind}, [edges], [forward(kind, edges).astype("f4")], rule)
    x = rng.standard_normal(9).astype("f4")
    wide = torch.from_numpy(x.astype("f8"))
    add("elu_alpha", "Activation", {"kind": "elu", "alpha": 0.25}, [x], [F.elu(wide, 0.25).numpy().astype("f4")],
        "transcendental")
    add("leaky_relu_alpha", "Activation", {"kind": "leaky_relu", "alpha": 0.2}, [x],
        [F.leaky_relu(wide, 0.2).numpy().astype("f4")], "elementwise")
    edges = EDGES.astype("f4")
    add("is_nan", "Activation", {"kind": "is_nan"}, [edges], [np.isnan(edges)])
    add("is_inf", "Activation", {"kind": "is_inf"}, [edges], [np.isinf(edges)])
    add("not_bool", "Activation", {"kind": "not"}, [np.array([True, False])], [np.array([False, True])])
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        info = np.iinfo(dtype)
        v = np.array([info.min, info.max, 0, 1, 5, info.max - 1], dtype)
        name = v.dtype.name
        add(f"not_{name}", "Activation", {"kind": "not"}, [v], [~v])
        with np.errstate(all="ignore"):
            add(f"neg_{name}", "Activation", {"kind": "neg"}, [v], [(0 - v).astype(dtype)])
            add(f"abs_{name}", "Activation", {"kind": "abs"}, [v], [np.abs(v)])
        add(f"sign_{name}", "Activation", {"kind": "sign"}, [v], [np.sign(v)])
        add(f"relu_{name}", "Activation", {"kind": "relu"}, [v], [np.maximum(v, 0).astype(dtype)])
        add(f"floor_{name}", "Activation", {"kind": "floor"}, [v], [v])


FLOAT_BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    "mod": np.fmod,
    "atan2": np.arctan2,
}
INTEGER_BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
}
SHAPES = [((4, 3, 5), (4, 3, 5)), ((4, 3, 5), (5,)), ((4, 1, 5), (3, 1)), ((2, 1), (1, 3)), ((), (3,)), ((0, 3), (3,)),
          ((2, 600), (600,)), ((600, 2), (600, 1)), ((1, 1), (1,))]


def build_binary(add):
    rng = np.random.default_rng(2)
    for kind, function in FLOAT_BINARY.items():
        rule = "transcendental" if kind in ("pow", "atan2") else "exact"
        for i, (left, right) in enumerate(SHAPES if kind in ("add", "sub") else SHAPES[:3]):
            a = (rng.standard_normal(left) * 3).astype("f4")
            b = (rng.standard_normal(right) * 3).astype("f4")
            if kind == "pow":
                a = np.abs(a)
            y = np.asarray(function(a.astype("f8"), b.astype("f8"))).astype("f4")
            add(f"{kind}_{i}", "Binary", {"kind": kind}, [a, b], [y], rule)
        a, b = rng.uniform(0.5, 3, (3, 7)), rng.uniform(0.5, 3, 7)
        add(f"{kind}_f64", "Binary", {"kind": kind}, [a, b], [function(a, b)], rule)
        x, y = a.astype("f2"), b.astype("f2")
        add(f"{kind}_f16", "Binary", {"kind": kind}, [x, y], [function(x.astype("f8"), y.astype("f8")).astype("f2")],
            rule)
        x, y = bf16(a), bf16(b)
        wide = function(bf16_values(x).astype("f8"), bf16_values(y).astype("f8"))
        add(f"{kind}_bf16", "Binary", {"kind": kind}, [x, y], [bf16(wide)], rule)
    values = np.array([0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 7.5, -7.5, INF, -INF, NAN])
    a, b = (v.astype("f4") for v in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        for kind in ("div", "max", "min", "mod", "pow", "atan2"):
            if kind == "pow":
                y = torch.pow(torch.from_numpy(a.astype("f8")), torch.from_numpy(b.astype("f8"))).numpy()
            else:
                y = FLOAT_BINARY[kind](a.astype("f8"), b.astype("f8"))
            add(f"{kind}_edges", "Binary", {"kind": kind}, [a, b], [y.astype("f4")],
                "transcendental" if kind in ("pow", "atan2") else "exact")
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        info = np.iinfo(dtype)
        edge = np.array([info.min, info.max, info.max // 2 + 1, 0, 1, 2, 3, 7], dtype)
        if info.min < 0:
            edge = np.concatenate([edge, np.array([-1, -2, -7], dtype)])
        a, b = np.meshgrid(edge, edge)
        name = a.dtype.name
        with np.errstate(all="ignore"):
            for kind, function in INTEGER_BINARY.items():
                add(f"{kind}_{name}", "Binary", {"kind": kind}, [a, b], [function(a, b)])
        width, exact = info.bits, [[], [], [], [], []]
        wrap = lambda v: (v - info.min) % (1 << width) + info.min  # noqa: E731, B023
        for p, q in zip(a.ravel().tolist(), b.ravel().tolist()):
            quotient = 0 if q == 0 else abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)
            exact[0].append(wrap(quotient))
            exact[1].append(0 if q == 0 else p - q * quotient)
            exact[2].append(wrap(p << q) if 0 <= q < width else 0)
            exact[3].append(p >> q if 0 <= q < width else (-1 if p < 0 else 0))
            if q >= 0:
                power = pow(p, q, 1 << width)
            else:
                power = {1: 1, -1: 1 if q % 2 == 0 else -1}.get(p, 0)
            exact[4].append(wrap(power))
        for kind, result in zip(("div", "mod", "shl", "shr", "pow"), exact):
            add(f"{kind}_{name}", "Binary", {"kind": kind}, [a, b], [np.array(result, dtype).reshape(a.shape)])
    a, b = np.meshgrid([True, False], [True, False])
    for kind, function in (("bit_and", np.logical_and), ("bit_or", np.logical_or), ("bit_xor", np.logical_xor),
                           ("max", np.logical_or), ("min", np.logical_and)):
        add(f"{kind}_bool", "Binary", {"kind": kind}, [a, b], [function(a, b)])


def build_compare(add):
    functions = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
                 "ge": np.greater_equal}
    rng = np.random.default_rng(3)
    values = np.array([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN], "f4")
    a, b = np.meshgrid(values, values)
    large = np.array([0, 1, 2**53, 2**53 + 1, 2**63, 2**64 - 1], "u8")
    c, d = np.meshgrid(large, large)
    e = rng.integers(-3, 3, (4, 3, 5)).astype("i8") + np.int64(2**60)
    f = rng.integers(-3, 3, (3, 1)).astype("i8") + np.int64(2**60)
    for kind, function in functions.items():
        for name, x, y in (("f32", a, b), ("u64", c, d), ("i64", e, f), ("f64", a.astype("f8"), b.astype("f8")),
                           ("bool", a > 0, b > 0), ("i8", e.astype("i1"), f.astype("i1"))):
            add(f"{kind}_{name}", "Compare", {"kind": kind}, [x, y], [function(x, y)])


def build_select(add):
    rng = np.random.default_rng(4)
    condition = rng.integers(0, 2, (4, 1, 5)).astype(bool)
    a, b = rng.standard_normal((3, 1)).astype("f4"), rng.standard_normal((4, 3, 5)).astype("f4")
    b[0, 0] = NAN
    add("where_broadcast", "Where", {}, [condition, a, b], [np.where(condition, a, b)])
    add("where_scalar", "Where", {}, [np.array(True), a, b], [np.broadcast_to(a, b.shape)])
    number = np.array([0.0, -0.0, 1e-30, NAN, 2.0], "f4")
    add("where_nonzero", "Where", {}, [number, np.arange(5, dtype="i8"), np.array(-(2**60) - 1)],
        [np.where(number != 0, np.arange(5), -(2**60) - 1)])
    for dtype in ("f2", "f8", "i1", "u2", "?", "c8"):
        x, y = rng.integers(0, 100, 7).astype(dtype), rng.integers(0, 100, 7).astype(dtype)
        pick = rng.integers(0, 2, 7).astype("i4")
        add(f"where_{x.dtype.name}", "Where", {}, [pick, x, y], [np.where(pick != 0, x, y)])

    # Exact rational arithmetic decides what one rounding gives.
    from fractions import Fraction

    def nearest(exact, dtype):
        guess = dtype(float(exact))
        near = [np.nextafter(guess, dtype(-INF)), guess, np.nextafter(guess, dtype(INF))]
        errors = [abs(Fraction(float(v)) - exact) for v in near]
        best = min(errors)
        ties = [v for v, error in zip(near, errors) if error == best]
        return next((v for v in ties if v.view(f"u{v.itemsize}") % 2 == 0), ties[0])

    for dtype, bits in ((np.float32, 24), (np.float64, 53), (np.float16, 11)):
        m = rng.integers(2 ** (bits - 1), 2**bits, (3, 40))
        scale = 2.0 ** (1 - bits)
        x, y = (m[0] * scale).astype(dtype), (m[1] * scale).astype(dtype)
        # Sums whose exact value lies next to the middle of two results.
        z = (m[2] * scale * 2.0 ** rng.integers(-bits, 3, 40) * rng.choice([-1, 1], 40)).astype(dtype)
        x[0], y[0], z[0] = dtype(1 + scale), dtype(1 + scale), dtype(-1 - 2 * scale)
        exact = [Fraction(float(p)) * Fraction(float(q)) + Fraction(float(r)) for p, q, r in zip(x, y, z)]
        add(f"fma_{np.dtype(dtype).name}", "Fma", {}, [x, y, z], [np.array([nearest(v, dtype) for v in exact], dtype)])
    p, q, r = np.array([[3], [-4]], "i4"), np.array([2**30, 5, 7], "i4"), np.array(-1, "i4")
    with np.errstate(all="ignore"):
        add("fma_int32", "Fma", {}, [p, q, r], [p * q + r])

    x = np.concatenate([rng.standard_normal(9) * 3, [INF, -INF, NAN]]).astype("f4")
    add("clamp_both", "Clamp", {"min": -1.0, "max": 2.5}, [x], [np.clip(x, np.float32(-1), np.float32(2.5))])
    add("clamp_low", "Clamp", {"min": 0.1}, [x], [np.maximum(x, np.float32(0.1))])
    add("clamp_high", "Clamp", {"max": 0.1}, [x], [np.minimum(x, np.float32(0.1))])
    add("clamp_none", "Clamp", {}, [x], [x])
    add("clamp_crossed", "Clamp", {"min": 2.0, "max": -2.0}, [x],
        [torch.clamp(torch.from_numpy(x), 2, -2).numpy()])
    add("clamp_f16", "Clamp", {"min": -1.0, "max": 1.0}, [x.astype("f2")], [np.clip(x, -1, 1).astype("f2")])
    i = np.array([-128, -5, 0, 3, 127], "i1")
    add("clamp_int8", "Clamp", {"min": -2.5, "max": 2.5}, [i], [np.clip(i, -2, 2).astype("i1")])
    add("clamp_int8_beyond", "Clamp", {"min": -1e9, "max": 1e9}, [i], [i])
    add("clamp_int8_above", "Clamp", {"min": 1e9}, [i], [np.full(5, 127, "i1")])
    u = np.array([0, 5, 2**63, 2**64 - 1], "u8")
    add("clamp_uint64", "Clamp", {"min": 3.0, "max": 2.0**63}, [u], [np.array([3, 5, 2**63, 2**63], "u8")])
    add("clamp_int64", "Clamp", {"min": -1e300, "max": 5.0}, [np.array([-(2**63), 2**63 - 1, 4])],
        [np.array([-(2**63), 5, 4])])

    for dtype in ("f4", "f8", "f2"):
        v = x.astype(dtype)
        add(f"nan_to_num_{v.dtype.name}", "NanToNum", {}, [v], [np.nan_to_num(v)])
        add(f"nan_to_num_given_{v.dtype.name}", "NanToNum", {"nan": 1.5, "posinf": 7.0, "neginf": -8.0}, [v],
            [np.nan_to_num(v, nan=1.5, posinf=7, neginf=-8)])
    brain = Typed("bf16", [3], np.array([0x7F80, 0xFF80, 0x7FC0], "<u2").tobytes())
    add("nan_to_num_bf16", "NanToNum", {}, [brain],
        [Typed("bf16", [3], np.array([0x7F7F, 0xFF7F, 0], "<u2").tobytes())])


def build(add):
    build_activations(add)
    build_binary(add)
    build_compare(add)
    build_select(add)
