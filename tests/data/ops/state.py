"""Cases of KvAppend and RowsAppend: rows after the rows held."""

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
    for name, held, fresh in (("first", 0, 3), ("more", 4, 1), ("nothing", 2, 0)):
        plane, rows = normal(held, 5), normal(fresh, 5)
        beside = [normal(fresh, 2)] if name == "more" else []
        add("rows_append_" + name, "RowsAppend", {"slot": "cache"}, [rows, *beside], [np.concatenate([plane, rows])],
            states={"cache": [plane]})
