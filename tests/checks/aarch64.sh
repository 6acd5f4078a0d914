#!/usr/bin/env bash
# Whether the sources that differ from CPU to CPU compile for ARM, where Highway's kernels become NEON: with Debian's
# cross compiler, and the headers of the libraries that this machine has. Exit status 77: there is no such compiler.
set -u -o pipefail
cd "$(dirname "$0")/../.."

export compiler=aarch64-linux-gnu-g++
if ! command -v $compiler > /dev/null; then
  echo "no $compiler: tools/setup.sh test installs it (g++-aarch64-linux-gnu)"
  exit 77
fi

mapfile -t sources < <(grep -lErZ 'HWY_TARGET_INCLUDE|__x86_64__|__aarch64__|linear_kernels-inl' src/weft --include='*.cpp' |
  tr '\0' '\n' | grep -v '_test\.cpp$')
if ((${#sources[@]} == 0)); then
  echo "no source differs from CPU to CPU"
  exit 1
fi
compile() {
  "$compiler" -std=c++20 -O1 -Wall -Wextra -Werror -c -o /dev/null -I src -idirafter /usr/include \
    -idirafter "/usr/include/$(gcc -print-multiarch)" "$1" && echo "compiled $1"
}
export -f compile
printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'compile "$0"'
