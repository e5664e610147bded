"""Turns the edits of tools into fixes, gives findings fingerprints, and keeps one of several that say the same."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

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

_MOST_LINES = 30


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


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the text between two positions; lines and columns (in characters) start at 1, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    content: str


def merge_edits(text: str, edits: Sequence[Edit], first: int, last: int) -> Fix | None:
    """One replacement of whole lines with the effect of all edits; None if there is no such replacement.

    :param text: the file at head.
    :param edits: together with the finding's own lines, they must touch one contiguous block.
    :param first: first line of the finding.
    :param last: last line of the finding.
    """
    laid_out = _split_lines(text)
    if not edits or laid_out.has_lone_returns:
        return None
    lines = laid_out.lines
    ordered = sorted(edits)
    touched = [_find_line_range(edit) for edit in ordered]
    if not _is_contiguous([*touched, (first, last)]):
        return None
    start, end = min(line for line, _ in touched), max(line for _, line in touched)
    if not 1 <= start <= end <= len(lines) or end - start >= _MOST_LINES:
        return None
    result = _apply_edits(text, laid_out, ordered, start, end)
    if result is None:
        return None
    result, end = result
    if result == "":
        return Fix(start_line=start, end_line=end, replacement="")
    replacement = result.removesuffix("\n").replace("\r\n", "\n").removesuffix("\r")
    unchanged = replacement == "\n".join(lines[start - 1 : end]).replace("\r", "")
    # A replacement by one empty line cannot be told from a removal.
    return None if replacement == "" or unchanged else Fix(start_line=start, end_line=end, replacement=replacement)


@dataclass(frozen=True)
class _TextLines:
    """A text by its lines.

    :param offsets: where each line begins, and where one after the last would.
    """

    lines: Sequence[str]
    offsets: Sequence[int]
    has_lone_returns: bool


@lru_cache(maxsize=8)
def _split_lines(text: str) -> _TextLines:
    """The lines of a text, split once for all fixes of a file: there may be thousands."""
    lines = text.split("\n")
    return _TextLines(lines, [0, *accumulate(len(line) + 1 for line in lines)], "\r" in text.replace("\r\n", ""))


def _find_line_range(edit: Edit) -> tuple[int, int]:
    """First and last line of an edit; one that ends at the beginning of a line does not touch that line."""
    ends_before = edit.end_column == 1 and edit.end_line > edit.line
    return edit.line, edit.end_line - 1 if ends_before else edit.end_line


def _is_contiguous(blocks: Sequence[tuple[int, int]]) -> bool:
    reach: int | None = None
    for start, end in sorted(blocks):
        if reach is not None and start > reach + 1:
            return False
        reach = max(end, reach or end)
    return True


def _apply_edits(
    text: str, laid_out: _TextLines, edits: Sequence[Edit], start: int, end: int
) -> tuple[str, int] | None:
    """The text of lines ``start`` to ``end`` after the edits, and the last line it replaces."""
    lines, offsets = laid_out.lines, laid_out.offsets

    def offset(line: int, column: int) -> int | None:
        if not 1 <= line <= len(lines) + 1 or column < 1:
            return None
        place = offsets[line - 1] + column - 1
        return min(place, len(text)) if line > len(lines) or column <= len(lines[line - 1]) + 1 else None

    parts: list[str] = []
    position = offsets[start - 1]
    for edit in edits:
        begin, finish = offset(edit.line, edit.column), offset(edit.end_line, edit.end_column)
        if begin is None or finish is None or begin < position or finish < begin:
            return None
        parts += [text[position:begin], edit.content]
        position = finish
    joined = "".join(parts)
    if position == min(offsets[end], len(text)) and (not joined or joined.endswith("\n")):
        return joined, end
    if position == offsets[end] and end < len(lines):
        end += 1  # the line break itself was removed: the next line now continues this one
        if end - start >= _MOST_LINES:
            return None
    return joined + text[position : min(offsets[end], len(text))], end
