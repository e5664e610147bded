"""oxlint, shellcheck and hadolint: they find what breaks, leave good code alone and obey no file of the change."""

from collections.abc import Callable
from dataclasses import replace
from unittest.mock import ANY

import pytest

from agents.review.checks import oxlint, script_linters
from agents.review.checks.inputs import CheckedFile
from agents.toolbox import Toolbox
from domain.review.findings import Finding, Severity
from domain.review.reading import BY_RULE, CHECKS
from safety.containment import CodeOrigin
from tests.unit.checks.building import file_change
from tests.unit.checks.checking import CountingSandbox, check_files
from tests.unit.checks.credentials import draw

pytestmark = pytest.mark.asyncio(loop_scope="session")

WARNING, ERROR = Severity.warning, Severity.error


async def check_one(
    toolbox: Toolbox, path: str, text: str, base: str | None = None, origin: CodeOrigin = CodeOrigin.member
) -> tuple[list[tuple[str, int | None, Severity]], tuple[str, ...]]:
    """Rule, line and severity of what is found in one file, and the linters that read it."""
    result = await check_files(toolbox, {path: (base, text)}, origin=origin)
    assert not [tool.problem for layer in result.layers for tool in layer.tools if tool.problem]
    return [(f.rule, f.line, f.severity) for f in result.findings], result.read_by.get(path, ())


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.js", "export function f(input) {\n  return eval(input);\n}\n", [("oxlint/no-eval", 2, ERROR)]),
        ("test/a.js", "export function f(input) {\n  return eval(input);\n}\n", [("oxlint/no-eval", 2, WARNING)]),
        ("a.mjs", "const a = 1;\na = 2;\nexport { a };\n", [("oxlint/no-const-assign", 2, ERROR)]),
        ("a.ts", "export const f = (x: number) => x === NaN;\n", [("oxlint/use-isnan", 1, ERROR)]),
        ("[id]/-a.tsx", "export const A = () => <Missing a={1} />;\n", [("oxlint/jsx-no-undef", 1, ERROR)]),
        ("a b.cts", "export function f() {\n  debugger;\n}\n", [("oxlint/no-debugger", 2, WARNING)]),
        ("a.sh", "#!/bin/bash\nif [ -n $1 ]; then echo; fi\n", [("shellcheck/SC2070", 2, ERROR)]),
        ("bin/go", "#!/usr/bin/env bash\necho x > a | cat\n", [("shellcheck/SC2260", 2, ERROR)]),
        ("Dockerfile", "FROM a:1\nEXPOSE 99999\n", [("hadolint/DL3011", 2, ERROR)]),
        ("x.dockerfile", "FROM a:1\nCMD a\nCMD b\n", [("hadolint/DL4003", 3, WARNING)]),
        ("c/Dockerfile", "FROM a:1\nRUN <<E\necho $x\nE\nEXPOSE 99999\n", [("hadolint/DL3011", 5, ERROR)]),
        ("Dockerfile.dev", "FROM a:1\nRUN echo x > a | cat\n", [("hadolint/SC2260", 2, ERROR)]),
    ],
)
async def test_what_breaks_is_found(toolbox: Toolbox, path: str, text: str, found: list[object]) -> None:
    findings, readers = await check_one(toolbox, path, text)
    assert findings == found
    assert len(readers) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", "'use strict'\nvar x=1;let _y = x == 1 ? 2 : 3\nmodule.exports = [x,_y,function(a,b){return a}]\n"),
        ("a.jsx", "import React from 'react';\nexport default ({ a }) => <li onClick={() => a()}>{a}</li>;\n"),
        ("a.d.ts", "declare const x: string;\nexport type A<T> = { [K in keyof T]?: T[K] };\nexport { x };\n"),
        ("a.mts", "@dec class A { constructor(private x: number) {} }\nexport const enum Q { A }\nexport default A;\n"),
        ("a.cjs", "#!/usr/bin/env node\nwhile (true) { if (Math.random() > 0.5) break }\nmodule.exports = 1\n"),
        ("a.sh", "set -e\ncd $1\nfor f in $(ls *.txt); do x=`date`; rm -rf $f/$x; done\n. ./other\n"),
        ("a", '#!/bin/sh\nwhile read line; do [ "$a" = 1 -a -z "$2" ] && echo -n $line; done\n'),
        ("Dockerfile", "FROM a:1 AS b\nRUN apt-get install -y x && cd y\nADD . /x\nRUN <<E\necho $x\nE\nCMD a b\n"),
    ],
)
async def test_harmless_code_gets_nothing_and_counts_as_read(toolbox: Toolbox, path: str, text: str) -> None:
    findings, readers = await check_one(toolbox, path, text)
    assert findings == []
    assert len(readers) == 1


