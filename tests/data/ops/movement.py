"""Cases of Reshape, Transpose, Concat, Split, Chunk, Narrow, Gather and Expand."""

import numpy as np
from case_writer import Typed
from cast import q8_0, q8_0_values


def build(add):
    rng = np.random.default_rng(6)
    x = rng.standard_normal((2, 3, 4)).astype("f4")
    for name, shape in (("open", [3, -1]), ("flat", [-1]), ("same", [2, 3, 4]), ("ones", [1, 6, 1, 4, 1])):
        add(f"reshape_{name}", "Reshape", {"shape": shape}, [x], [x.reshape(shape)])
    add("reshape_scalar", "Reshape", {"shape": []}, [x[:1, :1, 0]], [x[0, 0, 0]])
    add("reshape_empty", "Reshape", {"shape": [0, 7]}, [np.zeros((3, 0), "f4")], [np.zeros((0, 7), "f4")])
    add("reshape_i8", "Reshape", {"shape": [4, 2]}, [np.arange(8, dtype="i1")], [np.arange(8, dtype="i1").reshape(4, 2)])
    w = rng.standard_normal((6, 64)).astype("f4")
    packed = q8_0(w)
    add("reshape_q8_0", "Reshape", {"shape": [2, 3, -1]}, [packed], [Typed("q8_0", [2, 3, 64], packed.raw)])

    big = rng.standard_normal((3, 1, 5, 2, 4)).astype("f4")
    add("transpose_reverse", "Transpose", {}, [x], [x.T])
    for perm in ([1, 0, 2], [0, 2, 1], [2, 0, 1], [0, 1, 2], [-1, 0, 1]):
        add("transpose_" + "_".join(str(p % 3) for p in perm) + ("_negative" if perm[0] < 0 else ""), "Transpose",
            {"perm": perm}, [x], [x.transpose(perm)])
    for perm in ([1, 0, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 1, 4, 3], [0, 2, 1, 3, 4]):
        add("transpose5_" + "".join(map(str, perm)), "Transpose", {"perm": perm}, [big], [big.transpose(perm)])
    for dtype in ("f2", "f8", "i1", "?"):
        v = rng.integers(0, 2, (3, 5)).astype(dtype)
        add(f"transpose_{v.dtype.name}", "Transpose", {}, [v], [v.T])
    rows = np.frombuffer(packed.raw, np.uint8).reshape(2, 3, 68)
    add("transpose_q8_0", "Transpose", {"perm": [1, 0, 2]}, [Typed("q8_0", [2, 3, 64], packed.raw)],
        [Typed("q8_0", [3, 2, 64], rows.transpose(1, 0, 2).tobytes())])

    y = rng.standard_normal((2, 5, 4)).astype("f4")
    z = np.zeros((2, 0, 4), "f4")
    add("concat_1", "Concat", {"axis": 1}, [x, y, z, x], [np.concatenate([x, y, z, x], 1)])
    add("concat_0", "Concat", {"axis": 0}, [x, x[:1]], [np.concatenate([x, x[:1]], 0)])
    add("concat_last", "Concat", {"axis": -1}, [x, x[:, :, :1]], [np.concatenate([x, x[:, :, :1]], 2)])
    add("concat_one", "Concat", {"axis": 0}, [x], [x])
    add("concat_i64", "Concat", {"axis": 0}, [np.arange(3), np.arange(2)], [np.array([0, 1, 2, 0, 1])])
    half = np.frombuffer(packed.raw, np.uint8).reshape(6, 2, 34)
    pieces = [Typed("q8_0", [6, 32], half[:, i].tobytes()) for i in range(2)]
    add("concat_q8_0", "Concat", {"axis": 1}, pieces, [packed])

    for axis, sizes in ((0, [1, 1]), (1, [2, 0, 1]), (-1, [1, 3]), (2, [4])):
        cuts = np.cumsum(sizes)[:-1]
        add(f"split_{axis % 3}_{len(sizes)}", "Split", {"axis": axis, "sizes": sizes}, [x], np.split(x, cuts, axis))
    add("split_front", "Split", {"axis": 1, "sizes": [1, 2]}, [x[:1]], [x[:1, :1], x[:1, 1:]])
    add("split_q8_0", "Split", {"axis": 1, "sizes": [32, 32]}, [packed], pieces)

    add("narrow_0", "Narrow", {"axis": 0, "start": 1, "len": 1}, [x], [x[1:]])
    add("narrow_1", "Narrow", {"axis": 1, "start": 1, "len": 2}, [x], [x[:, 1:3]])
    add("narrow_last", "Narrow", {"axis": -1, "start": 0, "len": 3}, [x], [x[:, :, :3]])
    add("narrow_empty", "Narrow", {"axis": 1, "start": 3, "len": 0}, [x], [x[:, 3:]])
    add("narrow_rows_q8_0", "Narrow", {"axis": 0, "start": 2, "len": 3}, [packed],
        [Typed("q8_0", [3, 64], packed.raw[2 * 68 : 5 * 68])])

    table = rng.standard_normal((5, 3, 2)).astype("f4")
    ids = np.array([[4, 0], [2, 2], [1, 4]], "i4")
    for axis in (0, 1, 2, -1):
        size = table.shape[axis]
        add(f"gather_{axis}".replace("-", "m"), "Gather", {"axis": axis}, [table, ids % size],
            [np.take(table, ids % size, axis)])
    add("gather_wrap", "Gather", {"negative": "wrap"}, [table, np.array([-1, -5, 3])],
        [np.take(table, [-1, -5, 3], 0)])
    add("gather_scalar", "Gather", {}, [table, np.array(3, "u4")], [table[3]])
    add("gather_none", "Gather", {}, [table, np.zeros((0,), "i4")], [np.zeros((0, 3, 2), "f4")])
    add("gather_vector", "Gather", {}, [table[:, 0, 0], ids], [table[:, 0, 0][ids]])
    add("gather_i16", "Gather", {}, [np.arange(6, dtype="i2").reshape(3, 2), np.array([2, 0], "u1")],
        [np.array([[4, 5], [0, 1]], "i2")])
    add("gather_q8_0", "Gather", {}, [packed, np.array([[5], [0]], "i4")],
        [q8_0_values(packed)[[5, 0]].reshape(2, 1, 64)])

    for name, source, target in (("new_axis", (3, 1), [2, 3, 4]), ("keep", (3, 1), [-1, 5]), ("same", (2, 3), [2, 3]),
                                 ("scalar", (), [2, 2]), ("row", (4,), [3, 4]), ("empty", (1, 3), [0, 3]),
                                 ("middle", (2, 1, 3), [2, 4, 3])):
        v = rng.standard_normal(source).astype("f4")
        sizes = [v.shape[i - len(target)] if s == -1 else s for i, s in enumerate(target)]
        add(f"expand_{name}", "Expand", {"shape": target}, [v], [np.broadcast_to(v, sizes)])

    for axis, chunks in ((0, 2), (1, 3), (-1, 2), (2, 1)):
        add(f"chunk_{axis % 3}_{chunks}", "Chunk", {"axis": axis, "chunks": chunks}, [x], np.split(x, chunks, axis))
    add("chunk_empty", "Chunk", {"axis": 1, "chunks": 2}, [z], [z, z])
    add("chunk_q8_0", "Chunk", {"axis": 1, "chunks": 2}, [packed], pieces)
