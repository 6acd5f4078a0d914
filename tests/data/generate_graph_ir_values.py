"""Writes the cases of tests/graph_ir_ops_test.cpp: for each family module in tests/data/graph_ir/ops/ a .txt and a .bin.

Run with a Python that has numpy and PyTorch (1.13 was used): python3 tests/data/generate_graph_ir_values.py [family ...]

A family module defines build(add), which calls add() at least twenty times for each op of the Graph IR that it covers:
batches above 1, odd sizes, strides, dilations and groups above 1, and an empty tensor among them. The answers are
numpy's or PyTorch's, computed in f64 and rounded here. The text file:

  case NAME
  op OP                                 a name of the Graph IR
  with KEY VALUE                        a parameter, as TOML has it
  attr KEY VALUE                        an attribute, as TOML has it
  in DTYPE [DIMS] OFFSET [NAME]         an operand that is a graph input; called a, b, c, ... by its place without a name
  weight DTYPE [DIMS] OFFSET [NAME]     an operand that is a weight (block types above all)
  open OPERAND AXIS                     a size that the stored graph leaves unknown
  out DTYPE [DIMS] OFFSET TOLERANCE     exact, elementwise, reduction:K, norm, attention or quantized (tests/tolerance.h)
  by NAME                               whose answer it is
  run                                   a further run with the state of the last: "in" and "out" lines follow
"""

import importlib
import pathlib
import sys

import numpy as np

DATA = pathlib.Path(__file__).parent
FOLDER = DATA / "graph_ir" / "ops"
sys.path[:0] = [str(FOLDER), str(DATA / "ops")]
sys.dont_write_bytecode = True

from case_writer import CaseWriter  # noqa: E402


def toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    if isinstance(value, float):
        return str(np.float32(value))
    return f'"{value}"' if isinstance(value, str) else repr(value)


class Named:
    """An operand with a name of its own, or one that is a weight."""

    def __init__(self, value, name="", weight=False):
        self.value, self.name, self.weight = value, name, weight


class GraphCaseWriter(CaseWriter):
    def add(self, name, op, operands, results, tolerance, params=None, attrs=None, open=(), by="PyTorch", more_runs=()):
        """operands, results: arrays (case_writer.Typed for dtypes that numpy lacks), operands also Named. open: pairs of
        operand and axis. more_runs: pairs of operands and results of later runs."""
        assert name not in self.names, name
        self.names.add(name)
        self.lines += ["", f"case {name}", f"op {op}"]
        self.lines += [f"with {key} {toml(value)}" for key, value in (params or {}).items()]
        self.lines += [f"attr {key} {toml(value)}" for key, value in (attrs or {}).items()]
        for i, (inputs, outputs) in enumerate([(operands, results), *more_runs]):
            if i > 0:
                self.lines.append("run")
            for x in inputs:
                x = x if isinstance(x, Named) else Named(x)
                self.lines.append(f"{'weight' if x.weight else 'in'} {self._tensor(x.value)} {x.name}".rstrip())
            self.lines += [f"out {self._tensor(y)} {tolerance}" for y in outputs]
        self.lines += [f"open {operand} {axis}" for operand, axis in open]
        self.lines.append(f"by {by}")


for family in sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.py")):
    writer = GraphCaseWriter()
    importlib.import_module(family).build(writer.add)
    writer.write(str(FOLDER / family), "generate_graph_ir_values.py", f"graph_ir/ops/{family}.py")
    print(f"{family}: {len(writer.names)} cases, {len(writer.bytes)} bytes")