@pytest.mark.parametrize(
    ("path", "text", "rule", "line"),
    [
        ("a.js", "const a = 1;\nfunction total( {\n  return eval(input)\n", "oxlint/invalid-syntax", 3),
        ("a.ts", "const x: number = {;\n", "oxlint/invalid-syntax", 1),
        ("a.sh", "#!/bin/bash\nif true; then\n  echo\n", "shellcheck/invalid-syntax", 2),
        ("Dockerfile", "FROM a:1\nRUNX foo\n", "hadolint/invalid-syntax", 2),
    ],
)
async def test_a_syntax_error_is_an_error_and_the_file_unread(
    toolbox: Toolbox, path: str, text: str, rule: str, line: int
) -> None:
    result = await check_files(toolbox, {path: (None, text)})
    found = [(f.rule, f.line, f.severity) for f in result.findings if f.rule == rule]
    assert found == [(rule, line, ERROR)]
    assert path not in result.read_by
    old = await check_files(toolbox, {path: (text, text + "\n")})
    assert rule not in {finding.rule for finding in old.findings}
    assert path not in old.read_by


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("flow.js", "// @flow\nfunction f(x: ?number) {}\n"),
        ("typed.js", "export function f(x: number) {\n  return x;\n}\n"),
        ("a.min.js", "eval(x)\n"),
        ("a.js", "// \0\neval(x)\n"),
        ("{{name}}/a.js", "import {{name}}\n"),
        ("a.zsh", "#!/bin/zsh\necho ${(f)x}\n"),
        ("Dockerfile", "FROM {{image}}:1\n{{#if x}}\n"),
    ],
)
async def test_what_a_linter_cannot_know_it_neither_reads_nor_blames(toolbox: Toolbox, path: str, text: str) -> None:
    assert await check_one(toolbox, path, text) == ([], ())


async def test_an_instruction_newer_than_hadolint_is_no_error(toolbox: Toolbox) -> None:
    findings, readers = await check_one(toolbox, "Dockerfile", "FROM a:1\nCOPY --newest=1 a /x/\n")
    assert findings == [("hadolint/invalid-syntax", 2, Severity.info)]
    assert readers == ()


async def test_only_what_the_change_introduced(toolbox: Toolbox) -> None:
    old = "export const f = (x) => eval(x);\n"
    new = f"// moved\n{old}export const g = (x) => x === NaN;\n"
    assert await check_one(toolbox, "a.js", new, old) == ([("oxlint/use-isnan", 3, ERROR)], ("oxlint",))


@pytest.mark.parametrize(
    ("path", "clean", "bad"),
    [
        ("a.sh", "#!/bin/sh\necho x\n", "#!/bin/bash\nif [ -n $1 ]; then echo; fi\n"),
        ("Dockerfile", "FROM a:1\nCMD a\n", "FROM a:1\nEXPOSE 99999\n"),
    ],
)
async def test_a_slow_linter_reads_the_merge_base_only_of_what_it_complains_of(
    toolbox: Toolbox, path: str, clean: str, bad: str
) -> None:
    counting = CountingSandbox(toolbox.sandbox)
    counted = replace(toolbox, sandbox=counting)
    assert await check_one(counted, path, f"{clean}# new\n", clean) == ([], ANY)
    assert counting.started == 1
    assert await check_one(counted, path, f"{bad}# new\n", bad) == ([], ANY)
    assert counting.started == 3


