# SPDX-License-Identifier: Apache-2.0
"""Writes a checkpoint of train.py as GGUF v3 with Q8_0 matrices, or in float32, to quantize it with weft:

  python3 export.py DIR/best.pt demo.gguf
  python3 export.py DIR/best.pt demo-f32.gguf --f32
"""
import sys

import numpy as np
import torch

import bpe
import gguf

NAME = "weft-demo-austen"


def main(checkpoint, path, *options):
    f32 = "--f32" in options
    state = torch.load(checkpoint, map_location="cpu")
    c, tok = state["config"], bpe.Tokenizer(state["merges"])
    meta = {
        "general.architecture": "llama",
        "general.name": NAME,
        "general.license": "apache-2.0",
        "general.description": "A tiny language model trained on five public-domain novels of Jane Austen.",
        "general.languages": ["en"],
        "general.file_type": 0 if f32 else 7,
        "general.quantization_version": 2,
        "llama.vocab_size": c["vocab"],
        "llama.context_length": c["context"],
        "llama.embedding_length": c["hidden"],
        "llama.block_count": c["layers"],
        "llama.feed_forward_length": c["ffn"],
        "llama.attention.head_count": c["heads"],
        "llama.attention.head_count_kv": c["kv_heads"],
        "llama.attention.key_length": c["head_dim"],
        "llama.attention.value_length": c["head_dim"],
        "llama.attention.layer_norm_rms_epsilon": float(c["eps"]),
        "llama.rope.dimension_count": c["head_dim"],
        "llama.rope.freq_base": float(c["rope_base"]),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tok.tokens,
        "tokenizer.ggml.token_type": [np.int32(3 if i == tok.end else 1) for i in range(len(tok.tokens))],
        "tokenizer.ggml.merges": [f"{a} {b}" for a, b in tok.merges],
        "tokenizer.ggml.bos_token_id": tok.end,
        "tokenizer.ggml.eos_token_id": tok.end,
        "tokenizer.ggml.add_bos_token": True,
    }
    tensors = {}
    for name, w in state["weights"].items():
        name = name[len("w."):].replace("_weight", ".weight")
        if name.startswith("blk_"):
            _, i, rest = name.split("_", 2)
            name = f"blk.{i}.{rest}"
        tensors[name] = w.numpy()
    gguf.write(path, meta, tensors, f32)
    print(f"{path}: {sum(t.size for t in tensors.values())} parameters, epoch {state['epoch']}, "
          f"{state['valid_bits_per_byte']:.4f} bits/byte on the validation chapters before quantization")


if __name__ == "__main__":
    main(*sys.argv[1:])
