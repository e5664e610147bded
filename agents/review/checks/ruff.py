"""Layer 1 for Python: ruff, isolated from every configuration file, on both versions of the changed files."""

import asyncio
import codecs
import io
import itertools
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from agents.review.checks import ruff_security
from agents.review.checks.copies import keep_first
from agents.review.checks.fingerprints import Edit, merge_edits
from agents.review.checks.inputs import (
    BASE,
    HEAD,
    MOST_TAKEN_IN,
    CheckedFile,
    ProgramTerms,
    ToolReport,
    can_be_written,
    is_utf8,
)
from agents.review.checks.loose_names import EXPECTS_MISSING, TELLS_PYTHONS_APART, LooseNames
from agents.review.checks.ruff_settings import PythonProject, RuffSettings, find_settings, reset_settings
from agents.review.checks.rule_texts import build_message, name_some, shorten
from agents.review.checks.suppressions import PYLINT
from domain.errors import ToolError
from domain.paths import is_test
from domain.review.findings import Category, Fix, Layer, RawFinding, Severity
from workspace.sandbox.sandbox import Completed

SYNTAX = "ruff/invalid-syntax"
FORMAT = "ruff/format"

_ERRORS = (
    *("invalid-syntax", "F404", "F407", "F50", "F52", "F62", "F63", "F7", "F82", "F901", "PLE"),
    *("B016", "B030", "PLW0133", "PLW1501", "G101", "T100", "RUF016"),
)
_NOT_ERRORS = (
    *("F502", "F504", "F522", "F523", "F632", "PLE1310", "PLE1507", "PLE0237", "PLE0643"),
    *("F507", "F822", "PLE0605"),  # right in principle, but wrong about code that relies on side effects
)
_CORRECTNESS = (
    *("invalid-syntax", "F", "B", "PLE", "PLW", "ASYNC", "RUF0", "LOG", "G101", "T100", "PIE79", "INT", "YTT"),
    *("A0", "BLE", "DTZ", "E7", "E9", "TRY", "PGH", "SLF", "ARG", "DJ", "NPY", "PD", "AIR", "FAST"),
)
_BY_CATEGORY = {
    Category.security: ("S", "PLE25"),
    Category.performance: ("PERF", "FURB"),
    Category.tests: ("PT",),
    Category.correctness: _CORRECTNESS,
}

_OF_NAMES = frozenset({"F401", "F811"})
_MOSTLY_RIGHT_ALREADY = ("B020", "B023", "F402", "YTT")  # loops rarely read a name again that they give another value
_OF_PYTHON_2 = re.compile(
    r"Undefined name `(?P<name>apply|basestring|buffer|cmp|coerce|execfile|file|intern|long|raw_input|reduce|reload|"
    r"unichr|unicode|xrange)`"
)
_ATTRIBUTE = re.compile(r"\s*[^\W\d]\w*(?:\.[^\W\d]\w*|\([^()]*\)|\[[^\[\]]*\])*\.[^\W\d]\w*\s*(?:#.*)?")
_CLAUSE = re.compile(r"\s*(?:try|except\b.*|else|finally)\s*:")
_EXPECTS_ERROR = re.compile(r"\s*(?:async\s+)?with\b.*(?:raises|Raises|suppress|warns|Warns)\w*\(")
_DIVIDES_BY_ZERO = re.compile(r"\s*\d+\s*//?\s*0\b")

_NEAR = 5  # lines

_EVERY_FILE = "exclude=[]"
"""Without it ruff leaves out folders by their names, such as dist."""
_NAME = re.compile(r"\w+")
_NAMED = re.compile(r"`(\w+)`")
_NOTHING = frozenset[str]()


async def check(files: Sequence[CheckedFile], terms: ProgramTerms, folder: Path, project: PythonProject) -> ToolReport:
    """Lint both versions of the files that are written below ``folder``.

    :raises ToolError: ruff failed.
    """
    usable = [file for file in files if can_be_written(file.path)]
    groups: dict[RuffSettings, list[CheckedFile]] = {}
    for file in usable:
        groups.setdefault(find_settings(file.path, project), []).append(file)
    runs = [_Run(terms, folder, settings, members, Layer.static) for settings, members in groups.items()]
    reports = await asyncio.gather(*(run.report() for run in runs))
    skipped = len(files) - len(usable)
    unwritten = [f"{skipped} files have names that cannot be written to disk."] if skipped else []
    notes = dict.fromkeys(filter(None, (*(report.note for report in reports), _note_encodings(usable))))
    return ToolReport(
        head=tuple(finding for report in reports for finding in report.head),
        base=tuple(finding for report in reports for finding in report.base),
        unread=frozenset(path for report in reports for path in report.unread),
        files=len(usable),
        read=frozenset(path for report in reports for path in report.read),
        problem=" ".join(dict.fromkeys([*unwritten, *(report.problem for report in reports if report.problem)]))
        or None,
        note=" ".join(notes) or None,
    )


