"""The outcome of a review: risk, decision, layers, conclusion, and which findings share a comment or are held back."""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from domain.review.changes import LockChange, SkippedFile
from domain.review.findings import Finding, Layer, Severity
from domain.review.reading import NOTHING_HELD, HeldConventions, LookUps
from domain.runs.earlier_tests import EarlierTests
from domain.value import Value
from domain.verdicts import Reason

MIN_CONFIDENCE = 0.3
"""The least confidence for raising a finding after dismissals of similar ones. A certain rule (0.95) falls below it
with four dismissals of several people in a folder, a doubtful one (0.6) with two."""

ONLY_DISMISSED = "only what was dismissed, not its rule"
"""What the memory of a dismissal is about, for people."""


@dataclass(frozen=True)
class UptakeRecord:
    """A commented finding that was gone on a later head without a dismissal."""

    rule: str
    path: str


class AdjustedConfidence(Value):
    """The confidence of a finding: that of its tool or model, less dismissals.

    :param here: distinct dismissed findings of its rule in its folder.
    :param elsewhere: in other folders, as far as those count.
    :param kept_here: findings of its rule in its folder that people fixed.
    :param alone: who alone dismissed these, so that they take nothing; else empty.
    """

    stated: float
    here: int = 0
    elsewhere: int = 0
    kept_here: int = 0
    kept_elsewhere: int = 0
    alone: str = ""
    here_takes: float = 0.0
    elsewhere_takes: float = 0.0
    effective: float


class SuppressionReason(StrEnum):
    """Why Forge suppresses a finding that nobody dismissed."""

    rule = "rule"  # its rule was dismissed too often here
    reworded = "reworded"  # the same finding was dismissed in other words


class SuppressedFinding(Value):
    """A suppressed finding.

    :param memories: short ids of the memories of the dismissals to undo so that it counts.
    :param release: the number of these dismissals.
    """

    finding: Finding
    why: SuppressionReason
    weight: AdjustedConfidence
    memories: tuple[str, ...] = ()
    release: int = 0


def parent_folder(path: str) -> str:
    """The folder of a path with its slash; empty at the root of the repository."""
    parent = str(PurePosixPath(path).parent)
    return "" if parent == "." else f"{parent}/"


class RiskLevel(StrEnum):
    """Low 0–24, medium 25–49, high 50–74, critical 75–100."""

    low = "low"
    medium = "medium"
    high = "high"
    critical = "critical"

    @property
    def is_high(self) -> bool:
        return self in {RiskLevel.high, RiskLevel.critical}


class RiskPart(Value):
    """One contribution to the risk score: points out of 100 and the fact behind them."""

    code: str
    points: int
    text: str


BEHAVIOUR = "behaviour"
"""The part that says what may act. Without points it is only documents, and tests that start nothing."""
ACTING = 25
"""The least score of what may act where something follows without a person."""


class Risk(Value):
    """A risk score from 0 to 100 with its parts, as people read it."""

    score: int
    level: RiskLevel
    parts: tuple[RiskPart, ...]

    @property
    def score_of_facts(self) -> int:
        """The score without the points that every change of behaviour has."""
        return min(100, sum(part.points for part in self.parts if part.code != BEHAVIOUR))

    @property
    def score_unasked(self) -> int:
        """The score for whatever follows without a person: documents and tests that may act count as code does."""
        acts = any(part.code == BEHAVIOUR for part in self.parts)
        return max(self.score, ACTING) if acts else self.score

    @property
    def level_unasked(self) -> RiskLevel:
        """The level of :attr:`score_unasked`."""
        return RiskLevel.medium if self.score_unasked > self.score else self.level


class Decision(StrEnum):
    """The decision of a review."""

    approve = "approve"
    request_changes = "request_changes"
    require_human = "require_human"
    unread = "unread"  # nothing blocks, but nobody read the logic, or some of the source: no approval


class IfUnread(StrEnum):
    """The result of a review in which nothing blocks, but of which nobody read the logic."""

    neutral = "neutral"  # the check is neutral and names it
    ask = "ask"  # a person is asked
    approve = "approve"  # the check succeeds and names it


class Unread(Value):
    """The source that nobody read well enough for an approval, by its paths at head.

    :param paths: neither a linter of its language nor a model read it.
    :param logic: a linter read it, and no model: it may change what the program does, and nobody thought about that.
    :param scripts: those of ``paths`` that begin with ``#!``.
    :param gone: those of ``logic`` that are deleted tests.
    :param lacks_model: no model is set up.
    """

    paths: tuple[str, ...] = ()
    logic: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    then: IfUnread = IfUnread.neutral
    lacks_model: bool = False


NOTHING_UNREAD = Unread()


class ToolRun(Value):
    """The result of one tool in a layer. ``problem`` says why it failed; ``cost`` is in micro-USD."""

    tool: str
    seconds: float
    files: int
    problem: str | None = None
    tokens: int = 0
    cost: int = 0


