"""Follows findings from push to push: one that was there before keeps the identity it had."""

import hashlib
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property, partial

from domain.review.changes import FileChange
from domain.review.findings import Category, Finding, Fix, compute_secondary_fingerprint, remove_place
from domain.review.statement_tokens import list_bare

_BEFORE, _AFTER = 4, 9
"""Lines of a statement before and after the line of its finding."""
_LEAST = 8
"""Characters of a statement that say enough to be found again among other lines."""
_NEIGHBOURS = 2
"""Written lines before and after a statement that tell where it stands."""
_IN_COMMON = 0.5
"""From this share of their lines on, two places are one."""
_OPENS, _CLOSES = "([{", ")]}"
_LONGEST = 1_000
"""Characters from which a line is known by its digest: nobody lays it out anew, and machines write such lines."""


class Statements:
    """The statements of a file, by lines that stand in them: what no program obeys does not count.

    Each line is looked at once, however many findings there are and however long it is, as in a minified file.

    :param lines: of the file; those that are asked about are 1-based.
    :param path: of the file.
    """

    def __init__(self, lines: Sequence[str], path: str) -> None:
        self._lines, self._path = lines, path
        self._depth: dict[int, int] = {}  # by index
        self._around: dict[int, tuple[str, ...]] = {}

    def digest(self, line: int | None, end_line: int | None) -> str:
        """The digest of the statement that a finding is about.

        :param line: None: the finding is about the file, and the digest is empty.
        :param end_line: the last line that the tool names.
        """
        if line is None or not 1 <= line <= len(self._lines):
            return ""
        start, end = self._find(line, end_line)
        return _digest(self._strip(start - 1, end))

    def digest_lines(self, line: int | None, end_line: int | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The digests of the lines of the same statement, and of those of code next to it."""
        if line is None or not 1 <= line <= len(self._lines):
            return (), ()
        start, end = self._find(line, end_line)
        before = self._list_written(max(start - 10, 0), start - 1)[-_NEIGHBOURS:]
        after = self._list_written(end, end + 10)[:_NEIGHBOURS]
        own = self._list_written(start - 1, end)
        return tuple(_digest(text)[:8] for text in own), tuple(_digest(text)[:8] for text in (*before, *after))

    def list_around(self, line: int | None) -> tuple[str, ...]:
        """The digests of all ranges of lines around a finding that may be its statement, however it is laid out."""
        if line is None or not 1 <= line <= len(self._lines):
            return ()
        if line not in self._around:
            starts = range(max(line - _BEFORE, 1), line + 1)
            ends = range(line, min(len(self._lines), line + _AFTER) + 1)
            found = (self._strip(start - 1, end) for start in starts for end in ends)
            self._around[line] = tuple(dict.fromkeys(_digest(each) for each in found if len(each) >= _LEAST))
        return self._around[line]

    def _find(self, line: int, end_line: int | None) -> tuple[int, int]:
        """Its first and its last line."""
        above = range(max(line - _BEFORE, 1), line)
        start = min((at for at in above if self._is_open(at - 1, line - 1)), default=line)
        end, last = max(end_line or line, line), min(len(self._lines), line + _AFTER)
        while end < last and self._is_open(start - 1, end):
            end += 1
        return start, end

    def _list_written(self, start: int, end: int) -> list[str]:
        """The lines of a range in which something stands."""
        return [bare for at in range(start, min(end, len(self._lines))) if (bare := self._short[at].strip())]

    def _is_open(self, start: int, end: int) -> bool:
        return sum(map(self._count_depth, range(start, min(end, len(self._lines))))) > 0

    def _count_depth(self, at: int) -> int:
        if at not in self._depth:
            text = self._bare[at]
            self._depth[at] = sum(map(text.count, _OPENS)) - sum(map(text.count, _CLOSES))
        return self._depth[at]

    def _strip(self, start: int, end: int) -> str:
        return "".join(self._short[start:end]).strip()

    @cached_property
    def _bare(self) -> Sequence[str]:
        return list_bare(self._path, self._lines)

    @cached_property
    def _short(self) -> Sequence[str]:
        return [each if len(each) <= _LONGEST else f"{_digest(each)}\n" for each in self._bare]


def carry_over(finding: Finding, since: FileChange) -> Finding:
    """A finding of an earlier head where its line is now, or the line that replaced it; else without a line.

    It loses its fix where any line that this replaces was changed.

    :param since: how its file changed between that head and this one.
    """
    finding = finding.model_copy(update={"path": since.path})
    if finding.line is None:
        return finding
    line = since.current_line(finding.line)
    if line is None:
        return remove_place(finding)
    moved = finding.move(line - finding.line)
    end_line = finding.end_line and max(line, since.current_line(finding.end_line) or line)
    fix = moved.fix if finding.fix is None or _is_untouched(finding.fix, since, line - finding.line) else None
    return moved.model_copy(update={"end_line": end_line, "fix": fix})


def _is_untouched(fix: Fix, since: FileChange, by: int) -> bool:
    return all(since.head_line(line) == line + by for line in range(fix.start_line, fix.end_line + 1))


def find_again(finding: Finding, lines: Sequence[str]) -> Finding | None:
    """A finding at its statement, wherever that stands by now; None where it is another one.

    :param lines: of its file at head.
    """
    if finding.line is None:
        return finding
    start, length = finding.line, (finding.end_line or finding.line) - finding.line
    statements = Statements(lines, finding.path)
    near = sorted(range(1, len(lines) + 1), key=lambda line: abs(line - start))
    line = next((each for each in near if statements.digest(each, each + length) == finding.statement), None)
    return None if line is None else finding.move(line - start)


def find_moved(
    finding: Finding, texts: Mapping[str, Sequence[str]], added: Mapping[str, Collection[int]]
) -> Finding | None:
    """A finding whose statement came to stand elsewhere, without its fix; None if it did nowhere, or in several places.

    :param texts: path → lines at head.
    :param added: path → numbers of the lines that are new there.
    """
    if finding.line is None or not finding.statement:
        return None
    length = (finding.end_line or finding.line) - finding.line
    hits: list[tuple[str, int]] = []
    for path, lines in texts.items():
        statements, before = Statements(lines, path), 0
        for line in sorted(added.get(path, ())):
            if statements.digest(line, line + length) == finding.statement:
                hits += [(path, line)] if line != before + 1 else []  # the next line of the same statement
                before = line
    if len(hits) != 1:
        return None
    [(path, line)] = hits
    end_line = finding.end_line and line + length
    return finding.model_copy(update={"path": path, "line": line, "end_line": end_line, "fix": None})


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


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
