"""weft eval against NumPy on the logits that weft writes, and against PyTorch on the bundled model."""
import math
import unittest

import numpy as np

from gguf_bytes import BOOL, small_llama
from weft_program import ROOT, ProgramTest

DEMO = ROOT / "models" / "demo.model"
TEXT = ROOT / "tests" / "data" / "northanger_abbey.txt"  # the first chapters of the held-out novel; public domain


def log_softmax(x):
    x = x.astype(np.float64)
    x = x - x.max(1, keepdims=True)
    return x - np.log(np.exp(x).sum(1, keepdims=True))


class Evaluation(ProgramTest):
    def ids(self, model, text):
        return [int(i) for i in self.ok("tokenize", model, "--file", text, "--ids").stdout.split()]

    def log_p(self, model, inputs):
        out = self.dir / "logits.npy"
        self.ok("logits", model, "--ids", ",".join(map(str, inputs)), "-o", out,
                "--backend", "reference")
        return log_softmax(np.load(out))

    def by_numpy(self, models, ids, context, stride, bos):
        """Per model the log p of the scored tokens, and the whole rows: what the page of the command says, word for word."""
        targets = ids if bos is not None else ids[1:]
        before = [bos, *ids] if bos is not None else ids
        rows, done, start = [[] for _ in models], 0, 0
        while done < len(targets):
            end = min(start + context, len(targets))
            first = bos if bos is not None else before[start]
            inputs = [first] + (ids[start:end - 1] if bos is not None else ids[start + 1:end])
            for kept, model in zip(rows, models):
                kept.append(self.log_p(model, inputs)[done - start:])
            done, start = end, start + stride
        rows = [np.concatenate(r) for r in rows]
        return [r[np.arange(len(targets)), targets] for r in rows], rows

    def check(self, told, scored, rows, size):
        n = len(scored[0])
        self.assertEqual((told["tokens"], told["bytes"]), (n, size))
        for side, s in zip((told, told["against"]), scored):
            self.assertAlmostEqual(side["nats_per_token"], -s.mean(), delta=1e-7)
            self.assertAlmostEqual(side["perplexity"] / math.exp(-s.mean()), 1, delta=1e-7)
            self.assertAlmostEqual(side["bits_per_byte"], -s.sum() / math.log(2) / size, delta=1e-7)
            self.assertAlmostEqual(side["perplexity_error"] / (math.exp(-s.mean()) * s.std(ddof=1) / math.sqrt(n)), 1, delta=1e-6)
        q, p = rows
        kl = (np.exp(p) * (p - q)).sum(1)
        difference = np.exp(scored[0]) - np.exp(scored[1])
        for key, right in [("kl_mean", kl.mean()), ("kl_median", np.median(kl)), ("kl_99", np.percentile(kl, 99)),
                           ("kl_max", kl.max()), ("top1_agreement", (p.argmax(1) == q.argmax(1)).mean()),
                           ("rms_probability_difference", np.sqrt((difference ** 2).mean()))]:
            self.assertAlmostEqual(told["against"][key], right, delta=1e-6 * max(right, 1e-3), msg=key)

    def test_the_bundled_model_against_a_coarser_one(self):
        text, coarse = self.dir / "text.txt", self.dir / "coarse.model"
        text.write_bytes(TEXT.read_bytes()[:1500])
        self.ok("import", DEMO, "-o", coarse, "--quant", "q4_0")
        ids = self.ids(DEMO, text)
        for context, stride in [(512, 512), (64, 64), (50, 17)]:
            with self.subTest((context, stride)):
                told = self.json("eval", coarse, "--backend", "reference", "--file", text, "--against", DEMO, "--ctx", context, "--stride", stride, "--json")
                self.check(told, *self.by_numpy([coarse, DEMO], ids, context, stride, 2047), 1500)
                self.assertGreater(told["against"]["kl_mean"], 1e-4)
                self.assertEqual((told["context"], told["stride"]), (context, stride))

    def test_a_model_without_begin_of_text(self):
        text = self.dir / "text.txt"
        text.write_text("hello world, this is no text that such a model knows " * 4)
        for bos in (True, False):
            model, other = self.dir / "a.gguf", self.dir / "b.gguf"
            builder = small_llama()
            builder.meta["tokenizer.ggml.add_bos_token"] = (BOOL, bos)
            model.write_bytes(builder.bytes())
            self.ok("quantize", model, other, "--type", "q4_0")
            ids = self.ids(model, text)
            told = self.json("eval", other, "--backend", "reference", "--file", text, "--against", model, "--ctx", 40, "--json")
            size = text.stat().st_size
            self.check(told, *self.by_numpy([other, model], ids, 40, 40, 1 if bos else None), size if bos else told["bytes"])
            self.assertLessEqual(size - told["bytes"], 0 if bos else 3)  # the first token is a part of one character
            self.assertEqual(told["tokens"], len(ids) - (0 if bos else 1))

    def test_the_bundled_model_is_as_good_as_pytorch_says(self):
        # tools/train_demo's own model in f32, from the GGUF that the bundled file was imported from.
        told = self.json("eval", DEMO, "--backend", "reference", "--file", TEXT, "--tokens", 1500, "--json")
        self.assertEqual((told["tokens"], told["bytes"], told["windows"]), (1500, 5108, 3))
        self.assertAlmostEqual(told["perplexity"], 52.9338043, delta=2e-5)
        self.assertAlmostEqual(told["bits_per_byte"], 1.68151452, delta=1e-6)
        told = self.json("eval", DEMO, "--backend", "reference", "--file", TEXT, "--ctx", 128, "--stride", 32, "--tokens", 1000, "--json")
        self.assertAlmostEqual(told["perplexity"], 51.7180418, delta=2e-5)

    def test_a_model_agrees_with_itself(self):
        told = self.json("eval", DEMO, "--backend", "reference", "--file", TEXT, "--against", DEMO, "--tokens", 100, "--json")["against"]
        self.assertEqual((told["kl_mean"], told["kl_max"], told["top1_agreement"], told["rms_probability_difference"]),
                         (0, 0, 1, 0))

    def test_people_can_read_it(self):
        out = self.ok("eval", DEMO, "--file", TEXT, "--against", DEMO, "--tokens", 50).stdout.decode()
        for word in ("perplexity", "bits per byte", "KL divergence", "same likeliest token 100.000 %"):
            self.assertIn(word, out)
        self.assertNotIn("\x1b", out)

    def test_it_refuses(self):
        other = self.dir / "other.gguf"
        other.write_bytes(small_llama().bytes())
        empty = self.dir / "empty.txt"
        empty.write_bytes(b"")
        self.refused("eval", DEMO, "--file", empty, says="nothing to predict")
        self.refused("eval", DEMO, "--file", self.dir / "missing.txt", says="missing.txt")
        self.refused("eval", DEMO, "--file", TEXT, "--against", other, says="cannot be compared")
        self.refused("eval", DEMO, "--file", TEXT, "--ctx", "10", "--stride", "11", says="cannot advance by 11")
        self.refused("eval", DEMO, "--file", TEXT, "--ctx", "0", status=2)
        self.refused("eval", DEMO, status=2, says="--file")
        bad = self.dir / "bad.txt"
        bad.write_bytes(b"abc\xff")
        self.refused("eval", DEMO, "--file", bad, says="UTF-8")


if __name__ == "__main__":
    unittest.main()
