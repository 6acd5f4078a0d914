"""The unigram tokenizer of GGUF files, model "t5", against SentencePiece: models are trained here, once for each
normalization, written as GGUF vocabularies, and what SentencePiece makes of many texts is compared id for id, and what it
makes of the ids again byte for byte. `weft_tests` compares all of it in one process (tests/sentencepiece_conformance_test.cpp),
`weft tokenize` a part. Needs Debian's python3-sentencepiece."""
import os
import pathlib
import random
import struct
import subprocess
import sys
import unittest

from gguf_bytes import ARRAY, BOOL, F32_VALUE, I32, STRING, U8, U32, GgufBytes
from weft_program import ROOT, ProgramTest

try:
    import sentencepiece
except ImportError:
    sentencepiece = None

TESTS = pathlib.Path(os.environ.get("WEFT_TESTS", ROOT / "build" / "release" / "tests" / "weft_tests"))
NOVEL = ROOT / "tests" / "data" / "northanger_abbey.txt"
USER_DEFINED = ["<sep>", "[mask]", "\u2581@@"]

# name: what SentencePiece is trained with
MODELS = {
    "nmt_nfkc": dict(normalization_rule_name="nmt_nfkc"),
    "nmt_nfkc_bytes": dict(normalization_rule_name="nmt_nfkc", byte_fallback=True),
    "nmt_nfkc_cf": dict(normalization_rule_name="nmt_nfkc_cf", user_defined_symbols=USER_DEFINED),
    "nfkc_cf_spaces": dict(normalization_rule_name="nfkc_cf", remove_extra_whitespaces=False, byte_fallback=True),
    "nfkc_bare": dict(normalization_rule_name="nfkc", remove_extra_whitespaces=False, add_dummy_prefix=False,
                      user_defined_symbols=USER_DEFINED),
    "identity": dict(normalization_rule_name="identity"),
    "identity_bytes": dict(normalization_rule_name="identity", byte_fallback=True, add_dummy_prefix=False,
                           user_defined_symbols=USER_DEFINED),
}


def fields(message):
    """(number, value) of a protobuf message: integers, floats as their 4 bytes, strings and messages as bytes."""
    at = 0

    def varint():
        nonlocal at
        shift = number = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, message[at:at + size]
        at += size


def vocabulary(model):
    """The GGUF file for a serialized SentencePiece model: a vocabulary without tensors."""
    pieces, scores, kinds, normalizer = [], [], [], {}
    for number, value in fields(model):
        if number == 1:
            piece = dict(fields(value))
            pieces.append(piece[1].decode())
            scores.append(struct.unpack("<f", piece.get(2, bytes(4)))[0])
            kinds.append(piece.get(3, 1))
        elif number == 3:
            normalizer = dict(fields(value))
    file = GgufBytes()
    file.meta = {
        "general.architecture": (STRING, "t5"),
        "tokenizer.ggml.model": (STRING, "t5"),
        "tokenizer.ggml.pre": (STRING, "default"),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, pieces)),
        "tokenizer.ggml.scores": (ARRAY, (F32_VALUE, scores)),
        "tokenizer.ggml.token_type": (ARRAY, (I32, kinds)),
        "tokenizer.ggml.unknown_token_id": (U32, kinds.index(2)),
        "tokenizer.ggml.eos_token_id": (U32, pieces.index("</s>")),
        "tokenizer.ggml.add_space_prefix": (BOOL, bool(normalizer.get(3, 1))),
        "tokenizer.ggml.remove_extra_whitespaces": (BOOL, bool(normalizer.get(4, 1))),
    }
    if normalizer.get(2):
        file.meta["tokenizer.ggml.precompiled_charsmap"] = (ARRAY, (U8, normalizer[2]))
    return file.bytes()


