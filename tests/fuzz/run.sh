#!/usr/bin/env bash
# Runs the fuzz targets one after the other: tests/fuzz/run.sh BUILD SECONDS [TARGET ...], all of them by default.
# Starts from the seeds of the repository and from what earlier runs found, which stays in BUILD/found/TARGET. An input
# that crashes a target, or takes too long or too much memory, is kept in BUILD/crashes and named; then the end is a failure.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=$1 seconds=$2
shift 2
if [ $# -eq 0 ]; then
  for source in tests/fuzz/*_fuzz.cpp; do set -- "$@" "$(basename "$source" _fuzz.cpp)"; done
fi
export ASAN_OPTIONS="allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"

failed=()
mkdir -p "$build/crashes"
for target in "$@"; do
  found=$build/found/$target log=$build/$target.log
  mkdir -p "$found"
  options=(-max_total_time="$seconds" -rss_limit_mb=1024 -malloc_limit_mb=64 -timeout=10 -max_len=4096 -print_final_stats=1
    -artifact_prefix="$build/crashes/$target-")
  dictionary=tests/fuzz/$target.dict
  if [ -f "$dictionary" ]; then options+=(-dict="$dictionary"); fi
  if "$build/tests/fuzz/${target}_fuzz" "${options[@]}" "$found" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    coverage=$(grep -o 'cov: [0-9]*' "$log" | tail -1)
    echo "$target: $(sed -n 's/stat::number_of_executed_units: *//p' "$log") inputs, ${coverage:-cov: none}"
  else
    failed+=("$target")
    grep -m1 -E '^SUMMARY|ERROR: |runtime error' "$log" || tail -5 "$log"
    echo "$target: FAILED, $(sed -n 's/.*Test unit written to //p' "$log" | tail -1); the whole log is $log"
  fi
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
