#!/usr/bin/env python3
"""Installs weft and builds, as a program outside the repository would, the library example of README.md.

The example's three parts stand in README.md behind the comments `<!-- example: main.cpp -->`,
`<!-- example: CMakeLists.txt -->` and `<!-- example: output -->`; nothing is kept twice. `--kind shared` installs the
build it is given; `--kind static` first builds libweft.a in a directory beside that build, where ccache knows every
object already. The directories are used again by the next run, which then compiles nothing that has not changed.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

# Libraries inside libweft whose symbols must stay there.
PRIVATE_NAMESPACES = ("toml::", "nlohmann::", "fmt::", "spdlog::", "CLI::")


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def example(readme, part):
    match = re.search(rf"<!-- example: {re.escape(part)} -->\n+```\w*\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    if match is None:
        sys.exit(f"README.md has no block behind <!-- example: {part} -->")
    return match[1]


def write_if_changed(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def configure_and_build(cmake, source, build, *options):
    # CMake itself reconfigures when something changed.
    if not (build / "build.ninja").exists():
        run(cmake, "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", *options)
    run(cmake, "--build", build)


def check_exports(prefix):
    """The shared library exports weft's names and none of the libraries inside it."""
    library = next(prefix.rglob("libweft.so"))
    names = [line.split(" ", 2)[2] for line in run("nm", "-D", "-C", "--defined-only", library).splitlines()]
    if not any("weft::" in name for name in names):
        sys.exit(f"{library} exports nothing of weft")
    leaked = [name for name in names if name.startswith(PRIVATE_NAMESPACES)]
    if leaked:
        sys.exit(f"{library} exports symbols of other libraries:\n" + "\n".join(leaked[:10]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=("shared", "static"), required=True)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    args = parser.parse_args()

    build = args.build
    if args.kind == "static":
        build = args.build.with_name(args.build.name + "-static")
        # As the release preset compiles it, so that ccache has the objects.
        configure_and_build(args.cmake, args.source, build, "-DBUILD_SHARED_LIBS=OFF", "-DWEFT_BUILD_PROGRAM=OFF",
                            "-DWEFT_BUILD_TESTS=OFF", "-DCMAKE_UNITY_BUILD=ON")

    # Afresh, so that a file that is no longer installed is not found either.
    prefix = args.work / "prefix"
    shutil.rmtree(prefix, ignore_errors=True)
    run(args.cmake, "--install", build, "--prefix", prefix)
    if args.kind == "shared":
        check_exports(prefix)
        if (args.source / "src" / "weft" / "cli").exists():
            print(run(prefix / "bin" / "weft", "--version").strip())

    readme = (args.source / "README.md").read_text(encoding="utf-8")
    consumer = args.work / "consumer"
    consumer.mkdir(parents=True, exist_ok=True)
    for name in ("main.cpp", "CMakeLists.txt"):
        write_if_changed(consumer / name, example(readme, name))
    configure_and_build(args.cmake, consumer, consumer / "build", f"-DCMAKE_PREFIX_PATH={prefix}")

    program = re.search(r"add_executable\((\w+)", example(readme, "CMakeLists.txt"))[1]
    output = run(consumer / "build" / program, cwd=args.source)
    print(output, end="")
    expected = example(readme, "output")
    if output != expected:
        sys.exit(f"README.md promises this output instead:\n{expected}")


if __name__ == "__main__":
    main()
