#!/usr/bin/env bash
# Runs fuzz targets, as many side by side as there are CPUs: tests/fuzz/run.sh BUILD SECONDS [TARGET ...], by default
# all of them. A target starts from the seeds of the repository and from what earlier runs found, which stays in
# BUILD/found/TARGET. An input that crashes it, or takes too long or too much memory, is kept in BUILD/crashes and
# named; then the end is a failure.
set -uo pipefail
script=$(realpath "${BASH_SOURCE[0]}")
build=$(realpath "$1") seconds=$2
shift 2
cd "$(dirname "$script")/../.."

if [ $# -ne 1 ]; then
  if [ $# -eq 0 ]; then
    for source in tests/fuzz/*_fuzz.cpp; do set -- "$@" "$(basename "$source" _fuzz.cpp)"; done
  fi
  printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" "$script" "$build" "$seconds"
  exit
fi

target=$1
found=$build/found/$target crashes=$build/crashes log=$build/$target.log
mkdir -p "$found" "$crashes"
options=(-max_total_time="$seconds" -rss_limit_mb=1024 -malloc_limit_mb=64 -timeout=30 -max_len=4096 -print_final_stats=1
  -artifact_prefix="$crashes/$target-")
dictionary=tests/fuzz/$target.dict
if [ -f "$dictionary" ]; then options+=(-dict="$dictionary"); fi
export ASAN_OPTIONS="allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"

if ! "$build/tests/fuzz/${target}_fuzz" "${options[@]}" "$found" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
  grep -m1 -E '^SUMMARY|ERROR: |runtime error' "$log" || tail -5 "$log"
  echo "$target: FAILED, $(sed -n 's/.*Test unit written to //p' "$log" | tail -1); the whole log is $log" >&2
  exit 1
fi
coverage=$(grep -o 'cov: [0-9]*' "$log" | tail -1)
echo "$target: $(sed -n 's/stat::number_of_executed_units: *//p' "$log") inputs, ${coverage:-cov: none}"
