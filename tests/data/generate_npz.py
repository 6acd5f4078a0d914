#!/usr/bin/env python3
"""Archives as NumPy writes them, for the reader of .npz files.

  /usr/bin/python3 generate_npz.py             writes npz/*.npz beside itself

Each array is there in C order as NAME and in Fortran order as NAME_fortran. zip64.npz says all its numbers in 64 bits,
as archives of 4 GiB do, and is read back by NumPy before it is kept.
"""
import os
import struct
import zipfile

import numpy as np

rng = np.random.default_rng(7)
arrays = {
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "cube": np.arange(24, dtype=np.int16).reshape(2, 3, 4),
    "wide": rng.standard_normal((17, 1, 5)),
    "bytes": rng.integers(0, 256, (3, 2, 2, 7), dtype=np.uint8),
    "empty": np.zeros((3, 0, 2), np.int64),
    "vector": np.arange(5, dtype=np.uint32),
    "scalar": np.array(1.5, np.float16),
}
both = {}
for name, array in arrays.items():
    both[name] = array.copy(order="C")
    both[name + "_fortran"] = array.copy(order="F")

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "npz")
os.makedirs(folder, exist_ok=True)
np.savez(os.path.join(folder, "stored.npz"), **both)
np.savez_compressed(os.path.join(folder, "deflated.npz"), **both)

path = os.path.join(folder, "zip64.npz")
zipfile.ZIP64_LIMIT = zipfile.ZIP_FILECOUNT_LIMIT = 0
np.savez_compressed(path, **both)
with open(path, "rb") as file:
    data = bytearray(file.read())
end = data.rindex(b"PK\5\6")
struct.pack_into("<HHII", data, end + 8, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
with open(path, "wb") as file:
    file.write(data)
with np.load(path) as read:
    for name, array in both.items():
        assert np.array_equal(read[name], array), name