def texts():
    """Texts that a normalizer has something to do with, then random ones."""
    known = [
        "", " ", "   ", "\t", "\n", " \t\n ", "a", " a", "a ", "  a  b  ", "a\tb\nc\r\nd", "Hello, world!",
        "The Abbey, and the  curtains of  its windows", "\u2581", "\u2581\u2581 a\u2581", "a\u2581b \u2581 c",
        "\uff21\uff22\uff43 \uff11\uff12\uff13\uff01\u3000\uff1f", "\uff76\uff9e\uff77\uff9f \u30ab\u3099", "\ufb01ne \ufb02ow \ufb03 \ufb05 \u0133 \u01c6",
        "e\u0301a\u0300 o\u0308\u0323 \u1e69 s\u0323\u0307 s\u0307\u0323", "\u00e9\u00e0\u00f6 \u00c5 \u212b A\u030a", "\u1100\u1161\u11a8 \uac01 \u1100\u1161",
        "\u0000a\u0001b\u0008c\u000bd\u007fe\u0085f\u00a0g\u00adh", "a\u200bb\u200cc\u200dd\u200ee\u2060f\ufeffg\u2028h\u2029i\u202fj\u3000k",
        "\u2000\u2001\u2002 x \u2009\u200a", "\u00bd \u00b2 \u2460 \u2167 \u2122 \u00a9 \u2026 \u2014 \u2018q\u2019 \u201cq\u201d", "\ufdfa \ufdfb \u3300 \u33c2",
        "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f \U0001f44d\U0001f3fd", "\u4e16\u754c \u3053\u3093\u306b\u3061\u306f \uc548\ub155 \u041f\u0440\u0438\u0432\u0435\u0442 \u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
        "STRASSE Stra\u00dfe \u1e9e \u0130 \u0131 \u03a3\u03c3\u03c2 \u0149", "<s> </s> <unk> <pad> <0x41>", "<sep>", " <sep> ", "a <sep>  b<sep>c [mask]",
        "\uff1csep\uff1e <SEP> x[mask]y  \u2581@@ z @@ q @@", "<sep><sep>  <sep>", "\ufffd a\ufffdb", "\ud7ff\ue000\uffff\U0010ffff",
        "aaaaaaaaaaa", "abababababab", "............", "\u00e9" * 9, "\u0301\u0301a\u0301\u0301\u0301", "~\u0303 \u02dc \u223c \uff5e \u301c", "\u0344 \u0340 \u0374 \u2126",
        "1234567890 3.14159 -42 1,000,000", "http://example.com/a?b=c&d=e#f", "\u0e33 \u0eb3 \u0f77 \u0f73", "\u2f00\u2fd5 \uf900 \U0002f800", "\U0001d400\U0001d7d8 \U0001f100 \U0001f201",
    ]
    novel = NOVEL.read_text()
    chance = random.Random(11)
    for size in [20] * 60 + [200] * 60 + [3000] * 12:
        start = chance.randrange(len(novel) - size)
        known.append(novel[start:start + size])
    marks = "\u0300\u0301\u0308\u0323\u0327\u3099\ufe0f\u200d"
    sources = [lambda: chance.choice("aeinorst ETAO  \t\n"), lambda: chance.choice(marks),
               lambda: chr(chance.randrange(0xff01, 0xffdd)), lambda: chr(chance.randrange(0xfb00, 0xfb50)),
               lambda: chr(chance.randrange(0x20, 0x250)), lambda: chr(chance.randrange(0, 0x20)),
               lambda: chr(chance.randrange(0x2000, 0x2a00)), lambda: chr(chance.randrange(0x3040, 0xd7a0)),
               lambda: chr(chance.randrange(0x1f300, 0x1f700)), lambda: chr(chance.randrange(0x1100, 0x1200)),
               lambda: chance.choice(["<sep>", "[mask]", "\u2581", "@@", "  ", "e\u0301", "\u3000"])]
    for _ in range(250):
        mixed = chance.sample(sources, 4)
        known.append("".join(chance.choice(mixed)() for _ in range(chance.randrange(1, 60))))
    known += [chr(c) for block in (range(0x20, 0x530), range(0x1e00, 0x2200), range(0xfb00, 0xfdff), range(0xff00, 0xfff0))
              for c in block if not 0xd800 <= c < 0xe000][::7]
    return known


@unittest.skipIf(sentencepiece is None, "python3-sentencepiece is absent: there is nothing to compare with")
class SentencePiece(ProgramTest):
    def train(self, **options):
        prefix = str(self.dir / "spm")
        sentencepiece.SentencePieceTrainer.train(
            input=str(NOVEL), model_prefix=prefix, model_type="unigram", vocab_size=900, character_coverage=0.995,
            num_threads=2, minloglevel=2, **options)
        return pathlib.Path(prefix + ".model").read_bytes()

    def write_cases(self, processor, path, cases):
        """A line for each text: text, ids, the text of the ids or "-" where one is unknown; bytes are hexadecimal."""
        lines = []
        for case in cases:
            ids = processor.encode(case)
            unknown = processor.unk_id() in ids
            back = "-" if unknown else "=" + processor.decode(ids).encode().hex()
            lines.append(f"={case.encode().hex()}\t{' '.join(map(str, ids))}\t{back}\n")
        path.write_text("".join(lines))

    def test_ids_and_texts_are_those_of_sentencepiece(self):
        folder = self.dir / "cases"
        folder.mkdir()
        cases = texts()
        for name, options in MODELS.items():
            model = self.train(**options)
            processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            file = folder / f"{name}.gguf"
            file.write_bytes(vocabulary(model))
            self.write_cases(processor, folder / f"{name}.txt", cases)
            for case in cases[5:40:5]:
                (self.dir / "text").write_bytes(case.encode())
                told = self.ok("tokenize", file, "--file", self.dir / "text", "--ids").stdout.split()
                self.assertEqual([int(i) for i in told], processor.encode(case), f"{name}: {case!r}")
        done = subprocess.run([TESTS, "--gtest_filter=SentencePieceConformance.*", "--gtest_brief=1"], capture_output=True,
                              text=True, env={**os.environ, "WEFT_SENTENCEPIECE_CASES": str(folder)})
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-2000:])
        self.assertNotIn("SKIPPED", done.stdout)


if __name__ == "__main__":
    unittest.main()
