#!/usr/bin/env bash
# Installs the Debian 12 packages that weft needs and the machine lacks. When none is missing it does nothing: no
# apt-get, no network. Never asks a question.
#   tools/setup.sh run    what building and running the program needs
#   tools/setup.sh test   that, and what the tests need
#   tools/setup.sh bench  what building needs, and what the benchmarks need
set -euo pipefail

run_packages=(g++ make cmake ninja-build ccache pkg-config libfmt-dev libspdlog-dev nlohmann-json3-dev
  libtomlplusplus-dev libcli11-dev libpcre2-dev libutf8proc-dev libssl-dev libhwy-dev zlib1g-dev)
test_packages=(libgtest-dev libgmock-dev clang-19 libclang-rt-19-dev clang-format-14 g++-aarch64-linux-gnu
  python3 python3-numpy python3-sentencepiece)
bench_packages=(libbenchmark-dev nodejs npm python3 python3-numpy)

die() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}

case "${1-}" in
  run) wanted=("${run_packages[@]}") ;;
  test) wanted=("${run_packages[@]}" "${test_packages[@]}") ;;
  bench) wanted=("${run_packages[@]}" "${bench_packages[@]}") ;;
  *) die "usage: tools/setup.sh run|test|bench" ;;
esac

if [ -n "${WEFT_NO_SETUP-}" ]; then exit 0; fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  die "this is no Debian system, so nothing can be installed here." \
    "Install the counterparts of these Debian 12 packages, then set WEFT_NO_SETUP=1:" "  ${wanted[*]}"
fi

# dpkg-query fails when it knows nothing of a package; what it does not list as installed is missing.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for package in "${wanted[@]}"; do
  [[ $'\n'$installed$'\n' == *$'\n'"installed $package"$'\n'* ]] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
    die "packages are missing, and installing them needs root (or sudo without a password). Run as root:" \
      "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  root=(sudo -n)
fi

apt() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"; }

echo "setup: installing ${missing[*]}"
apt update || echo "setup: apt-get update failed; trying with the package lists that are here" >&2
# dpkg's own progress lines are worth reading only when something went wrong.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! apt install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  die "apt-get could not install: ${missing[*]}"
fi
echo "setup: done"
