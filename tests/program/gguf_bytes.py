"""GGUF files to damage: a small writer whose every part can be set wrong."""
import struct

import numpy as np

U8, U32, I32, F32_VALUE, BOOL, STRING, ARRAY = 0, 4, 5, 6, 7, 8, 9  # metadata types
F32 = 0  # tensor type
Q8_0 = 8
ALIGNMENT = 32


def text(s):
    raw = s.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(kind, x):
    if kind == U8:
        return struct.pack("<B", x)
    if kind == U32:
        return struct.pack("<I", x)
    if kind == I32:
        return struct.pack("<i", x)
    if kind == F32_VALUE:
        return struct.pack("<f", x)
    if kind == BOOL:
        return struct.pack("<?", x)
    if kind == STRING:
        return text(x)
    item_kind, items = x
    return struct.pack("<IQ", item_kind, len(items)) + b"".join(value(item_kind, item) for item in items)


class GgufBytes:
    def __init__(self):
        self.meta = {}
        self.tensors = []  # [name, dims, type, values]
        self.types, self.offsets = {}, {}
        self.random = np.random.default_rng(7)

    def add(self, name, dims, kind=F32):
        data = (self.random.standard_normal(dims) / np.sqrt(dims[-1])).astype(np.float32)
        self.tensors.append([name, dims, kind, data.tobytes()])

    def remove(self, name):
        self.tensors = [t for t in self.tensors if t[0] != name]

    def replace(self, name, dims):
        at = [t[0] for t in self.tensors].index(name)
        self.add(name, dims)
        self.tensors[at] = self.tensors.pop()

    def rename(self, old, new):
        self.tensors[[t[0] for t in self.tensors].index(old)][0] = new

    def override_type(self, name, kind):
        self.types[name] = kind

    def override_offset(self, name, offset):
        self.offsets[name] = offset

    def bytes(self):
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.meta))
        for key, (kind, x) in self.meta.items():
            head += text(key) + struct.pack("<I", kind) + value(kind, x)
        blob = b""
        for name, dims, kind, data in self.tensors:
            head += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims[::-1])
            head += struct.pack("<IQ", self.types.get(name, kind), self.offsets.get(name, len(blob)))
            blob += data + bytes(-len(data) % ALIGNMENT)
        return head + bytes(-len(head) % ALIGNMENT) + blob


def small_llama():
    """One layer, 32 wide, with a vocabulary that can spell any byte."""
    hidden, ffn, vocab = 32, 64, 300
    model = GgufBytes()
    model.meta = {
        "general.architecture": (STRING, "llama"),
        "general.name": (STRING, "small"),
        "llama.context_length": (U32, 64),
        "llama.embedding_length": (U32, hidden),
        "llama.block_count": (U32, 1),
        "llama.feed_forward_length": (U32, ffn),
        "llama.attention.head_count": (U32, 2),
        "llama.attention.head_count_kv": (U32, 1),
        "llama.attention.layer_norm_rms_epsilon": (F32_VALUE, 1e-5),
        "tokenizer.ggml.model": (STRING, "llama"),
    }
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    pieces += [f"▁w{i}" for i in range(len(pieces), vocab)]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (vocab - 259)
    model.meta["tokenizer.ggml.tokens"] = (ARRAY, (STRING, pieces))
    model.meta["tokenizer.ggml.scores"] = (ARRAY, (F32_VALUE, [-float(i) for i in range(vocab)]))
    model.meta["tokenizer.ggml.token_type"] = (ARRAY, (U32, kinds))
    model.meta["tokenizer.ggml.bos_token_id"] = (U32, 1)
    model.meta["tokenizer.ggml.eos_token_id"] = (U32, 2)
    model.add("token_embd.weight", (vocab, hidden))
    model.add("blk.0.attn_norm.weight", (hidden,))
    model.add("blk.0.attn_q.weight", (hidden, hidden))
    model.add("blk.0.attn_k.weight", (hidden // 2, hidden))
    model.add("blk.0.attn_v.weight", (hidden // 2, hidden))
    model.add("blk.0.attn_output.weight", (hidden, hidden))
    model.add("blk.0.ffn_norm.weight", (hidden,))
    model.add("blk.0.ffn_gate.weight", (ffn, hidden))
    model.add("blk.0.ffn_up.weight", (ffn, hidden))
    model.add("blk.0.ffn_down.weight", (hidden, ffn))
    model.add("output_norm.weight", (hidden,))
    return model
