# SPDX-License-Identifier: Apache-2.0
"""A byte-level BPE tokenizer in the manner of GPT-2: training, encoding, decoding."""
import collections
import heapq
import re

END = "<|endoftext|>"

# GPT-2's pre-tokenizer. Python's re has no \p{L} and \p{N}: [^\W\d_] are the letters, \d the decimal digits,
# which is the same for all characters of the novels.
PIECES = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def byte_symbols():
    """The printable character that stands for each byte: Latin-1 as far as printable, the rest from U+0100 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, spare = {}, 256
    for b in range(256):
        if b in plain:
            table[b] = chr(b)
        else:
            table[b] = chr(spare)
            spare += 1
    return table


SYMBOL = byte_symbols()
BYTE = {c: b for b, c in SYMBOL.items()}


def to_symbols(text):
    return "".join(SYMBOL[b] for b in text.encode("utf-8"))


def learn(texts, vocab_size):
    """The merges, in order, that give a vocabulary of vocab_size with 256 bytes and one special token."""
    counts = collections.Counter(p for t in texts for p in PIECES.findall(t))
    words = [list(to_symbols(p)) for p in counts]
    weight = list(counts.values())
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, w in enumerate(words):
        for pair in zip(w, w[1:]):
            pairs[pair] += weight[i]
            where[pair].add(i)
    heap = [(-n, pair) for pair, n in pairs.items()]
    heapq.heapify(heap)
    merges = []
    while len(merges) < vocab_size - 257 and heap:
        n, pair = heapq.heappop(heap)
        if pairs[pair] != -n or not n:  # an outdated entry
            continue
        merges.append(pair)
        changed = set()
        for i in where.pop(pair):
            w = words[i]
            for old in zip(w, w[1:]):
                pairs[old] -= weight[i]
                changed.add(old)
            words[i] = w = merge(w, pair)
            for new in zip(w, w[1:]):
                pairs[new] += weight[i]
                where[new].add(i)
                changed.add(new)
        for other in changed:
            if pairs[other] > 0:
                heapq.heappush(heap, (-pairs[other], other))
    return merges


def merge(word, pair):
    out, i = [], 0
    while i < len(word):
        if i + 1 < len(word) and word[i] == pair[0] and word[i + 1] == pair[1]:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out


class Tokenizer:
    def __init__(self, merges):
        self.merges = [tuple(m) for m in merges]
        self.tokens = [SYMBOL[b] for b in sorted(SYMBOL, key=lambda b: SYMBOL[b])]
        self.tokens += [a + b for a, b in self.merges] + [END]
        self.id = {t: i for i, t in enumerate(self.tokens)}
        self.rank = {m: i for i, m in enumerate(self.merges)}
        self.end = self.id[END]
        self.cache = {}
        assert len(self.id) == len(self.tokens)

    def piece(self, piece):
        if piece not in self.cache:
            w = list(to_symbols(piece))
            while len(w) > 1:
                best = min(zip(w, w[1:]), key=lambda p: self.rank.get(p, len(self.rank)))
                if best not in self.rank:
                    break
                w = merge(w, best)
            self.cache[piece] = [self.id[s] for s in w]
        return self.cache[piece]

    def encode(self, text):
        """The ids of plain text; special tokens are not looked for."""
        return [i for p in PIECES.findall(text) for i in self.piece(p)]

    def decode(self, ids):
        data = bytearray()
        for i in ids:
            data += b"\n\n" if i == self.end else bytes(BYTE[c] for c in self.tokens[i])
        return data.decode("utf-8", "replace")

    def stream(self, chapters):
        """All chapters in one sequence, each begun, and the last one ended, by the special token."""
        ids = []
        for c in chapters:
            ids += [self.end, *self.encode(c)]
        return ids + [self.end]
