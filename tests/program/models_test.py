"""Whole models against right answers that others computed: logits in float64, greedy continuations by llama.cpp."""
import importlib.util
import json
import unittest

import numpy as np

from weft_program import SHARED, ProgramTest, make_model, needs_shared

IDS = [1, 300, 417, 261, 333, 480, 290, 350, 12, 77, 5, 401]
MODELS = ["dreams-260k-f32", "dreams-260k-q8_0", "nano-llama-f32", "nano-llama-q4_0", "nano-qwen2-f32",
          "nano-qwen2-q4_0", "nano-qwen3-f32", "nano-qwen3-q4_0"]
TOLERANCE = 1e-5  # relative L2 error of the f32 reference backend


def relative_error(got, right):
    right = right.astype(np.float64)
    return np.linalg.norm(got.astype(np.float64) - right) / np.linalg.norm(right)


def float64_logits(path, ids):
    spec = importlib.util.spec_from_file_location("reference", SHARED / "tools" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.logits(str(path), ids)


@needs_shared
class Models(ProgramTest):
    def logits(self, model, ids):
        out = self.dir / "logits.npy"
        self.ok("logits", model, "--ids", ",".join(map(str, ids)), "-o", out, "--backend", "reference")
        return np.load(out)

    def imported(self, name):
        out = self.dir / f"{name}.model"
        self.ok("import", SHARED / "models" / f"{name}.gguf", "-o", out)
        return out

    def test_logits_are_those_of_float64(self):
        for name in MODELS:
            with self.subTest(name):
                got = self.logits(SHARED / "models" / f"{name}.gguf", IDS)
                right = np.load(SHARED / "expected" / f"{name}.logits.npy")
                self.assertEqual(got.dtype, np.float32)
                self.assertEqual(got.shape, right.shape)
                error = relative_error(got, right)
                print(f"{name}: relative L2 error {error:.2e}")
                self.assertLessEqual(error, TOLERANCE)

    def test_a_thousand_tokens_of_other_seeds(self):
        for arch, kind, seed in [("llama", "q4_0", 2), ("qwen2", "q8_0", 3), ("qwen3", "f16", 2), ("qwen3", "q8_0", 3)]:
            with self.subTest(f"{arch} {kind}"):
                path = self.dir / f"{arch}-{kind}.gguf"
                make_model(path, "--arch", arch, "--size", "nano", "--type", kind, "--seed", seed)
                ids = [(300 + 7919 * i) % 512 for i in range(1000)]
                error = relative_error(self.logits(path, ids), float64_logits(path, ids))
                print(f"{arch} {kind} seed {seed}: relative L2 error {error:.2e}")
                self.assertLessEqual(error, TOLERANCE)

    def greedy(self, model):
        for case in json.loads((SHARED / "expected" / "dreams-260k-f32.greedy.json").read_text(encoding="utf-8")):
            with self.subTest(case["prompt"]):
                got = self.json("run", model, "-p", case["prompt"], "--temp", "0", "-n", "64", "--json")
                self.assertEqual(got["prompt_ids"], case["prompt_ids"])
                self.assertEqual(got["ids"], case["ids"])
                self.assertEqual(got["text"].removeprefix(" "), case["text"])

    def test_greedy_continuations_are_llama_cpps(self):
        self.greedy(SHARED / "models" / "dreams-260k-f32.gguf")

    def test_an_imported_model_is_the_same_to_the_bit(self):
        for name in MODELS:
            with self.subTest(name):
                imported = self.imported(name)
                np.testing.assert_array_equal(self.logits(imported, IDS),
                                              self.logits(SHARED / "models" / f"{name}.gguf", IDS))
        self.greedy(self.imported("dreams-260k-f32"))


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # of the scripts of others
