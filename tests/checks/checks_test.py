#!/usr/bin/env python3
"""Shows for each check that it passes good sources and reports bad ones."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import checks


class ChecksTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def assert_one(self, problems, *parts):
        self.assertEqual(len(problems), 1, problems)
        for part in parts:
            self.assertIn(part, problems[0])

    def test_arrows_up_the_table_pass(self):
        self.write("src/weft/models/a.h", '#include <vector>\n#include "weft/base/error.h"\n#include "weft/ops/x.h"\n')
        self.write("src/weft/ops/x.cpp", '#include "weft/ops/inner/y.h"\n#include "weft/version.h"\n')
        self.assertEqual(checks.check_includes(self.root), [])

    def test_every_arrow_that_points_down_is_reported(self):
        order = list(checks.ROOMS)
        for room in order:
            for other in order:
                self.write(f"src/weft/{room}/a.cpp", f'#include "weft/{other}/b.h"\n')
                problems = checks.check_includes(self.root)
                if other in checks.reachable(room):
                    self.assertEqual(problems, [])
                else:
                    self.assert_one(problems, f"src/weft/{room}/a.cpp:1", f"{room} may not include {other}")
                (self.root / f"src/weft/{room}/a.cpp").unlink()

    def test_the_table_says_what_each_room_reaches(self):
        reach = {room: " ".join(sorted(checks.reachable(room) - {room})) for room in checks.ROOMS}
        self.assertEqual(reach, {
            "base": "",
            "ir": "base",
            "text": "base",
            "ops": "base ir",
            "passes": "base ir ops",
            "lir": "base ir ops",
            "backend": "base ir lir ops",
            "runtime": "backend base ir lir ops passes",
            "formats": "base ir ops text",
            "models": "backend base formats ir lir ops passes runtime text",
            "cli": "backend base formats ir lir models ops passes runtime text",
        })

    def test_a_test_may_include_anything(self):
        self.write("src/weft/base/a_test.cpp", '#include "weft/cli/b.h"\n')
        self.assertEqual(checks.check_includes(self.root), [])

    def test_unknown_rooms_and_other_spellings_are_reported(self):
        self.write("src/weft/attic/a.h", "")
        self.assert_one(checks.check_includes(self.root), "room 'attic'")
        (self.root / "src/weft/attic/a.h").unlink()
        for spelling in ("error.h", "../base/error.h", "weft/weft.h", "weft/ir/../base/error.h"):
            self.write("src/weft/ir/a.h", f'#  include "{spelling}"\n')
            self.assert_one(checks.check_includes(self.root), "src/weft/ir/a.h:1", spelling)

    def test_length(self):
        self.write("src/weft/ir/a.cpp", "\n" * 800)
        self.assertEqual(checks.check_length(self.root), [])
        self.write("tests/b_test.cpp", "\n" * 801)
        self.assert_one(checks.check_length(self.root), "tests/b_test.cpp", "801")

    def test_format(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("src/weft/ir/a.cpp", "int a = 1;\n")
        self.assertEqual(checks.check_format(self.root), [])
        self.write("tests/b_test.cpp", "int  b=1 ;\n")
        self.assert_one(checks.check_format(self.root), "tests/b_test.cpp")

    def test_third_party(self):
        self.write("src/weft/base/fail.h", "#include <fmt/format.h>\n")
        self.write("src/weft/ir/a.cpp", "#include <toml++/toml.h>\n#include <nlohmann/json.hpp>\n")
        self.assertEqual(checks.check_third_party(self.root), [])
        for included in ("toml++/toml.h", "nlohmann/json.hpp", "httplib.h", "pcre2.h", "fmt/format.h", "CLI/CLI.hpp"):
            self.write("src/weft/ir/a.h", f"#include <{included}>\n")
            self.assert_one(checks.check_third_party(self.root), "src/weft/ir/a.h:1", included)

    def test_public_headers(self):
        self.write("cmake/public_headers.cmake", "set(WEFT_PUBLIC_HEADERS\n    weft/base/a.h\n    weft/base/b.h)\n")
        self.write("src/weft/base/a.h", "#include <string_view>\n#include <cstdint>\n")
        self.write("src/weft/base/b.h", '#include "weft/base/a.h"\n')
        self.assertEqual(checks.check_public_headers(self.root), [])
        for included in ('"weft/base/fail.h"', "<fmt/format.h>", "<pcre2.h>", "<sys/mman.h>"):
            self.write("src/weft/base/a.h", f"#include {included}\n")
            self.assert_one(checks.check_public_headers(self.root), "src/weft/base/a.h:1", included[1:-1])
        (self.root / "src/weft/base/a.h").unlink()
        self.assert_one(checks.check_public_headers(self.root), "weft/base/a.h does not exist")

    def test_the_count_of_public_headers(self):
        names = [f"weft/base/h{i}.h" for i in range(21)]
        for name in names:
            self.write(f"src/{name}", "")
        self.write("cmake/public_headers.cmake", f"set(WEFT_PUBLIC_HEADERS {' '.join(names)})\n")
        self.assert_one(checks.check_public_headers(self.root), "21 public headers")


if __name__ == "__main__":
    unittest.main()
