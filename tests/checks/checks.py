#!/usr/bin/env python3
"""Checks on the sources themselves: `checks.py NAME...` or `checks.py all`, from anywhere.

  includes        an include in src/weft points to a room that this room may use
  length          no source file has more than 800 lines
  format          clang-format would change nothing
  third_party     headers leave the heavy libraries to .cpp files
  public_headers  installed headers include only the standard library and each other, and are at most twenty

Each check is a function from a repository root to a list of problems, one line each.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

# Room -> the rooms it may include; what those may include, it may too.
ROOMS = {
    "base": [],
    "ir": ["base"],
    "text": ["base"],
    "ops": ["ir"],
    "passes": ["ops"],
    "lir": ["ops"],
    "backend": ["lir"],
    "runtime": ["backend", "passes"],
    "formats": ["ops", "text"],
    "models": ["runtime", "formats"],
    "cli": ["models"],
}

MAX_LINES = 800
MAX_PUBLIC_HEADERS = 20

# Include paths that a header may not have, and the internal headers that may.
THIRD_PARTY = ("toml++/", "nlohmann/", "httplib.h", "pcre2.h", "utf8proc.h", "CLI/", "spdlog/", "fmt/", "openssl/",
               "google/protobuf/", "onnx/")
THIRD_PARTY_ALLOWED = {("src/weft/base/fail.h", "fmt/format.h"), ("src/weft/base/log.h", "spdlog/logger.h")}

GENERATED = "weft/version.h"  # written by CMake; any room may include it
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def sources(root, *suffixes, under=("src", "tests", "bench")):
    return sorted(path for top in under for path in (root / top).rglob("*") if path.suffix in suffixes)


def includes_of(path):
    """(line number, quote or angle bracket, included path) of each include."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1], match[2]


def reachable(room):
    rooms, queue = {room}, [room]
    while queue:
        for upper in ROOMS[queue.pop()]:
            if upper not in rooms:
                rooms.add(upper)
                queue.append(upper)
    return rooms


def check_includes(root):
    problems = []
    house = root / "src" / "weft"
    for path in sources(root, ".h", ".cpp", under=("src/weft",)):
        name = path.relative_to(root)
        room = path.relative_to(house).parts[0]
        if room not in ROOMS:
            problems.append(f"{name}: room '{room}' is not in the table of tests/checks/checks.py; add it with its arrows")
            continue
        if path.stem.endswith("_test"):
            continue
        allowed = reachable(room)
        for number, mark, included in includes_of(path):
            if mark == "<":
                continue
            parts = included.split("/")
            if included == GENERATED:
                continue
            if parts[0] != "weft" or len(parts) < 3 or ".." in parts:
                problems.append(f'{name}:{number}: "{included}" is not spelled "weft/ROOM/FILE.h"')
            elif parts[1] not in allowed:
                problems.append(f'{name}:{number}: {room} may not include {parts[1]} ("{included}"); '
                                f"it may include {', '.join(sorted(allowed))}")
    return problems


def check_length(root):
    problems = []
    for path in sources(root, ".h", ".cpp", ".py", ".cmake", under=("src", "tests", "bench", "tools", "cmake")):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_LINES:
            problems.append(f"{path.relative_to(root)}: {lines} lines, at most {MAX_LINES}; which two concepts are in it?")
    return problems


def check_format(root):
    tool = shutil.which("clang-format-14")
    if tool is None:
        return ["clang-format-14 is not installed; `tools/setup.sh test` installs it"]
    files = [str(path.relative_to(root)) for path in sources(root, ".h", ".cpp")]
    if not files:
        return []
    run = subprocess.run([tool, "--dry-run", *files], cwd=root, capture_output=True, text=True)
    changed = sorted({line.split(":")[0] for line in run.stderr.splitlines() if "-Wclang-format-violations" in line})
    if run.returncode != 0 and not changed:
        return [run.stderr.strip() or f"clang-format-14 exits with {run.returncode}"]
    return [f"{name}: not formatted; run `make format`" for name in changed]


def check_third_party(root):
    problems = []
    for path in sources(root, ".h"):
        name = path.relative_to(root)
        for number, _, included in includes_of(path):
            if included.startswith(THIRD_PARTY) and (str(name), included) not in THIRD_PARTY_ALLOWED:
                problems.append(f"{name}:{number}: <{included}> belongs in a .cpp file")
    return problems


def public_headers(root):
    """The list in cmake/public_headers.cmake."""
    text = (root / "cmake" / "public_headers.cmake").read_text(encoding="utf-8")
    return re.search(r"set\(WEFT_PUBLIC_HEADERS([^)]*)\)", text)[1].split()


def check_public_headers(root):
    public = public_headers(root)
    problems = []
    if len(public) > MAX_PUBLIC_HEADERS:
        problems.append(f"cmake/public_headers.cmake: {len(public)} public headers, at most {MAX_PUBLIC_HEADERS}")
    for header in public:
        path = root / "src" / header
        if not path.is_file():
            problems.append(f"cmake/public_headers.cmake: {header} does not exist in src")
            continue
        for number, mark, included in includes_of(path):
            # The standard library's headers are the ones without a slash or a suffix.
            standard = mark == "<" and re.fullmatch(r"[a-z0-9_]+", included)
            if not standard and not (mark == '"' and included in public):
                problems.append(f"src/{header}:{number}: a public header includes {included}, "
                                "neither a header of the standard library nor a public one")
    return problems


CHECKS = {
    "includes": check_includes,
    "length": check_length,
    "format": check_format,
    "third_party": check_third_party,
    "public_headers": check_public_headers,
}


def main(arguments):
    names = list(CHECKS) if arguments == ["all"] else arguments
    if not names or any(name not in CHECKS for name in names):
        sys.exit(f"usage: checks.py all|{'|'.join(CHECKS)}")
    root = Path(__file__).resolve().parents[2]
    problems = [problem for name in names for problem in CHECKS[name](root)]
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
