#!/usr/bin/env python3
"""Writes what the graphs in this folder run on, with PyTorch: `generate.py`. For each graph NAME/NAME.toml

  NAME/NAME.safetensors   random weights, float32
  NAME/inputs/*.npy       an array for each input
  NAME/outputs/*.npy      what PyTorch gives for them, computed in float64 and rounded to float32
"""
import json
import math
import pathlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).resolve().parent


class ResNet(nn.Module):
    class Block(nn.Module):
        def __init__(self, inside, out, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inside, out, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(out)
            self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(out)
            if inside != out:
                self.downsample = nn.Sequential(nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out))

        def forward(self, x):
            y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
            return F.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = nn.Sequential(self.Block(8, 8, 1))
        self.layer2 = nn.Sequential(self.Block(8, 16, 2))
        self.fc = nn.Linear(16, 10)

    def forward(self, image):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(image))), 3, 2, 1)
        logits = self.fc(self.layer2(self.layer1(x)).mean((2, 3)))
        return {"logits": logits, "probabilities": logits.softmax(-1)}


class UNet(nn.Module):
    class Residual(nn.Module):
        def __init__(self, inside, out):
            super().__init__()
            self.norm1, self.conv1 = nn.GroupNorm(4, inside), nn.Conv2d(inside, out, 3, padding=1)
            self.emb = nn.Linear(16, out)
            self.norm2, self.conv2 = nn.GroupNorm(4, out), nn.Conv2d(out, out, 3, padding=1)
            if inside != out:
                self.skip = nn.Conv2d(inside, out, 1)

        def forward(self, x, emb):
            h = self.conv1(F.silu(self.norm1(x))) + self.emb(F.silu(emb))[:, :, None, None]
            return self.conv2(F.silu(self.norm2(h))) + (self.skip(x) if hasattr(self, "skip") else x)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.GroupNorm(4, 16)
            self.to_q, self.to_k = nn.Linear(16, 16, bias=False), nn.Linear(12, 16, bias=False)
            self.to_v, self.to_out = nn.Linear(12, 16, bias=False), nn.Linear(16, 16)

        def forward(self, x, context):
            tokens = self.norm(x).flatten(2).transpose(1, 2)
            out = self.to_out(attention(self.to_q(tokens), self.to_k(context), self.to_v(context), heads=4))
            return x + out.transpose(1, 2).reshape(x.shape)

    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 16))
        self.conv_in, self.down = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 8, 3, 2, 1)
        self.res1, self.res2, self.res3, self.res4 = (self.Residual(*sizes) for sizes in ((8, 8), (8, 16), (16, 8), (16, 8)))
        self.attn, self.up = self.Attention(), nn.Conv2d(8, 8, 3, padding=1)
        self.norm_out, self.conv_out = nn.GroupNorm(4, 8), nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, latent, time, context):
        waves = time[:, None] * torch.exp(-math.log(10000) / 8 * torch.arange(8, dtype=time.dtype))
        emb = self.time(torch.cat([waves.cos(), waves.sin()], -1))
        skip = self.res1(self.conv_in(latent), emb)
        h = self.res3(self.attn(self.res2(self.down(skip), emb), context), emb)
        h = self.up(F.interpolate(h, scale_factor=2, mode="nearest"))
        h = self.res4(torch.cat([h, skip], 1), emb)
        return {"noise": self.conv_out(F.silu(self.norm_out(h)))}


