"""Layer 1 for shell scripts and Dockerfiles: shellcheck and hadolint without settings of theirs, on both versions."""

import asyncio
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from agents.review.checks import copies, rule_texts
from agents.review.checks.copies import Copy, Found
from agents.review.checks.inputs import CheckedFile, ProgramTerms, ToolReport
from agents.review.checks.patterns import detect_kind
from agents.review.checks.rule_texts import Danger
from domain.errors import ToolError
from domain.review.findings import Category, RawFinding, Severity

SYNTAX = "shellcheck/invalid-syntax"
_LARGEST = 300_000  # bytes
_SUFFIXES = frozenset({".sh", ".bash", ".ksh", ".dash"})
_SHEBANG = re.compile(rb"#![ \t]*/\S*?(?:/env[ \t]+(?:-S[ \t]+)?)?/?\b(ba|da|k|z|a)?sh\b")
_LARGEST_FOLLOWED = 50_000
"""Bytes up to which values are followed through the functions. shellcheck goes into a function at each call, and
is not done with a script of 8,600 lines when its time is over. Without it SC2218, SC2319, SC2320 and SC2324 are missed.
"""
_DISABLE = re.compile(rb"(#[ \t]*shellchec)k(?=[ \t][^\n]*\bdisable=)")
_CANNOT_PARSE = frozenset({1072, 1073, 1088})
_OTHER_SHELL = 1071
# Right in principle, but harmless code is full of them, or a pattern of ours knows more: 2115 does not see `set -u`.
_UNASKED = frozenset(
    {
        1007,
        1008,
        1078,
        1079,
        1083,
        1090,
        1091,
        1107,
        2010,
        2011,
        2027,
        2034,
        2044,
        2046,
        2048,
        2050,
        2053,
        2054,
        2061,
        2062,
    }
    | {
        2045,
        2064,
        2076,
        2086,
        2089,
        2090,
        2092,
        2097,
        2098,
        2115,
        2119,
        2120,
        2124,
        2128,
        2145,
        2148,
        2153,
        2154,
        2155,
        2164,
        2166,
    }
    | {2172, 2174, 2178, 2184, 2186, 2188, 2199, 2206, 2207, 2209, 2221, 2222, 2223, 2254, 2294, 2305, 2318, 3028, 3037}
    | {3043, 3045, 3048, 3057, 3067}
)
_MILDER: dict[int, Severity] = dict.fromkeys((1075, 1105, 1128, 2068, 2239, 2328), Severity.warning)
_DANGERS = {2156: Danger.command_text}
_SEVERITY = {"error": Severity.error, "warning": Severity.warning}


def is_shell_script(file: CheckedFile) -> bool:
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


async def check_shell_scripts(files: Sequence[CheckedFile], terms: ProgramTerms) -> ToolReport:
    """Lint both versions of some scripts.

    :raises ToolError: shellcheck failed.
    """
    with terms.sandbox.folder() as folder:
        edit = bytes if terms.heeding else _disarm
        written = await asyncio.to_thread(copies.write_copies, folder, files, _name_copy, edit)
        lint = partial(_lint, folder=folder, terms=terms)
        return await copies.lint_in_turn(written, lint, SYNTAX)


async def _lint(some: Mapping[str, Copy], *, folder: Path, terms: ProgramTerms) -> Sequence[Found]:
    """The remarks on some scripts, of which the large ones are read apart from the others."""
    read = partial(_read, folder=folder, terms=terms)
    large = {name: copy for name, copy in some.items() if len(copy.content) > _LARGEST_FOLLOWED}
    small = {name: copy for name, copy in some.items() if name not in large}
    found = await read(small, follow="true") if small else ()
    return (*found, *(await read(large, follow="false") if large else ()))


async def _read(some: Mapping[str, Copy], *, follow: str, folder: Path, terms: ProgramTerms) -> Sequence[Found]:
    options = ("--norc", "--severity=warning", "--format=json1", f"--extended-analysis={follow}", "--")
    printed = await copies.run_linter(("shellcheck", *options, *some), folder, terms)
    return await asyncio.to_thread(_parse, "shellcheck", printed, some, _find)


def _disarm(content: bytes) -> bytes:
    """The content with comments that would silence shellcheck misspelt, each as long as before."""
    return _DISABLE.sub(rb"\1_", content)


def _name_copy(path: str) -> str:
    suffix = PurePosixPath(path).suffix
    return suffix if suffix in _SUFFIXES else ""


def _parse(
    linter: str, printed: bytes, written: Mapping[str, Copy], find: Callable[[Any, Mapping[str, Copy]], Iterator[Found]]
) -> Sequence[Found]:
    """:raises ToolError: it is not what the linter prints."""
    try:
        return copies.limit_found(find(json.loads(printed), written))
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError(f"{linter}'s answer could not be read.") from error


def _find(printed: Any, written: Mapping[str, Copy]) -> Iterator[Found]:
    entries: Sequence[dict[str, Any]] = printed["comments"]
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


DOCKERFILE_SYNTAX = "hadolint/invalid-syntax"

