"""What a text within a program says is no code: it focuses no test, silences no tool and leaves no work out."""

import pytest

from agents.review.avoidance.masking import mask_literals
from agents.syntax.trees import parse
from domain.review.avoidance import AvoidanceKind
from tests.unit.avoidance.samples import compare, list_kinds

TEST = "import pytest\n\n\ndef test_a():\n    assert lint('x') == 0\n"
SCRIPT = 'it("a", () => {\n  expect(lint("x")).toBe(0);\n});\n'


@pytest.mark.parametrize(
    ("path", "before", "said", "done"),
    [
        (
            "test/a.test.ts",
            SCRIPT,
            'check(":is(:hover,:focus)");\n',
            "it.only('b', () => { expect(f(1)).toBe(2); });\n",
        ),
        ("test/a.test.js", SCRIPT, "const x = `\nit.only('b', f)\n`;\n", "fdescribe('b', () => {});\n"),
        ("spec/a_spec.rb", "it('a') { expect(f(1)).to eq(2) }\n", "X = 'a, :focus'\n", "it('b', :focus) { f(1) }\n"),
        ("tests/test_a.py", TEST, 'X = """\npytestmark = pytest.mark.skip\n"""\n', "pytestmark = pytest.mark.skip\n"),
        ("tests/conftest.py", TEST, "X = 'items[:] = []'\n", "def f(items):\n    items[:] = []\n"),
        ("test/a.test.js", SCRIPT, "lint('jest.mock(\"../a\")');\n", 'jest.mock("../a");\n'),
        ("a.py", "x = 1\n", 'X = """\nraise NotImplementedError\n"""\n', "raise NotImplementedError\n"),
        ("a.js", "f(1);\n", "const x = `\nJEST_WORKER_ID`;\n", "if (process.env.JEST_WORKER_ID) { f(2); }\n"),
        ("a.go", "package a\n", "const x = `\n// TODO implement\n`\n", "// TODO: implement\n"),
        ("a.ts", "f(1);\n", 'lint("// eslint-disable-line");\n', "f(2); // eslint-disable-line\n"),
    ],
)
def test_what_a_text_says_is_not_done(path: str, before: str, said: str, done: str) -> None:
    assert not compare({path: before}, {path: before + said})
    assert compare({path: before}, {path: before + done})


def test_what_begins_outside_of_a_text_counts_with_what_is_in_it() -> None:
    before = {"a.py": "def f():\n    return g()\n"}
    after = {"a.py": 'def f():\n    raise ValueError("f is not implemented (yet)")\n'}
    assert AvoidanceKind.work_left_out in list_kinds(compare(before, after))


@pytest.mark.parametrize(
    ("language", "text", "code"),
    [
        ("python", "a = r'b' + f\"c{d}\"  # 'e'", "a = r'.' + f\"....\"  # 'e'"),
        ("javascript", "a(`b\n${c}`, /d/)", "a(`.\n....`, /./)"),
        ("rust", 'let a = r#"b"#;', "let a = ......;"),
        ("ruby", "a = 'b' + \"c\"", "a = '.' + \".\""),
    ],
)
def test_a_masked_text_has_as_many_characters(language: str, text: str, code: str) -> None:
    parsed = parse(text, language)
    assert parsed is not None
    assert mask_literals(text, parsed.tree).code.replace("\ue001", ".") == code
