"""Writes value cases for tests/op_values_test.cpp: a text file of cases beside a file of little-endian bytes.

A family module defines build(add). add() takes the op, its attributes, its inputs and the expected outputs, which
numpy or PyTorch computed (in f64 where the rule is not "exact"); they are rounded here to the dtype of the output.

  case NAME
  op OP
  with ATTRIBUTE VALUE            the type is the schema's; lists and shapes as [1, 2]
  state SLOT DTYPE [WIDTHS]       rows slot; then one "held" line per plane
  held DTYPE [DIMS] OFFSET
  in DTYPE [DIMS] OFFSET          or "in absent"
  out DTYPE [DIMS] OFFSET RULE    a rule of tests/tolerance.h
  magnitude OFFSET                f32, dims of the output above: what a "sum" error is relative to
"""

import numpy as np

NAMES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "bool",
    "complex64": "c64",
}


class Typed:
    """Bytes of a dtype that numpy has no name for (bf16, block types), with the dims of its values."""

    def __init__(self, dtype, dims, raw):
        self.dtype, self.dims, self.raw = dtype, list(dims), raw


def bf16(values):
    """Rounds f64 or f32 values once, to nearest even."""
    wide = np.asarray(values, np.float64)
    flat = np.atleast_1d(wide)
    near = flat.astype(np.float32)
    raw = near.view(np.uint32).copy()
    # Rounding to f32 first would round twice; rounding to odd there keeps what the second rounding must see.
    inexact = (near.astype(np.float64) != flat) & np.isfinite(flat)
    raw[inexact & (np.abs(near.astype(np.float64)) > np.abs(flat))] -= 1
    raw[inexact] |= 1
    rounded = (raw + 0x7FFF + ((raw >> 16) & 1)) >> 16
    rounded[np.isnan(flat)] = 0x7FC0
    return Typed("bf16", wide.shape, rounded.astype("<u2").tobytes())


def bf16_values(typed):
    """The f32 values of a bf16 Typed."""
    raw = np.frombuffer(typed.raw, "<u2").astype(np.uint32) << 16
    return raw.view(np.float32).reshape(typed.dims)


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_text(v) for v in value) + "]"
    return repr(value) if isinstance(value, float) else str(value)


class CaseWriter:
    def __init__(self):
        self.lines, self.bytes, self.names = [], bytearray(), set()

    def _store(self, raw):
        while len(self.bytes) % 8:
            self.bytes.append(0)
        at = len(self.bytes)
        found = self.bytes.find(raw) if len(raw) > 16 else -1
        if found >= 0 and found % 8 == 0:
            return found
        self.bytes += raw
        return at

    def _tensor(self, value):
        if not isinstance(value, Typed):
            value = np.array(value, order="C")
            value = Typed(NAMES[value.dtype.name], value.shape, value.astype(value.dtype.newbyteorder("<")).tobytes())
        return f"{value.dtype} {_text(list(value.dims))} {self._store(value.raw)}"

    def add(self, name, op, attributes, inputs, outputs, rule="exact", magnitudes=None, states=None):
        """rule: one for all outputs, or a list. magnitudes: per output, or None. states: {slot: [plane arrays]}."""
        assert name not in self.names, name
        self.names.add(name)
        self.lines += ["", f"case {name}", f"op {op}"]
        self.lines += [f"with {key} {_text(value)}" for key, value in attributes.items()]
        for slot, planes in (states or {}).items():
            widths = [plane.shape[1] for plane in planes]
            self.lines.append(f"state {slot} {NAMES[planes[0].dtype.name]} {_text(widths)}")
            self.lines += ["held " + self._tensor(plane) for plane in planes]
        self.lines += ["in absent" if x is None else "in " + self._tensor(x) for x in inputs]
        for i, y in enumerate(outputs):
            kind = rule if isinstance(rule, str) else rule[i]
            self.lines.append(f"out {self._tensor(y)} {kind}")
            if magnitudes is not None and magnitudes[i] is not None:
                raw = np.ascontiguousarray(magnitudes[i], "<f4").tobytes()
                self.lines.append(f"magnitude {self._store(raw)}")

    def write(self, stem, script, origin):
        with open(stem + ".txt", "w") as text:
            text.write(f"# Written by tests/data/{script} from {origin}.\n")
            text.write("\n".join(self.lines) + "\n")
        with open(stem + ".bin", "wb") as data:
            data.write(bytes(self.bytes))