SILENT = [
    ("a.js", "/* oxlint-disable */\nexport const f = (x) => eval(x); // eslint-disable-line\n", "oxlint/no-eval"),
    ("a.sh", "#!/bin/bash\n# shellcheck disable=SC2070\nif [ -n $1 ]; then echo; fi\n", "shellcheck/SC2070"),
    ("Dockerfile", "FROM a:1\n# hadolint ignore=DL3011\nEXPOSE 99999\n", "hadolint/DL3011"),
]


@pytest.mark.parametrize(("path", "text", "rule"), SILENT)
async def test_comments_silence_a_linter_only_for_people_who_may_write(
    toolbox: Toolbox, path: str, text: str, rule: str
) -> None:
    member = await check_files(toolbox, {path: (None, text)}, origin=CodeOrigin.member)
    stranger = await check_files(toolbox, {path: (None, text)}, origin=CodeOrigin.stranger)
    assert ([f.rule for f in member.findings], [f.rule for f in stranger.findings]) == ([], [rule])
    assert member.silencing > 0
    assert "silence" in (member.layers[0].note or "")


SETTINGS = {
    ".oxlintrc.json": '{"rules": {"no-eval": "off"}, "ignorePatterns": ["**"]}\n',
    "oxlintrc.json": '{"rules": {"no-eval": "off"}}\n',
    ".eslintrc.json": '{"root": true, "rules": {"no-eval": "off"}}\n',
    ".eslintignore": "*\n",
    ".gitignore": "*\n",
    ".ignore": "*\n",
    ".shellcheckrc": "disable=all\n",
    "shellcheckrc": "disable=all\n",
    ".hadolint.yaml": "ignored: [DL3011]\n",
    ".hadolint.yml": "ignored: [DL3011]\n",
    ".dockerignore": "*\n",
    "ruff.toml": 'exclude = ["*"]\n[lint]\nignore = ["F"]\n',
    ".ruff.toml": 'exclude = ["*"]\n[lint]\nignore = ["F"]\n',
    "pyproject.toml": '[tool.ruff]\nexclude = ["*"]\n[tool.ruff.lint]\nignore = ["F", "S"]\n',
    "zizmor.yml": "rules: {template-injection: {disable: true}}\n",
    ".github/zizmor.yml": "rules: {template-injection: {disable: true}}\n",
    "sgconfig.yml": "ruleDirs: []\n",
    ".secrets.baseline": '{"exclude": {"files": ".*"}}\n',
}
"""Settings by which tools of ours could be told to be quiet."""


