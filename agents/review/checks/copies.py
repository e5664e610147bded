"""Numbered copies of both versions for linters: no name and no settings of a pull request reach their programs."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agents.review.checks.inputs import (
    BASE,
    HEAD,
    MOST_TAKEN_IN,
    TOO_MANY,
    CheckedFile,
    ProgramTerms,
    ToolReport,
    is_utf8,
)
from agents.review.checks.rule_texts import build_message, shorten
from domain.errors import ToolError
from domain.review.findings import Category, Layer, RawFinding, Severity


@dataclass(frozen=True)
class Copy:
    """A copy on disk: one version of a file."""

    side: str
    file: CheckedFile

    @property
    def content(self) -> bytes:
        return self.file.head if self.side == HEAD else self.file.base or b""

    @property
    def length(self) -> int:
        """How many lines it has."""
        return len(self.file.head_lines if self.side == HEAD else self.file.base_lines)


Found = tuple[Copy, RawFinding]
"""What a linter found, and in which copy."""


def write_copies(
    folder: Path, files: Sequence[CheckedFile], name: Callable[[str], str], edit: Callable[[bytes], bytes] = bytes
) -> dict[str, Copy]:
    """Write both versions below ``folder/head`` and ``folder/base``.

    :param name: the end of a copy's name, from the path of its file.
    :param edit: changes the content but no line of it, for instance to disarm comments.
    :returns: name of the copy below ``folder`` → the copy.
    """
    copies: dict[str, Copy] = {}
    for side in (HEAD, BASE):
        (folder / side).mkdir(mode=0o755, exist_ok=True)
        for number, file in enumerate(files):
            if side == HEAD or file.base is not None:
                copies[f"{side}/{number}{name(file.path)}"] = Copy(side, file)
    for path, copy in copies.items():
        (folder / path).write_bytes(edit(copy.content))
    return copies


def is_text(file: CheckedFile) -> bool:
    """Whether a program reads the same characters as Forge shows: UTF-8 without a NUL."""
    return is_utf8(file.head) and b"\0" not in file.head


async def run_linter(argv: Sequence[str], folder: Path, terms: ProgramTerms) -> bytes:
    """What a linter of ours prints about the copies.

    :param argv: its name among Forge's programs, and its arguments.
    :raises ToolError: it failed, was stopped, or printed too much.
    """
    name, done = argv[0], await terms.run(argv, folder)
    if not done.stdout.is_complete:
        raise ToolError(f"{name} reported more than can be taken in.")
    if done.status not in (0, 1):
        raise ToolError(f"{name} failed: {shorten(done.stderr.data.decode(errors='replace'), 200)}")
    return done.stdout.data


def build_finding(
    copy: Copy, rule: str, severity: Severity, category: Category, lines: tuple[int, int], said: str, url: str | None
) -> RawFinding:
    """A finding of a linter of ours.

    :param lines: first and last, counted from 1.
    :param said: the linter's own sentences.
    """
    first = min(max(lines[0], 1), copy.length)
    return RawFinding(
        rule=rule,
        category=category,
        severity=severity,
        confidence=0.9,
        path=copy.file.path,
        line=first,
        end_line=min(max(lines[1], first), copy.length),
        message=build_message(rule, said),
        layer=Layer.static,
        help_url=url,
    )


async def lint_in_turn(
    copies: Mapping[str, Copy], lint: Callable[[Mapping[str, Copy]], Awaitable[Sequence[Found]]], syntax: str
) -> ToolReport:
    """The report of a slow linter: it reads all copies at head, then those at the merge base of what it complains of.

    Nothing else at the merge base is compared with anything.

    :param lint: starts the linter on some of the copies.
    :param syntax: as for :func:`collect_report`.
    """
    found = await lint({name: copy for name, copy in copies.items() if copy.side == HEAD})
    named = {copy.file.path for copy, _ in found}
    before = {name: copy for name, copy in copies.items() if copy.side == BASE and copy.file.path in named}
    old = await lint(before) if before else ()
    return await collect_report(copies, lambda: (*found, *old), syntax)


def limit_found(found: Iterable[Found]) -> list[Found]:
    """No more than decides whether there are too many."""
    return list(islice(found, 2 * MOST_TAKEN_IN + 1))


async def collect_report(copies: Mapping[str, Copy], find: Callable[[], Iterable[Found]], syntax: str) -> ToolReport:
    """The report of a linter that reads each copy it can parse.

    :param find: parses what it printed; runs in a thread.
    :param syntax: the rule of a copy that it could not parse; the first error of a copy is kept.
    """
    return await asyncio.to_thread(_collect, copies, find, syntax)


def _collect(copies: Mapping[str, Copy], find: Callable[[], Iterable[Found]], syntax: str) -> ToolReport:
    found = limit_found(find())
    sides = {side: keep_first([f for copy, f in found if copy.side == side], syntax) for side in (HEAD, BASE)}
    broken = {side: {f.path for f in sides[side] if f.rule == syntax} for side in sides}
    is_all = max(map(len, sides.values())) <= MOST_TAKEN_IN and len(found) <= 2 * MOST_TAKEN_IN
    paths = frozenset(copy.file.path for copy in copies.values())
    return ToolReport(
        tuple(sides[HEAD][:MOST_TAKEN_IN]),
        tuple(sides[BASE][:MOST_TAKEN_IN]),
        unread=frozenset(broken[BASE]) if is_all else paths,
        files=len(paths),
        read=paths - broken[HEAD] if is_all else frozenset(),
        problem=None if is_all else TOO_MANY,
    )


def keep_first(findings: Sequence[RawFinding], syntax: str) -> list[RawFinding]:
    """The findings, with the first syntax error of each file only, because later ones mostly follow from it."""
    first: dict[str, RawFinding] = {}
    for finding in findings:
        known = first.get(finding.path)
        if finding.rule == syntax and (known is None or (finding.line or 0) < (known.line or 0)):
            first[finding.path] = finding
    return [finding for finding in findings if finding.rule != syntax or finding is first[finding.path]]
