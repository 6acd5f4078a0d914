"""Writes the value cases of tests/op_values_test.cpp: for each family module in tests/data/ops/ a .txt and a .bin.

Run with a Python that has numpy and PyTorch (1.13 was used): python3 tests/data/generate_op_values.py [family ...]
"""

import importlib
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent / "ops"
sys.path.insert(0, str(FOLDER))
sys.dont_write_bytecode = True

from case_writer import CaseWriter  # noqa: E402

families = sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "case_writer")
for family in families:
    module = importlib.import_module(family)
    writer = CaseWriter()
    module.build(writer.add)
    writer.write(str(FOLDER / family), "generate_op_values.py", f"ops/{family}.py")
    print(f"{family}: {len(writer.names)} cases, {len(writer.bytes)} bytes")