async def check_security(files: Sequence[CheckedFile], terms: ProgramTerms, folder: Path) -> ToolReport:
    """Look for insecure code in both versions of the files, as :func:`check` does for its rules.

    Nothing is said about a file that cannot be parsed: that is the other layer's part.
    """
    usable = [file for file in files if can_be_written(file.path)]
    run = _Run(terms, folder, ruff_security.SETTINGS, usable, Layer.security)
    report = await run.report()
    head = tuple(finding for finding in report.head if finding.rule != SYNTAX)
    return replace(report, head=head, files=len(usable), read=_NOTHING)


class _Run:
    """ruff on the files that share one configuration."""

    def __init__(
        self, terms: ProgramTerms, folder: Path, settings: RuffSettings, files: Sequence[CheckedFile], layer: Layer
    ) -> None:
        self._layer = layer
        self._terms = terms
        self._folder = folder
        self._settings = settings
        self._files = {file.path: file for file in files}
        self._ends = time.monotonic() + terms.seconds
        self._loose: dict[tuple[str, str], LooseNames] = {}

    async def report(self) -> ToolReport:
        try:
            (head, base), unformatted = await asyncio.gather(self._lint_both(), self._find_unformatted())
        except _SettingsRefused as error:
            self._settings = reset_settings(
                self._settings, f"ruff did not accept the repository's settings and ran with its default rules: {error}"
            )
            (head, base), unformatted = await self._lint_both(), ()
        broken = {finding.path for finding in base.findings if finding.rule == SYNTAX}
        unread = frozenset(broken) | base.crashed if base.is_all else frozenset(self._files)
        findings = (*self._drop_misread(keep_first(head.findings, SYNTAX)), *unformatted)
        problem = f"ruff crashed on {name_some(sorted(head.crashed))}." if head.crashed else None
        if not head.is_all:  # ruff does not say which files it reached
            problem = "It reported too much, so only the first findings were read."
        return ToolReport(
            findings, base.findings, unread, read=self._list_read(head), problem=problem, note=self._settings.note
        )

    def _drop_misread(self, findings: Sequence[RawFinding]) -> list[RawFinding]:
        """The findings without what rules make of a file that cannot be parsed; dangers are dangers there, too."""
        broken = {finding.path for finding in findings if finding.rule == SYNTAX}
        is_kept = self._layer is not Layer.static
        return [each for each in findings if is_kept or each.rule == SYNTAX or each.path not in broken]

    def _list_read(self, head: "_SideFindings") -> frozenset[str]:
        broken = {finding.path for finding in head.findings if finding.rule == SYNTAX}
        readable = frozenset(path for path, file in self._files.items() if _can_read(file))
        return readable - broken - head.crashed if head.is_all else _NOTHING

    async def _lint_both(self) -> "tuple[_SideFindings, _SideFindings]":
        old = [path for path, file in self._files.items() if file.base is not None]
        head, base = await asyncio.gather(self._lint(HEAD, list(self._files)), self._lint(BASE, old))
        return head, base

    async def _lint(self, side: str, paths: Sequence[str]) -> "_SideFindings":
        """What it finds in the files; where it crashes, those without the file that makes it do so."""
        if not paths:
            return _SideFindings((), is_all=True)
        try:
            return await self._lint_at_once(side, paths)
        except _Crashed:
            if len(paths) == 1:
                return _SideFindings((), is_all=True, crashed=frozenset(paths))
            if time.monotonic() > self._ends:
                raise
        half = len(paths) // 2
        return (await self._lint(side, paths[:half])).join(await self._lint(side, paths[half:]))

    async def _lint_at_once(self, side: str, paths: Sequence[str]) -> "_SideFindings":
        is_heard = self._terms.heeding and self._layer is Layer.static  # dangers are silenced by their names only
        silenced = () if is_heard else ("--ignore-noqa",)
        done = await self._ruff(
            side, paths, "check", "--output-format=json-lines", "--exit-zero", "--no-fix", *silenced
        )
        return await asyncio.to_thread(self._read_findings, side, done)

    def _read_findings(self, side: str, done: Completed) -> "_SideFindings":
        """The findings that ruff printed, parsed line by line so that other threads can run meanwhile."""
        is_all = done.stdout.is_complete
        lines = io.BytesIO(done.stdout.data if is_all else done.stdout.head[: done.stdout.head.rfind(b"\n") + 1])
        found = (self._finding(side, entry) for line in lines for entry in _parse_entries(b"[%b]" % line))
        kept = tuple(itertools.islice((finding for finding in found if finding is not None), MOST_TAKEN_IN + 1))
        return _SideFindings(kept[:MOST_TAKEN_IN], is_all and len(kept) <= MOST_TAKEN_IN)

    async def _find_unformatted(self) -> tuple[RawFinding, ...]:
        """Files that were formatted before and no longer are, where the repository has ruff format its code."""
        candidates = [path for path, file in self._files.items() if file.base is not None]
        if not self._settings.formats or not candidates:
            return ()
        now = [path for path, code in await self._check_format(HEAD, candidates) if code == "unformatted"]
        # A file that could not be read before the change proves nothing either.
        before = {path for path, _ in await self._check_format(BASE, now)} if now else set[str]()
        return tuple(
            RawFinding(
                rule=FORMAT,
                category=Category.style,
                severity=Severity.info,
                confidence=1.0,
                path=path,
                message="This file was formatted with ruff and no longer is. Run `ruff format` on it.",
                layer=Layer.static,
                help_url="https://docs.astral.sh/ruff/formatter/",
            )
            for path in now
            if path not in before
        )

    async def _check_format(self, side: str, paths: Sequence[str]) -> list[tuple[str, str]]:
        """(path, code) of each file that the formatter reports."""
        try:
            done = await self._ruff(side, paths, "format", "--check", "--output-format=json")
        except _Crashed:
            return []  # the linter says which file it is
        if not done.stdout.is_complete:
            raise ToolError("ruff reported more than can be taken in; the change has too many problems to list.")
        return [(self._path(side, entry), str(entry["code"])) for entry in _parse_entries(done.stdout.data)]

    async def _ruff(self, side: str, paths: Sequence[str], command: str, *options: str) -> Completed:
        root = self._root(side)
        prefix = f"{self._settings.folder}/" if self._settings.folder else ""
        said = self._settings.arguments
        settings = said if any(each.startswith("exclude") for each in said) else (_EVERY_FILE, *said)
        arguments = [part for value in settings for part in ("--config", value)]
        names = ["./" + path.removeprefix(prefix) for path in paths]
        argv = ("ruff", command, "--isolated", "--no-cache", "--force-exclude", "--no-respect-gitignore")
        done = await self._terms.run((*argv, *options, *arguments, "--", *names), root)
        if not done.stdout.is_complete:
            return done  # it was stopped while printing
        if done.status == 2 and command == "check":
            said = shorten(done.stderr.data.decode(errors="replace"), 300)
            raise _SettingsRefused(said) if self._settings.configured else ToolError(f"ruff failed: {said}")
        if done.status not in (0, 1, 2):
            raise _Crashed(f"ruff ended with status {done.status}.")
        return done

    def _path(self, side: str, entry: dict[str, Any]) -> str:
        shown = Path(entry["filename"]).relative_to(
            self._terms.sandbox.path_inside(self._root(side), self._terms.level)
        )
        return (Path(self._settings.folder) / shown).as_posix()

    def _root(self, side: str) -> Path:
        """The folder ruff runs in: that of the configuration, so that its patterns match as intended."""
        return self._folder / side / self._settings.folder

    def _finding(self, side: str, entry: dict[str, Any]) -> RawFinding | None:
        path = self._path(side, entry)
        file = self._files.get(path)
        code: str = entry["code"] or "invalid-syntax"
        if file is None or code == "E902":
            return None
        first, last = entry["location"]["row"], entry["end_location"]["row"]
        if last > first and entry["end_location"]["column"] == 1:
            last -= 1
        lines = file.head_lines if side == HEAD else file.base_lines
        first, last = min(first, len(lines)), min(last, len(lines))
        category = _category(code)
        severity = self._rate(entry, code, path, lines, side)
        if severity is None:
            return None
        if self._is_settled(severity, lines[first - 1 : last]):
            return None
        is_tested = code.startswith("LOG") and is_test(path)  # a test logs what it is about
        if is_tested or _is_meant(code, entry["message"], lines, first):
            return None
        typed = file.names_in_type_comments[side] if code == "F401" else _NOTHING
        if _name_at(lines, first, entry["location"]["column"]) in typed:
            return None
        fix = _fix(file, entry["fix"], first, last) if side == HEAD and entry["fix"] else None
        if fix is not None and typed.intersection(_NAME.findall("\n".join(lines[fix.start_line - 1 : fix.end_line]))):
            fix = None  # ruff removes all that it takes for unused in a statement
        return RawFinding(
            rule=f"ruff/{code}",
            category=category,
            severity=severity,
            confidence=0.95 if self._layer is Layer.static else 0.9,
            path=path,
            line=first,
            end_line=last,
            message=_build_message(code, entry["message"]),
            fix=fix,
            layer=self._layer,
            help_url=entry["url"],
        )

    def _is_settled(self, severity: Severity, lines: Sequence[str]) -> bool:
        """Whether its author decided about it, for another linter."""
        may_be = self._terms.heeding and self._layer is Layer.static and severity is not Severity.error
        return may_be and PYLINT.search("\n".join(lines)) is not None

    def _rate(self, entry: dict[str, Any], code: str, path: str, lines: Sequence[str], side: str) -> Severity | None:
        if code == "invalid-syntax" and self._may_be_of_python_2(path, entry["location"]["row"]):
            return Severity.warning
        if code == "F821" and self._may_be_there(entry, path, lines, side):
            return None
        is_of_python_2 = code == "F633" or (code == "F821" and _OF_PYTHON_2.search(entry["message"]) is not None)
        if is_of_python_2 and self._settings.is_of_any_python:
            return Severity.warning
        if self._layer is Layer.static or code == "invalid-syntax":
            return _severity(code, _category(code))
        return ruff_security.rate(entry, path, lines, heeding=self._terms.heeding)

    def _may_be_there(self, entry: dict[str, Any], path: str, lines: Sequence[str], side: str) -> bool:
        """Whether an undefined name is there for all that its file says, in this Python or in another."""
        if self._files[path].is_of_python_2[side]:
            return True
        if (side, path) not in self._loose:
            self._loose[side, path] = LooseNames.of(path, lines)
        loose, line, name = self._loose[side, path], entry["location"]["row"], _NAMED.search(entry["message"])
        if old := _OF_PYTHON_2.search(entry["message"]):
            used = re.compile(rf"^[^#]*(?<![\w.]){old['name']}\b")
            was_used = side == HEAD and any(map(used.match, self._files[path].base_lines))  # so it is for Python 2
            return was_used or loose.is_given_all or loose.tells_pythons_apart or is_fallback(lines, line)
        return loose.hold(name[1] if name else "", line)

    def _may_be_of_python_2(self, path: str, line: int) -> bool:
        """Whether a line has what only Python 2 reads, and nothing says that the code is for another one."""
        return self._settings.is_of_any_python and self._files[path].is_beyond_python_3_at(line)