class ViT(nn.Module):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(24), nn.LayerNorm(24)
            self.attn = nn.ModuleDict({"qkv": nn.Linear(24, 72), "proj": nn.Linear(24, 24)})
            self.mlp = nn.ModuleDict({"fc1": nn.Linear(24, 32), "fc2": nn.Linear(32, 24)})

        def forward(self, x):
            x = x + self.attn["proj"](attention(*self.attn["qkv"](self.norm1(x)).chunk(3, -1), heads=3))
            return x + self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x))))

    def __init__(self):
        super().__init__()
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, 24, 4, 4)})
        self.pos_embed = nn.Parameter(torch.randn(1, 16, 24) * 0.1)
        self.blocks = nn.Sequential(*(self.Block() for _ in range(3)))
        self.norm, self.head = nn.LayerNorm(24), nn.Linear(24, 10)

    def forward(self, image):
        tokens = self.norm(self.blocks(self.patch_embed["proj"](image).flatten(2).transpose(1, 2) + self.pos_embed))
        return {"logits": self.head(tokens.mean(1)), "tokens": tokens}


class T5(nn.Module):
    """Of Hugging Face's names, with the arithmetic of its modeling_t5: no scale, RMS norm, bucketed relative positions."""

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(16))

        def forward(self, x):
            return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    class Attention(nn.Module):
        def __init__(self, with_bias):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(16, 16, bias=False) for _ in range(4))
            if with_bias:
                self.relative_attention_bias = nn.Embedding(8, 4)

        def forward(self, x, other, bias=None):
            return self.o(attention(self.q(x)[None], self.k(other)[None], self.v(other)[None], 4, bias, scale=1)[0])

    def layer(self, **parts):
        return nn.ModuleDict({**parts, "layer_norm": self.Norm()})

    def feed_forward(self):
        return self.layer(DenseReluDense=nn.ModuleDict({"wi_0": nn.Linear(16, 32, bias=False),
                                                        "wi_1": nn.Linear(16, 32, bias=False),
                                                        "wo": nn.Linear(32, 16, bias=False)}))

    def side(self, is_decoder):
        blocks = nn.ModuleList()
        for i in range(2):
            layers = [self.layer(SelfAttention=self.Attention(i == 0))]
            if is_decoder:
                layers.append(self.layer(EncDecAttention=self.Attention(False)))
            blocks.append(nn.ModuleDict({"layer": nn.ModuleList([*layers, self.feed_forward()])}))
        return nn.ModuleDict({"block": blocks, "final_layer_norm": self.Norm()})

    def __init__(self):
        super().__init__()
        self.shared, self.lm_head = nn.Embedding(20, 16), nn.Linear(16, 20, bias=False)
        self.encoder, self.decoder = self.side(False), self.side(True)

    @staticmethod
    def bias(side, positions, bidirectional):
        distance = positions[None, :] - positions[:, None]
        buckets, start = 8, torch.zeros_like(distance)
        if bidirectional:
            buckets //= 2
            start = (distance > 0).long() * buckets
            distance = distance.abs()
        else:
            distance = (-distance).clamp(min=0)
        exact = buckets // 2
        far = exact + (torch.log(distance.float().clamp(min=1) / exact) / math.log(16 / exact) * (buckets - exact)).long()
        bucket = start + torch.where(distance < exact, distance, far.clamp(max=buckets - 1))
        bias = side["block"][0]["layer"][0]["SelfAttention"].relative_attention_bias(bucket).permute(2, 0, 1)
        return bias if bidirectional else bias.masked_fill(positions[None, :] > positions[:, None], -math.inf)

    def run(self, side, ids, bias, encoded=None):
        x = self.shared(ids)
        for block in side["block"]:
            for layer in block["layer"]:
                y = layer["layer_norm"](x)
                if "SelfAttention" in layer:
                    x = x + layer["SelfAttention"](y, y, bias)
                elif "EncDecAttention" in layer:
                    x = x + layer["EncDecAttention"](y, encoded)
                else:
                    ff = layer["DenseReluDense"]
                    gate = ff["wi_0"](y)
                    gate = 0.5 * gate * (1 + torch.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate ** 3)))
                    x = x + ff["wo"](gate * ff["wi_1"](y))
        return side["final_layer_norm"](x)

    def forward(self, input_ids, input_positions, decoder_ids, decoder_positions):
        encoded = self.run(self.encoder, input_ids, self.bias(self.encoder, input_positions, True))
        decoded = self.run(self.decoder, decoder_ids, self.bias(self.decoder, decoder_positions, False), encoded)
        return {"logits": self.lm_head(decoded), "encoded": encoded}


