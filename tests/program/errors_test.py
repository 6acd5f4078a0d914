"""Bad input: each has its own message on one line, exit 1 (2 for a wrong command line), and leaves nothing behind."""
import struct
import unittest

import numpy as np

from gguf_bytes import ARRAY, F32, STRING, U32, GgufBytes, small_llama
from weft_program import ProgramTest


class BadFiles(ProgramTest):
    def write(self, name, data):
        path = self.dir / name
        path.write_bytes(data)
        return path

    def every_command(self, path, says):
        """All commands that read a model refuse it in the same words."""
        for args in [("run", path, "-p", "x"), ("logits", path, "--ids", "1", "-o", self.dir / "out.npy"),
                     ("inspect", path), ("graph", path), ("tokenize", path, "x"),
                     ("import", path, "-o", self.dir / "out.model")]:
            with self.subTest(args[0]):
                self.refused(*args, says=says)
        self.assertFalse((self.dir / "out.npy").exists())
        self.assertFalse((self.dir / "out.model").exists())

    def test_missing_file(self):
        self.every_command(self.dir / "absent.gguf", ["absent.gguf", "No such file"])

    def test_directory(self):
        self.every_command(self.dir, "it is a directory")

    def test_not_a_model(self):
        self.every_command(self.write("notes.txt", b"These are notes, not a model.\n" * 10), ["notes.txt", "GGUF", ".model"])

    def test_empty_file(self):
        self.every_command(self.write("empty.gguf", b""), "empty.gguf")

    def test_wrong_version(self):
        self.every_command(self.write("v9.gguf", b"GGUF" + struct.pack("<IQQ", 9, 0, 0)), ["v9.gguf", "version 9"])

    def test_absurd_counts(self):
        self.every_command(self.write("counts.gguf", b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60)), "counts.gguf")

    def test_absurd_string_length(self):
        data = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 62)
        self.every_command(self.write("length.gguf", data), "length.gguf@")

    def test_sparse_file_of_zeros_is_refused_at_once(self):
        path = self.dir / "zeros.gguf"
        with open(path, "wb") as f:
            f.truncate(10 << 30)
        self.refused("run", path, "-p", "x", says="zeros.gguf", timeout=5)

    def test_truncated_weights(self):
        data = small_llama().bytes()
        self.every_command(self.write("short.gguf", data[:-64]), "short.gguf")

    def test_unknown_tensor_type_is_named_with_the_count(self):
        model = small_llama()
        for name in ("blk.0.attn_q.weight", "blk.0.attn_k.weight"):
            model.override_type(name, 16)
        self.every_command(self.write("iq2.gguf", model.bytes()), ["IQ2_XXS", "2 of 11 tensors"])

    def test_overlapping_tensors(self):
        model = small_llama()
        model.override_offset("blk.0.ffn_norm.weight", 0)
        self.every_command(self.write("overlap.gguf", model.bytes()), "overlap")

    def test_duplicate_tensor_names(self):
        model = small_llama()
        model.rename("blk.0.attn_k.weight", "blk.0.attn_q.weight")
        self.every_command(self.write("twice.gguf", model.bytes()), "blk.0.attn_q.weight")


