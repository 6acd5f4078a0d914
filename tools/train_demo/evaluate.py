# SPDX-License-Identifier: Apache-2.0
"""Measures a GGUF file of export.py, with its quantized weights, in float32 (or, quick and rough, in bfloat16).

  python3 evaluate.py demo.gguf             bits per byte on the held-out novel, and the word check
  python3 evaluate.py demo.gguf --sample 200 [--prompt TEXT] [--seed N]    text only
  python3 evaluate.py demo.gguf --logits 1,2,3 OUT.npy                     logits of these ids only

Bits per byte: the chapters of the novel, each begun by <|endoftext|>, are one sequence; the bits of every token
after the first (the special ones and the last end included) are summed and divided by the UTF-8 bytes of the
normalized chapters. Windows of the full context advance by half of it, so that each scored token sees at least
half a context of text before it (but for those at the start).

Word check: 500 tokens sampled from <|endoftext|> at temperature 0.8 with top-k 40; a word is a run of letters
(with inner apostrophes) and passes if it stands in the training novels or in a word list (/usr/share/dict/words,
if there), either as it is or in lower case. The first and the last word are counted like all others.
"""
import argparse
import json
import math
import os
import re

import numpy as np
import torch
import torch.nn.functional as F

import bpe
import gguf
import model
import text

WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
WORD_LIST = "/usr/share/dict/words"


def load(path, low):
    meta, tensors = gguf.read(path)
    a = "llama."
    cfg = model.Config(
        vocab=meta[a + "vocab_size"], context=meta[a + "context_length"], hidden=meta[a + "embedding_length"],
        layers=meta[a + "block_count"], heads=meta[a + "attention.head_count"],
        kv_heads=meta[a + "attention.head_count_kv"], head_dim=meta[a + "attention.key_length"],
        ffn=meta[a + "feed_forward_length"], rope_base=meta[a + "rope.freq_base"],
        eps=meta[a + "attention.layer_norm_rms_epsilon"])
    net = model.Model(cfg, low=low)
    net.load_state_dict({"w." + k.replace(".", "_"): torch.from_numpy(v.copy()) for k, v in tensors.items()})
    tok = bpe.Tokenizer([tuple(m.split(" ")) for m in meta["tokenizer.ggml.merges"]])
    assert tok.tokens == meta["tokenizer.ggml.tokens"]
    return net.eval(), tok


@torch.no_grad()
def bits_per_byte(net, tok, chapters):
    n, ids = net.cfg.context, torch.tensor(tok.stream(chapters))
    nats, done = 0.0, 1  # tokens below `done` are scored
    while done < len(ids):
        begin = max(0, min(done - n // 2, len(ids) - 1 - n))
        end = min(begin + n, len(ids) - 1)
        logits = net(ids[None, begin:end])[0, done - 1 - begin:]
        nats += F.cross_entropy(logits.double(), ids[done:end + 1], reduction="sum").item()
        done = end + 1
    return nats / math.log(2) / sum(len(c.encode("utf-8")) for c in chapters)


@torch.no_grad()
def sample(net, tok, count, prompt="", temperature=0.8, top_k=40, seed=1):
    rng = torch.Generator().manual_seed(seed)
    ids = [tok.end, *tok.encode(prompt)]
    for _ in range(count):
        row = net(torch.tensor([ids[-net.cfg.context:]]))[0, -1]
        best, which = row.topk(top_k)
        ids.append(which[torch.multinomial((best / temperature).softmax(0), 1, generator=rng)].item())
    return tok.decode(ids[1:])


def known_words(chapters):
    known = {w for c in chapters for w in WORD.findall(c)}
    if os.path.exists(WORD_LIST):
        with open(WORD_LIST, encoding="utf-8") as f:
            known |= {line.strip() for line in f}
    return known


def main():
    arg = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arg.add_argument("model")
    arg.add_argument("--sample", type=int)
    arg.add_argument("--prompt", default="")
    arg.add_argument("--seed", type=int, default=1)
    arg.add_argument("--bfloat16", action="store_true")
    arg.add_argument("--threads", type=int, default=1)
    arg.add_argument("--logits", nargs=2, metavar=("IDS", "OUT"))
    a = arg.parse_args()
    torch.set_num_threads(a.threads)
    net, tok = load(a.model, a.bfloat16)
    if a.logits:
        with torch.no_grad():
            np.save(a.logits[1], net(torch.tensor([json.loads(f"[{a.logits[0]}]")]))[0].numpy())
        return
    if a.sample:
        print(a.prompt + sample(net, tok, a.sample, a.prompt, seed=a.seed)[len(a.prompt):])
        return
    train, valid, held_out = text.load()
    written = sample(net, tok, 500, seed=a.seed)
    known, words = known_words(train + valid), WORD.findall(written)
    good = [w for w in words if w in known or w.lower() in known]
    print(written, "\n")
    print(f"words: {len(good)} of {len(words)} known ({100 * len(good) / len(words):.2f} %); "
          f"unknown: {sorted(set(words) - set(good))}")
    print(f"{text.HELD_OUT}: {bits_per_byte(net, tok, held_out):.4f} bits per byte", flush=True)


if __name__ == "__main__":
    main()
