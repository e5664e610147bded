"""Follows findings from push to push: one that was there before keeps the identity it had."""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import partial

from domain.review.findings import Category, Finding, compute_secondary_fingerprint

_BEFORE, _AFTER = 4, 9
"""Lines of a statement before and after the line of its finding."""
_LEAST = 8
"""Characters of a statement that say enough to be found again among other lines."""
_NEIGHBOURS = 2
"""Written lines before and after a statement that tell where it stands."""
_IN_COMMON = 0.5
"""From this share of their lines on, two places are one."""
_LAYOUT = re.compile(r"[\s,;'\"`()\\]+")
_COMMENT = re.compile(r"(^|\s)(#|//)(\s.*)?$")
_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")


def compute_statement(lines: Sequence[str], line: int | None, end_line: int | None) -> str:
    """The digest of the statement that a finding is about: its layout, quotation marks and comments do not count.

    :param lines: of the file.
    :param line: 1-based; None: the finding is about the file, and the digest is empty.
    :param end_line: the last line that the tool names.
    """
    if line is None or not 1 <= line <= len(lines):
        return ""
    start, end = _find_statement(lines, line, end_line)
    return _digest(lines[start - 1 : end])


def compute_surroundings(
    lines: Sequence[str], line: int | None, end_line: int | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The digests of the lines of the same statement, and of those of code next to it."""
    if line is None or not 1 <= line <= len(lines):
        return (), ()
    start, end = _find_statement(lines, line, end_line)
    before = [text for text in lines[max(start - 10, 0) : start - 1] if _strip([text])][-_NEIGHBOURS:]
    after = [text for text in lines[end : end + 10] if _strip([text])][:_NEIGHBOURS]
    own = [text for text in lines[start - 1 : end] if _strip([text])]
    return tuple(_digest([text])[:8] for text in own), tuple(_digest([text])[:8] for text in (*before, *after))


def _find_statement(lines: Sequence[str], line: int, end_line: int | None) -> tuple[int, int]:
    start = min((at for at in range(max(line - _BEFORE, 1), line) if _is_open(lines[at - 1 : line - 1])), default=line)
    end, last = max(end_line or line, line), min(len(lines), line + _AFTER)
    while end < last and _is_open(lines[start - 1 : end]):
        end += 1
    return start, end


def list_statements(lines: Sequence[str], line: int | None) -> tuple[str, ...]:
    """The digests of all ranges of lines around a finding that may be its statement, however it is laid out."""
    if line is None or not 1 <= line <= len(lines):
        return ()
    starts = range(max(line - _BEFORE, 1), line + 1)
    ends = range(line, min(len(lines), line + _AFTER) + 1)
    found = (lines[start - 1 : end] for start in starts for end in ends)
    return tuple(dict.fromkeys(_digest(each) for each in found if len(_strip(each)) >= _LEAST))


def follow(
    findings: Sequence[Finding],
    earlier: Sequence[Finding],
    renamed: Mapping[str, str],
    settled: Collection[str] = (),
) -> tuple[Finding, ...]:
    """The findings, in which those that were there before have their earlier fingerprint.

    A finding is the same where its rule, its message (numbers aside) and its statement are, wherever that stands in the
    file and however it is laid out. So is one whose statement changed in its place, as after half a fix, but only if
    nobody decided about it: no dismissal covers a statement that says something else.
    Each earlier one is one of them at most. Credentials are followed by their trail.

    :param earlier: all of the pull request, each as it was found last.
    :param renamed: path at head → path before, of the files that the change moved.
    :param settled: fingerprints of those that people decided about.
    """
    there = {each.fingerprint for each in earlier}
    known = {each.fingerprint for each in findings}
    left = [each for each in earlier if each.fingerprint not in known and not each.is_credential]
    kept: dict[int, str] = {}
    undecided = {each.fingerprint for each in left} - {*settled}
    for is_same in (_is_same_statement, _is_laid_out_anew, partial(_is_in_place, undecided=undecided)):
        for index, finding in enumerate(findings):
            if index in kept or finding.fingerprint in there or finding.is_credential:
                continue
            names = {finding.path, renamed.get(finding.path, finding.path)}
            alike = (each for each in left if each.path in names and _read_words(finding) == _read_words(each))
            match = next((each for each in alike if is_same(finding, each)), None)
            if match is not None:
                left.remove(match)
                kept[index] = match.fingerprint
    return tuple(
        each.model_copy(update={"fingerprint": kept[index]}) if index in kept else each
        for index, each in enumerate(findings)
    )


def _read_words(finding: Finding) -> Hashable:
    return compute_secondary_fingerprint(finding.rule, "", finding.message)


def _is_same_statement(finding: Finding, earlier: Finding) -> bool:
    is_about_file = finding.line is None and earlier.line is None
    return finding.statement == earlier.statement and (bool(finding.statement) or is_about_file)


def _is_laid_out_anew(finding: Finding, earlier: Finding) -> bool:
    return earlier.statement in finding.statements_around


def _is_in_place(finding: Finding, earlier: Finding, undecided: Collection[str]) -> bool:
    """Whether its statement changed where it stood: most of its lines and of those next to it, or of these alone."""
    if earlier.fingerprint not in undecided or finding.category is Category.avoidance:
        return False
    own, theirs = (each.statement_lines + each.surroundings for each in (finding, earlier))
    return _are_alike(own, theirs) or _are_alike(finding.surroundings, earlier.surroundings)


def _are_alike(own: Sequence[str], theirs: Sequence[str]) -> bool:
    return (Counter(own) & Counter(theirs)).total() >= _IN_COMMON * max(len(own), len(theirs), 1)


def _is_open(lines: Sequence[str]) -> bool:
    text = "".join(_COMMENT.sub("", each) for each in lines)
    return sum(char in _OPENS for char in text) > sum(char in _CLOSES for char in text)


def _strip(lines: Sequence[str]) -> str:
    return _LAYOUT.sub("", "".join(_COMMENT.sub("", each) for each in lines))


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256(_strip(lines).encode("utf-8", "surrogateescape")).hexdigest()[:32]