class LayerReport(Value):
    """The result of one layer of a review.

    ``missing`` says why a required layer could not run; ``if_risky`` says it
    where the layer is required only as long as the risk is so high, with
    ``{points}`` for its points. ``cut`` counts findings left out because there
    are too many; ``look_ups`` is None where a model could look nothing up.
    """

    layer: Layer
    tools: tuple[ToolRun, ...] = ()
    missing: str | None = None
    if_risky: str | None = None
    note: str | None = None
    cut: int = 0
    look_ups: LookUps | None = None


class Conclusion(StrEnum):
    """Conclusions of a check run that Forge uses. ``neutral`` satisfies a required check as ``success`` does."""

    success = "success"
    neutral = "neutral"
    failure = "failure"
    action_required = "action_required"
    cancelled = "cancelled"


class JudgedFindings(Value):
    """What people said about findings of giving up, by fingerprint.

    :param confirmed: who said that it is right; then it blocks.
    :param disputed: who said that it is wrong, and in which words; others are asked.
    :param passing: by which dismissal of another one it passes.
    :param lapsed: by which it would have passed, and why it does not any more.
    """

    confirmed: dict[str, str] = {}
    disputed: dict[str, str] = {}
    passing: dict[str, str] = {}
    lapsed: dict[str, str] = {}


NOTHING_JUDGED = JudgedFindings()


class IssueAnswer(Value):
    """Whether a change does what the issue asks that it closes.

    :param told: what a model says of that, in a sentence.
    """

    number: int
    told: str


class ProtectedContents(Value):
    """What a change makes of its protected files.

    :param digest: of the branch that they go into, and of each file's name, mode and content before and after.
    """

    paths: tuple[str, ...]
    digest: str


class KeptApproval(Value):
    """An approval of protected files at an earlier head, which stands because they are exactly the same.

    :param by: the login of who approved.
    """

    by: str
    head_sha: str


class Review(Value):
    """The result of a review, for the summary, the checks and the audit."""

    merge_base: str
    head_sha: str
    files: int
    additions: int
    deletions: int
    uncounted: int = 0  # files whose lines are not among these
    findings: tuple[Finding, ...]
    dismissed: tuple[Finding, ...] = ()  # found again, but dismissed
    held: tuple[SuppressedFinding, ...] = ()  # not dismissed, but suppressed because similar ones were
    judged: JudgedFindings = NOTHING_JUDGED
    in_history: tuple[Finding, ...] = ()  # credentials of earlier heads that this one no longer has
    in_history_dismissed: tuple[Finding, ...] = ()  # those of them that people dismissed, e.g. as revoked
    layers: tuple[LayerReport, ...]
    not_looked_at: tuple[SkippedFile, ...]
    read_by: dict[str, tuple[str, ...]] = {}  # path at head → the linters of its language that read it
    read_by_model: tuple[str, ...] = ()  # paths at head whose new content a model has read, now or before
    unread: Unread = NOTHING_UNREAD
    is_all_read: bool = False  # every changed file was read, which automatic actions require
    changed: tuple[str, ...] = ()  # every changed path, also unread ones
    moved: int = 0  # files that have another name and the same content
    renamed: dict[str, str] = {}  # path at the merge base → at head, of files that have another name
    locks: tuple[LockChange, ...] = ()  # what its lock files come to, as far as they could be read
    protected: ProtectedContents | None = None  # where it changes any, and the branch it goes into is known
    kept_approval: KeptApproval | None = None
    called_gone: tuple[str, ...] = ()  # names of the model's earlier findings that it calls gone
    passing: tuple[str, ...] = ()  # of those whose test, which showed them, passes now
    late: int = 0  # remarks of a model on lines that an earlier review passed; they are not said
    summary: tuple[str, ...] = ()  # what the change does, as a model tells it: at most three lines
    issue: IssueAnswer | None = None
    conventions: HeldConventions = NOTHING_HELD  # of the repository, that a model held it against
    sandbox: str = ""  # where the tools ran
    risk: Risk
    decision: Decision
    reasons: tuple[Reason, ...]
    conclusion: Conclusion
    seconds: float
    only_for: str = ""  # the base branch, where a merge into the default branch would bring in more than was reviewed
    is_shared: bool = False  # its check has the name that the default branch may require, too
    unposted: str = ""  # why it has no comments
    earlier: EarlierTests | None = None  # what the tests of before say of the code; None: nobody asked them yet

    @property
    def is_read_by_model(self) -> bool:
        """Whether a model read every changed file. An escaped name may equal another file's, so it counts as unread."""
        is_read = {*self.changed} <= {*self.read_by_model}
        return bool(self.changed) and is_read and not any("\\" in path for path in self.changed)

    @property
    def is_thought_over(self) -> bool:
        """Whether a model read all that may change what the program does, so that silence means approval."""
        return bool(self.read_by_model) and not self.unread.logic and not self.unread.paths

    @property
    def base_that_holds(self) -> str:
        """The base branch, where a check that passes would pass for changes that were not reviewed; or empty."""
        return self.only_for if self.is_shared else ""

    @property
    def fingerprints(self) -> list[str]:
        """The fingerprints of all findings that people may dismiss or have dismissed."""
        everything = (*self.all_findings, *self.in_history, *self.in_history_dismissed)
        return [finding.fingerprint for finding in everything]

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """All findings at this head, the most severe and certain first, including muted ones."""
        everything = (*self.findings, *self.dismissed, *(each.finding for each in self.held))
        return tuple(sorted(everything, key=lambda finding: finding.sort_key))


