"""Writes the cases of tests/jinja_conformance_test.cpp with Jinja2's own answers, in the environment that transformers
renders chat templates in.

  python3 tests/data/generate_chat.py                    snippets and templates of tests/data/chat -> chat/cases.json
  python3 tests/data/generate_chat.py FOLDER OUTPUT.json templates of your own (*.jinja), all conversations

The second form is for public templates, whose licenses differ: `WEFT_CHAT_CASES=OUTPUT.json weft_tests
--gtest_filter='JinjaConformance*'` compares weft with Jinja2 on them. Needs Debian's python3-jinja2 (3.1.2 was used).
"""

import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

FOLDER = pathlib.Path(__file__).parent / "chat"
sys.path.insert(0, str(FOLDER))
sys.dont_write_bytecode = True

import conversations  # noqa: E402
import snippets  # noqa: E402

NOW = datetime.datetime(2026, 7, 4, 9, 5, 3)  # also in the test


class Generation(jinja2.ext.Extension):
    """{% generation %}: marks what the model wrote, prints its body."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


ENVIRONMENT = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
ENVIRONMENT.filters["tojson"] = tojson
ENVIRONMENT.globals["raise_exception"] = raise_exception
ENVIRONMENT.globals["strftime_now"] = lambda form: NOW.strftime(form)


def answer(template, context):
    """What a case holds: the text, or that there is none."""
    try:
        return {"expected": ENVIRONMENT.from_string(template).render(**context)}
    except Exception as error:  # whatever Python raises, weft has to refuse
        return {"error": f"{type(error).__name__}: {error}"}


def build(templates):
    """templates: (name, source, [(context name, context)])."""
    contexts, cases = {}, []
    for name, source, rendered_with in templates:
        for context_name, context in rendered_with:
            contexts[context_name] = context
            cases.append({"name": f"{name}/{context_name}", "template": name, "context": context_name,
                          **answer(source, context)})
    return {"templates": {name: source for name, source, _ in templates}, "contexts": contexts, "cases": cases}


def templates_of(folder):
    return [(path.stem, path.read_text(encoding="utf-8"), conversations.contexts()) for path in sorted(folder.glob("*.jinja"))]


def write(path, data):
    lines = ["{"]
    for part in ("templates", "contexts"):
        members = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in data[part].items())
        lines.append(f'"{part}": {{\n{members}\n}},')
    lines.append('"cases": [\n' + ",\n".join(json.dumps(case, ensure_ascii=False) for case in data["cases"]) + "\n]\n}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    refused = sum("error" in case for case in data["cases"])
    print(f"{path}: {len(data['templates'])} templates, {len(data['cases'])} cases, {refused} of them refused")


if len(sys.argv) == 3:
    write(pathlib.Path(sys.argv[2]), build(templates_of(pathlib.Path(sys.argv[1]))))
else:
    words = [(f"snippet {i}", source, [("words", context)]) for i, (source, context) in enumerate(snippets.cases())]
    write(FOLDER / "cases.json", build(words + templates_of(FOLDER)))