class BadModels(ProgramTest):
    def write(self, model):
        path = self.dir / "model.gguf"
        path.write_bytes(model.bytes())
        return path

    def test_the_small_model_itself_is_fine(self):
        self.ok("run", self.write(small_llama()), "-p", "a", "-n", "2", "--seed", "1")

    def test_missing_tensor_names_what_needs_it(self):
        model = small_llama()
        model.remove("blk.0.ffn_down.weight")
        self.refused("run", self.write(model), "-p", "a", says=["model.layers.0.mlp.down_proj.weight", "layers.0.mlp.down"])

    def test_shape_that_contradicts_the_config(self):
        model = small_llama()
        model.replace("blk.0.attn_q.weight", (64, 32))
        self.refused("run", self.write(model), "-p", "a", says=["self_attn.q_proj.weight", "[64, 32]", "[32, 32]"])

    def test_unknown_architecture_lists_the_known(self):
        model = small_llama()
        model.meta["general.architecture"] = (STRING, "mamba7")
        self.refused("run", self.write(model), "-p", "a", says=["mamba7", "llama", "qwen2", "qwen3"])

    def test_unmapped_tensor(self):
        model = small_llama()
        model.add("blk.0.mystery.weight", (32,), F32)
        self.refused("run", self.write(model), "-p", "a", says="blk.0.mystery.weight")

    def test_unsupported_rope_scaling(self):
        model = small_llama()
        model.meta["llama.rope.scaling.type"] = (STRING, "yarn")
        self.refused("run", self.write(model), "-p", "a", says=["yarn", "linear"])

    def test_heads_that_do_not_divide(self):
        model = small_llama()
        model.meta["llama.attention.head_count_kv"] = (U32, 3)
        self.refused("run", self.write(model), "-p", "a", says="num_key_value_heads")

    def test_unknown_pre_tokenizer(self):
        model = small_llama()
        model.meta["tokenizer.ggml.model"] = (STRING, "gpt2")
        model.meta["tokenizer.ggml.pre"] = (STRING, "klingon")
        model.meta["tokenizer.ggml.merges"] = (ARRAY, (STRING, ["a b"]))
        self.refused("run", self.write(model), "-p", "a", says=["klingon", "qwen2"])

    def test_token_id_out_of_range(self):
        path = self.write(small_llama())
        self.refused("run", path, "--ids", "1,99999", says=["99999", "vocabulary"])
        self.refused("logits", path, "--ids=-1", "-o", self.dir / "x.npy", says=["-1", "vocabulary"])

    def test_prompt_longer_than_the_context(self):
        self.refused("run", self.write(small_llama()), "--ids", ",".join(["5"] * 40), "--ctx", "32",
                     says=["40 tokens", "32", "--ctx"])

    def test_invalid_utf8_prompt(self):
        path = self.write(small_llama())
        prompt = self.dir / "prompt.txt"
        prompt.write_bytes(b"ab\xff\xfecd")
        self.refused("run", path, "--file", prompt, says=["UTF-8", "2"])
        self.refused("tokenize", path, "--file", "-", stdin=b"ab\xff", says=["UTF-8", "2"])

    def test_unknown_backend_lists_the_known(self):
        self.refused("run", self.write(small_llama()), "-p", "a", "--backend", "abacus", says=["abacus", "reference"])

    def test_unwritable_output_leaves_nothing(self):
        path = self.write(small_llama())
        before = sorted(p.name for p in self.dir.iterdir())
        for command in [("logits", path, "--ids", "1", "-o"), ("import", path, "-o")]:
            self.refused(*command, self.dir / "absent" / "out", says="absent/out")
            self.refused(*command, self.dir, says="directory")
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), before)

    def test_failed_import_leaves_nothing(self):
        model = small_llama()
        model.remove("blk.0.ffn_down.weight")
        self.refused("import", self.write(model), "-o", self.dir / "out.model", says="down_proj")
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["model.gguf"])