Remark = tuple[Finding, ...]
"""The findings of one comment, placed at the first one, which is the gravest."""
MOST_FIXABLE = 3  # comments of one rule that each have a suggestion to click on
MOST_TOPICS = 4  # of one comment
_MOST_SUGGESTED = 20_000  # characters of the suggestions in one comment, which GitHub limits to 65,536 in all


def group_remarks(findings: Sequence[Finding]) -> list[Remark]:
    """Groups findings into comments, in their order.

    Findings of one rule share a comment, except that the first few with a one-click fix get one each. Whatever stands
    on overlapping lines is one comment: tools and a model often say the same of them in other words.

    :param findings: the most severe first.
    """
    joined: list[Remark] = []
    for remark in _group_by_rule(findings):
        place = next((index for index, other in enumerate(joined) if _can_join(other, remark)), None)
        if place is None:
            joined.append(remark)
        else:
            joined[place] = (*joined[place], *remark)
    return joined


def split_topics(remark: Sequence[Finding], gone: Collection[str] = ()) -> list[Remark]:
    """What a comment says, in its order: the findings of one rule together, and each of a model with what repeats it.

    :param gone: names of those that are not there any more; what is left does not repeat them.
    """
    topics: dict[Hashable, list[Finding]] = {}
    repeated = find_repeated(remark, gone)
    for finding in remark:
        topics.setdefault(_get_topic(repeated.get(finding.id, finding)), []).append(finding)
    return [tuple(sorted(topic, key=lambda each: each.id in repeated)) for topic in topics.values()]


def find_repeated(findings: Sequence[Finding], gone: Collection[str] = ()) -> dict[str, Finding]:
    """Name of a tool's finding → the model's that says the same: on its lines, of its category, and no less grave.

    What has a suggestion to click on repeats nothing, nor does a credential.

    :param gone: names of those that are not there any more.
    """
    said = [each for each in findings if each.layer is Layer.model]
    tools = (each for each in findings if each.layer is not Layer.model and each.fix is None and not each.is_credential)
    pairs = ((tool, next((each for each in said if _repeats(tool, each, gone)), None)) for tool in tools)
    return {tool.id: finding for tool, finding in pairs if finding is not None}


def _repeats(tool: Finding, said: Finding, gone: Collection[str]) -> bool:
    if (tool.path, tool.category, tool.id in gone) != (said.path, said.category, said.id in gone):
        return False
    if tool.line is None or said.line is None or tool.severity.rank > said.severity.rank:
        return False
    return tool.line <= (said.end_line or said.line) and said.line <= (tool.end_line or tool.line)


def _get_topic(finding: Finding) -> Hashable:
    """What findings have in common that say the same; a model's rules are only headings."""
    return finding.fingerprint if finding.layer is Layer.model else (finding.rule, finding.severity)


def _can_join(remark: Remark, other: Remark) -> bool:
    """Whether another remark belongs into a comment: it stands on its lines, and would lose no suggestion there."""
    topics = {_get_topic(finding) for finding in remark}
    if remark[0].path != other[0].path or len(topics) == MOST_TOPICS or _get_topic(other[0]) in topics:
        return False
    (start, end), (other_start, other_end) = remark[0].comment_lines, other[0].comment_lines
    if len(other) == 1 and other[0].fix is not None:
        suggested = sum(len(each.fix.replacement) for each in (*remark, *other) if each.fix is not None)
        return (start, end) == (other_start, other_end) and suggested <= _MOST_SUGGESTED
    return start <= other_end and other_start <= end


def _group_by_rule(findings: Sequence[Finding]) -> list[Remark]:
    placed: list[list[Finding]] = []
    shared: dict[tuple[str, Severity], list[Finding]] = {}
    fixable: dict[str, int] = {}
    for finding in findings:
        key = finding.rule, finding.severity
        is_alone = finding.layer is Layer.model
        if finding.fix is not None and not is_alone:
            fixable[finding.rule] = fixable.get(finding.rule, 0) + 1
            is_alone = fixable[finding.rule] <= MOST_FIXABLE
        if not is_alone and key in shared:
            shared[key].append(finding)
            continue
        placed.append([finding])
        if not is_alone:
            shared[key] = placed[-1]
    return [tuple(group) for group in placed]
