#!/usr/bin/python3
"""How far the logits of weft and of llama.cpp are from exact ones, and from each other: a table.

  compare_logits.py MODEL.gguf... [--kv-type f16] [--ids 1,2,3]... [--threads 2] [--json FILE]

The arbiter is `weft logits --backend reference` with f32 keys and values: it multiplies with the dequantized weights
themselves and rounds no activation to int8, as both programs do for speed. Each list of ids is one prompt, and the logits
of every position count. An error is |a - b| / |arbiter| over the log-softmax of all positions and tokens, in float64:

  weft, llama.cpp   each against the arbiter; `ratio` is the first to the second
  between           weft against llama.cpp, beside the sum of the two errors: distances, so never more than it
  cosine            of the two errors: 0 where both round independently, towards 1 where both round alike
  spread            |arbiter - its mean| / |arbiter|: logits that have nothing in common are farther apart than that
  prompt            |arbiter - its mean over positions| / |arbiter|: how much of the logits the prompt decides

Fails when weft's error on a list is more than --most (1.1) times llama.cpp's. Fails too when llama.cpp's error is more
than a tenth of the spread: rounding does not explain that, so the arbiter is in doubt and the errors mean nothing.
Remarks on a model whose prompt decides next to nothing, as random weights with a common mean make it: it measures the
last product alone.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from compare_llama_cpp import ROOT, default_cache, install_llama_cpp, start_llama_cpp

POSITIONS = 24
MOST_OF_SPREAD = 0.1  # that rounding explains
LEAST_OF_SPREAD = 0.1  # that the prompt decides


def made_up_lists():
    return [[300 + (start + i * step) % 1500 for i in range(POSITIONS)] for start, step in ((0, 7919), (411, 6007), (977, 4801))]


def id_list(text):
    return [int(part) for part in text.split(",")]


def weft_logits(args, model, ids, file, *options):
    done = subprocess.run([str(args.weft), "logits", str(model), "--ids", ",".join(map(str, ids)), "-o", str(file),
                           "--threads", str(args.threads), *options])
    if done.returncode != 0:
        sys.exit(f"compare: weft logits ended with status {done.returncode}")
    return np.load(file)


def llama_cpp_logits(llama, ids, file):
    shape = llama.ask(f"logits {','.join(map(str, ids))} {file}")
    return np.fromfile(file, "<f4").reshape(shape["positions"], shape["vocabulary"])


def log_softmax(logits):
    if not np.isfinite(logits).all():
        raise ValueError("not all logits are finite")
    x = logits.astype(np.float64)
    x -= x.max(axis=1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


def measure(arbiter, weft, llama):
    if not arbiter.shape == weft.shape == llama.shape:
        raise ValueError(f"different shapes: arbiter {arbiter.shape}, weft {weft.shape}, llama.cpp {llama.shape}")
    arbiter, weft, llama = map(log_softmax, (arbiter, weft, llama))
    size = np.linalg.norm(arbiter)
    ours, theirs = weft - arbiter, llama - arbiter
    lengths = np.linalg.norm(ours), np.linalg.norm(theirs)
    result = {
        "weft": lengths[0] / size,
        "llama_cpp": lengths[1] / size,
        "between": np.linalg.norm(weft - llama) / size,
        "cosine": np.vdot(ours, theirs) / (lengths[0] * lengths[1]) if min(lengths) > 0 else 0.0,
        "spread": np.linalg.norm(arbiter - arbiter.mean(axis=1, keepdims=True)) / size,
        "prompt": np.linalg.norm(arbiter - arbiter.mean(axis=0)) / size,
    }
    return {key: float(value) for key, value in result.items()}


def failure(args, result):
    """What is wrong with one list's figures, or nothing."""
    if result["weft"] > args.most * result["llama_cpp"]:
        return f"FAILED: weft's error is more than {args.most:g} times llama.cpp's"
    if result["llama_cpp"] > MOST_OF_SPREAD * result["spread"]:
        return "FAILED: llama.cpp computes something else than the arbiter; which one is wrong?"
    return ""


def compare(args, model):
    lists = args.ids or made_up_lists()
    llama, _ = start_llama_cpp(args.cache, model, max(map(len, lists)), 1, args.threads, args.kv_type)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "logits"
        npy = file.with_suffix(".npy")
        for number, ids in enumerate(lists):
            arbiter = weft_logits(args, model, ids, npy, "--backend", "reference", "--kv-type", "f32")
            ours = weft_logits(args, model, ids, npy, "--backend", "cpu", "--kv-type", args.kv_type)
            theirs = llama_cpp_logits(llama, ids, file)
            try:
                result = measure(arbiter, ours, theirs)
            except ValueError as error:
                sys.exit(f"compare: {model}, list {number}: {error}")
            result |= {"model": model.name, "list": number, "positions": len(ids), "kv_type": args.kv_type}
            results.append(result | {"failure": failure(args, result)})
    llama.close()
    return results


COLUMNS = f"{'model':<24} {'list':>4} {'weft':>10} {'llama.cpp':>10} {'ratio':>6} {'between':>10} {'of the sum':>11} " \
          f"{'cosine':>6} {'spread':>9} {'prompt':>9}"


def row(result):
    ratio = result["weft"] / result["llama_cpp"] if result["llama_cpp"] > 0 else float("nan")
    remark = result["failure"]
    if not remark and result["prompt"] < LEAST_OF_SPREAD * result["spread"]:
        remark = "the prompt decides next to nothing"
    return (f"{result['model']:<24} {result['list']:>4} {result['weft']:>10.3e} {result['llama_cpp']:>10.3e} {ratio:>6.3f} "
            f"{result['between']:>10.3e} <={result['weft'] + result['llama_cpp']:>9.3e} {result['cosine']:>6.3f} "
            f"{result['spread']:>9.3e} {result['prompt']:>9.3e}  {remark}").rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--ids", action="append", type=id_list, help="a prompt, repeatable; three made-up ones by default")
    parser.add_argument("--kv-type", default="f16", choices=["f32", "f16", "bf16", "q8_0"],
                        help="of weft and of llama.cpp, whose flash attention reads f32 as f16")
    parser.add_argument("--most", type=float, default=1.1, help="times llama.cpp's error that weft's may be")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--weft", type=Path, default=ROOT / "build" / "release" / "weft")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where node-llama-cpp is, or is installed")
    parser.add_argument("--json", type=Path, help="write all results to this file too")
    args = parser.parse_args()
    for model in args.models:
        if not model.is_file():
            sys.exit(f"compare: {model}: no such file")
    install_llama_cpp(args.cache)
    print(COLUMNS)
    results = []
    for model in args.models:
        results += (fresh := compare(args, model.resolve()))
        print("\n".join(map(row, fresh)), flush=True)
        if args.json:
            args.json.write_text(json.dumps(results, indent=1) + "\n")
    sys.exit(any(result["failure"] for result in results))


if __name__ == "__main__":
    main()
