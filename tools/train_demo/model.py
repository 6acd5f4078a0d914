# SPDX-License-Identifier: Apache-2.0
"""A small Llama-style decoder: RMSNorm, rope over neighboring pairs, grouped-query attention, SwiGLU, tied embedding.

Matrix products run in bfloat16 where `low` is set (fast on CPUs with AVX512-BF16), everything else in float32.
"""
import dataclasses
import math

import torch
import torch.nn.functional as F


@dataclasses.dataclass
class Config:
    vocab: int = 2048
    context: int = 512
    hidden: int = 192
    layers: int = 4
    heads: int = 6
    kv_heads: int = 2
    head_dim: int = 32
    ffn: int = 512
    rope_base: float = 10000.0
    eps: float = 1e-5


class Norm(torch.autograd.Function):
    """RMSNorm with a hand-written gradient (fewer passes over memory)."""

    @staticmethod
    def forward(ctx, x, g, eps):
        r = (x.square().mean(-1, keepdim=True) + eps).rsqrt()
        n = x * r
        ctx.save_for_backward(n, r, g)
        return n * g

    @staticmethod
    def backward(ctx, dy):
        n, r, g = ctx.saved_tensors
        dg = (dy * n).sum(tuple(range(dy.dim() - 1)))
        dn = dy * g
        dx = dn.sub_(n * (dn * n).mean(-1, keepdim=True)).mul_(r)
        return dx, dg, None


class Gate(torch.autograd.Function):
    """silu(g) * u, computed in float32 (far faster than silu in bfloat16), kept as it came."""

    @staticmethod
    def forward(ctx, g, u):
        ctx.save_for_backward(g, u)
        return F.silu(g.to(torch.float32)).to(g.dtype).mul_(u)

    @staticmethod
    def backward(ctx, dy):
        g, u = ctx.saved_tensors
        f = g.float()
        s = F.silu(f).to(g.dtype)
        dg = torch.ops.aten.silu_backward((dy * u).float(), f).to(g.dtype)
        return dg, s.mul_(dy)


