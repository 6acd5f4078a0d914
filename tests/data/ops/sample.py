"""Cases of Sample: candidates and draw by the definition, in f64, with u given or from the generators."""

import numpy as np


def philox(counter, key):
    c, k = [int(x) for x in counter], [int(x) for x in key]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def philox_uniform(seed, run, row):
    return (philox([run, row, 0, 0], [seed & 0xFFFFFFFF, seed >> 32])[0] >> 8) * 2.0**-24


class Pcg32:
    def __init__(self, seed):
        self.state = 0
        self.next()
        self.state = (self.state + seed) & (2**64 - 1)
        self.next()

    def next(self):
        old = self.state
        self.state = (old * 6364136223846793005 + 1) & (2**64 - 1)
        x, r = ((old >> 18 ^ old) >> 27) & 0xFFFFFFFF, old >> 59
        return (x >> r | x << (-r & 31)) & 0xFFFFFFFF

    def uniform(self):
        return self.next() / 2.0**32


def softmax(z):
    w = np.exp(z - z.max())
    return w / w.sum()


def sample(logits, u, method="chain", temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, temperature_first=False,
           keep_ties=False, order="vocabulary"):
    logits = logits.astype("f8")
    if method == "greedy" or temperature <= 0:
        return int(np.argmax(logits))
    chain = method == "chain"
    scale = 1.0 if chain and not temperature_first else temperature
    falling = np.lexsort((np.arange(len(logits)), -logits))
    kept = np.arange(len(logits))
    if chain or method == "top_k":
        if 0 < top_k < len(logits):
            kept = falling[:top_k]
            if keep_ties:
                kept = falling[logits[falling] >= logits[kept[-1]]]
        elif method == "top_k":
            kept = falling
    if chain or method == "top_p":
        if top_p < 1:
            kept = kept if len(kept) < len(logits) else falling
            cumulative = np.cumsum(softmax(logits[kept] / scale))
            kept = kept[: int(np.argmax(cumulative >= top_p)) + 1]
        elif method == "top_p":
            kept = falling
    if chain or method == "min_p":
        p = softmax(logits[kept] / scale)
        kept = kept[p >= min_p * p.max()]
    if order == "vocabulary":
        kept = np.sort(kept)
    cumulative = np.cumsum(softmax(logits[kept] / temperature))
    return int(kept[np.argmax(cumulative > u * cumulative[-1])])


def build(add):
    rng = np.random.default_rng(160)
    kinds = {"i4": "i32", "i8": "i64", "u4": "u32", "f4": "f32"}

    def case(name, logits, index="i4", u="given", **options):
        flat = logits.reshape(-1, logits.shape[-1])
        attributes = dict(options)
        inputs = [logits]
        if u == "given":
            numbers = rng.random(len(flat)).astype("f4")
            inputs.append(numbers.reshape(logits.shape[:-1]))
        elif u is None:
            numbers = np.zeros(len(flat))
        else:
            kind, seed = u
            attributes.update({"rng": kind, "seed": seed})
            generator = Pcg32(seed)
            numbers = [generator.uniform() if kind == "pcg32" else philox_uniform(seed, 0, row) for row in range(len(flat))]
        if index != "i4":
            attributes["index_dtype"] = kinds[index]
        ids = np.array([sample(row, number, **options) for row, number in zip(flat, numbers)])
        add("sample_" + name, "Sample", attributes, inputs, [ids.reshape(logits.shape[:-1]).astype(index)])

    def normal(*dims):
        return (rng.standard_normal(dims) * 2).astype("f4")

    x = normal(40, 50)
    case("greedy", x, u=None, method="greedy")
    case("greedy_ties", np.array([[1, 3, 3, 2], [0, 0, 0, 0]], "f4"), u=None, method="greedy")
    case("cold", x, u=None, method="temperature", temperature=0.0)
    case("temperature", x, method="temperature", temperature=0.7)
    case("hot", x, method="temperature", temperature=5.0)
    for order in ("vocabulary", "sorted"):
        case("top_k_" + order, x, method="top_k", top_k=7, temperature=1.3, order=order)
        case("top_k_all_" + order, x, method="top_k", top_k=0, order=order)
        case("top_k_more_than_there_are_" + order, x, method="top_k", top_k=51, order=order)
        case("top_p_" + order, x, method="top_p", top_p=0.8, temperature=0.9, order=order)
        case("top_p_all_" + order, x, method="top_p", top_p=1.0, order=order)
        case("min_p_" + order, x, method="min_p", min_p=0.1, temperature=1.5, order=order)
        case("chain_" + order, x, temperature=0.8, top_k=20, top_p=0.9, min_p=0.05, order=order)
        case("chain_hot_" + order, x, temperature=3.0, top_k=20, top_p=0.9, min_p=0.05, order=order)
        case("chain_temperature_first_" + order, x, temperature=3.0, top_k=20, top_p=0.9, temperature_first=True,
             order=order)
        case("chain_top_p_" + order, x, top_p=0.5, order=order)
        case("chain_min_p_" + order, x, min_p=0.3, order=order)
    case("chain_of_nothing", x)
    case("top_k_of_one", x, method="top_k", top_k=1)
    case("top_p_of_one", x, method="top_p", top_p=0.0)
    case("min_p_of_one", x, method="min_p", min_p=1.0)
    ties = np.round(normal(30, 40))
    case("top_k_ties", ties, method="top_k", top_k=6, order="sorted")
    case("top_k_keeps_ties", ties, method="top_k", top_k=6, keep_ties=True, order="sorted")
    case("top_p_ties", ties, method="top_p", top_p=0.7, order="sorted")
    holes = x.copy()
    holes[rng.random(holes.shape) < 0.5] = -np.inf
    case("hidden_logits", holes, top_p=0.95)
    case("hidden_logits_top_k", holes, method="top_k", top_k=45, order="sorted")
    # A flat distribution: top-p reaches far beyond the first few hundred.
    case("top_p_long", normal(3, 6000) * np.float32(0.1), top_p=0.9, order="sorted")
    case("wide", normal(3, 8000), temperature=0.8, top_k=40, top_p=0.95, min_p=0.05)
    case("batches", normal(2, 3, 20), temperature=0.8)
    case("vector", normal(20), u=("philox", 5), temperature=0.8)
    case("one_logit", normal(3, 1))
    case("no_rows", normal(0, 5))
    case("philox", x, u=("philox", 2**40 + 17))
    case("philox_zero", x, u=("philox", 0))
    case("pcg32", x, u=("pcg32", 1), method="temperature", order="sorted")
    case("i64", x, "i8")
    case("u32", x, "u4")
    case("f32", x, "f4")
    case("f64_logits", x.astype("f8"))
    case("f16_logits", x.astype("f2"))
