"""Layer 1 for shell scripts: shellcheck without any settings, on both versions of the changed files."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from agents.review.checks import copies, rule_texts
from agents.review.checks.copies import Copy, Found
from agents.review.checks.inputs import CheckedFile, ToolReport
from agents.review.checks.rule_texts import Danger
from domain.errors import ToolError
from domain.review.findings import Category, RawFinding, Severity
from workspace.sandbox.sandbox import Sandbox

SYNTAX = "shellcheck/invalid-syntax"

_SUFFIXES = frozenset({".sh", ".bash", ".ksh", ".dash"})
_SHEBANG = re.compile(rb"#![ \t]*/\S*?(?:/env[ \t]+(?:-S[ \t]+)?)?/?\b(ba|da|k|z|a)?sh\b")
_LARGEST = 300_000  # bytes
_LARGEST_FOLLOWED = 50_000
"""Bytes up to which values are followed through the functions. shellcheck goes into a function at each call, and
is not done with a script of 8,600 lines when its time is over. Without it SC2218, SC2319, SC2320 and SC2324 are missed.
"""
_DISABLE = re.compile(rb"(#[ \t]*shellchec)k(?=[ \t][^\n]*\bdisable=)")
_CANNOT_PARSE = frozenset({1072, 1073, 1088})
_OTHER_SHELL = 1071
# Right in principle, but harmless code is full of them, or a pattern of ours says the same.
_UNASKED = frozenset(
    {1008, 1078, 1079, 1083, 1090, 1091, 1107, 2010, 2011, 2027, 2034, 2044, 2046, 2048, 2050, 2053, 2054, 2061, 2062}
    | {2045, 2064, 2076, 2086, 2089, 2090, 2092, 2115, 2119, 2120, 2124, 2128, 2145, 2148, 2153, 2154, 2155, 2164, 2166}
    | {2172, 2174, 2178, 2184, 2186, 2188, 2199, 2206, 2207, 2209, 2221, 2222, 2223, 2254, 2294, 2305, 2318, 3028, 3037}
    | {3043, 3045, 3048, 3057, 3067}
)
_MILDER = dict.fromkeys((1075, 1105, 1128, 2068, 2239, 2328), Severity.warning)
_DANGERS = {2156: Danger.command_text}
_SEVERITY = {"error": Severity.error, "warning": Severity.warning}


def is_for(file: CheckedFile) -> bool:
    """Whether shellcheck reads a file: a script of a shell it knows."""
    if len(file.head) > _LARGEST or "{{" in file.path:
        return False
    shebang = _SHEBANG.match(file.head)
    if file.head.startswith(b"#!"):
        return shebang is not None and shebang[1] != b"z"
    return PurePosixPath(file.path).suffix in _SUFFIXES


def choose_severity(code: int, level: str) -> Severity | None:
    """Our severity of a remark; None if it is not worth reporting.

    :param code: the number of its rule, as 2086.
    :param level: shellcheck's own severity.
    """
    if code in _DANGERS:
        return rule_texts.rate(_DANGERS[code])
    return None if code in _UNASKED else _MILDER.get(code, _SEVERITY.get(level))


async def check(
    files: Sequence[CheckedFile], sandbox: Sandbox, level: int, *, heeding: bool, seconds: float
) -> ToolReport:
    """Lint both versions of some scripts at a sandbox level.

    :param heeding: whether comments that silence shellcheck count.
    :raises ToolError: shellcheck failed.
    """
    with sandbox.folder() as folder:
        edit = bytes if heeding else _disarm
        written = await asyncio.to_thread(copies.write_copies, folder, files, _name_copy, edit)
        lint = partial(_lint, folder=folder, sandbox=sandbox, level=level, seconds=seconds)
        return await copies.lint_in_turn(written, lint, SYNTAX)


async def _lint(
    some: Mapping[str, Copy], *, folder: Path, sandbox: Sandbox, level: int, seconds: float
) -> Sequence[Found]:
    """The remarks on some scripts, of which the large ones are read apart from the others."""
    read = partial(_read, folder=folder, sandbox=sandbox, level=level, seconds=seconds)
    large = {name: copy for name, copy in some.items() if len(copy.content) > _LARGEST_FOLLOWED}
    small = {name: copy for name, copy in some.items() if name not in large}
    found = await read(small, follow="true") if small else ()
    return (*found, *(await read(large, follow="false") if large else ()))


async def _read(
    some: Mapping[str, Copy], *, follow: str, folder: Path, sandbox: Sandbox, level: int, seconds: float
) -> Sequence[Found]:
    options = ("--norc", "--severity=warning", "--format=json1", f"--extended-analysis={follow}", "--")
    printed = await copies.run_linter(("shellcheck", *options, *some), folder, sandbox, level, seconds)
    try:
        return await asyncio.to_thread(lambda: copies.limit_found(_find(json.loads(printed)["comments"], some)))
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError("shellcheck's answer could not be read.") from error


def _disarm(content: bytes) -> bytes:
    """The content with comments that would silence shellcheck misspelt, each as long as before."""
    return _DISABLE.sub(rb"\1_", content)


def _name_copy(path: str) -> str:
    suffix = PurePosixPath(path).suffix
    return suffix if suffix in _SUFFIXES else ""


def _find(entries: Sequence[dict[str, Any]], written: Mapping[str, Copy]) -> Iterator[Found]:
    broken = {entry["file"] for entry in entries if entry["code"] in _CANNOT_PARSE}
    for entry in entries:
        if (found := _build(written[entry["file"]], entry, entry["file"] in broken)) is not None:
            yield written[entry["file"]], found


def _build(copy: Copy, entry: dict[str, Any], is_broken: bool) -> RawFinding | None:
    code, lines = int(entry["code"]), (int(entry["line"]), int(entry["endLine"]))
    said, url = str(entry["message"]), f"https://www.shellcheck.net/wiki/SC{code}"
    if is_broken and 1000 <= code < 2000 and entry["level"] == "error":
        return copies.build_finding(copy, SYNTAX, Severity.error, Category.correctness, lines, said, url)
    severity = choose_severity(code, entry["level"])
    if severity is None or code == _OTHER_SHELL:
        return None
    return copies.build_finding(copy, f"shellcheck/SC{code}", severity, Category.correctness, lines, said, url)
