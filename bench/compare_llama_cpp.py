#!/usr/bin/env python3
"""Runs weft and llama.cpp in turn on the same file and prints the ratio of their medians.

  compare_llama_cpp.py MODEL.gguf... [-p 512] [-n 64] [-r 5] [--threads 2] [--json FILE]

Both load the model once and then answer one run at a time, first one, then the other, so that whatever else the machine
does hits both; who begins changes from run to run. Between the runs weft measures the memory's bandwidth, from which the
ceiling follows: bandwidth / (bytes of weights and of keys and values that a token reads).

llama.cpp is npm's node-llama-cpp, prebuilt for the CPU; it is installed once into a cache folder outside the source tree
(--cache, or WEFT_BENCH_CACHE), without running install scripts. Through it llama.cpp loses up to a tenth of its decode
speed against its C interface. First token: a fresh process, a prompt of five tokens; of weft the whole process counts,
of llama.cpp what comes after node has started.
"""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

VERSION = "3.22.1"
ROOT = Path(__file__).resolve().parents[1]
DRIVER = Path(__file__).with_name("llama_cpp.mjs")


def default_cache():
    base = os.environ.get("WEFT_BENCH_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weft-bench"
    return Path(base)


def install_llama_cpp(cache):
    """The folder with node_modules; installs what is missing."""
    binaries = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}.get(platform.machine())
    if binaries is None:
        sys.exit(f"compare: node-llama-cpp has no prebuilt binary for {platform.machine()}")
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            sys.exit(f"compare: {tool} is not installed (Debian: apt-get install nodejs npm)")
    package = cache / "node_modules" / "node-llama-cpp" / "package.json"
    if not package.is_file() or json.loads(package.read_text())["version"] != VERSION:
        cache.mkdir(parents=True, exist_ok=True)
        print(f"compare: installing node-llama-cpp {VERSION} into {cache}", file=sys.stderr)
        subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(cache),
                        f"node-llama-cpp@{VERSION}", f"@node-llama-cpp/{binaries}@{VERSION}"],
                       check=True, stdout=sys.stderr)
    return cache


class Server:
    """A process that answers each line with a line of JSON."""

    def __init__(self, name, command, env=None):
        self.name = name
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **(env or {})})

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"compare: {self.name} ended with status {self.process.wait()}")
        return json.loads(line)

    def ask(self, request="run"):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def first_token_of_weft(weft, model, threads):
    """Seconds of a whole process that reads five tokens and writes one."""
    start = time.monotonic()
    ids = ",".join(str(300 + i * 7919 % 1500) for i in range(5))
    subprocess.run([str(weft), "run", str(model), "--ids", ids, "-n", "1", "--temp", "0", "--ignore-eos", "--json",
                    "--threads", str(threads)], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def start_llama_cpp(cache, model, prompt, new, threads, kv_type="f16"):
    llama = Server("llama.cpp", ["node", DRIVER, model, prompt, new, threads, kv_type], {"LLAMA_CPP_MODULES": str(cache)})
    return llama, llama.read()["first_token_s"]


def compare(args, model):
    first = {"weft": [], "llama_cpp": []}
    first_token_of_weft(args.weft, model, args.threads)  # brings the file into the page cache
    for _ in range(args.first_token_repeats):
        first["weft"].append(first_token_of_weft(args.weft, model, args.threads))
        llama, seconds = start_llama_cpp(args.cache, model, args.prompt, args.new, args.threads)
        llama.close()
        first["llama_cpp"].append(seconds)

    llama, _ = start_llama_cpp(args.cache, model, args.prompt, args.new, args.threads)
    weft = Server("weft", [args.weft, "bench", model, "-p", args.prompt, "-n", args.new, "--threads", args.threads,
                           "--serve", *args.weft_options])
    runs = {"weft": [], "llama_cpp": []}
    pair = [("weft", weft), ("llama_cpp", llama)]
    for _, server in pair:
        server.ask()  # not counted: pages and clocks come up
    for repeat in range(args.repeats):
        for name, server in pair if repeat % 2 == 0 else reversed(pair):
            runs[name].append(server.ask())
    for _, server in pair:
        server.close()

    ours = runs["weft"]
    bandwidth = statistics.median(run["bandwidth_gb_s"] for run in ours)
    token_bytes = ours[0]["weight_bytes"] + ours[0]["kv_bytes"]
    result = {key: ours[0][key] for key in ("model", "cpu", "level", "threads", "prompt", "new", "kv_type", "weight_bytes",
                                            "kv_bytes")}
    result |= {"repeats": args.repeats, "bandwidth_gb_s": bandwidth, "decode_ceiling_tok_s": bandwidth * 1e9 / token_bytes}
    for name, theirs in runs.items():
        result[name] = {
            # weft's run says {median, min, max} of itself alone.
            key: spread([run[key]["median"] if isinstance(run[key], dict) else run[key] for run in theirs])
            for key in ("prefill_tok_s", "decode_tok_s")}
        result[name]["decode_fraction"] = result[name]["decode_tok_s"]["median"] / result["decode_ceiling_tok_s"]
        if first[name]:
            result[name]["first_token_s"] = spread(first[name])
    for key in ("prefill_tok_s", "decode_tok_s"):
        result[key.removesuffix("_tok_s") + "_ratio"] = (result["weft"][key]["median"] /
                                                          result["llama_cpp"][key]["median"])
    return result


def table(result):
    lines = [f"{result['model']} · {result['cpu']} · level {result['level']} · {result['threads']} threads · prompt "
             f"{result['prompt']}, new {result['new']} · medians of {result['repeats']} (least to most)"]

    def row(title, key, unit):
        values = [result[name][key] for name in ("weft", "llama_cpp")]
        texts = [f"{v['median']:8.2f} ({v['min']:.2f} to {v['max']:.2f})" for v in values]
        lines.append(f"  {title:<12} weft {texts[0]:<30} llama.cpp {texts[1]:<30} {unit:<6} ratio "
                     f"{values[0]['median'] / values[1]['median']:.2f}")

    row("prefill", "prefill_tok_s", "tok/s")
    row("decode", "decode_tok_s", "tok/s")
    if "first_token_s" in result["weft"]:
        row("first token", "first_token_s", "s")
    lines.append(f"  ceiling      {result['decode_ceiling_tok_s']:.1f} tok/s at {result['bandwidth_gb_s']:.1f} GB/s: weft "
                 f"reaches {result['weft']['decode_fraction']:.0%}, llama.cpp {result['llama_cpp']['decode_fraction']:.0%}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("-p", "--prompt", type=int, default=512)
    parser.add_argument("-n", "--new", type=int, default=64)
    parser.add_argument("-r", "--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--first-token-repeats", type=int, default=3, help="0: do not measure it")
    parser.add_argument("--weft", type=Path, default=ROOT / "build" / "release" / "weft")
    parser.add_argument("--weft-options", default="", help="more options of weft bench, as one text")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where node-llama-cpp is, or is installed")
    parser.add_argument("--json", type=Path, help="write all results to this file too")
    args = parser.parse_args()
    args.weft_options = args.weft_options.split()
    for model in args.models:
        if not model.is_file():
            sys.exit(f"compare: {model}: no such file")
    install_llama_cpp(args.cache)
    results = []
    for model in args.models:
        results.append(compare(args, model.resolve()))
        print(table(results[-1]), flush=True)
        if args.json:
            args.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
