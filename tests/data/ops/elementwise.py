"""Cases of Activation, Binary, Compare, Where, Fma, Clamp and NanToNum."""

import numpy as np


def build(add):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 3)), rng.standard_normal(3)
    a, b = x.astype("f4"), y.astype("f4")
    add("binary_add", "Binary", {"kind": "add"}, [a, b], [(a.astype("f8") + b).astype("f4")], "elementwise")
