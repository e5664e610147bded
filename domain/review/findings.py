"""A finding about a change: how grave it is, what running a test showed of it, and its identity across pushes."""

import hashlib
import re
from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import Self

from pydantic import Field

from domain.paths import escape_unprintable
from domain.review.changes import Change
from domain.text.similarity import SAME_THRESHOLD, Statement, extract_names, extract_stems
from domain.value import Value

AROUND = 2
"""Written lines on each side of the anchor that belong to a spot; further apart, two anchors are two matters."""
NEARBY_THRESHOLD = 0.4
"""From this share of their words on, what stands at nearly the same lines and names the same things is the same."""
_IN_COMMON = 3  # lines of two spots, so that one line which stands everywhere makes no spot the same
_WORD = re.compile(r"[A-Za-z_]\w*")


class Anchor(Value):
    """Where a finding is and what it is about, for comparing.

    :param lines: digests of the anchored line and of those around it that are not blank, in order.
    :param anchor: which of them is the anchored one.
    :param words: the stems of its message.
    :param names: what its message names of the code in these lines, or writes as code.
    """

    category: str
    lines: tuple[str, ...]
    anchor: int
    words: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, category: str, message: str, lines: Sequence[str], line: int | None) -> Self | None:
        """The spot of a finding; None for one about a whole file or a blank line.

        :param lines: of the file.
        :param line: 1-based.
        """
        if line is None or not 0 < line <= len(lines) or not lines[line - 1].strip():
            return None
        before = [text for text in lines[: line - 1] if text.strip()][-AROUND:]
        after = [text for text in lines[line : line + 20] if text.strip()][:AROUND]
        around = [*before, lines[line - 1], *after]
        code = set(_WORD.findall("\n".join(around)))
        named = extract_names(message) | {word.casefold() for word in _WORD.findall(message) if word in code}
        return cls(
            category=category,
            lines=tuple(map(_hash_line, around)),
            anchor=len(before),
            words=tuple(sorted(extract_stems(message))),
            names=tuple(sorted(named)),
        )

    def matches(self, other: "Anchor") -> bool:
        """Whether both are about the same: each anchor stands among the other's lines, and they say alike things."""
        ours, theirs = set(self.lines), set(other.lines)
        is_near = self.lines[self.anchor] in theirs and other.lines[other.anchor] in ours
        enough = min(_IN_COMMON, len(ours), len(theirs))
        if self.category != other.category or not is_near or len(ours & theirs) < enough:
            return False
        one, two = self._statement, other._statement
        least = NEARBY_THRESHOLD if one.names & two.names else SAME_THRESHOLD
        return one.is_about(two) and one.similarity(two) >= least

    @property
    def _statement(self) -> Statement:
        return Statement(frozenset(self.words), frozenset(self.names), is_negative=False)


LONGEST_TEST = 6_000
"""Characters of a reproduction."""
LONGEST_OUTPUT = 2_000
LONGEST_REASON = 500


class ProofOutcome(StrEnum):
    """What a reproduction came to."""

    shown = "shown"  # it fails on the head, and passes without the change
    promise_broken = "promise_broken"  # it fails on the head, against what a line of the code shown promises
    refuted = "refuted"  # it passes on the head
    open = "open"  # neither: it could not be loaded, ended differently each time, or fails without the change, too

    @property
    def is_shown(self) -> bool:
        return self in {ProofOutcome.shown, ProofOutcome.promise_broken}


class Reproduction(Value):
    """The test that was written for a claim.

    :param path: the file that it was run as; the repository has none of this name.
    :param command: what ran it, as a shell would take it.
    :param output: the last lines that it printed on the head.
    :param before: how it ended without the change, in a few words.
    """

    path: str
    text: str = Field(max_length=LONGEST_TEST)
    command: str = Field(default="", max_length=LONGEST_REASON)
    output: str = Field(default="", max_length=LONGEST_OUTPUT)
    before: str = Field(default="", max_length=LONGEST_REASON)


