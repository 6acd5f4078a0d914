"""Running the weft program in tests: where it is, what it printed, and the files of others that a checkout may have
beside it."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
WEFT = os.environ.get("WEFT_PROGRAM", str(ROOT / "build" / "release" / "weft"))

needs_shared = unittest.skipUnless(SHARED.is_dir(), f"{SHARED} is absent: its models and right answers are not here")


def run(*args, stdin=None, timeout=120, env=None, limit_memory=None):
    """The finished process; stdout and stderr are bytes. limit_memory: bytes of address space that it may have."""
    limit = limit_memory and (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit_memory, limit_memory)))
    return subprocess.run([WEFT, *map(str, args)], input=stdin, capture_output=True, timeout=timeout, preexec_fn=limit,
                          env={**os.environ, **(env or {})})


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="weft-test-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def ok(self, *args, **kwargs):
        done = run(*args, **kwargs)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return done

    def json(self, *args, **kwargs):
        return json.loads(self.ok(*args, **kwargs).stdout)

    def refused(self, *args, status=1, says=(), **kwargs):
        """A failure with one line on stderr that holds every text of `says`, and nothing on stdout."""
        done = run(*args, **kwargs)
        message = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, status, f"{args}: {message}")
        self.assertEqual(done.stdout, b"", f"{args} printed data")
        self.assertEqual(message.count("\n"), 1, f"{args}: not one line: {message!r}")
        self.assertTrue(message.startswith("weft: "), message)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, message)
        return message


def make_model(path, *args):
    """A GGUF of a real architecture with seeded random weights."""
    subprocess.run([sys.executable, SHARED / "tools" / "make_models.py", "random", path, *map(str, args)], check=True)
