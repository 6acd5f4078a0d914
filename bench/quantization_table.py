#!/usr/bin/python3
"""What each --type costs and keeps: a Markdown table.

  quantization_table.py SOURCE --text FILE [--pad] [--types q8_0,q4_k,...] [--weft build/release/weft] [-- EVAL OPTIONS]

SOURCE is the model in f32, f16 or bf16: a GGUF (then `weft quantize` writes the others) or a .model (`weft import --quant`).
Each type is measured by `weft eval --against SOURCE` on the text. Options after -- go to weft eval: --stride 256, --tokens N.

--pad, for GGUF files of the architecture of the bundled model in f32 (tools/train_demo/export.py --f32): the same function of its
input with the hidden size and the heads filled up with zeros to multiples of 256, so that the K types apply to every matrix.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
TYPES = ["f32", "f16", "bf16", "q8_0", "q6_k", "q5_1", "q5_k", "q5_0", "q4_1", "q4_k", "q4_0", "q3_k", "q2_k"]


def padded(source, out):
    """Zeros after the hidden values and whole heads of zeros at the end of each group change no logit: gains and epsilon take
    the larger divisor of the norm's mean into account, and what the added heads attend to is multiplied by zero."""
    sys.path.insert(0, str(ROOT / "tools" / "train_demo"))
    import gguf

    meta, tensors = gguf.read(source)
    hidden, heads = meta["llama.embedding_length"], meta["llama.attention.head_count"]
    groups, size = meta["llama.attention.head_count_kv"], meta["llama.attention.key_length"]
    wide = -(-hidden // 256) * 256
    all_heads = heads
    while all_heads * size % 256 != 0 or all_heads % groups != 0:
        all_heads += 1
    per, new_per = heads // groups, all_heads // groups
    places = np.concatenate([np.arange(size) + size * (new_per * (h // per) + h % per) for h in range(heads)])
    share = hidden / wide

    def spread(x, axis):
        shape = list(x.shape)
        shape[axis] = all_heads * size
        y = np.zeros(shape, np.float32)
        y[(slice(None),) * axis + (places,)] = x
        return y

    def fill(x, axis):
        width = [(0, 0)] * x.ndim
        width[axis] = (0, wide - hidden)
        return np.pad(x, width)

    new = {}
    for name, x in tensors.items():
        if x.ndim == 1:
            x = fill(x * np.float32(math.sqrt(share)), 0)
        elif "attn_q" in name:
            x = fill(spread(x, 0), 1)
        elif "attn_output" in name:
            x = fill(spread(x, 1), 0)
        elif "ffn_down" in name:
            x = fill(x, 0)
        else:
            x = fill(x, 1)
        new[name] = x
    meta.update({"llama.embedding_length": wide, "llama.attention.head_count": all_heads,
                 "llama.attention.layer_norm_rms_epsilon": meta["llama.attention.layer_norm_rms_epsilon"] * share,
                 "tokenizer.ggml.token_type": [np.int32(kind) for kind in meta["tokenizer.ggml.token_type"]]})
    gguf.write(out, meta, new, f32=True)


def weft_json(*args):
    return json.loads(subprocess.run([str(a) for a in args], check=True, capture_output=True).stdout)


def main():
    arg = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arg.add_argument("source")
    arg.add_argument("--text", required=True)
    arg.add_argument("--pad", action="store_true")
    arg.add_argument("--types", default=",".join(TYPES))
    arg.add_argument("--weft", default=ROOT / "build" / "release" / "weft")
    ours, theirs = sys.argv[1:], []
    if "--" in ours:
        at = ours.index("--")
        ours, theirs = ours[:at], ours[at + 1:]
    a = arg.parse_args(ours)

    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(a.source)
        if a.pad:
            source = pathlib.Path(folder) / "padded.gguf"
            padded(a.source, source)
        print("| type | bits per weight | MB | perplexity | against source | KL mean | KL 99 % | same top token |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        for kind in a.types.split(","):
            model = pathlib.Path(folder) / f"{kind}{source.suffix}"
            how = ["quantize", source, model, "--type", kind] if source.suffix == ".gguf" else \
                  ["import", source, "-o", model, "--quant", kind]
            subprocess.run([str(x) for x in [a.weft, *how]], check=True, capture_output=True)
            size = weft_json(a.weft, "inspect", model, "--json")
            told = weft_json(a.weft, "eval", model, "--file", a.text, "--against", source, "--json", *theirs)
            d = told["against"]
            ratio = told["perplexity"] / d["perplexity"] - 1
            print(f"| {kind} | {8 * size['weight_bytes'] / size['parameters']:.3f} | {size['weight_bytes'] / 1e6:.2f} "
                  f"| {told['perplexity']:.4f} | {100 * ratio:+.3f} % | {d['kl_mean']:.6f} | {d['kl_99']:.5f} "
                  f"| {100 * d['top1_agreement']:.2f} % |", flush=True)
            model.unlink()
        print(f"\n{told['tokens']} tokens, {told['bytes']} bytes; windows of {told['context']} that advance by {told['stride']}.")


if __name__ == "__main__":
    main()
