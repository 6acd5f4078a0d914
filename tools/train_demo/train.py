# SPDX-License-Identifier: Apache-2.0
"""Trains the demo language model on five novels of Jane Austen (the sixth is held out).

  apt-get install python3-torch r-base-core r-cran-janeaustenr
  python3 train.py --out DIR [options]

writes DIR/merges.json (the vocabulary), DIR/last.pt after each epoch and, whenever the loss on the validation
chapters has fallen, DIR/best.pt. Then `python3 export.py DIR/best.pt demo.gguf` makes the GGUF file. The seed fixes
the initial weights, the order of the text and the dropout; with --minutes the learning rate also depends on the
speed of the machine, so that two such runs end in models of the same kind, not of the same bits.

With bfloat16 products (the default; --float32 turns them off) one core that has AVX512-BF16 trains on about ten
thousand tokens per second. glibc returns large blocks to the system at once, which costs time;
MALLOC_MMAP_THRESHOLD_=4000000000 MALLOC_TRIM_THRESHOLD_=8000000000 in the environment avoids it.
"""
import argparse
import dataclasses
import json
import math
import os
import time

import numpy as np
import torch
import torch.nn.functional as F

import bpe
import model
import text


def windows(stream, context, rng):
    """One epoch: the stream cut into windows from a random offset, in random order; [n, context + 1]"""
    starts = np.arange(rng.integers(context), len(stream) - context, context)
    rng.shuffle(starts)
    return torch.from_numpy(stream[starts[:, None] + np.arange(context + 1)])


def rate(step, warmup, done, peak):
    """Linear warmup, then a cosine over the part of training that is done (0 to 1), down to 2 % of the peak."""
    return min((step + 1) / warmup, 1) * peak * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(done, 1))))


@torch.no_grad()
def validate(net, stream, batch):
    """Nats per token over windows that share no tokens."""
    net.eval()
    n = net.cfg.context
    x = torch.from_numpy(stream[:(len(stream) - 1) // n * n + 1])
    x = torch.stack([x[i:i + n + 1] for i in range(0, len(x) - 1, n)])
    loss = [F.cross_entropy(net(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten(), reduction="sum").item()
            for b in x.split(batch)]
    net.train()
    return sum(loss) / (x.shape[0] * n)


def main():
    arg = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arg.add_argument("--out", required=True)
    arg.add_argument("--seed", type=int, default=1)
    arg.add_argument("--threads", type=int, default=1)
    arg.add_argument("--epochs", type=int, default=20)
    arg.add_argument("--tokens", type=int, default=4096, help="tokens per step")
    arg.add_argument("--short", type=int, default=256, help="length of the windows in the first part of training")
    arg.add_argument("--short-part", type=float, default=0.7,
                     help="that part, as a fraction (looked at when an epoch begins)")
    arg.add_argument("--minutes", type=float, default=math.inf,
                     help="the schedule is shortened, if need be, so as to end after that many minutes")
    arg.add_argument("--rate", type=float, default=3e-3, help="peak learning rate")
    arg.add_argument("--warmup", type=int, default=150, help="steps")
    arg.add_argument("--decay", type=float, default=0.1, help="weight decay")
    arg.add_argument("--dropout", type=float, default=0.1, help="on embeddings and on what blocks add")
    arg.add_argument("--attention-dropout", type=float, default=0.0)
    arg.add_argument("--average", type=float, default=0.998, help="decay of the running mean of weights that is saved")
    arg.add_argument("--float32", action="store_true")
    for f in dataclasses.fields(model.Config):
        arg.add_argument("--" + f.name.replace("_", "-"), type=f.type, default=f.default)
    a = arg.parse_args()
    cfg = model.Config(**{f.name: getattr(a, f.name) for f in dataclasses.fields(model.Config)})
    os.makedirs(a.out, exist_ok=True)
    torch.set_num_threads(a.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(a.seed)
    rng = np.random.default_rng(a.seed)

    train, valid, _ = text.load()
    merges = bpe.learn(train + valid, cfg.vocab)
    with open(os.path.join(a.out, "merges.json"), "w") as f:
        json.dump(merges, f)
    tok = bpe.Tokenizer(merges)
    assert len(tok.tokens) == cfg.vocab
    valid_stream = np.array(tok.stream(valid))
    nats_to_bpb = (len(valid_stream) - 1) / sum(len(c.encode()) for c in valid) / math.log(2)

    net = model.Model(cfg, a.dropout, a.attention_dropout, low=not a.float32)
    mean = model.Model(cfg, low=not a.float32)
    mean.load_state_dict(net.state_dict())
    weights = list(net.parameters())
    opt = torch.optim.AdamW([{"params": [w for w in weights if w.dim() == 2], "weight_decay": a.decay},
                             {"params": [w for w in weights if w.dim() == 1], "weight_decay": 0.0}],
                            lr=a.rate, betas=(0.9, 0.98), eps=1e-9)
    print(f"{a}\n{model.parameters(cfg)} parameters", flush=True)

    best, step, done, start = math.inf, 0, 0.0, time.time()
    for epoch in range(a.epochs):
        order = rng.permutation(len(train))
        stream = np.array(tok.stream([train[i] for i in order]))
        context = a.short if done < a.short_part else cfg.context
        steps = a.epochs * len(stream) / a.tokens
        total, n = 0.0, 0
        for x in windows(stream, context, rng).split(a.tokens // context):
            done = max(step / steps, (time.time() - start) / 60 / a.minutes)
            if done >= 1:
                break
            for g in opt.param_groups:
                g["lr"] = rate(step, a.warmup, done, a.rate)
            loss = F.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
            opt.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            opt.step()
            step += 1
            k = min(a.average, step / (step + 10))
            with torch.no_grad():
                for m, w in zip(mean.parameters(), weights):
                    m.lerp_(w, 1 - k)
            total, n = total + loss.item(), n + 1
            if step % 50 == 0:
                print(f"  step {step} loss {total / n:.4f} {done:.1%} {time.time() - start:.0f} s", flush=True)
        if not n:
            break
        seconds = time.time() - start
        v = validate(mean, valid_stream, a.tokens // cfg.context)
        print(f"epoch {epoch + 1} step {step} train {total / n:.4f} valid {v:.4f} nats/token "
              f"{v * nats_to_bpb:.4f} bits/byte, {seconds:.0f} s", flush=True)
        state = {"config": dataclasses.asdict(cfg), "merges": merges, "arguments": vars(a), "epoch": epoch + 1,
                 "valid_bits_per_byte": v * nats_to_bpb, "weights": mean.state_dict(), "seconds": seconds}
        names = ["last.pt"] + (["best.pt"] if v < best else [])
        best = min(best, v)
        for name in names:
            path = os.path.join(a.out, name)
            torch.save(state, path + ".new")
            os.replace(path + ".new", path)


if __name__ == "__main__":
    main()
