"""Compares both versions of a file, line by line: what counted before the change and counts no more."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath
from typing import Any

from agents.review.avoidance import ci
from agents.review.avoidance.skips import find_newly_skipped
from agents.review.avoidance.text import LONGEST, blank_literals
from domain.paths import is_document, is_test
from domain.review.avoidance import Avoidance, AvoidanceKind

_SURE = 0.9
_MOST = 20  # of one kind in a file
_TABLES: Mapping[str, Mapping[str, Any]] = tomllib.loads((Path(__file__).parent / "rules.toml").read_text())


@dataclass(frozen=True)
class _Line:
    """What a line does, and how it is recognised.

    :param is_comment: a comment does it; else what begins in a comment or a literal does not count.
    """

    what: str
    suffixes: frozenset[str]
    expression: re.Pattern[str]
    is_comment: bool

    @classmethod
    def load(cls, section: str) -> "Sequence[_Line]":
        return [
            cls(
                what.strip(),
                frozenset(f".{each}" for each in rule["suffixes"].split()),
                re.compile(rule["expression"]),
                rule.get("comment", False),
            )
            for what, rule in _TABLES[section].items()
        ]


_FOCUS, _VACUOUS, _DETECTED, _DISABLED = map(_Line.load, ("focus", "vacuous", "detected", "disabled"))
_ASSERTS = re.compile(r"assert|expect|should|verify|require\.|\bCHECK|REQUIRE|t\.(?:Error|Fatal)|\bfail", re.IGNORECASE)
_INLINE_TESTS = re.compile(r"#\[cfg\(test\)\]|#\[test\]")
_IS_AROUND_TESTS = re.compile(
    r"(^|/)(test|tests|testing|testdata|testutil\w*|spec|specs|__tests__|__mocks__|fixtures?|examples?|benchmarks?|e2e|"
    r"playground|docs?|bin|scripts?|tools?)/|conftest|(^|/)[\w.-]*(config|setup|test|spec)[\w.-]*\.\w+$",
    re.IGNORECASE,
)


def find_avoidance(path: str, old_path: str, before: str | None, after: str | None) -> list[Avoidance]:
    """Where one file gives up in disguise.

    :param before: its text at the merge base; None if it is new. ``after``: at head; None if it is gone.
    """
    if after is None or is_document(path):
        return []
    old = before or ""
    found: list[Avoidance] = [
        *_find_skipped(path, old_path, before, after),
        *_find_added(AvoidanceKind.test_skipped, _FOCUS, path, old, after),
        *_find_vacuous(path, before, after),
        *_find_detected(path, old, after),
    ]
    if before is not None:
        found += _find_added(AvoidanceKind.checker_disabled, _DISABLED, path, old, after)
        found += ci.find_avoidance(path, before, after, _TABLES)
    seen = Counter[AvoidanceKind]()
    kept: list[Avoidance] = []
    for each in found:
        seen[each.kind] += 1
        if seen[each.kind] <= _MOST:
            kept.append(each)
    return kept


def _find_skipped(path: str, old_path: str, before: str | None, after: str) -> Iterator[Avoidance]:
    holds = is_test(path) or (path.endswith(".rs") and _INLINE_TESTS.search(after) is not None)
    if before is None or not holds or PurePosixPath(path).suffix != PurePosixPath(old_path).suffix:
        return
    for test in find_newly_skipped(path, before, after):
        yield Avoidance(
            kind=AvoidanceKind.test_skipped,
            path=path,
            line=test.line,
            what=f"The test `{test.name[:80]}` does not count any more: `{test.skip.replace('`', '')}`.",
            confidence=_SURE,
            name=test.name[:200],
        )


def _find_added(kind: AvoidanceKind, rules: Sequence[_Line], path: str, before: str, after: str) -> Iterator[Avoidance]:
    known = Counter(each.what for each, _, _ in _match(rules, path, before))
    found = list(_match(rules, path, after))
    if sum(known.values()) >= len(found):
        return
    old = {line.strip() for line in before.split("\n")}
    for rule, number, line in found:
        if line.strip() not in old:
            yield _describe(kind, path, number, line, f"{_BEGINS[kind]}{rule.what}")


def _find_detected(path: str, before: str, after: str) -> Iterator[Avoidance]:
    if _IS_AROUND_TESTS.search(path) or is_test(path):
        return iter(())
    return _find_added(AvoidanceKind.test_detected, _DETECTED, path, before, after)


_BEGINS = {
    AvoidanceKind.test_skipped: "All other tests are left out by ",
    AvoidanceKind.test_detected: "The code ",
    AvoidanceKind.checker_disabled: "A checker is switched off: ",
}


def _find_vacuous(path: str, before: str | None, after: str) -> Iterator[Avoidance]:
    """Assertions that cannot fail in the place of such as could."""
    found = {} if before is None else {number: (rule, line) for rule, number, line in _match(_VACUOUS, path, after)}
    if before is None or not found:
        return
    old, new = before.split("\n"), after.split("\n")
    was_vacuous = {number for _, number, _ in _match(_VACUOUS, path, before)}
    for tag, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone = [old[at] for at in range(first, last) if _ASSERTS.search(old[at]) and at + 1 not in was_vacuous]
        kept = [new[at] for at in range(begin, end) if _ASSERTS.search(new[at]) and at + 1 not in found]
        if tag != "replace" or not gone or kept:
            continue
        for number in found.keys() & set(range(begin + 1, end + 1)):
            rule, line = found[number]
            what = f"In place of `{_show(gone[0])}` stands {rule.what}, which cannot fail"
            yield _describe(AvoidanceKind.assertion_vacuous, path, number, line, what)


def _match(rules: Sequence[_Line], path: str, text: str) -> Iterator[tuple[_Line, int, str]]:
    """The lines that rules recognise, each with the first one that does."""
    suffix, lines = PurePosixPath(path).suffix, text.split("\n")
    known = [each for each in rules if suffix in each.suffixes]
    hits = [
        (index, each, found)
        for index, line in enumerate(lines)
        if len(line) <= LONGEST
        for each in known
        if (found := each.expression.search(line)) is not None
    ]
    bare = blank_literals(path, text).split("\n") if hits else []
    seen = set[int]()
    for index, rule, found in hits:
        at = found.start() + len(found[0]) - len(found[0].lstrip())
        is_code = rule.is_comment or bare[index][at : at + 1] == lines[index][at : at + 1]
        if is_code and index not in seen:
            seen.add(index)
            yield rule, index + 1, lines[index]


def _describe(kind: AvoidanceKind, path: str, number: int, line: str, what: str) -> Avoidance:
    shown = _show(line)
    return Avoidance(kind=kind, path=path, line=number, what=f"{what}: `{shown}`.", confidence=_SURE, name=shown)


def _show(line: str) -> str:
    return line.strip().replace("`", "")[:100]
