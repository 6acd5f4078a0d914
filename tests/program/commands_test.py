"""The commands as a user sees them: what goes to which stream, what JSON holds, what a signal does."""
import hashlib
import json
import os
import signal
import subprocess

import unittest

from gguf_bytes import STRING, U32, small_llama
from weft_program import ROOT, WEFT, ProgramTest, run

COMMANDS = ["run", "chat", "import", "inspect", "graph", "exec", "logits", "tokenize", "ops", "passes", "cpu", "bench", "plan", "quantize", "eval", "verify"]

class Help(ProgramTest):
    def test_every_command_explains_itself_with_an_example(self):
        for command in COMMANDS:
            with self.subTest(command):
                text = self.ok(command, "--help").stdout.decode()
                self.assertIn("Example", text)
                self.assertIn(f"weft {command}", text)
        self.assertIn("import", self.ok("--help").stdout.decode())

    def test_version(self):
        self.assertRegex(self.ok("--version").stdout.decode(), r"^\d+\.\d+\.\d+\n$")

class WithModel(ProgramTest):
    def setUp(self):
        super().setUp()
        self.model = self.dir / "model.gguf"
        self.model.write_bytes(small_llama().bytes())

class Run(WithModel):
    def test_text_goes_to_stdout_and_timings_to_stderr(self):
        done = self.ok("run", self.model, "-p", "hello", "-n", "8", "--temp", "0")
        told = self.json("run", self.model, "-p", "hello", "-n", "8", "--temp", "0", "--json")
        self.assertEqual(done.stdout.decode(), told["text"] + "\n")
        self.assertIn(b"tok/s", done.stderr)
        self.assertNotIn(b"\x1b", done.stderr)

    def test_json_holds_all_of_a_run(self):
        told = self.json("run", self.model, "-p", "hello", "-n", "5", "--seed", "3", "--ignore-eos", "--json", "--threads", "1",
                         "--backend", "reference")
        self.assertEqual(list(told), ["prompt_ids", "ids", "text", "stop", "seed", "load_s", "prefill_tok_s", "decode_tok_s",
                                      "first_token_s", "backend", "threads"])
        self.assertEqual((told["stop"], told["seed"], told["backend"], told["threads"]), ("length", 3, "reference", 1))
        self.assertEqual(len(told["ids"]), 5)
        self.assertEqual(told["prompt_ids"][0], 1)

    def test_a_seed_repeats_and_another_differs(self):
        texts = [self.json("run", self.model, "-p", "a", "-n", "20", "--seed", s, "--temp", "1", "--top-k", "0", "--top-p", "1",
                           "--min-p", "0", "--json", "--ignore-eos")["ids"] for s in (1, 1, 2)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_the_seed_that_was_drawn_is_reported(self):
        first = self.json("run", self.model, "-p", "a", "-n", "8", "--temp", "1", "--json")
        again = self.json("run", self.model, "-p", "a", "-n", "8", "--temp", "1", "--json", "--seed", first["seed"])
        self.assertEqual(first["ids"], again["ids"])

    def test_ids_stand_for_a_prompt(self):
        told = self.json("run", self.model, "--ids", "1,100,200", "-n", "1", "--temp", "0", "--json")
        self.assertEqual(told["prompt_ids"], [1, 100, 200])

    def test_no_bos(self):
        told = self.json("run", self.model, "-p", "a", "-n", "0", "--no-bos", "--json")
        self.assertNotEqual(told["prompt_ids"][0], 1)
        self.assertEqual((told["ids"], told["text"]), ([], ""))

    def test_prompt_from_a_file_and_from_standard_input(self):
        path = self.dir / "prompt.txt"
        path.write_bytes("grüße\n".encode())
        by_file = self.json("run", self.model, "--file", path, "-n", "2", "--temp", "0", "--json")
        by_pipe = self.json("run", self.model, "--file", "-", "-n", "2", "--temp", "0", "--json", stdin="grüße\n".encode())
        self.assertEqual(by_file["ids"], by_pipe["ids"])

    def test_it_runs_to_the_end_of_the_context(self):
        told = self.json("run", self.model, "-p", "a", "-n", "-1", "--ignore-eos", "--json", "--ctx", "20", "--seed", "1")
        self.assertEqual(told["stop"], "context")
        self.assertEqual(len(told["prompt_ids"]) + len(told["ids"]), 21)  # the last token needs no place

    def test_stop_string(self):
        whole = self.json("run", self.model, "-p", "a", "-n", "40", "--ignore-eos", "--json", "--seed", "5")["text"]
        mark = whole[len(whole) // 2:len(whole) // 2 + 3]
        told = self.json("run", self.model, "-p", "a", "-n", "40", "--ignore-eos", "--json", "--seed", "5", "--stop", "never", "--stop",
                         mark)
        self.assertEqual(told["stop"], "stop")
        self.assertEqual(told["text"], whole[:whole.index(mark)])

    def test_profile_names_ops(self):
        self.assertIn(b"MatMul", self.ok("run", self.model, "-p", "a", "-n", "2", "--profile").stderr)

    def test_interrupt_prints_the_timings_and_exits_130(self):
        process = subprocess.Popen([WEFT, "run", self.model, "-p", "a", "-n", "-1", "--ctx", "4000000", "--ignore-eos"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130)
        self.assertIn(b"tok/s", err)

    def test_placement_is_logged(self):
        err = self.ok("run", self.model, "-p", "a", "-n", "1", env={"WEFT_LOG": "debug"}).stderr.decode()
        self.assertIn("backend=cpu reason=default", err)

TEMPLATE = ("{% for m in messages %}{{ '[' + m.role + '] ' + m.content + '\n' }}"
            "{% if m.content == 'refuse' %}{{ raise_exception('I refuse') }}{% endif %}{% endfor %}"
            "{% if add_generation_prompt %}[{{ who | default('assistant') }}]{% endif %}")

class Chat(WithModel):
    def setUp(self):
        super().setUp()
        model = small_llama()
        model.meta["llama.context_length"] = (U32, 512)
        model.meta["tokenizer.chat_template"] = (STRING, TEMPLATE)
        self.model.write_bytes(model.bytes())
        self.options = ("-n", "8", "--temp", "0", "--threads", "1")

    def replies(self, text, *options):
        done = self.ok("chat", self.model, *self.options, "--json", *options, stdin=text.encode())
        return [json.loads(line) for line in done.stdout.decode().splitlines()]

    def test_a_conversation_from_a_pipe(self):
        first, second = self.replies("Hello\n\nAnd now?\n", "--system", "Be kind.")
        self.assertEqual(first["reused_tokens"], 0)
        # Of the second prompt only the end is new: the first one and most of its reply are known.
        self.assertGreaterEqual(second["reused_tokens"], first["prompt_tokens"])
        self.assertLess(second["reused_tokens"], second["prompt_tokens"])
        self.assertEqual(list(first), ["text", "stop", "ids", "prompt_tokens", "reused_tokens", "seed", "first_token_s", "decode_s"])

    def test_replies_stream_as_text(self):
        told = self.replies("Hello\nAgain\n")
        done = self.ok("chat", self.model, *self.options, stdin=b"Hello\nAgain\n")
        self.assertEqual(done.stdout.decode(), "".join(reply["text"] + "\n" for reply in told))

    def test_commands(self):
        plain, after_reset = self.replies("Hello\n/reset\nHello\n")
        self.assertEqual((plain["text"], after_reset["reused_tokens"]), (after_reset["text"], 0))
        done = self.ok("chat", self.model, *self.options, stdin=b"/help\n/nonsense\n/exit\nHello\n")
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"/system TEXT", done.stderr)
        self.assertIn(b"/nonsense is no command", done.stderr)

    def test_the_prompt_can_be_seen(self):
        def prompt(text, *options):
            return self.ok("chat", self.model, "--render", *options, stdin=text.encode()).stdout.decode()
        self.assertEqual(prompt("Hi\\\nthere\n", "--system", "S"), "[system] S\n[user] Hi\nthere\n[assistant]\n")
        self.assertEqual(prompt("/system T\nHi\n", "--vars", '{"who": "me"}'), "[system] T\n[user] Hi\n[me]\n")
        self.assertEqual(prompt("Hi\n", "--template", "chatml"), "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n\n")
        own = self.dir / "own.jinja"
        own.write_text("{{ messages[0].content|upper }}{{ bos_token }}")
        self.assertEqual(prompt("Hi\n", "--template", own), "HI<s>\n")

    def test_what_is_wrong_is_said_in_one_line(self):
        self.refused("chat", self.model, stdin=b"refuse\n", says=("chat template:2:", "I refuse"))
        own = self.dir / "own.jinja"
        own.write_text("a\n{% if %}")
        self.refused("chat", self.model, "--template", own, stdin=b"Hi\n", says=("own.jinja, chat template:2:7", "an expression"))
        self.refused("chat", self.model, "--vars", "[1]", stdin=b"", says="JSON object")
        self.refused("chat", self.model, "--vars", "{", stdin=b"", says="--vars@")
        self.refused("chat", self.model, stdin=b"x" * 3000, says="do not fit a context")

    def test_stop_strings(self):
        [whole] = self.replies("Hello\n")
        mark = whole["text"][2:4]
        [cut] = self.replies("Hello\n", "--stop", mark)
        self.assertEqual((cut["stop"], cut["text"]), ("stop", whole["text"][:whole["text"].index(mark)]))

    def test_the_template_survives_an_import(self):
        out = self.dir / "m.model"
        self.ok("import", self.model, "-o", out)
        rendered = [self.ok("chat", path, "--render", stdin=b"Hi\n").stdout for path in (self.model, out)]
        self.assertEqual(rendered[0], rendered[1])

class Bundled(ProgramTest):
    @unittest.skipUnless((ROOT / "models" / "demo.model").exists(), "no bundled model in this tree")
    def test_the_bundled_model_runs_without_a_name(self):
        text = self.ok("run", "-p", "She was", "-n", "24", "--seed", "1").stdout.decode()
        self.assertGreaterEqual(len(text.split()), 8)

class Quantize(WithModel):
    def test_it_writes_a_file_that_runs(self):
        out = self.dir / "out.gguf"
        for kind in ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k"):
            with self.subTest(kind):
                done = self.ok("quantize", self.model, out, "--type", kind)
                self.assertEqual(done.stdout, b"")
                self.assertIn(b"bits per weight", done.stderr)
                self.assertNotIn(b"\x1b", done.stderr)
                self.ok("run", out, "-p", "hello", "-n", "4")

    def test_what_cannot_be_had_is_said(self):
        done = self.ok("quantize", self.model, self.dir / "out.gguf", "--type", "q4_k")
        self.assertRegex(done.stderr.decode(), r"q5_0 instead of q4_k for \d+ tensors, such as \S+: rows of \d+ are no whole")

    def test_a_rule_overrides_the_type(self):
        out = self.dir / "out.gguf"
        self.ok("quantize", self.model, out, "--type", "q4_0", "--tensor", "*ffn*=f16", "--tensor", "*.ffn_down.*=q8_0")
        types = {t["name"]: t["type"] for t in self.json("inspect", out, "--tensors", "--json")["tensors"]}
        self.assertEqual(types["blk.0.ffn_down.weight"], "q8_0")
        self.assertEqual(types["blk.0.ffn_up.weight"], "f16")
        self.assertEqual(types["blk.0.attn_q.weight"], "q4_0")
        self.assertEqual(types["blk.0.attn_norm.weight"], "f32")

    def test_it_refuses(self):
        out = self.dir / "out.gguf"
        self.refused("quantize", self.model, self.model, "--type", "q8_0", says="give another name")
        self.refused("quantize", self.model, out, "--type", "q9", status=2, says="q9")
        self.refused("quantize", self.model, out, status=2, says="--type")
        self.refused("quantize", self.model, out, "--type", "q8_0", "--tensor", "blk", says="PATTERN=TYPE")
        self.refused("quantize", self.model, out, "--type", "q8_0", "--tensor", "*=q9", says="q9")
        self.refused("quantize", self.model, out, "--type", "q8_0", "--tensor", "nothing*=f16", says="no tensor")
        self.refused("quantize", ROOT / "models" / "demo.model", out, "--type", "q8_0", says="weft import --quant")
        self.assertFalse(out.exists())

    def test_an_import_quantizes_the_same_way(self):
        gguf, model = self.dir / "q.gguf", self.dir / "q.model"
        self.ok("quantize", self.model, gguf, "--type", "q5_1")
        self.ok("import", self.model, "-o", model, "--quant", "q5_1")
        again = self.dir / "again.model"
        self.ok("import", model, "-o", again, "--quant", "q5_1")
        ids = [self.json("run", path, "-p", "hello", "-n", "12", "--temp", "0", "--ignore-eos", "--json")["ids"]
               for path in (gguf, model, again)]
        self.assertEqual(ids[0], ids[1])
        self.assertEqual(ids[1], ids[2])

class Import(WithModel):
    def test_every_type_runs_on_both_backends(self):
        out = self.dir / "out.model"
        for kind in ("u32", "u16", "q8", "q4", "ternary"):
            with self.subTest(kind):
                self.assertIn(kind.encode(), self.ok("import", self.model, "-o", out, "--quant", kind).stderr)
                types = {t["name"]: t["type"] for t in self.json("inspect", out, "--tensors", "--json")["tensors"]}
                self.assertEqual(types["model.layers.0.mlp.up_proj.weight"], kind)
                for backend in ("cpu", "reference"):
                    told = self.json("run", out, "-p", "hello", "-n", "4", "--ignore-eos", "--json", "--backend", backend)
                    self.assertEqual((len(told["ids"]), told["backend"]), (4, backend))

    def test_rules_and_profiles(self):
        out = self.dir / "out.model"
        self.ok("import", self.model, "-o", out, "--tensor", "*.mlp.*=q8_0", "--tensor", "*.down_proj.weight=q4")
        types = {t["name"]: t["type"] for t in self.json("inspect", out, "--tensors", "--json")["tensors"]}
        self.assertEqual(types["model.layers.0.mlp.up_proj.weight"], "q8_0")
        self.assertEqual(types["model.layers.0.mlp.down_proj.weight"], "q4")
        self.assertEqual(types["model.embed_tokens.weight"], "f32")
        self.ok("import", self.model, "-o", out, "--profile", "canonical", "--tensor", "*embed*=u16")
        self.assertEqual(self.json("inspect", out, "--json")["tensor_types"], {"q8": 7, "u16": 1, "u32": 3})
        self.ok("run", out, "-p", "hello", "-n", "2")

    def test_it_refuses(self):
        out = self.dir / "out.model"
        self.refused("import", self.model, "-o", out, "--quant", "q9", status=2, says="q9")
        self.refused("import", self.model, "-o", out, "--tensor", "*=fx16_16", says=["fx16_16", "u32"])
        self.refused("import", self.model, "-o", out, "--tensor", "none*=q8", says="no tensor")
        self.refused("import", self.model, "-o", out, "--profile", "canonical", "--quant", "q8_0", says="canonical")
        self.assertFalse(out.exists())

class Verify(WithModel):
    def test_a_report_of_each_check(self):
        out = self.dir / "out.model"
        self.ok("import", self.model, "-o", out)
        for path in (self.model, out):
            text = self.ok("verify", path).stdout.decode()
            self.assertIn("0 errors, 0 warnings", text)
            told = self.json("verify", path, "--json")
            self.assertEqual((told["ok"], told["errors"], told["findings"]), (True, 0, []))
            self.assertIn("values", [check["name"] for check in told["checks"]])

    def test_errors_are_named_and_are_a_failure(self):
        out = self.dir / "out.model"
        self.ok("import", self.model, "-o", out)
        data = bytearray(out.read_bytes())
        data[-2:] = b"\x7f\x7f"
        out.write_bytes(data)
        done = run("verify", out)
        self.assertEqual((done.returncode, done.stderr), (1, b""))
        self.assertIn(b"error HashMismatch: ", done.stdout)
        done = run("verify", out, "--json")
        self.assertEqual(done.returncode, 1)
        told = json.loads(done.stdout)
        self.assertEqual([f["code"] for f in told["findings"]], ["HashMismatch"])
        self.assertEqual(list(told["findings"][0]), ["severity", "check", "code", "where", "message"])

    def test_what_is_no_file(self):
        self.refused("verify", self.dir / "absent", says="absent")
        self.refused("verify", self.dir, says="directory")

class Inspect(WithModel):
    def test_hashes(self):
        out = self.dir / "out.model"
        self.ok("import", self.model, "-o", out)
        digest = hashlib.sha256(out.read_bytes()).hexdigest()
        lines = self.ok("inspect", out, "--hash").stdout.decode().splitlines()
        self.assertEqual(lines[0], f"{digest}  {out}")
        data = out.read_bytes()
        weights = data[data.index(b"~~~weights\n") + 11:]
        self.assertIn(f"{hashlib.sha256(weights).hexdigest()}  section weights  as declared", lines)
        hashes = self.json("inspect", out, "--hash", "--json")["hashes"]
        self.assertTrue(all(h["sha256"] == h["declared"] for h in hashes[1:]))
        out.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        done = run("inspect", out, "--hash")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"section weights  DIFFERS", done.stdout)
        self.assertIn(hashlib.sha256(self.model.read_bytes()).hexdigest(), self.ok("inspect", self.model, "--hash").stdout.decode())

    def test_it_shows_both_formats(self):
        imported = self.dir / "model.model"
        self.ok("import", self.model, "-o", imported)
        for path in (self.model, imported):
            with self.subTest(path.name):
                text = self.ok("inspect", path, "--tensors").stdout.decode()
                self.assertIn("11 tensors (11 f32)", text)
                self.assertIn("[300, 32]", text)
                told = self.json("inspect", path, "--json", "--tensors")
                self.assertEqual(told["tensor_count"], 11)
                self.assertEqual(len(told["tensors"]), 11)
                self.assertEqual(told["parameters"], sum(t["bytes"] for t in told["tensors"]) // 4)

class Graph(WithModel):
    def test_every_format(self):
        text = self.ok("graph", self.model).stdout.decode()
        self.assertTrue(text.startswith("graph @"))
        self.assertIn("Attention{", text)
        self.assertIn("[graph]", self.ok("graph", self.model, "--format", "toml").stdout.decode())
        self.assertTrue(json.loads(self.ok("graph", self.model, "--format", "json").stdout))
        self.assertTrue(self.ok("graph", self.model, "--format", "dot").stdout.decode().startswith("digraph"))

    def test_graph_after_a_pass(self):
        text = self.ok("graph", self.model, "--after", "all").stdout.decode()
        self.assertIn("FusedSharedMatMul", text)
        self.assertIn("FusedGatedMatMul", text)
        before = self.ok("graph", self.model, "--after", "dce").stdout.decode()
        self.assertNotIn("Fused", before)
        without = self.ok("graph", self.model, "--without", "shared-matmul", "--without", "gated-matmul").stdout.decode()
        self.assertNotIn("FusedSharedMatMul", without)
        self.assertNotIn("FusedGatedMatMul", without)
        self.assertIn("FusedMatMulBiasAct", without)
        for option in ("--after", "--without"):
            self.refused("graph", self.model, option, "fuse-everything", says=[option, "there are verify, fold,"])

    def test_passes(self):
        listed = self.ok("passes").stdout.decode()
        names = [line.split()[0] for line in listed.splitlines()]
        self.assertEqual(names[0], "verify")
        self.assertIn("elementwise", names)
        report = self.ok("passes", self.model).stdout.decode()
        self.assertEqual([line.split()[0] for line in report.splitlines()[1:]], names)

    def test_an_import_stores_the_graph_that_the_source_runs(self):
        imported = self.dir / "model.model"
        self.ok("import", self.model, "-o", imported)
        toml = [self.ok("graph", path, "--format", "toml").stdout for path in (self.model, imported)]
        self.assertEqual(*toml)

    def test_an_import_is_reproducible(self):
        for name in ("a", "b"):
            self.ok("import", self.model, "-o", self.dir / f"{name}.model")
        self.assertEqual((self.dir / "a.model").read_bytes(), (self.dir / "b.model").read_bytes())

class Tokenize(WithModel):
    def test_ids_alone_on_one_line(self):
        out = self.ok("tokenize", self.model, "hi there", "--ids").stdout.decode()
        self.assertRegex(out, r"^\d+( \d+)*\n$")
        same = self.ok("tokenize", self.model, "--file", "-", "--ids", stdin=b"hi there").stdout.decode()
        self.assertEqual(out, same)

    def test_bytes_of_standard_input_are_taken_as_they_are(self):
        with_newline = self.ok("tokenize", self.model, "--file", "-", "--ids", stdin=b"hi\n").stdout
        without = self.ok("tokenize", self.model, "--file", "-", "--ids", stdin=b"hi").stdout
        self.assertNotEqual(with_newline, without)

    def test_pieces_are_shown(self):
        self.assertIn("<0x68>", self.ok("tokenize", self.model, "hi").stdout.decode())

class Ops(ProgramTest):
    def test_list_and_detail(self):
        listing = self.ok("ops").stdout.decode()
        for op in ["MatMul", "RmsNorm", "Rope", "Attention", "KvAppend", "Sample", "Encode"]:
            self.assertIn(op, listing)
        detail = self.ok("ops", "RmsNorm").stdout.decode()
        self.assertIn("eps", detail)
        self.assertIn("tag 100", detail)

LEVELS = ["portable", "avx2", "avx-vnni", "avx512", "avx512-vnni", "amx"]

class Cpu(ProgramTest):
    def test_the_level_is_the_highest_that_the_machine_has(self):
        told = self.json("cpu", "--json")
        self.assertEqual(list(told["levels"]), LEVELS)
        supported = [level for level, state in told["levels"].items() if state == "supported"]
        if "WEFT_CPU" not in os.environ:
            self.assertEqual(told["level"], supported[-1])
        self.assertEqual(told["threads"], told["usable_cpus"])
        text = self.ok("cpu").stdout.decode()
        for word in (told["model"], told["level"], *supported):
            self.assertIn(word, text)

    def test_the_environment_names_a_level_or_is_refused(self):
        for level, state in self.json("cpu", "--json", env={"WEFT_CPU": ""})["levels"].items():
            if state == "supported":
                self.assertEqual(self.json("cpu", "--json", env={"WEFT_CPU": level})["level"], level)
            else:
                self.refused("cpu", env={"WEFT_CPU": level}, says=["WEFT_CPU: ", level, "lacks"])
        self.refused("cpu", env={"WEFT_CPU": "sse9"}, says=["WEFT_CPU: ", '"sse9"', *LEVELS])

    def test_thread_counts_out_of_range_are_usage_errors(self):
        for threads in ("0", "-1", "1025", "many"):
            self.refused("cpu", "--threads", threads, status=2)
        self.assertEqual(self.json("cpu", "--json", "--threads", "3")["threads"], 3)

    def test_measuring(self):
        told = self.json("cpu", "--measure", "--json")
        self.assertGreater(told["bandwidth_gb_s"], 0.1)
        self.assertGreater(told["rates"]["portable"]["f32_gflop_s"], 0.1)
        self.assertEqual(list(told["rates"]), [level for level, state in told["levels"].items() if state == "supported"])

class Bench(WithModel):
    KEYS = ["model", "cpu", "level", "backend", "threads", "prompt", "new", "kv_type", "load_s", "prefill_tok_s",
            "decode_tok_s", "bandwidth_gb_s", "weight_bytes", "kv_bytes", "decode_ceiling_tok_s", "decode_fraction"]

    def test_json_holds_medians_spread_and_the_ceiling(self):
        told = self.json("bench", self.model, "-p", "12", "-n", "5", "-r", "3", "--threads", "1", "--json")
        self.assertEqual(list(told), self.KEYS)
        for key in ("prefill_tok_s", "decode_tok_s"):
            self.assertEqual(list(told[key]), ["median", "min", "max"])
            self.assertTrue(0 < told[key]["min"] <= told[key]["median"] <= told[key]["max"], told[key])
        self.assertEqual((told["model"], told["prompt"], told["new"], told["threads"]), ("model.gguf", 12, 5, 1))
        # The output matrix is the embedding, so a token reads all of the weights; keys and values: 16 floats each, of
        # 12 + 3 rows.
        self.assertEqual(told["weight_bytes"], self.json("inspect", self.model, "--json")["weight_bytes"])
        self.assertEqual(told["kv_bytes"], 2 * 16 * 2 * 15)  # f16
        ceiling = told["bandwidth_gb_s"] * 1e9 / (told["weight_bytes"] + told["kv_bytes"])
        self.assertAlmostEqual(told["decode_ceiling_tok_s"] / ceiling, 1, 6)
        self.assertAlmostEqual(told["decode_fraction"], told["decode_tok_s"]["median"] / told["decode_ceiling_tok_s"], 6)

    def test_text(self):
        text = self.ok("bench", self.model, "-p", "3", "-n", "2", "-r", "1").stdout.decode()
        for word in ("prefill", "decode", "ceiling", "tok/s", "GB/s"):
            self.assertIn(word, text)

    def test_serving_answers_each_line(self):
        out = self.ok("bench", self.model, "-p", "3", "-n", "2", "--serve", stdin=b"run\nrun\n").stdout
        answers = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([list(answer) for answer in answers], [self.KEYS] * 2)

    def test_bad_arguments(self):
        for option in ("-p", "-n", "-r", "--threads", "--ctx"):
            self.refused("bench", self.model, option, "0", status=2)
        self.refused("bench", self.model, "--kv-type", "q2_k", status=2, says=["--kv-type", "q2_k", "f32"])
        self.refused("bench", self.model, "-p", "20", "-n", "20", "--ctx", "10", says="--ctx")
        self.refused("bench", self.dir / "absent.gguf", says="absent.gguf")

if __name__ == "__main__":
    unittest.main()
