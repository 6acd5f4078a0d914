"""Cases of KvAppend: rows after the rows held."""

import numpy as np


def build(add):
    rng = np.random.default_rng(140)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    for name, held, fresh in (("first", 0, 3), ("more", 4, 1), ("nothing", 2, 0)):
        planes = [normal(held, 6), normal(held, 4)]
        rows = [normal(fresh, 6), normal(fresh, 4)]
        joined = [np.concatenate(pair) for pair in zip(planes, rows)]
        add("kv_append_" + name, "KvAppend", {"slot": "cache"}, rows, joined, states={"cache": planes})
