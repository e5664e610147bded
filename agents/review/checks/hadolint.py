"""Layer 1 for Dockerfiles: hadolint with settings of ours, on both versions of the changed files."""

import asyncio
import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from agents.review.checks import copies, shellcheck
from agents.review.checks.copies import Copy, Found
from agents.review.checks.inputs import CheckedFile, ToolReport
from agents.review.checks.patterns import detect_kind
from domain.errors import ToolError
from domain.review.findings import Category, RawFinding, Severity
from workspace.sandbox.sandbox import Sandbox

SYNTAX = "hadolint/invalid-syntax"

_LARGEST = 300_000  # bytes
_SETTINGS = "settings.yaml"
_CANNOT_PARSE = "DL1000"
_WORD = re.compile(rb"\s*([A-Za-z]+)\s")
_OPENS = re.compile(rb"<<-?[\"']?(\w+)[\"']?")
_INSTRUCTIONS = frozenset(
    b"ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER "
    b"VOLUME WORKDIR".split()
)
# The rest is taste, or a pattern of ours says the same.
_BY_SEVERITY = {
    Severity.error: "DL3011 DL3021 DL3023 DL3024 DL3043 DL3061",
    Severity.warning: "DL3000 DL3012 DL3014 DL3030 DL3034 DL3038 DL3044 DL4003 DL4004",
    Severity.info: "DL4000",
}
_SEVERITY = {rule: severity for severity, rules in _BY_SEVERITY.items() for rule in rules.split()}


def is_for(file: CheckedFile) -> bool:
    """Whether hadolint reads a file."""
    return (
        detect_kind(file.path, b"") == "docker"
        and len(file.head) <= _LARGEST
        and not file.path.endswith((".j2", ".tmpl", ".tpl", ".template", ".erb"))
        and b"{{" not in file.head
    )


async def check(
    files: Sequence[CheckedFile], sandbox: Sandbox, level: int, *, heeding: bool, seconds: float
) -> ToolReport:
    """Lint both versions of some Dockerfiles at a sandbox level.

    :param heeding: whether comments that silence hadolint count.
    :raises ToolError: hadolint failed.
    """
    with sandbox.folder() as folder:
        (folder / _SETTINGS).write_text("ignored: []\n")
        written = await asyncio.to_thread(copies.write_copies, folder, files, lambda _: "", _part_heredocs)
        lint = partial(_lint, folder=folder, sandbox=sandbox, level=level, heeding=heeding, seconds=seconds)
        return await copies.lint_in_turn(written, lint, SYNTAX)


async def _lint(
    some: Mapping[str, Copy], *, folder: Path, sandbox: Sandbox, level: int, heeding: bool, seconds: float
) -> Sequence[Found]:
    options = ("-c", _SETTINGS, "--no-fail", "--format=json", *(() if heeding else ("--disable-ignore-pragma",)))
    printed = await copies.run_linter(("hadolint", *options, "--", *some), folder, sandbox, level, seconds)
    try:
        return await asyncio.to_thread(lambda: copies.limit_found(_find(json.loads(printed), some)))
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError("hadolint's answer could not be read.") from error


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


def _find(entries: Sequence[dict[str, Any]], written: Mapping[str, Copy]) -> Iterator[Found]:
    for entry in entries:
        if (found := _build(written[entry["file"]], entry)) is not None:
            yield written[entry["file"]], found


def _build(copy: Copy, entry: dict[str, Any]) -> RawFinding | None:
    code, said = str(entry["code"]), str(entry["message"])
    line = _find_line(copy.content, int(entry["line"]))
    lines, category = (line, line), Category.correctness
    if code == _CANNOT_PARSE:
        return _build_unread(copy, line, said)
    if code.startswith("SC"):
        severity, url = shellcheck.choose_severity(int(code[2:]), entry["level"]), "https://www.shellcheck.net/wiki/"
    else:
        severity, url = _SEVERITY.get(code), "https://github.com/hadolint/hadolint/wiki/"
    if severity is None:
        return None
    return copies.build_finding(copy, f"hadolint/{code}", severity, category, lines, said, url + code)


def _build_unread(copy: Copy, line: int, said: str) -> RawFinding:
    """A remark about what hadolint could not read: an error of the file only where Docker has no such instruction."""
    severity, text = Severity.info, f"hadolint could not read this instruction ({said}), so it did not read the file"
    if word := _find_unknown(copy.content, line):
        severity, text = Severity.error, f"Docker has no instruction {word}, so the image cannot be built"
    return copies.build_finding(copy, SYNTAX, severity, Category.correctness, (line, line), text, None)


def _find_unknown(content: bytes, line: int) -> str | None:
    """The first word of a line if it is no instruction; None where the line may belong to another one."""
    lines = content.split(b"\n")
    word = _WORD.match(lines[line - 1]) if line <= len(lines) else None
    if word is None or b"<<" in content or (line > 1 and lines[line - 2].rstrip().endswith((b"\\", b"`"))):
        return None
    return None if word[1].upper() in _INSTRUCTIONS else word[1].decode()