def _name_at(lines: Sequence[str], number: int, column: int) -> str:
    """The name at a place, both counted from 1."""
    found = _NAME.match(lines[number - 1], column - 1)
    return found[0] if found else ""


def _build_message(code: str, said: str) -> str:
    old = _OF_PYTHON_2.search(said) if code == "F821" else None
    return f"Python 3 has no `{old['name']}`." if old else build_message(f"ruff/{code}", said)


def _is_meant(code: str, message: str, lines: Sequence[str], number: int) -> bool:
    """Whether a file does on purpose what a rule finds: it expects something to be missing or an error to come, reads
    an attribute, which may do something, or makes a shell that it need not start.
    """
    line = lines[number - 1]
    match code:
        case "T100":
            return "InteractiveShellEmbed" in message
        case "B015":
            return _expects_error(lines, number)
        case "B018":
            is_telling = _ATTRIBUTE.fullmatch(line) is None and not _DIVIDES_BY_ZERO.match(line)
            return not is_telling or is_fallback(lines, number) or _expects_error(lines, number)
        case "B006":
            return "__deepcopy__" in line
        case "PLE0101":
            return re.match(r"\s*return\s+super\(", line) is not None
        case "PLW0127":
            is_for_pythons = any(map(TELLS_PYTHONS_APART.search, lines[max(number - _NEAR, 0) : number]))
            return "," in line.partition("=")[0] or is_for_pythons or is_fallback(lines, number)
        case _:
            return code in _OF_NAMES and is_fallback(lines, number)


