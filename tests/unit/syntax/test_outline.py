"""What surrounds changed lines, in several languages."""

import pytest

from agents.syntax.outline import outline_file
from domain.review.reading import NO_OUTLINE, FunctionSpan

HEAD = """LIMIT = 3


class Till:
    def total(self, items,
              rate=2):
        if not items:
            return 0
        self.seen = True
        return fetch_price(items, "cache_ttl") * rate

    def half(self):
        return self.total([]) / LIMIT
"""
BASE = HEAD.replace("        if not items:\n            return 0\n", "").replace("LIMIT = 3", "LIMIT = 2")


def test_python() -> None:
    found = outline_file("python", BASE, HEAD, [1, 7, 8, 9, 10], [1])
    assert found.spans == (
        FunctionSpan(name="Till", start=4, body=5, end=13),
        FunctionSpan(name="total", start=5, body=7, end=10),
    )
    assert found.exits == (8, 10)
    assert found.uses == (5, 13)


@pytest.mark.parametrize(
    ("language", "text", "lines", "name"),
    [
        ("javascript", "const sum = (a) => {\n  if (a) {\n    return b.load(a);\n  }\n}\n", [3], "sum"),
        ("tsx", "function View(a: A) {\n  return <b>{fill(a)}</b>;\n}\n", [2], "View"),
        ("go", "package a\n\nfunc (t *T) Sum(a int) int {\n\treturn t.load(a)\n}\n", [4], "Sum"),
        ("java", "class A {\n  Foo sum(int a) {\n    return load(a);\n  }\n}\n", [3], "sum"),
        ("csharp", "class A {\n  public Foo Sum(int a) {\n    return Load(a);\n  }\n}\n", [3], "Sum"),
        ("ruby", "class A\n  def sum(a)\n    return load_of(a)\n  end\nend\n", [3], "sum"),
        ("php", "<?php\nclass A {\n  function sum($a) {\n    return $this->load($a);\n  }\n}\n", [4], "sum"),
        ("rust", "impl A {\n  fn sum(&self) -> u8 {\n    self.load()\n  }\n}\n", [3], "sum"),
        ("c", "int *sum(struct a *p)\n{\n  return load(p);\n}\n", [3], "sum"),
        ("cpp", "int A::sum(int p)\n{\n  return load(p);\n}\n", [3], "sum"),
    ],
)
def test_other_languages(language: str, text: str, lines: list[int], name: str) -> None:
    found = outline_file(language, None, text, lines, [])
    assert name in {span.name.rpartition("::")[2] for span in found.spans}


def test_uses_of_what_was_removed_are_shown() -> None:
    base = "def old(a):\n    return a\n\n\ndef new(a):\n    return old(a)\n"
    assert outline_file("python", base, "def new(a):\n    return old(a)\n", [], [1, 2, 3, 4]).uses == (2,)


def test_what_changed_lines_call_is_found_where_the_file_defines_it_once() -> None:
    head = (
        "def rate(a):\n    return a\n\n\nclass Cart:\n    def append(self, a):\n        pass\n\n"
        "    def total(self):\n        rows.append(rate(1))\n"
    )
    assert [each.name for each in outline_file("python", None, head, [10], []).called] == ["rate"]


def test_a_local_name_is_looked_for_in_its_own_function_and_the_same_line_shown_once() -> None:
    head = "def one():\n    rows = 1\n    use(rows)\n    use(rows)\n\n\ndef two():\n    rows = 2\n    use(rows)\n"
    assert outline_file("python", None, head, [2], []).uses == (1, 3)


def test_what_cannot_be_parsed_has_no_outline() -> None:
    found = outline_file("javascript", None, "x" * 3_000, [1], [])
    assert found == NO_OUTLINE
