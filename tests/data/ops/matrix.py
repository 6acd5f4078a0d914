"""Cases of Kron and MatrixInverse: numpy in f64."""

import numpy as np


def build(add):
    rng = np.random.default_rng(81)

    def normal(*dims, kind="f4"):
        return rng.standard_normal(dims).astype(kind)

    for name, a, b in (
        ("matrices", (2, 3), (4, 5)),
        ("vectors", (3,), (4,)),
        ("scalars", (), ()),
        ("scalar_left", (), (2, 3)),
        ("scalar_right", (2, 3), ()),
        ("ranks_left", (5, 2, 3), (1, 4)),
        ("ranks_right", (3,), (2, 2, 5)),
        ("deep", (2, 1, 3, 2), (1, 2, 2, 3)),
        ("ones", (1, 1), (3, 2)),
        ("empty", (2, 0), (3, 2)),
        ("no_rows", (0, 2), (3, 2)),
    ):
        x, y = normal(*a), normal(*b)
        add("kron_" + name, "Kron", {}, [x, y], [np.kron(x, y).astype("f4").reshape(np.kron(x, y).shape)], "exact")
    x, y = normal(2, 3, kind="f2"), normal(2, 2, kind="f2")
    add("kron_f16", "Kron", {}, [x, y], [np.kron(x.astype("f8"), y.astype("f8")).astype("f2")], "exact")

    for name, dims in (
        ("one", (1, 1)),
        ("two", (2, 2)),
        ("five", (5, 5)),
        ("batch", (4, 3, 3)),
        ("batches", (2, 3, 6, 6)),
        ("large", (40, 40)),
        ("no_matrices", (0, 3, 3)),
        ("no_rows", (2, 0, 0)),
    ):
        a = normal(*dims)
        add("inverse_" + name, "MatrixInverse", {}, [a], [np.linalg.inv(a.astype("f8")).astype("f4")], "row")
    add("inverse_needs_pivot", "MatrixInverse", {}, [np.array([[0, 1], [1, 0]], "f4")], [np.array([[0, 1], [1, 0]], "f4")])
    a = np.array([[1e-8, 1], [1, 1]], "f4")
    add("inverse_small_pivot", "MatrixInverse", {}, [a], [np.linalg.inv(a.astype("f8")).astype("f4")], "row")
    a = normal(3, 4, 4, kind="f8")
    add("inverse_f64", "MatrixInverse", {}, [a], [np.linalg.inv(a)], "row")