def _expects_error(lines: Sequence[str], number: int) -> bool:
    """Whether a line stands directly in a block that expects an error or a warning."""
    depth = _measure_indent(lines[number - 1])
    above = (line for line in reversed(lines[: number - 1]) if line.strip() and _measure_indent(line) < depth)
    return _EXPECTS_ERROR.match(next(above, "")) is not None


def is_fallback(lines: Sequence[str], number: int) -> bool:
    """Whether a line belongs to a ``try`` that expects a name or module to be missing, as in another Python.

    :param number: of the line, from 1.
    """
    depth = _measure_indent(lines[number - 1])
    for index in range(number - 2, -1, -1):
        if depth == 0:
            return False
        line = lines[index]
        if not line.strip() or _measure_indent(line) >= depth:
            continue
        depth = _measure_indent(line)
        if _CLAUSE.match(line) and any(EXPECTS_MISSING.match(each) for each in _list_clauses(lines, index, depth)):
            return True
    return False


def _list_clauses(lines: Sequence[str], index: int, depth: int) -> Iterator[str]:
    """The line of a ``try`` or of one of its clauses, and those of its clauses that follow."""
    yield lines[index]
    for line in lines[index + 1 :]:
        if not line.strip() or _measure_indent(line) > depth:
            continue
        if _measure_indent(line) < depth or not _CLAUSE.match(line):
            return
        yield line


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


