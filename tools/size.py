#!/usr/bin/env python3
"""Lines per room, code and tests apart, and the change since the branch left main (or the revision given)."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = (".h", ".cpp", ".py", ".sh", ".cmake", ".toml", ".txt", ".md", ".in")


def git(*arguments):
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)


def room_of(name):
    parts = name.split("/")
    if name.startswith("src/weft/"):
        return parts[2] if len(parts) > 3 else "weft"
    return parts[0] if len(parts) > 1 else "top"


def is_test(name):
    return name.startswith("tests/") or "_test." in name


def count(*revision):
    """(room, is test) -> lines. Without a revision: the working tree, new files included."""
    lines = Counter()
    flags = [] if revision else ["--untracked"]
    for row in git("grep", "-I", "-c", *flags, "-e", "", *revision).stdout.splitlines():
        name, number = row.rsplit(":", 1)
        if revision:
            name = name.split(":", 1)[1]
        if name.endswith(SUFFIXES) and not name.startswith("tests/data/"):
            lines[room_of(name), is_test(name)] += int(number)
    return lines


def main():
    candidates = sys.argv[1:] or ["main", "origin/main"]
    base = next((name for name in candidates if git("rev-parse", "--verify", "--quiet", name).returncode == 0), None)
    now = count()
    before = count(git("merge-base", base, "HEAD").stdout.strip()) if base else now
    if not now:
        sys.exit("size: not a git checkout, or no git")

    def row(name, keys):
        cells = []
        for test in (False, True):
            total = sum(now[key, test] for key in keys)
            change = total - sum(before[key, test] for key in keys)
            cells.append(f"{total:8,}{f'{change:+,}' if change else '':>8}")
        print(f"{name:<12}{''.join(cells)}".rstrip())

    print(f"{'room':<12}{'code':>8}{'change':>8}{'tests':>8}{'change':>8}")
    rooms = sorted({room for room, _ in now | before})
    for room in rooms:
        row(room, [room])
    row("all", rooms)
    print(f"change: against {base}" if base else "change: unknown, there is no branch main")


if __name__ == "__main__":
    main()
