"""Graphs that a person writes: weft graph import and weft exec, on the networks of examples/graphs and what can be wrong."""
import json
import unittest

import numpy as np

from gguf_bytes import small_llama
from weft_program import ROOT, ProgramTest

EXAMPLES = ROOT / "examples" / "graphs"
NETWORKS = ["resnet", "unet", "vit", "t5", "hifigan"]
TOLERANCE = 1e-5  # relative to the largest value or 1; ten times below what a whole forward pass is allowed


def read_safetensors(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    body = data[8 + length:]
    return {name: np.frombuffer(body[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
            for name, entry in json.loads(data[8:8 + length]).items()}


class GraphTest(ProgramTest):
    def imported(self, name, *, graph=None, weights=None):
        model = self.dir / f"{name}.model"
        folder = EXAMPLES / name
        self.ok("graph", "import", graph or folder / f"{name}.toml", "-o", model,
                "--weights", weights or folder / f"{name}.safetensors")
        return model

    def execute(self, model, inputs, outputs, *args):
        for name in outputs:
            (self.dir / f"{name}.npy").unlink(missing_ok=True)
        self.ok("exec", model, *[a for name, file in inputs.items() for a in ("--input", f"{name}={file}")],
                *[a for name in outputs for a in ("--output", f"{name}={self.dir / name}.npy")], *args)
        return {name: np.load(self.dir / f"{name}.npy") for name in outputs}


def arrays(name, kind):
    return {path.stem: path for path in sorted((EXAMPLES / name / kind).glob("*.npy"))}


class Networks(GraphTest):
    def test_they_give_what_pytorch_gives(self):
        for name in NETWORKS:
            model, wanted = self.imported(name), arrays(name, "outputs")
            self.assertTrue(wanted)
            for backend in "cpu", "reference":
                found = self.execute(model, arrays(name, "inputs"), wanted, "--backend", backend)
                for output, file in wanted.items():
                    with self.subTest(f"{name}.{output} on {backend}"):
                        right = np.load(file)
                        self.assertEqual((found[output].shape, found[output].dtype), (right.shape, right.dtype))
                        error = np.abs(found[output] - right).max() / max(1, np.abs(right).max())
                        self.assertLessEqual(error, TOLERANCE)
                        self.assertGreater(right.std(), 1e-3)

    def test_every_form_and_weights_file_makes_the_same_model(self):
        for name in NETWORKS:
            with self.subTest(name):
                model = self.imported(name)
                whole = self.execute(model, arrays(name, "inputs"), arrays(name, "outputs"))
                weights = read_safetensors(EXAMPLES / name / f"{name}.safetensors")
                np.savez(self.dir / "stored.npz", **weights)
                np.savez_compressed(self.dir / "deflated.npz", **weights)
                for form, archive in ("toml", "stored"), ("json", "stored"), ("binary", "deflated"):
                    graph = self.dir / f"{name}.{'bin' if form == 'binary' else form}"
                    self.ok("graph", model, "--format", form, "-o", graph)
                    again = self.dir / "again.model"
                    self.ok("graph", "import", graph, "-o", again, "--weights", self.dir / f"{archive}.npz")
                    found = self.execute(again, arrays(name, "inputs"), arrays(name, "outputs"))
                    for output in whole:
                        self.assertEqual(found[output].tobytes(), whole[output].tobytes(), (form, output))

    def test_other_sizes_run(self):
        mel = self.dir / "mel.npy"
        np.save(mel, np.random.default_rng(1).standard_normal((1, 8, 5)).astype(np.float32))
        self.assertEqual(self.execute(self.imported("hifigan"), {"mel": mel}, ["audio"])["audio"].shape, (1, 1, 40))

    def test_a_graph_without_a_decoder_is_verified_and_shown(self):
        model = self.imported("resnet")
        self.ok("verify", model)
        self.ok("inspect", model)
        again = self.dir / "again.model"
        self.ok("import", model, "-o", again)
        found = self.execute(again, arrays("resnet", "inputs"), ["logits"])
        self.assertEqual(found["logits"].shape, (3, 10))
        self.refused("run", model, "-p", "hello", says=["weft exec"])


class Exec(GraphTest):
    def setUp(self):
        super().setUp()
        self.model = self.imported("resnet")
        self.image = EXAMPLES / "resnet/inputs/image.npy"

    def refuse(self, *args, says, **kwargs):
        return self.refused("exec", self.model, *args, says=says, **kwargs)

    def saved(self, array):
        np.save(self.dir / "bad.npy", array)
        return f"image={self.dir / 'bad.npy'}"

    def test_without_outputs_the_shapes_are_printed(self):
        text = self.ok("exec", self.model, "--input", f"image={self.image}").stdout.decode()
        self.assertEqual(text, "logits [3, 10] f32\nprobabilities [3, 10] f32\n")

    def test_wrong_names(self):
        self.refuse(says=["--input image=FILE", "f32"])
        self.refuse("--input", f"picture={self.image}", "--input", f"image={self.image}", says=["no input \"picture\"", "image"])
        self.refuse("--input", f"image={self.image}", "--output", f"y={self.dir}/y.npy", says=["no output \"y\"", "logits"])
        self.refuse("--input", f"image={self.image}", "--input", f"image={self.image}", says="given twice")
        self.refuse("--input", "image", says="NAME=FILE")
        self.refuse("--input", "image=/no/such.npy", says="/no/such.npy")
        self.refuse("--input", f"image={self.image}", "--backend", "abacus", says="abacus")

    def test_wrong_arrays(self):
        image = np.load(self.image)
        self.refuse("--input", self.saved(image.astype(np.float64)), says=["image", "f64", "f32"])
        self.refuse("--input", self.saved(image[:, :2]), says=["image", "[3, 2, 16, 16]"])
        self.refuse("--input", self.saved(image[0]), says=["image", "[3, 16, 16]"])

    def test_a_failed_run_writes_nothing(self):
        self.refuse("--input", f"image={self.image}", "--output", f"logits={self.dir}/no/such/y.npy", says="no/such")
        self.assertFalse((self.dir / "no").exists())

    def test_explain_gives_every_choice_its_reason(self):
        def table(*args):
            lines = self.ok("exec", self.model, "--input", f"image={self.image}", "--explain", *args).stderr.decode().splitlines()
            self.assertEqual(lines[0].split(), ["node", "op", "value", "hint", "backend", "reason"])
            return lines[1:]
        self.assertTrue(all("default" in line for line in table()))
        self.assertTrue(all("reference" in line and "forced" in line for line in table("--backend", "reference")))
        text = (EXAMPLES / "resnet/resnet.toml").read_text()
        hinted = text.replace('outputs = ["stem.relu"]', 'outputs = ["stem.relu"], backend_hint = "cuda"')
        hinted = hinted.replace('outputs = ["logits"]', 'outputs = ["logits"], backend_hint = "cpu"')
        (self.dir / "hinted.toml").write_text(hinted)
        self.model = self.imported("resnet", graph=self.dir / "hinted.toml")
        lines = table()
        self.assertTrue(any("cuda" in line and "not in this build" in line for line in lines), lines)
        self.assertTrue(any(line.rstrip().endswith("hint") for line in lines), lines)

    def test_a_hint_that_a_state_cannot_follow_is_explained(self):
        graph = self.dir / "cache.toml"
        graph.write_text('graph = { format = "weft-graph", version = 1, outputs = ["keys", "values"] }\n'
                         'input = [ { name = "k", shape = [-1, 8], dtype = "f32" }, { name = "v", shape = [-1, 8], dtype = "f32" } ]\n'
                         'node = [ { id = 0, op = "KvCache", inputs = ["k", "v"], outputs = ["keys", "values"], backend_hint = "cuda" } ]\n')
        self.ok("graph", "import", graph, "-o", self.dir / "cache.model")
        np.save(self.dir / "k.npy", np.ones((3, 8), np.float32))
        done = self.ok("exec", self.dir / "cache.model", "--explain", *[a for n in "kv" for a in ("--input", f"{n}={self.dir}/k.npy")])
        self.assertRegex(done.stderr.decode(), r"KvAppend +\S+ +cuda +cpu +default \(cuda: .*state")
        self.assertEqual(done.stdout.decode(), "keys [3, 8] f32\nvalues [3, 8] f32\n")

    def test_run_explains_too(self):
        model = self.dir / "model.gguf"
        model.write_bytes(small_llama().bytes())
        self.assertRegex(self.ok("run", model, "-p", "a", "-n", "1", "--explain").stderr.decode(), r"Attention.*cpu +default")


class Import(GraphTest):
    def refuse(self, graph, *args, says):
        self.refused("graph", "import", graph, "-o", self.dir / "y.model", *args, says=says)
        self.assertFalse((self.dir / "y.model").exists())

    def test_what_cannot_run_is_refused(self):
        graph, weights = EXAMPLES / "resnet/resnet.toml", EXAMPLES / "resnet/resnet.safetensors"
        self.refuse(graph, says="conv1.weight")
        self.refuse(graph, "--weights", graph, says=[".safetensors", ".npz"])
        self.refuse(weights, "--weights", weights, says=[".toml", ".json", ".bin"])
        self.refuse(self.dir / "absent.toml", "--weights", weights, says="absent.toml")
        broken = self.dir / "broken.toml"
        broken.write_text(graph.read_text().replace('op = "Relu"', 'op = "Rulu"', 1))
        self.refuse(broken, "--weights", weights, says=["Rulu", "broken.toml"])
        arrays = read_safetensors(weights)
        np.savez(self.dir / "w.npz", **{**arrays, "fc.weight": np.ascontiguousarray(arrays["fc.weight"].T)})
        self.refuse(graph, "--weights", self.dir / "w.npz", says=["Matmul", "fc.weight"])

    def test_what_the_graph_does_not_read_is_left_out(self):
        arrays = read_safetensors(EXAMPLES / "resnet/resnet.safetensors")
        np.savez(self.dir / "w.npz", **arrays, surplus=np.zeros(3, np.float32))
        done = self.ok("graph", "import", EXAMPLES / "resnet/resnet.toml", "-o", self.dir / "y.model", "--weights", self.dir / "w.npz")
        self.assertIn(b"surplus", done.stderr)
        self.assertEqual(len(self.json("inspect", self.dir / "y.model", "--tensors", "--json")["tensors"]), len(arrays))

    def test_a_graph_without_weights(self):
        graph = self.dir / "double.toml"
        graph.write_text('graph = { format = "weft-graph", version = 1, outputs = ["y"] }\n'
                         'input = [ { name = "x", shape = [-1], dtype = "f32" } ]\n'
                         'node = [ { id = 0, op = "Add", inputs = ["x", "x"], outputs = ["y"] } ]\n')
        self.ok("graph", "import", graph, "-o", self.dir / "double.model")
        np.save(self.dir / "x.npy", np.array([1.5, -2], np.float32))
        self.assertEqual(self.execute(self.dir / "double.model", {"x": self.dir / "x.npy"}, ["y"])["y"].tolist(), [3, -4])
        self.ok("verify", self.dir / "double.model")


if __name__ == "__main__":
    unittest.main()