@dataclass(frozen=True)
class _SideFindings:
    """The findings of one side, and whether they are complete.

    :param crashed: paths of files at which ruff crashed; of these there are none.
    """

    findings: tuple[RawFinding, ...]
    is_all: bool
    crashed: frozenset[str] = _NOTHING

    def join(self, other: "_SideFindings") -> "_SideFindings":
        findings = (*self.findings, *other.findings)
        is_all = self.is_all and other.is_all and len(findings) <= MOST_TAKEN_IN
        return _SideFindings(findings[:MOST_TAKEN_IN], is_all, self.crashed | other.crashed)


def _parse_entries(printed: bytes) -> list[dict[str, Any]]:
    try:
        return cast(list[dict[str, Any]], json.loads(printed))
    except ValueError:
        raise ToolError("ruff's answer could not be read.") from None


def _can_read(file: CheckedFile) -> bool:
    """Whether ruff reads the file as Python does. It skips files that are not UTF-8, whatever encoding they declare."""
    return is_utf8(file.head) and file.is_as_python_reads_it


def _note_encodings(files: Sequence[CheckedFile]) -> str | None:
    odd = [file.path for file in files if not _can_read(file)]
    if not odd:
        return None
    return (
        f"ruff did not read these files, because they are not in UTF-8 or declare another encoding: {name_some(odd)}."
    )


class _Crashed(ToolError):
    """ruff ended in a way of which its manual says nothing, as on code that is nested too deep for its stack."""


class _SettingsRefused(Exception):
    """ruff refused the settings; its text says why."""


def _fix(file: CheckedFile, fix: dict[str, Any], first: int, last: int) -> Fix | None:
    if fix["applicability"] != "safe" or file.head.startswith(codecs.BOM_UTF8):
        return None
    edits = [
        Edit(
            edit["location"]["row"],
            edit["location"]["column"],
            edit["end_location"]["row"],
            edit["end_location"]["column"],
            edit["content"],
        )
        for edit in fix["edits"]
    ]
    return merge_edits(file.head_text, edits, first, last)


def _category(code: str) -> Category:
    return next(
        (category for category, prefixes in _BY_CATEGORY.items() if _is_in_family(code, prefixes)), Category.style
    )


def _severity(code: str, category: Category) -> Severity:
    if _is_in_family(code, _ERRORS) and not _is_in_family(code, _NOT_ERRORS):
        return Severity.error
    is_hint = category is Category.style or _is_in_family(code, _MOSTLY_RIGHT_ALREADY)
    return Severity.info if is_hint else Severity.warning


def _is_in_family(code: str, prefixes: Sequence[str]) -> bool:
    """Whether a rule belongs to one of these families: ``S`` holds S602 but not SIM102."""
    return any(
        code.startswith(prefix) and (prefix[-1].isdigit() or not code[len(prefix) :][:1].isalpha())
        for prefix in prefixes
    )
