"""Syntax errors of data and of languages without a linter: found where they are new, never where code is good."""

import asyncio
import re

import pytest

from agents.review.checks.ruff_settings import NEWEST
from agents.toolbox import Toolbox
from domain.review.findings import Severity
from tests.unit.checks.building import Versions
from tests.unit.checks.checking import check_files
from workspace.sandbox.sandbox import tool_path

pytestmark = pytest.mark.asyncio(loop_scope="session")

BAD = [
    ("a.json", '{"a": 1,\n "b": }\n', 2),
    ("a.json", "{'a': 1}\n", 1),
    ("tsconfig.json", "{\n  // fine\n  a: 1\n}\n", 3),
    ("a.toml", 'a = 1\nb = "x\n', 2),
    ("a.toml", "[a]\n[a]\n", 2),
    ("a.yml", "a: 1\nb: [1\nc: }\n", 3),
    ("a.yaml", "a: 1\n b: 2\n", 2),
    (".github/workflows/a.yml", "on: push\njobs:\n\ta: 1\n", 3),
    ("a.go", "package main\n\nfunc main( {\n}\n", 3),
    ("A.java", "class A {\n  int x = 1\n}\n", 2),
    ("a.rb", "def f(\n  1\nend\n", 1),
    ("a.php", "<?php\nfunction f( { }\n", 2),
    ("a.rs", "fn f() {\n    let x = 1\n}\n", 2),
]
GOOD = [
    ("a.json", '\ufeff{"a": [1, 2.5e3, null]}\n'),
    ("a.json", ""),
    ("tsconfig.json", '{\n  // why\n  "a": "http://x/*y*/", /* b */\n  "c": [1,],\n}\n'),
    ("a.json", '{"a": 1}\n{"a": 2}\n'),
    ("a.json", '{"a": {{ value }}}\n'),
    ("a.json", "[" * 100_000 + "]" * 100_000),
    ("a.jsonc", "{a: 1}\n"),
    ("tests/fixtures/broken.json", "{\n"),
    ("a.toml", '[a."b c"]\nx = 2020-01-01\n[[y]]\n'),
    ("a.toml", "[package]\nname = {{ name }}\n"),
    ("a.yml", "a: !Ref b\nc: !!python/object:x.Y {}\n---\nd: *unknown\n...\n---\n- &x 1\n"),
    ("a.yml", "x: ${{ github.sha }}\nb: |\n  {{ a }}\n  {%\n"),
    ("templates/a.yaml", "{{- if .Values.x }}\na: {{ .b }}\n{{- end }}\n"),
    ("a.yml", 'a: {"b":1,"c":[]}\nd: "\\/"\n'),
    ("a.yml", "a: b\x07\n"),
    ("a.go", 'package a\n\ntype T[K comparable] struct{ m map[K]int `json:"x"` }\n\nvar _ = 0x1p-2\n'),
    ("A.java", "record P(int x) {}\nclass A { int f(Object o) { return switch (o) { case P(var x) -> x; }; } }\n"),
    ("a.rb", "def sq(x) = x * x\nputs(<<~A, <<~B)\n x\nA\n y\nB\n__END__\n( {\n"),
    ("a.php", "<?php\nenum A: string { case B = 'b'; }\n$x = match(true) { default => f(...) };\n?>\n"),
    ("a.php", "<p>\n<?php if ($a): ?>\n<b>\n<?php endif; ?>\n"),
    ("a.cs", "namespace A;\npublic class P(int x) { int[] a = [1, ..b]; required public string N { get; init; } }\n"),
    ("a.rs", "fn f() {\r\n    let Some(x) = a else { return };\r\n    async { x.await? };\r\n}\r\n"),
    ("a.c", "MACRO(a) int f( {\n"),
    ("{{name}}/a.go", "package {{name}}\n"),
]


@pytest.mark.parametrize(("path", "text", "line"), BAD)
async def test_a_new_syntax_error_is_found_on_its_line(toolbox: Toolbox, path: str, text: str, line: int) -> None:
    result = await check_files(toolbox, {path: (None, text)})
    found = [(f.rule, f.line, f.severity) for f in result.findings if f.rule.startswith("syntax/")]
    assert found == [("syntax/invalid-syntax", line, Severity.error)]
    assert path not in result.read_by


@pytest.mark.parametrize(("path", "text"), GOOD)
async def test_good_files_and_what_only_looks_broken_are_left_alone(toolbox: Toolbox, path: str, text: str) -> None:
    result = await check_files(toolbox, {path: (None, text)})
    assert [f.message for f in result.findings if f.rule.startswith("syntax/")] == []
    assert path not in result.read_by
    assert not [tool.problem for layer in result.layers for tool in layer.tools if tool.problem]


POST = "class Post\n  def title\n    'a'\n  end\n\n  def slug\n    title.downcase\n  end\nend\n"


@pytest.mark.parametrize(
    ("path", "old", "new", "line"),
    [
        ("post.rb", POST, POST.replace("downcase", "downcase("), 7),
        ("post.rb", POST, POST.replace("  end\n\n  def", "\n  def"), 4),  # the `end` of `title` is gone
        ("post.rb", POST, POST.replace("    'a'\n", "    'a' if (\n"), 3),
        ("a.json", '{\n"a": 1,\n"b": 2\n}\n', '{\n"a": 1\n"b": 2\n}\n', 2),
        ("a.php", "<?php\nif ($a) {\n  b();\n}\nc();\n", "<?php\nif ($a) {\n  b();\nc();\n", 4),
        ("a.py", "f(\n  a,\n  b\n)\ng()\n", "f(\n  a,\n  b\ng()\n", 4),
        ("a.js", "f(\n  a,\n  b\n)\ng()\nh()\n", "f(\n  (a,\n  b\n)\ng()\nh()\n", 2),
    ],
)
async def test_a_syntax_error_is_on_the_changed_line_that_breaks_the_file(
    toolbox: Toolbox, path: str, old: str, new: str, line: int
) -> None:
    result = await check_files(toolbox, {path: (old, new)})
    assert [(f.is_syntax_error, f.line) for f in result.findings] == [(True, line)]


async def test_in_a_new_file_the_line_is_found_without_which_it_can_be_parsed(toolbox: Toolbox) -> None:
    [finding] = (await check_files(toolbox, {"post.rb": (None, POST.replace("downcase", "downcase("))})).findings
    assert (finding.line, "bracket" in finding.message) == (7, True)


async def test_what_could_not_be_parsed_before_is_no_news(toolbox: Toolbox) -> None:
    files: Versions = {path: (text, text + "\n// more\n") for path, text, _ in BAD}
    assert [f.path for f in (await check_files(toolbox, files)).findings if f.rule.startswith("syntax/")] == []
    repaired: Versions = {"a.json": ("{\n", "{}\n"), "a.go": ("package main\nfunc (\n", "package main\n")}
    assert (await check_files(toolbox, repaired)).findings == ()


async def test_python_is_taken_for_the_newest_that_the_linter_knows(toolbox: Toolbox) -> None:
    """Else what only that one can read counts as broken where a project says nothing of its Python."""
    asked = await asyncio.create_subprocess_exec(tool_path("ruff"), "check", "--help", stdout=asyncio.subprocess.PIPE)
    told, _ = await asked.communicate()
    assert max(re.findall(r"\bpy3\d+\b", told.decode()), key=lambda name: int(name[3:])) == NEWEST
    files: Versions = {"a.py": (None, "lazy import os\n\nprint(os.name)\n")}
    assert [each.rule for each in (await check_files(toolbox, files)).findings] == []
