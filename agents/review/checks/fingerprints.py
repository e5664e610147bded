"""Gives findings their fingerprints; keeps one of several that say the same, or replace the same lines."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from agents.review.checks.rule_texts import shorten
from domain.review.findings import (
    Anchor,
    Category,
    Finding,
    Fix,
    Layer,
    RawFinding,
    combine_fingerprints,
    compute_fingerprint,
    compute_location_key,
    compute_secondary_fingerprint,
)
from domain.review.identity import Statements


def add_fingerprints(findings: Sequence[RawFinding], lines: Mapping[str, Sequence[str]]) -> tuple[Finding, ...]:
    """The findings at head with their fingerprints.

    :param findings: all at head, including old ones: equal findings are numbered from the top of the file, and the
        numbers must not depend on which of them the change introduced.
    :param lines: path → lines at head.
    """
    seen: Counter[str] = Counter()
    named: dict[int, Finding] = {}
    known: dict[str, Statements] = {}
    for index, finding in sorted(enumerate(findings), key=lambda pair: (pair[1].path, pair[1].line or 0, pair[0])):
        text = lines.get(finding.path, ())
        first = compute_fingerprint(finding.rule, finding.path, text, finding.line, 0)
        mark = (
            first
            if not seen[first]
            else compute_fingerprint(finding.rule, finding.path, text, finding.line, seen[first])
        )
        seen[first] += 1
        is_said = finding.layer is Layer.model
        statements = known.setdefault(finding.path, Statements(text, finding.path))
        own, around = statements.digest_lines(finding.line, finding.end_line)
        named[index] = Finding(
            **dict(finding),
            fingerprint=mark,
            trail=compute_secondary_fingerprint(finding.rule, finding.path, finding.message + finding.mark),
            place=compute_location_key(finding.category, finding.path, text, finding.line),
            spot=Anchor.of(finding.category, finding.message, text, finding.line) if is_said else None,
            statement=statements.digest(finding.line, finding.end_line),
            statement_lines=own,
            surroundings=around,
            statements_around=statements.list_around(finding.line),
        )
    return tuple(named[index] for index in range(len(findings)))


def drop_repetitions(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Keeps one of several findings about the same thing on the same line: the most severe and most certain."""
    best: dict[tuple[str, int | None, str], Finding] = {}
    for finding in findings:
        key = (finding.path, finding.line, _topic(finding))
        known = best.get(key)
        if known is None or _weight(finding) > _weight(known):
            best[key] = finding
    return tuple(finding for finding in findings if best[finding.path, finding.line, _topic(finding)] is finding)


def _topic(finding: Finding) -> str:
    """What a finding is about; distinct for findings that do not repeat each other."""
    tool, _, code = finding.rule.partition("/")
    number = re.fullmatch(r"[SB](\d{3})", code)
    if tool == "secret" or finding.rule == "docker/secret-in-image":
        return "credential"
    if tool in ("ruff", "bandit") and number and finding.category is Category.security:
        # flake8-bandit, which ruff implements, took its numbers from bandit.
        return "credential" if number[1] in ("105", "106", "107") else f"bandit/{number[1]}"
    return f"{finding.rule}: {finding.message}"


def _weight(finding: Finding) -> tuple[bool, int, float, int]:
    """Ranks repetitions. A ``secret/`` finding wins, because Forge follows it into the history."""
    return finding.is_credential, finding.severity.rank, finding.confidence, finding.layer


_MOST_NAMES = 10
_NAME = re.compile(r"(`[^`]*`)")


def merge_findings(findings: Sequence[Finding], lines: Mapping[str, Sequence[str]]) -> tuple[Finding, ...]:
    """The findings, with those merged that share rule, path and the lines of their fix.

    Findings stay apart if their fixes change the same place in different ways.

    :param lines: path → lines at head.
    """
    groups: dict[tuple[str, str, int, int], list[Finding]] = {}
    for finding in findings:
        if finding.fix is not None:
            groups.setdefault(_key(finding, finding.fix), []).append(finding)
    merged = {key: _merge_group(group, lines.get(key[1], ())) for key, group in groups.items() if len(group) > 1}
    kept: list[Finding] = []
    for finding in findings:
        key = None if finding.fix is None else _key(finding, finding.fix)
        one = None if key is None else merged.get(key)
        if key is None or one is None:
            kept.append(finding)
        elif finding is groups[key][0]:
            kept.append(one)
    return tuple(kept)


def _key(finding: Finding, fix: Fix) -> tuple[str, str, int, int]:
    return finding.rule, finding.path, fix.start_line, fix.end_line


def _merge_group(group: Sequence[Finding], lines: Sequence[str]) -> Finding | None:
    """One finding for all; None if their fixes conflict."""
    first = group[0]
    fixes = [finding.fix for finding in group if finding.fix is not None]
    start, end = fixes[0].start_line, fixes[0].end_line
    block = "\n".join(line.removesuffix("\r") for line in lines[start - 1 : end])
    replacement = _apply_all(block, list(dict.fromkeys(fix.replacement for fix in fixes)))
    if replacement is None:
        return None
    places = [finding.line for finding in group if finding.line is not None]
    ends = [finding.end_line or finding.line for finding in group if finding.line is not None]
    message = _merge_messages([finding.message for finding in group])
    return first.model_copy(
        update={
            "line": min(places, default=None),
            "end_line": max(ends, default=None),
            "message": message,
            "fix": Fix(start_line=start, end_line=end, replacement=replacement),
            "fingerprint": combine_fingerprints([finding.fingerprint for finding in group]),
            "trail": compute_secondary_fingerprint(first.rule, first.path, message),
        }
    )


def _apply_all(block: str, replacements: Sequence[str]) -> str | None:
    """The block after all replacements; None if two of them change the same place."""
    if len(replacements) == 1:
        return replacements[0]
    if "" in replacements:  # the removal of all lines
        return None
    result: list[str] = []
    position = 0
    for start, end, text in sorted(_find_difference(block, replacement) for replacement in replacements):
        if start < position or (result and start == position):
            return None
        result += [block[position:start], text]
        position = end
    return "".join([*result, block[position:]]) or None


def _find_difference(old: str, new: str) -> tuple[int, int, str]:
    """The one range of ``old`` that differs, and its text in ``new``."""
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    tail = next((at for at in range(shorter - start) if old[-1 - at] != new[-1 - at]), shorter - start)
    return start, len(old) - tail, new[start : len(new) - tail]


def _merge_messages(messages: Sequence[str]) -> str:
    """One message with all names if the messages differ in one name only; otherwise all messages."""
    different = list(dict.fromkeys(messages))
    split = [_NAME.split(message) for message in different]
    columns = list(zip(*split, strict=False))
    varying = [index for index, column in enumerate(columns) if len(set(column)) > 1]
    if len(different) == 1:
        return different[0]
    if len({len(parts) for parts in split}) > 1 or len(varying) != 1 or varying[0] % 2 == 0:
        return shorten(" ".join(different))
    [at] = varying
    return shorten("".join([*split[0][:at], _join_names(columns[at]), *split[0][at + 1 :]]))


def _join_names(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMES:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"