@pytest.mark.parametrize("folder", ["", "web/", ".github/workflows/"])
async def test_t_r6_settings_of_the_change_decide_nothing(toolbox: Toolbox, folder: str) -> None:
    code = {
        f"{folder}a.js": "export const f = (x) => eval(x);\n",
        f"{folder}a.sh": "#!/bin/bash\nif [ -n $1 ]; then echo; fi\n",
        f"{folder}Dockerfile": "FROM a:1\nEXPOSE 99999\n",
        f"{folder}a.py": "import os\nimport subprocess\n\nsubprocess.run(input(), shell=True)\n",
        f"{folder}a.go": 'package a\n\nfunc f(n string) { exec.Command("sh", "-c", "ls "+n) }\n',
        f"{folder}key.txt": f"ghp_{draw(36)}\n",
        f"{folder}a.rb": "def f(\n",
        f"{folder}b.go": "package b\n\nvar \u0430dmin = 1\n",
        f"{folder}b.sh": "#!/bin/bash\ncurl https://example.org/install | bash\n",
        ".github/workflows/ci.yml": "on: issues\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n"
        "      - run: echo ${{ github.event.issue.title }}\n",
    }
    files = {path: (None, text) for path, text in code.items()}
    alone = await check_files(toolbox, files, origin=CodeOrigin.member)
    settings = {folder + name: (None, text) for name, text in SETTINGS.items() if folder + name not in code}
    beside = await check_files(toolbox, files | settings, origin=CodeOrigin.member)
    assert [_where(f) for f in beside.findings if f.path in code] == [_where(f) for f in alone.findings]
    assert not [tool.problem for layer in alone.layers for tool in layer.tools if tool.problem]
    found = {BY_RULE[f.rule.partition("/")[0]].name for f in alone.findings}
    assert found == {name for name, check in CHECKS.items() if check.always_runs}
    assert {f.rule for f in alone.findings} >= {"ruff/F401", "ruff/S602"}
    assert {path: beside.read_by.get(path) for path in code} == {path: alone.read_by.get(path) for path in code}


def _where(finding: Finding) -> tuple[str, str, int | None]:
    return finding.rule, finding.path, finding.line


async def test_lines_are_counted_as_git_does(toolbox: Toolbox) -> None:
    text = "export const s = `\u2028\r\v\f`;\nexport const f = (x) => eval(x);\n"
    found = [("hidden-text/line-end", 1, ERROR), ("oxlint/no-eval", 2, ERROR)]
    assert (await check_one(toolbox, "a.js", text))[0] == found


async def test_values_are_not_followed_through_the_functions_of_a_large_script(toolbox: Toolbox) -> None:
    """shellcheck would go into a function at each call, until its time is over."""
    text = "#!/bin/bash\ngreet\ngreet() { echo; }\nif [ -n $1 ]; then echo; fi\n"
    result = await check_files(toolbox, {"a.sh": (None, text + "echo a\n" * 8_000), "b.sh": (None, text)})
    found = sorted((each.path, each.rule) for each in result.findings)
    assert found == [("a.sh", "shellcheck/SC2070"), ("b.sh", "shellcheck/SC2070"), ("b.sh", "shellcheck/SC2218")]
    assert result.read_by == {"a.sh": ("shellcheck",), "b.sh": ("shellcheck",)}


@pytest.mark.parametrize("is_for", [oxlint.is_for, script_linters.is_shell_script, script_linters.is_dockerfile])
async def test_large_files_are_left_to_others(is_for: Callable[[CheckedFile], bool]) -> None:
    for path in ("a.js", "a.sh", "Dockerfile"):
        small = CheckedFile(file_change(path, None, "x"), b"x\n", None)
        large = CheckedFile(small.change, b"x\n" * 1_000_000, None)
        assert not is_for(large)


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("a.js", "export const m = '\u9519\u8bef';\neval(m);\n", "oxlint"),
        ("a.sh", "#!/bin/sh\necho '\u9519\u8bef' > a | cat\n", "shellcheck"),
        ("Dockerfile", "FROM a:1\n# \u9519\u8bef\nEXPOSE 99999\n", "hadolint"),
    ],
)
async def test_what_is_not_in_utf_8_is_named(toolbox: Toolbox, path: str, text: str, name: str) -> None:
    """Beside a file that is read, and alone."""
    odd = text.encode("gbk")
    for files in ({path: (None, odd)}, {path: (None, odd), f"b/{path}": (None, text)}):
        result = await check_files(toolbox, files)
        assert path not in result.read_by
        [note] = [layer.note for layer in result.layers if layer.note]
        assert f"{name} did not read these files, because they are not in UTF-8: {path}." in note
        assert result.read_by.get(f"b/{path}", ()) == ((name,) if len(files) == 2 else ())
        assert not [tool.problem for layer in result.layers for tool in layer.tools if tool.problem]