class CompiledRuns(ProgramTest):
    """What a compiled program refuses, and how it finds a NaN."""

    def setUp(self):
        super().setUp()
        self.model = small_llama()
        self.path = self.dir / "model.gguf"

    def write(self):
        self.path.write_bytes(self.model.bytes())
        return self.path

    def test_levels_are_checked(self):
        self.refused("run", self.write(), "--ids", "1", "-n", "1", env={"WEFT_CPU": "sse9"},
                     says=["WEFT_CPU", "sse9", "portable", "avx2"])
        levels = self.json("cpu", "--json")["levels"]
        for level, state in levels.items():
            if state != "supported":
                self.refused("run", self.path, "--ids", "1", "-n", "1", env={"WEFT_CPU": level}, says=[level, "lacks"])

    def test_threads_are_checked(self):
        for threads in ("0", "-1", "100000"):
            self.refused("run", self.write(), "--ids", "1", "-n", "1", "--threads", threads, status=2,
                         says="--threads")

    def test_kv_types_are_checked(self):
        self.refused("run", self.write(), "--ids", "1", "-n", "1", "--kv-type", "q4_k", status=2, says="q8_0")

    def test_memory_that_is_not_there(self):
        self.refused("run", self.write(), "--ids", "1", "-n", "1", "--ctx", str(1 << 31), "--kv-type", "f32",
                     env={"WEFT_LOG": "error"}, says=["bytes", "available"], limit_memory=1 << 30)

    def test_a_nan_runs_and_is_named_when_asked(self):
        at = [t[0] for t in self.model.tensors].index("blk.0.ffn_norm.weight")
        values = np.frombuffer(self.model.tensors[at][3], np.float32).copy()
        values[3] = np.nan
        self.model.tensors[at][3] = values.tobytes()
        self.ok("logits", self.write(), "--ids", "1,2", "-o", self.dir / "x.npy")
        self.refused("run", self.path, "--ids", "1,2", "-n", "1", "--temp", "0", "--check-nan", "--json",
                     says=["FusedGatedMatMul", "layers.0.mlp.product", "nan", "rms norm"])


class BadDotModels(ProgramTest):
    """Damage to a `.model` that weft itself wrote."""

    def setUp(self):
        super().setUp()
        source = self.dir / "source.gguf"
        source.write_bytes(small_llama().bytes())
        self.path = self.dir / "good.model"
        self.ok("import", source, "-o", self.path)
        self.data = self.path.read_bytes()

    def damaged(self, old, new, count=1):
        self.assertIn(old, self.data)
        path = self.dir / "bad.model"
        path.write_bytes(self.data.replace(old, new, count))
        return path

    def test_the_import_runs(self):
        self.ok("run", self.path, "-p", "a", "-n", "2", "--seed", "1")

    def test_other_version(self):
        self.refused("run", self.damaged(b"format_version = 2", b"format_version = 7"), "-p", "a", says=["version", "7"])

    def test_truncated(self):
        path = self.dir / "bad.model"
        path.write_bytes(self.data[:-1])
        self.refused("run", path, "-p", "a", says="bad.model")

    def test_changed_weights_fail_their_hash(self):
        path = self.dir / "bad.model"
        path.write_bytes(self.data[:-8] + bytes(8 * [0x55]))
        self.refused("run", path, "-p", "a", says=["SHA-256", "weights"])

    def test_a_damaged_graph_is_not_replaced_by_another(self):
        at = self.data.index(b"~~~graph\n") + 9
        path = self.dir / "bad.model"
        path.write_bytes(self.data[:at] + b"ffffffff" + self.data[at + 8:])
        self.refused("run", path, "-p", "a", says="graph")


class WrongCommandLines(ProgramTest):
    def test_usage_errors_exit_2(self):
        for args in [(), ("fly",), ("run", "-p", "x", "--no-such-option"), ("run",), ("run", "-p", "x", "--temp", "hot"),
                     ("run", "-p", "x", "--top-p", "2"), ("run", "-p", "x", "-n", "-2"), ("run", "-p", "x", "--file", "y"),
                     ("import", "x.gguf"), ("graph", "x", "--format", "jpeg"), ("logits", "x", "-o", "y"),
                     ("logits", "x", "--ids", "1,two", "-o", "y"), ("tokenize", "x")]:
            with self.subTest(args):
                self.refused(*args, status=2)

    def test_unknown_op(self):
        self.refused("ops", "RmsNrom", says=["RmsNrom", "RmsNorm"])


if __name__ == "__main__":
    unittest.main()
