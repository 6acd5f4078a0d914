"""Whole models against right answers that others computed: logits in float64, greedy continuations by llama.cpp."""
import importlib.util
import json
import unittest

import numpy as np

from gguf_bytes import F32_VALUE, STRING, small_llama
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


@needs_shared
class CompiledModels(ProgramTest):
    """The compiled path at every kernel level of this machine. Packed weights meet int8 activations, as in llama.cpp."""
    TOLERANCES = {"f32": 2e-5, "q8_0": 6e-3, "q4_0": 1.8e-2}

    def logits(self, model, level, threads):
        out = self.dir / "logits.npy"
        self.ok("logits", model, "--ids", ",".join(map(str, IDS)), "-o", out, "--threads", str(threads),
                "--kv-type", "f32", env={"WEFT_CPU": level})
        return np.load(out)

    def test_every_level_against_float64(self):
        levels = [level for level, state in self.json("cpu", "--json")["levels"].items() if state == "supported"]
        self.assertIn("portable", levels)
        for name in MODELS:
            right = np.load(SHARED / "expected" / f"{name}.logits.npy")
            for level in levels:
                with self.subTest(f"{name} {level}"):
                    one = self.logits(SHARED / "models" / f"{name}.gguf", level, 1)
                    two = self.logits(SHARED / "models" / f"{name}.gguf", level, 2)
                    np.testing.assert_array_equal(one, two)
                    error = relative_error(one, right)
                    print(f"{name} {level}: relative L2 error {error:.2e}")
                    self.assertLessEqual(error, self.TOLERANCES[name.rsplit("-", 1)[1]])


class RopeVariants(ProgramTest):
    """Rope factors and linear scaling, which only weft's own graph form can store."""

    def logits(self, model):
        out = self.dir / "logits.npy"
        self.ok("logits", model, "--ids", "1,50,60,70,80,90,100,110", "-o", out)
        return np.load(out)

    def variant(self, name, change):
        model = small_llama()
        change(model)
        path = self.dir / f"{name}.gguf"
        path.write_bytes(model.bytes())
        return path

    def test_factors_and_scaling(self):
        def linear(model):
            model.meta["llama.rope.scaling.type"] = (STRING, "linear")
            model.meta["llama.rope.scaling.factor"] = (F32_VALUE, 4.0)

        def factors(value):
            def change(model):
                model.add("rope_freqs.weight", (8,))
                model.tensors[-1][3] = np.full(8, value, np.float32).tobytes()
            return change

        plain = self.logits(self.variant("plain", lambda model: None))
        scaled = self.variant("linear", linear)
        divided = self.variant("factors", factors(4.0))
        np.testing.assert_array_equal(self.logits(self.variant("ones", factors(1.0))), plain)
        # Positions divided by 4 and frequencies divided by 4 are the same angles.
        self.assertLessEqual(relative_error(self.logits(divided), self.logits(scaled)), 1e-6)
        self.assertGreater(relative_error(self.logits(scaled), plain), 1e-3)
        for path in (scaled, divided):
            imported = path.with_suffix(".model")
            self.assertIn(b"MIR", self.ok("import", path, "-o", imported).stderr)
            np.testing.assert_array_equal(self.logits(imported), self.logits(path))


@needs_shared
class Tokenizers(ProgramTest):
    def test_published_cases_through_the_program(self):
        for name in ("gpt-2", "llama-spm", "llama-bpe", "qwen35"):
            base = SHARED / "tokenizers" / f"ggml-vocab-{name}.gguf"
            texts = base.with_name(base.name + ".inp").read_bytes().split(b"\n__ggml_vocab_test__\n")
            rows = base.with_name(base.name + ".out").read_text().split("\n")
            with self.subTest(name):
                for text, ids in list(zip(texts, rows))[::6]:
                    got = self.ok("tokenize", base, "--file", "-", "--ids", stdin=text).stdout.decode()
                    self.assertEqual(got.split(), ids.split(), text)


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # of the scripts of others