class Proof(Value):
    """What running showed of a claim.

    :param head_sha: the head it was run on.
    :param why: why nothing is shown, as a clause; empty if something is.
    :param promise: the line of the code shown that promises otherwise.
    :param reproduction: None if nothing was run.
    :param seconds: that running it took.
    :param outlasts_fix: it fails with what the finding suggests, too.
    """

    outcome: ProofOutcome
    head_sha: str
    why: str = Field(default="", max_length=LONGEST_REASON)
    promise: str = Field(default="", max_length=LONGEST_REASON)
    reproduction: Reproduction | None = None
    seconds: float = 0.0
    outlasts_fix: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether the defect is shown by running."""
        return self.outcome.is_shown


CREDENTIAL = "secret/"
"""The prefix of rules about credentials."""


class Category(StrEnum):
    """The category of a finding."""

    style = "style"
    security = "security"
    correctness = "correctness"
    performance = "performance"
    tests = "tests"
    dependencies = "dependencies"
    avoidance = "avoidance"  # a failure is hidden instead of mended


class Severity(StrEnum):
    """The severity of a finding; ``error`` and above request changes."""

    info = "info"
    warning = "warning"
    error = "error"
    critical = "critical"

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {Severity.info: 0, Severity.warning: 1, Severity.error: 2, Severity.critical: 3}


class Harm(StrEnum):
    """What breaks."""

    wrong_result = "wrong_result"
    crash = "crash"
    data_loss = "data_loss"
    security_hole = "security_hole"
    waste = "waste"  # of time, memory or money
    none = "none"


class MetBy(StrEnum):
    """Who meets it."""

    caller = "caller"  # ordinary use of the repository as it stands, or an attacker of it
    condition = "condition"  # only what comes about under conditions that are named
    nobody = "nobody"


_GRAVE = frozenset({Harm.wrong_result, Harm.crash, Harm.data_loss, Harm.security_hole})


def grade(harm: Harm, met_by: MetBy) -> Severity:
    """The severity of a finding: an error breaks something for a caller, a warning may break or waste something."""
    if harm is Harm.none or met_by is MetBy.nobody:
        return Severity.info
    return Severity.error if harm in _GRAVE and met_by is MetBy.caller else Severity.warning


class Layer(IntEnum):
    """The layer of the review that found it."""

    static = 1
    security = 2
    model = 3


class Fix(Value):
    """A replacement for whole lines of the file at head, for a suggestion block.

    Lines ``start_line`` to ``end_line`` (1-based, inclusive) are replaced by ``replacement``,
    which holds whole lines without the last line break; empty means the lines are removed.
    """

    start_line: int
    end_line: int
    replacement: str

    def move(self, by: int) -> "Fix":
        """The fix moved down by some lines."""
        return self.model_copy(update={"start_line": self.start_line + by, "end_line": self.end_line + by})


class RawFinding(Value):
    """A tool's report about one version of one file, without an identity yet.

    ``line`` and ``end_line`` are 1-based; None means the file as a whole. ``mark`` only goes into the trail,
    to tell findings apart whose messages must be equal. ``is_doubted`` says that its detector was often wrong in this
    repository, so that people are asked whether it is right. ``grounds`` are the steps and the input by which a model
    says that it comes about, for the model that checks it.
    """

    rule: str
    category: Category
    severity: Severity
    confidence: float = Field(ge=0, le=1)
    path: str
    line: int | None = None
    end_line: int | None = None
    message: str
    fix: Fix | None = None
    layer: Layer
    help_url: str | None = None
    is_doubted: bool = False
    grounds: str = ""
    mark: str = Field(default="", exclude=True, repr=False)

    @property
    def where(self) -> str:
        """``path:line`` for people."""
        path = escape_unprintable(self.path)
        return path if self.line is None else f"{path}:{self.line}"

    @property
    def is_credential(self) -> bool:
        """Whether it is about a credential, which removing the line does not revoke."""
        return self.rule.startswith(CREDENTIAL)

    @property
    def blocks(self) -> bool:
        """Whether it requests changes."""
        return self.severity.rank >= Severity.error.rank

    @property
    def is_note(self) -> bool:
        """Whether a model noted it and nobody needs to do anything about it."""
        return self.layer is Layer.model and self.severity is Severity.info

    @property
    def is_syntax_error(self) -> bool:
        """Whether its tool could not parse the file, so that it is silent about the rest of it."""
        return self.rule.endswith("/invalid-syntax")

    @property
    def sort_key(self) -> tuple[int, float, str, int]:
        """Sorts findings: the most severe and certain first, then by place."""
        return -self.severity.rank, -self.confidence, self.path, self.line or 0


class Finding(RawFinding):
    """A finding the pull request introduced, with the fingerprints that follow it from push to push.

    ``fingerprint`` (rule, path, normalised line with its context, occurrence) is its identity;
    ``trail`` (rule, path, normalised message) only helps to follow one that moved and never mutes.
    ``place`` recognises the same finding in other words; ``spot`` does so for a model's findings
    some lines apart. ``on_diff`` says that a review comment may stand on its lines.

    :param statement: the digest of what it is about, and ``statements_around`` those that this may be in another
        layout; see :mod:`domain.review.identity`.
    :param statement_lines: digests of the lines of its statement, and ``surroundings`` of those of code next to it.
    :param memories: ids of the memories that led to it.
    :param proof: what running a test showed of it; None if none was written for it.
    """

    id: str = ""
    fingerprint: str
    trail: str
    place: str = ""
    spot: Anchor | None = None
    on_diff: bool = False
    statement: str = ""
    statement_lines: tuple[str, ...] = ()
    surroundings: tuple[str, ...] = ()
    statements_around: tuple[str, ...] = Field(default=(), exclude=True, repr=False)
    memories: tuple[str, ...] = ()
    proof: Proof | None = None

    def move(self, by: int) -> "Finding":
        """The finding some lines further down."""
        line = None if self.line is None else self.line + by
        end_line = None if self.end_line is None else self.end_line + by
        fix = None if self.fix is None else self.fix.move(by)
        return self.model_copy(update={"line": line, "end_line": end_line, "fix": fix}) if by else self

    def means_same(self, other: "Finding") -> bool:
        """Whether two findings of a rule say the same about a file, though one may stand some lines away."""
        if (self.rule, self.path) != (other.rule, other.path):
            return False
        is_near = self.spot is not None and other.spot is not None and self.spot.matches(other.spot)
        return self.fingerprint == other.fingerprint or is_near

    @property
    def comment_lines(self) -> tuple[int, int]:
        """First and last line of its comment: those its suggestion replaces, else its own."""
        if self.fix is not None:
            return self.fix.start_line, self.fix.end_line
        start = self.line or 1
        return start, max(start, self.end_line or start)


def compute_fingerprint(rule: str, path: str, lines: Sequence[str], line: int | None, occurrence: int) -> str:
    """The identity of a finding.

    :param rule: rule id, e.g. ``ruff/F401``.
    :param path: path at head.
    :param lines: the file's lines at head.
    :param line: 1-based line of the finding; None for the whole file.
    :param occurrence: 0-based index among equal findings, from the top of the file.
    :returns: 64 hexadecimal characters.
    """
    return _digest("1", rule, path, *_around(lines, line), str(occurrence))


def compute_test_fingerprint(rule: str, path: str, test: str) -> str:
    """The identity of a finding about a test, wherever it stands and whatever became of it.

    :param path: of its file before the change.
    :param test: its id, as its runner names it.
    :returns: 64 hexadecimal characters.
    """
    return _digest("4", rule, path, test)


def compute_location_key(category: Category, path: str, lines: Sequence[str], line: int | None) -> str:
    """The key of findings about the same lines and category, whatever their rule.

    :returns: 64 hexadecimal characters; empty for a finding about a whole file.
    """
    return "" if line is None else _digest("3", category, path, *_around(lines, line))


def combine_fingerprints(fingerprints: Sequence[str]) -> str:
    """The identity of a merged finding; it changes if one of its parts changes."""
    return _digest("1", *fingerprints)


def compute_secondary_fingerprint(rule: str, path: str, message: str) -> str:
    """Follows a moved finding: rule, path and message without its numbers."""
    return _digest("2", rule, path, re.sub(r"\d+", "0", " ".join(message.split())))


def remove_place(finding: Finding) -> Finding:
    """The finding without a line: it still counts, although its line is gone."""
    return finding.model_copy(update={"line": None, "end_line": None, "fix": None, "on_diff": False})


def place_on_diff(finding: Finding, change: Change) -> Finding:
    """Sets ``on_diff`` and limits the finding to lines of the diff.

    Drops a fix that reaches outside a hunk, and the end of such a range.
    """
    file = change.file(finding.path)
    if file is None or finding.line is None:
        return finding
    if finding.fix is not None and not file.can_be_commented(finding.fix.start_line, finding.fix.end_line):
        finding = finding.model_copy(update={"fix": None})
    if not file.can_be_commented(*finding.comment_lines):
        finding = finding.model_copy(update={"end_line": finding.line})
    return finding.model_copy(update={"on_diff": file.can_be_commented(*finding.comment_lines)})


def _around(lines: Sequence[str], line: int | None) -> list[str]:
    return [] if line is None else [_normalize_code(text) for text in lines[max(line - 2, 0) : line + 1]]


_QUOTED_OR_SPACE = re.compile(r"""("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|`[^`]*+`)|[ \t]+""")


def _normalize_code(text: str) -> str:
    """A line with one space for several, but for those that a string holds."""
    return _QUOTED_OR_SPACE.sub(lambda found: found[1] or " ", text.strip(" \t\r\f"))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _hash_line(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
