"""KvCache over several runs; KvCompress and KvDecompress: numpy."""

import numpy as np
from kv_compress import compress


def rows_of(x):
    """Without an attention that reads the cache: the last two sizes are one row, or the last, or all."""
    width = int(np.prod(x.shape[-2:])) if x.ndim >= 3 else x.shape[-1]
    return x.reshape(-1, width) if x.size else x.reshape(0, width)


def build(add):
    rng = np.random.default_rng(370)

    def normal(*dims):
        return rng.standard_normal(dims).astype("f4")

    def cache(name, runs, open=(), kind="f4", v_kind=None):
        """runs: pairs of the dims of K and V."""
        held = None
        stored = []
        for k_dims, v_dims in runs:
            k, v = (np.array(rng.integers(0, 200, d) if t in ("u1", "i4") else normal(*d)).astype(t)
                    for d, t in ((k_dims, kind), (v_dims, v_kind or kind)))
            fresh = [rows_of(k), rows_of(v)]
            held = fresh if held is None else [np.concatenate(pair) for pair in zip(held, fresh)]
            stored.append(([k, v], [h.copy() for h in held]))
        (operands, results), *more = stored
        add("kv_cache_" + name, "KvCache", operands, results, "exact", open=open, by="NumPy", more_runs=more)

    both = [(0, 0), (1, 0)]
    cache("one_run", [((3, 8), (3, 8))])
    cache("widths", [((3, 8), (3, 5))])
    cache("twice", [((2, 8), (2, 8))] * 2)
    cache("grows", [((n, 6), (n, 6)) for n in (3, 1, 1, 4, 1)], both)
    cache("grows_from_nothing", [((n, 6), (n, 4)) for n in (0, 1, 2)], both)
    cache("nothing_new", [((n, 6), (n, 4)) for n in (2, 0, 1)], both)
    cache("vector", [((8,), (8,))] * 3)
    cache("vectors", [((8,), (5,))] * 2)
    cache("heads", [((3, 2, 4), (3, 2, 4))] * 2)
    cache("heads_grow", [((n, 2, 4), (n, 2, 3)) for n in (2, 1, 1)], both)
    cache("batch_of_one", [((1, 3, 2, 4), (1, 3, 2, 4))] * 2)
    cache("batch_of_one_grows", [((1, n, 2, 4), (1, n, 2, 4)) for n in (3, 1)], [(0, 1), (1, 1)])
    cache("wide", [((1, 300), (1, 300))] * 3)
    cache("many", [((40, 3), (40, 3))] * 2)
    cache("one_wide", [((1, 1), (1, 1))] * 4)
    cache("f16", [((2, 8), (2, 8))] * 2, kind="f2")
    cache("u8", [((n, 14), (n, 14)) for n in (2, 1)], both, "u1")
    cache("i32", [((2, 3), (2, 3))] * 2, kind="i4")
    cache("two_dtypes", [((n, 8), (n, 8)) for n in (2, 1, 3)], both, kind="u1", v_kind="f4")
    cache("long", [((n, 4), (n, 4)) for n in (17, 1, 1, 1, 16, 31)], both)

    for bits in range(1, 9):
        for i, (dims, head_dim) in enumerate((((3, 16), 8), ((2, 2, 5), 5), ((0, 6), 3))):
            x = normal(*dims)
            packed, values = compress(x, head_dim, bits)
            params = {"head_dim": head_dim, "bits": bits}
            opened = [(0, 0)] if i == 1 else [(0, 1)] if i == 0 and bits % 2 else []
            add(f"kv_compress_{bits}_{i}", "KvCompress", [x], [packed], "exact", params, open=opened, by="NumPy")
            add(f"kv_decompress_{bits}_{i}", "KvDecompress", [packed], [values], "exact", params, open=opened, by="NumPy")
