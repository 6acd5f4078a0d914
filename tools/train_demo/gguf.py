# SPDX-License-Identifier: Apache-2.0
"""Writing and reading of the GGUF v3 files made here: Q8_0 matrices, float32 vectors, metadata."""
import struct

import numpy as np

F32, Q8_0, ALIGN = 0, 8, 32
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9


def quantize(x):
    """float [rows, cols] -> bytes [rows * cols / 32, 34]: a float16 scale d and 32 int8 q, x ~ d * q."""
    x = np.ascontiguousarray(x, np.float32).reshape(-1, 32)
    d = np.abs(x).max(1) / np.float32(127)
    scale = np.divide(np.float32(1), d, out=np.zeros_like(d), where=d > 0)
    t = x * scale[:, None]
    q = np.trunc(t + np.copysign(np.float32(0.5), t)).clip(-127, 127).astype(np.int8)
    return np.concatenate([d.astype("<f2").view(np.uint8).reshape(-1, 2), q.view(np.uint8)], 1)


def dequantize(raw, shape):
    raw = np.frombuffer(raw, np.uint8).reshape(-1, 34)
    d = raw[:, :2].copy().view("<f2").astype(np.float32)
    return (raw[:, 2:].copy().view(np.int8) * d).reshape(shape)


def _string(s):
    b = s.encode("utf-8")
    return struct.pack("<Q", len(b)) + b


def _value(v):
    if isinstance(v, bool):
        return _BOOL, struct.pack("<?", v)
    if isinstance(v, np.int32):
        return _INT32, struct.pack("<i", v)
    if isinstance(v, int):
        return _UINT32, struct.pack("<I", v)
    if isinstance(v, float):
        return _FLOAT32, struct.pack("<f", v)
    if isinstance(v, str):
        return _STRING, _string(v)
    parts = [_value(x) for x in v]
    return _ARRAY, struct.pack("<IQ", parts[0][0], len(parts)) + b"".join(p for _, p in parts)


def write(path, meta, tensors, f32=False):
    """tensors: {name: float array}; matrices are written as Q8_0, or as they are if `f32`, vectors as F32."""
    head, data = bytearray(), bytearray()
    for key, v in meta.items():
        kind, body = _value(v)
        head += _string(key) + struct.pack("<I", kind) + body
    for name, x in tensors.items():
        kind = Q8_0 if x.ndim == 2 and not f32 else F32
        body = quantize(x).tobytes() if kind == Q8_0 else x.astype("<f4").tobytes()
        data += bytes(-len(data) % ALIGN)
        head += _string(name) + struct.pack("<I", x.ndim)
        head += b"".join(struct.pack("<Q", n) for n in reversed(x.shape)) + struct.pack("<IQ", kind, len(data))
        data += body
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(meta)) + bytes(head)
    data += bytes(-len(data) % ALIGN)
    with open(path, "wb") as f:
        f.write(head + bytes(-len(head) % ALIGN) + data)


def read(path):
    """(meta, {name: float32 array}) of a file that write() made."""
    with open(path, "rb") as f:
        b = f.read()
    at = 8

    def take(fmt):
        nonlocal at
        v = struct.unpack_from("<" + fmt, b, at)
        at += struct.calcsize("<" + fmt)
        return v[0]

    def text():
        nonlocal at
        n = take("Q")
        at += n
        return b[at - n:at].decode("utf-8")

    def value(kind):
        if kind == _STRING:
            return text()
        if kind == _ARRAY:
            inner, n = take("I"), take("Q")
            return [value(inner) for _ in range(n)]
        return take({_UINT32: "I", _INT32: "i", _FLOAT32: "f", _BOOL: "?"}[kind])

    assert b[:8] == b"GGUF\x03\0\0\0", "not a GGUF v3 file"
    n_tensors, n_meta = take("Q"), take("Q")
    meta = {}
    for _ in range(n_meta):
        key = text()
        meta[key] = value(take("I"))
    infos = []
    for _ in range(n_tensors):
        name = text()
        shape = [take("Q") for _ in range(take("I"))][::-1]
        infos.append((name, shape, take("I"), take("Q")))
    start, tensors = at + -at % ALIGN, {}
    for name, shape, kind, offset in infos:
        n = int(np.prod(shape))
        size = n // 32 * 34 if kind == Q8_0 else 4 * n
        raw = b[start + offset:start + offset + size]
        tensors[name] = dequantize(raw, shape) if kind == Q8_0 else np.frombuffer(raw, "<f4").reshape(shape)
    return meta, tensors
