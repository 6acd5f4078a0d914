"""Sample: by the definition, in f64; Argmax: torch."""

import numpy as np
import torch
from sample import Pcg32, sample


def build(add):
    rng = np.random.default_rng(410)

    def normal(*dims):
        return (rng.standard_normal(dims) * 2).astype("f4")

    def draw(name, logits, method, temperature=1.0, p=0.0, k=0, seed=None, open=()):
        flat = logits.reshape(-1, logits.shape[-1])
        temperature, p = float(np.float32(temperature)), float(np.float32(p))
        operands, attrs = [logits], {}
        if seed is not None:
            generator = Pcg32(seed)
            numbers = [generator.uniform() for _ in flat]
            attrs["seed"] = seed
        elif method == "greedy":
            numbers = [0.0] * len(flat)
        else:
            numbers = rng.random(len(flat)).astype("f4")
            operands.append(numbers.reshape(logits.shape[:-1]))
        options = {"top_k": {"top_k": k}, "top_p": {"top_p": p}, "min_p": {"min_p": p}}.get(method, {})
        ids = [sample(row, float(u), method=method, temperature=temperature, order="sorted", **options)
               for row, u in zip(flat, numbers)]
        params = {"method": method, "temperature": temperature, "p": p, "k": k}
        add("sample_" + name, "Sample", operands, [np.array(ids, "f4").reshape(logits.shape[:-1])], "exact", params, attrs,
            open=open, by="NumPy")

    x = normal(12, 30)
    draw("greedy", x, "greedy")
    draw("greedy_ties", np.array([[1, 3, 3, 2], [0, 0, 0, 0]], "f4"), "greedy")
    draw("greedy_vector", normal(31), "greedy")
    draw("cold", x, "temperature", 0.0)
    draw("temperature", x, "temperature", 0.7)
    draw("hot", x, "temperature", 5.0, open=[(0, 0), (1, 0)])
    draw("top_k", x, "top_k", 1.3, k=7)
    draw("top_k_one", x, "top_k", k=1)
    draw("top_k_all", x, "top_k", k=0)
    draw("top_k_more_than_there_are", x, "top_k", k=99)
    draw("top_p", x, "top_p", 0.9, p=0.8)
    draw("top_p_one", x, "top_p", p=0.0)
    draw("top_p_all", x, "top_p", p=1.0)
    draw("min_p", x, "min_p", 1.5, p=0.1)
    draw("min_p_one", x, "min_p", p=1.0)
    draw("ties", np.round(normal(9, 20)), "top_k", k=6)
    hidden = np.where(rng.random(x.shape) < 0.5, -np.inf, x).astype("f4")
    draw("hidden", hidden, "top_p", p=0.95)
    draw("batches", normal(2, 3, 17), "temperature", 0.8)
    draw("one_logit", normal(3, 1), "temperature")
    draw("no_rows", normal(0, 5), "temperature")
    for method, p, k in (("temperature", 0.0, 0), ("top_k", 0.0, 5), ("top_p", 0.7, 0), ("min_p", 0.2, 0)):
        draw("seeded_" + method, x, method, 0.9, p, k, seed=7)

    for i, dims in enumerate(((1,), (7,), (2, 3), (3, 17), (4, 1, 5), (2, 3, 5, 7), (1, 1), (5, 33), (2, 2, 2, 2, 3), (16,),
                              (2, 64), (0, 5), (2, 0, 4), (3, 9, 2), (31,), (6, 6), (1, 300), (2, 5, 3))):
        x = np.round(normal(*dims))
        dim = -1 if i % 2 == 0 or len(dims) == 1 or dims[0] == 0 or 0 in dims else [0, len(dims) - 2, -2][i % 3]
        y = torch.argmax(torch.from_numpy(x), dim).numpy().astype("f4")
        add(f"argmax_{i}", "Argmax", [x], [y], "exact", attrs={} if dim == -1 else {"dim": dim},
            open=[(0, 0)] if i % 3 == 1 else [])
    for name, x in (("nan", np.array([[1, np.nan, 3, np.nan], [np.inf, 1, np.nan, 2]], "f4")),
                    ("infinite", np.array([[-np.inf, -np.inf], [1, np.inf]], "f4"))):
        y = torch.argmax(torch.from_numpy(x), -1).numpy().astype("f4")
        add("argmax_" + name, "Argmax", [x], [y], "exact")