def drop(x, p):
    """Dropout whose mask costs one random byte per element."""
    keep = 256 - round(256 * p)
    if keep == 256:
        return x
    n = x.numel()
    mask = torch.empty((n + 7) // 8, dtype=torch.int64).random_(-2**63, None).view(torch.uint8)[:n]
    return x * ((mask < keep).view(x.shape).to(x.dtype) * (256 / keep))


def linear(x, w):
    """x @ w.T; without gradients, in float32, by oneDNN (Debian's float32 F.linear is the reference BLAS, slow)."""
    if torch.is_grad_enabled() or x.dtype != torch.float32:
        return F.linear(x, w)
    return torch.ops.aten.mkldnn_linear(x.contiguous().to_mkldnn(), w.contiguous().to_mkldnn(), None).to_dense()


class Model(torch.nn.Module):
    def __init__(self, cfg, dropout=0.0, attention_dropout=0.0, low=False):
        super().__init__()
        self.cfg, self.p, self.pa, self.low = cfg, dropout, attention_dropout, low
        c, q, kv = cfg, cfg.heads * cfg.head_dim, cfg.kv_heads * cfg.head_dim
        std, out_std = 0.02, 0.02 / math.sqrt(2 * c.layers)

        def matrix(rows, cols, s):
            return torch.nn.Parameter(torch.randn(rows, cols) * s)

        # named as in GGUF, with "_" for "."
        w = {"token_embd_weight": matrix(c.vocab, c.hidden, std)}
        std = c.hidden ** -0.5 * 0.6
        for i in range(c.layers):
            b = f"blk_{i}_"
            w[b + "attn_norm_weight"] = torch.nn.Parameter(torch.ones(c.hidden))
            w[b + "attn_q_weight"] = matrix(q, c.hidden, std)
            w[b + "attn_k_weight"] = matrix(kv, c.hidden, std)
            w[b + "attn_v_weight"] = matrix(kv, c.hidden, std)
            w[b + "attn_output_weight"] = matrix(c.hidden, q, out_std)
            w[b + "ffn_norm_weight"] = torch.nn.Parameter(torch.ones(c.hidden))
            w[b + "ffn_gate_weight"] = matrix(c.ffn, c.hidden, std)
            w[b + "ffn_up_weight"] = matrix(c.ffn, c.hidden, std)
            w[b + "ffn_down_weight"] = matrix(c.hidden, c.ffn, out_std)
        w["output_norm_weight"] = torch.nn.Parameter(torch.ones(c.hidden))
        self.w = torch.nn.ParameterDict(w)
        angle = torch.arange(c.context, dtype=torch.float64)[:, None] / c.rope_base ** (
            torch.arange(0, c.head_dim, 2, dtype=torch.float64) / c.head_dim)
        self.register_buffer("turn", torch.polar(torch.ones_like(angle), angle).to(torch.complex64), False)
        self.register_buffer("mask", torch.full((c.context, c.context), -1e30).triu(1), False)

    def half(self, x):
        return x.bfloat16() if self.low else x

    def rope(self, x):
        """x [batch, position, head, head_dim] -> [batch, head, position, head_dim]"""
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        turned = torch.view_as_real(pairs * self.turn[:x.shape[1], None])
        return self.half(turned.flatten(-2)).transpose(1, 2)

    def forward(self, ids):
        c, (B, N) = self.cfg, ids.shape
        p, pa = (self.p, self.pa) if self.training else (0.0, 0.0)
        w = {k: self.half(v) if v.dim() == 2 else v for k, v in self.w.items()}
        x = drop(F.embedding(ids, self.w["token_embd_weight"]), p)
        for i in range(c.layers):
            t = {k: w[f"blk_{i}_{k}_weight"] for k in ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output",
                                                       "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")}
            h = self.half(Norm.apply(x, t["attn_norm"], c.eps))
            qkv = linear(h, torch.cat([t["attn_q"], t["attn_k"], t["attn_v"]]))
            qkv = qkv.view(B, N, c.heads + 2 * c.kv_heads, c.head_dim)
            qk = self.rope(qkv[:, :, :c.heads + c.kv_heads])
            group = c.heads // c.kv_heads
            q = qk[:, :c.heads].reshape(B * c.kv_heads, group * N, c.head_dim)
            k = qk[:, c.heads:].reshape(B * c.kv_heads, N, c.head_dim)
            v = qkv[:, :, -c.kv_heads:].transpose(1, 2).reshape(B * c.kv_heads, N, c.head_dim)
            s = torch.bmm(q * c.head_dim ** -0.5, k.transpose(1, 2)).view(-1, N, N)
            s = (s + self.half(self.mask[:N, :N]).to(s.dtype)).softmax(-1)
            s = drop(s, pa).view(B * c.kv_heads, group * N, N)
            o = torch.bmm(s, v).view(B, c.heads, N, c.head_dim).transpose(1, 2).reshape(B, N, -1)
            x = x + drop(linear(o, t["attn_output"]).to(x.dtype), p)
            h = self.half(Norm.apply(x, t["ffn_norm"], c.eps))
            h = Gate.apply(linear(h, t["ffn_gate"]), linear(h, t["ffn_up"]))
            x = x + drop(linear(h, t["ffn_down"]).to(x.dtype), p)
        x = self.half(Norm.apply(x, w["output_norm_weight"], c.eps))
        return linear(x, w["token_embd_weight"]).to(self.w["output_norm_weight"].dtype)


def parameters(cfg):
    c = cfg
    layer = c.hidden * c.head_dim * (2 * c.heads + 2 * c.kv_heads) + 3 * c.hidden * c.ffn + 2 * c.hidden
    return c.vocab * c.hidden + c.layers * layer + c.hidden
