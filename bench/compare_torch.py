#!/usr/bin/env python3
"""Runs weft's convolutions and PyTorch's (oneDNN) in turn and prints the ratio of their best times.

  compare_torch.py build/release/bench/convolution_bench [--threads 1] [--rounds 5]

Needs a Python with PyTorch. Each round runs one shape in weft, then in PyTorch, for a fifth of a second each; the best
of all rounds counts, as other load only ever adds time.
"""
import argparse
import json
import os
import subprocess
import time

import torch
import torch.nn.functional as F


def shapes(binary):
    listed = subprocess.run([binary, "--benchmark_list_tests"], check=True, capture_output=True, text=True).stdout
    return [line.removesuffix("/real_time") for line in listed.split()]


def weft_seconds(binary, name, threads):
    options = ["--benchmark_format=json", "--benchmark_min_time=0.005", "--benchmark_repetitions=40"]
    command = [binary, f"--benchmark_filter=^{name}/real_time$", *options]
    environment = {**os.environ, "WEFT_BENCH_THREADS": str(threads)}
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    runs = [run["real_time"] for run in json.loads(found)["benchmarks"] if run["run_type"] == "iteration"]
    return min(runs) * 1e-6


def torch_call(name):
    kind, x, w, stride, padding, groups = name.split("/")
    x, w = (torch.rand([int(size) for size in dims.split("x")]) - 0.5 for dims in (x, w))
    plain, transposed = [F.conv1d, F.conv2d, F.conv3d], [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d]
    run = (transposed if kind == "transposed" else plain)[w.dim() - 3]
    return lambda: run(x, w, None, int(stride), int(padding), groups=int(groups))


def torch_seconds(call):
    best, end = float("inf"), time.perf_counter() + 0.2
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, {options.threads} threads\n| convolution | weft, µs | PyTorch, µs | ratio |")
    with torch.no_grad():
        for name in shapes(options.binary):
            call = torch_call(name)
            rounds = [(weft_seconds(options.binary, name, options.threads), torch_seconds(call)) for _ in range(options.rounds)]
            ours, theirs = (min(times) * 1e6 for times in zip(*rounds))
            print(f"| {name} | {ours:.0f} | {theirs:.0f} | {theirs / ours:.2f} |", flush=True)


if __name__ == "__main__":
    main()