class HifiGan(nn.Module):
    class Block(nn.Module):
        def __init__(self, channels, kernel):
            super().__init__()
            self.convs = nn.ModuleList(nn.Conv1d(channels, channels, kernel, padding=d * (kernel - 1) // 2, dilation=d)
                                       for d in (1, 3))

        def forward(self, x):
            for conv in self.convs:
                x = x + conv(F.leaky_relu(x, 0.1))
            return x

    def __init__(self):
        super().__init__()
        self.conv_pre, self.conv_post = nn.Conv1d(8, 16, 7, padding=3), nn.Conv1d(4, 1, 7, padding=3)
        self.ups = nn.ModuleList([nn.ConvTranspose1d(16, 8, 8, 4, 2), nn.ConvTranspose1d(8, 4, 4, 2, 1)])
        self.resblocks = nn.ModuleList(self.Block(*sizes) for sizes in ((8, 3), (8, 7), (4, 3), (4, 7)))
        self.register_buffer("num_kernels", torch.tensor([2.0]))

    def forward(self, mel):
        x = self.conv_pre(mel)
        for i, up in enumerate(self.ups):
            x = up(F.leaky_relu(x, 0.1))
            x = (self.resblocks[2 * i](x) + self.resblocks[2 * i + 1](x)) / self.num_kernels
        return {"audio": torch.tanh(self.conv_post(F.leaky_relu(x, 0.01)))}


def attention(q, k, v, heads, bias=None, scale=None):
    """[B, S, H * D] each; bias [H, Sq, Sk] is added to the scores."""
    q, k, v = (x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    return ((scores if bias is None else scores + bias).softmax(-1) @ v).transpose(1, 2).flatten(2)


def write_safetensors(path, tensors):
    index, at = {}, 0
    for name, array in tensors.items():
        index[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    header = json.dumps(index, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"".join(a.tobytes() for a in tensors.values()))


def write(name, model, inputs):
    model.eval()
    for key, value in model.state_dict().items():  # running means and gains that show when they are mixed up
        if "norm" in key or "bn" in key or "downsample.1" in key:
            value.copy_(value + torch.randn_like(value) * 0.1 if value.is_floating_point() else value)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.2)
            module.running_var.uniform_(0.5, 1.5)
    folder = HERE / name
    tensors = {key: value.numpy() for key, value in model.state_dict().items() if value.is_floating_point()}
    write_safetensors(folder / f"{name}.safetensors", tensors)
    real = {key: value.double() if value.is_floating_point() else value for key, value in inputs.items()}
    with torch.no_grad():
        outputs = model.double()(**real)
    for kind, arrays in ("inputs", inputs), ("outputs", outputs):
        (folder / kind).mkdir(exist_ok=True)
        for key, value in arrays.items():
            np.save(folder / kind / f"{key}.npy", value.numpy().astype(np.float32 if value.is_floating_point() else np.int32))


def main():
    torch.manual_seed(20)
    ids, positions = torch.randint(0, 20, (30,)), torch.arange(30)
    write("resnet", ResNet(), {"image": torch.randn(3, 3, 16, 16)})
    write("unet", UNet(), {"latent": torch.randn(2, 4, 8, 8), "time": torch.tensor([17.0, 540.0]),
                           "context": torch.randn(2, 5, 12)})
    write("vit", ViT(), {"image": torch.randn(2, 3, 16, 16)})
    write("t5", T5(), {"input_ids": ids, "input_positions": positions, "decoder_ids": ids[3:12],
                       "decoder_positions": positions[:9]})
    write("hifigan", HifiGan(), {"mel": torch.randn(1, 8, 13)})


if __name__ == "__main__":
    main()
