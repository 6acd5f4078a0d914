# SPDX-License-Identifier: Apache-2.0
"""The six novels of Jane Austen as lists of normalized chapters.

The text comes from the R package janeaustenr (Debian: r-cran-janeaustenr), which holds the public-domain
editions of Project Gutenberg. Normalization, the same for training and for held-out text:

  * what stands before the first chapter heading (title, author, date, advertisement), chapter and volume
    headings, "FINIS" / "THE END" and the editor's note that follows Northanger Abbey are dropped;
  * the hard-wrapped lines of a paragraph are joined by single spaces, runs of blanks become one space;
  * paragraphs are separated by one blank line;
  * the underscores that mark italics are dropped.
"""
import re
import subprocess

HELD_OUT = "Northanger Abbey"
VALIDATION_STRIDE = 40  # one chapter in forty of the training novels watches over training

_HEADING = re.compile(r"^\s*(chapter|volume)\s+([0-9]+|[ivxlc]+)\.?\s*$", re.I)
_END = re.compile(r"^\s*(finis|the end|a note on the text)\.?\s*$", re.I)


def raw_books():
    """The novels as {title: lines}, read by R from the package."""
    script = r'''b <- janeaustenr::austen_books()
    cat(paste0(b$book, "\t", b$text), sep = "\n")'''
    out = subprocess.run(["Rscript", "--vanilla", "-e", script], check=True, capture_output=True).stdout
    books = {}
    for line in out.decode("utf-8").split("\n"):
        if "\t" in line:
            title, text = line.split("\t", 1)
            books.setdefault(title, []).append(text)
    return books


def paragraphs(lines):
    text = []
    for line in list(lines) + [""]:
        line = " ".join(line.replace("_", "").split())
        if line:
            text.append(line)
        elif text:
            yield " ".join(text)
            text = []


def chapters(lines):
    """The normalized chapters of one novel."""
    found = []
    for line in lines:
        if _END.match(line):
            break
        if _HEADING.match(line):
            found.append([])
        elif found:
            found[-1].append(line)
    joined = ("\n\n".join(paragraphs(c)) for c in found)
    return [c for c in joined if c]


def load():
    """(training chapters, validation chapters, held-out chapters)"""
    train, valid, held_out = [], [], []
    for title, lines in raw_books().items():
        for i, chapter in enumerate(chapters(lines)):
            if title == HELD_OUT:
                held_out.append(chapter)
            else:
                (valid if i % VALIDATION_STRIDE == VALIDATION_STRIDE // 2 else train).append(chapter)
    return train, valid, held_out


if __name__ == "__main__":
    for name, part in zip(("train", "validation", "held out"), load()):
        print(f"{name}: {len(part)} chapters, {sum(len(c.encode()) for c in part)} bytes")
        print("   ", repr(part[0][:160]), "...", repr(part[-1][-160:]))
