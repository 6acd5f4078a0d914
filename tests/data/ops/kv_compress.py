"""Cases of KvCompress and KvDecompress: numpy, codes packed bit by bit."""

import numpy as np


def compress(x, head_dim, bits):
    rows = x.reshape(-1, head_dim).astype("f8")
    q = 2 ** (bits - 1)
    size = np.abs(rows)
    d = (size.mean(-1) if bits == 1 else size.max(-1) / (q - 1)).astype("f4")
    if bits == 1:
        codes = (rows >= 0).astype("u1")
    else:
        scale = np.where(d == 0, 1, d.astype("f8"))[:, None]
        codes = np.where(d[:, None] == 0, q, np.clip(np.rint(rows / scale), -q, q - 1) + q).astype("u1")
    flat = np.unpackbits(codes[..., None], axis=-1, count=bits, bitorder="little").reshape(len(rows), head_dim * bits)
    packed = np.packbits(flat, axis=-1, bitorder="little")
    out = np.concatenate([d[:, None].view("u1"), packed], -1)
    values = np.where(codes == 1, d[:, None], -d[:, None]) if bits == 1 else (codes.astype("f4") - q) * d[:, None]
    lead = x.shape[:-1]
    groups = x.shape[-1] // head_dim
    return out.reshape(*lead, groups * out.shape[1]), values.astype("f4").reshape(x.shape)


def build(add):
    rng = np.random.default_rng(141)

    def both(name, x, head_dim, bits):
        packed, values = compress(x, head_dim, bits)
        attributes = {"head_dim": head_dim, "bits": bits}
        add("kv_compress_" + name, "KvCompress", attributes, [x], [packed])
        add("kv_decompress_" + name, "KvDecompress", attributes, [packed], [values])

    for bits in range(1, 9):
        both(f"{bits}_bits", rng.standard_normal((3, 16)).astype("f4"), 8, bits)
        both(f"{bits}_bits_odd", rng.standard_normal((2, 2, 5)).astype("f4"), 5, bits)
    both("vector", rng.standard_normal(64).astype("f4"), 64, 4)
    both("many", rng.standard_normal((40, 128)).astype("f4"), 128, 3)
    both("no_rows", np.zeros((0, 8), "f4"), 4, 3)
    for bits in (1, 2, 8):
        both(f"zeros_{bits}", np.array([[0, 0, -0.0, 0], [0, 1, -1, 0]], "f4"), 4, bits)
    both("halves", np.array([[7, 0.5, 1.5, -0.5, -1.5, 2.5, -7, -2.5]], "f4"), 8, 4)
    both("large", rng.standard_normal((2, 8)).astype("f4") * np.float32(1e38), 8, 5)
    both("tiny", rng.standard_normal((2, 8)).astype("f4") * np.float32(1e-40), 8, 5)