_HADOLINT_SETTINGS = "settings.yaml"
_IS_UNREAD = "DL1000"
_WORD = re.compile(rb"\s*([A-Za-z]+)\s")
_OPENS = re.compile(rb"<<-?[\"']?(\w+)[\"']?")
_INSTRUCTIONS = frozenset(
    b"ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER "
    b"VOLUME WORKDIR".split()
)
# The rest is taste, or a pattern of ours knows more: DL3002 looks at every stage, DL3006 takes a port for a tag, and
# hadolint reads no templates.
_BY_SEVERITY = {
    Severity.error: "DL3011 DL3021 DL3023 DL3024 DL3043 DL3061",
    Severity.warning: "DL3000 DL3012 DL3014 DL3030 DL3034 DL3038 DL3044 DL4003 DL4004",
    Severity.info: "DL4000",
}
_HADOLINT_SEVERITY = {rule: severity for severity, rules in _BY_SEVERITY.items() for rule in rules.split()}


def is_dockerfile(file: CheckedFile) -> bool:
    """Whether hadolint reads a file."""
    return (
        detect_kind(file.path, b"") == "docker"
        and len(file.head) <= _LARGEST
        and not file.path.endswith((".j2", ".tmpl", ".tpl", ".template", ".erb"))
        and b"{{" not in file.head
    )


async def check_dockerfiles(files: Sequence[CheckedFile], terms: ProgramTerms) -> ToolReport:
    """Lint both versions of some Dockerfiles.

    :raises ToolError: hadolint failed.
    """
    with terms.sandbox.folder() as folder:
        (folder / _HADOLINT_SETTINGS).write_text("ignored: []\n")
        written = await asyncio.to_thread(copies.write_copies, folder, files, lambda _: "", _part_heredocs)
        lint = partial(_run_hadolint, folder=folder, terms=terms)
        return await copies.lint_in_turn(written, lint, DOCKERFILE_SYNTAX)


async def _run_hadolint(some: Mapping[str, Copy], *, folder: Path, terms: ProgramTerms) -> Sequence[Found]:
    silenced = () if terms.heeding else ("--disable-ignore-pragma",)
    options = ("-c", _HADOLINT_SETTINGS, "--no-fail", "--format=json", *silenced)
    printed = await copies.run_linter(("hadolint", *options, "--", *some), folder, terms)
    return await asyncio.to_thread(_parse, "hadolint", printed, some, _find_in_dockerfiles)


def _part_heredocs(content: bytes) -> bytes:
    """The content with an empty line after each here-document, without which hadolint cannot read the next line."""
    lines = content.split(b"\n")
    for end in reversed(_list_ends(lines)):
        lines.insert(end, b"")
    return b"\n".join(lines)


def _list_ends(lines: Sequence[bytes]) -> list[int]:
    """The last lines of here-documents, counted from 1."""
    ends: list[int] = []
    waiting: list[bytes] = []
    for number, line in enumerate(lines, start=1):
        if not waiting:
            waiting = [] if line.lstrip().startswith(b"#") else _OPENS.findall(line)
        elif line.strip() == waiting[0]:
            waiting.pop(0)
            ends += [] if waiting else [number]
    return ends


def _find_line(content: bytes, line: int) -> int:
    """The line in the file of a line in its copy."""
    added = [end + earlier + 1 for earlier, end in enumerate(_list_ends(content.split(b"\n")))]
    return line - bisect_left(added, line)


def _find_in_dockerfiles(entries: Sequence[dict[str, Any]], written: Mapping[str, Copy]) -> Iterator[Found]:
    for entry in entries:
        if (found := _build_dockerfile_finding(written[entry["file"]], entry)) is not None:
            yield written[entry["file"]], found


def _build_dockerfile_finding(copy: Copy, entry: dict[str, Any]) -> RawFinding | None:
    code, said = str(entry["code"]), str(entry["message"])
    line = _find_line(copy.content, int(entry["line"]))
    lines, category = (line, line), Category.correctness
    if code == _IS_UNREAD:
        return _build_unread(copy, line, said)
    if code.startswith("SC"):
        severity, url = choose_severity(int(code[2:]), entry["level"]), "https://www.shellcheck.net/wiki/"
    else:
        severity, url = _HADOLINT_SEVERITY.get(code), "https://github.com/hadolint/hadolint/wiki/"
    if severity is None:
        return None
    return copies.build_finding(copy, f"hadolint/{code}", severity, category, lines, said, url + code)


def _build_unread(copy: Copy, line: int, said: str) -> RawFinding:
    """A remark about what hadolint could not read: an error of the file only where Docker has no such instruction."""
    severity, text = Severity.info, f"hadolint could not read this instruction ({said}), so it did not read the file"
    if word := _find_unknown(copy.content, line):
        severity, text = Severity.error, f"Docker has no instruction {word}, so the image cannot be built"
    return copies.build_finding(copy, DOCKERFILE_SYNTAX, severity, Category.correctness, (line, line), text, None)


def _find_unknown(content: bytes, line: int) -> str | None:
    """The first word of a line if it is no instruction; None where the line may belong to another one."""
    lines = content.split(b"\n")
    word = _WORD.match(lines[line - 1]) if line <= len(lines) else None
    if word is None or b"<<" in content or (line > 1 and lines[line - 2].rstrip().endswith((b"\\", b"`"))):
        return None
    return None if word[1].upper() in _INSTRUCTIONS else word[1].decode()
