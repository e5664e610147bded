"""Decides what ``/forge fix`` is to fix: what has a fix already, what an agent mends, and why the others stay."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, JsonValue

from agents.llm.models import ModelTier, Unusable
from domain.config.configuration import Configuration
from domain.errors import CommitGone
from domain.globs import matches
from domain.review.findings import Finding, Fix
from domain.review.review import Review
from domain.slash.commands import AskFix
from memory.findings import findings
from memory.runs import checkpoints
from messages import fixes as texts
from pipeline.checkout import fetch_commits
from pipeline.issue.instruction.kept_commits import EarlierFix, list_standing
from pipeline.run_context import RunContext
from safety import suggestions
from safety.plan_risk import is_off_limits
from workspace.mirror import Mirror
from workspace.patches import path_rules

_SYNTAX_SECONDS = 10.0


class LeftFinding(BaseModel):
    """A finding that is left alone; in journals.

    :param why: one of the explanations of :mod:`messages.fixes`.
    :param is_done: an earlier change fixed it.
    """

    finding: Finding
    why: str
    is_done: bool = False

    @property
    def became(self) -> str:
        """What became of it."""
        return self.why if self.is_done else texts.explain_unfixed(self.why)


class FixGoal(BaseModel):
    """What is to be fixed; in journals.

    :param known: findings whose own fixes go together, with these as they are at the head.
    :param written: findings that an agent fixes.
    """

    known: tuple[Finding, ...] = ()
    written: tuple[Finding, ...] = ()
    left: tuple[LeftFinding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is to be fixed."""
        return (*self.known, *self.written)


async def find_goal(
    context: RunContext, configuration: Configuration, asked: AskFix, mirror: Mirror, head: str
) -> FixGoal | str:
    """What is to be fixed; or why nothing is, as an answer.

    :param head: of the pull request, in the mirror.
    """
    run = context.run
    where = (context.database, run.repository.id, run.number)
    review, standing = await checkpoints.load_latest_review(*where), await list_standing(context, mirror, head)
    if review is not None and not await _builds_on(context, head, review.head_sha):
        review = None
    if asked.finding is None:
        return await _find_all(context, configuration, mirror, head, review, standing)
    named = await findings.find_by_name(*where, asked.finding)
    current = () if named is None or review is None else review.all_findings
    finding = next((each for each in current if named is not None and each.fingerprint == named.fingerprint), None)
    done = None if named is None else await _find_done(mirror, named, standing, review if finding else None)
    if done is not None:
        return texts.report_done(done.told)
    if finding is None or review is None:
        return texts.report_gone(asked.finding, head)
    goal = await Sorting(context, configuration, mirror, head, review, is_alone=True).sort([finding])
    return texts.report_unfixed(finding, goal.left[0].why) if goal.left else goal


async def _find_all(
    context: RunContext,
    configuration: Configuration,
    mirror: Mirror,
    head: str,
    review: Review | None,
    standing: Sequence[EarlierFix],
) -> FixGoal | str:
    if review is None:
        return texts.report_unreviewed(head)
    if not review.findings:
        return texts.report_nothing_open(head, [each.told for each in standing])
    done = [(each, await _find_done(mirror, each, standing, review)) for each in review.findings]
    sorting = Sorting(context, configuration, mirror, head, review)
    goal = await sorting.sort([finding for finding, by in done if by is None])
    fixed = [LeftFinding(finding=each, why=by.told, is_done=True) for each, by in done if by is not None]
    left = (*goal.left, *fixed)
    if not goal.findings:
        all_done = texts.report_done("; ".join(dict.fromkeys(each.why for each in fixed)))
        return texts.report_none([(each.finding, each.became) for each in left]) if goal.left else all_done
    return goal.model_copy(update={"left": left})


async def _builds_on(context: RunContext, head: str, reviewed: str) -> bool:
    """Whether a head builds on a commit that was reviewed."""
    try:
        mirror = await fetch_commits(context.services, context.run.repository, context.run.number, head, reviewed)
    except CommitGone:
        return False
    return await mirror.follows(head, reviewed)


async def _find_done(
    mirror: Mirror, finding: Finding, standing: Sequence[EarlierFix], review: Review | None
) -> EarlierFix | None:
    """What fixed a finding; not a commit with which a review still found it.

    :param review: that has the finding.
    """
    for each in standing:
        is_refuted = review is not None and each.commit and await mirror.follows(review.head_sha, each.commit)
        if finding.fingerprint in each.fixed and not is_refuted:
            return each
    return None


@dataclass
class Sorting:
    """Sorts findings by who fixes them.

    :param review: in which they are.
    :param is_alone: whether somebody named the one finding, so that people may be asked about its file.
    """

    context: RunContext
    configuration: Configuration
    mirror: Mirror
    head: str
    review: Review
    is_alone: bool = False
    _known: list[Finding] = field(default_factory=list[Finding])
    _written: list[Finding] = field(default_factory=list[Finding])

    async def sort(self, found: Sequence[Finding]) -> FixGoal:
        """Their own fixes first, as far as they go together."""
        why = {each.fingerprint: await self._place(each) for each in sorted(found, key=lambda each: each.fix is None)}
        left = [LeftFinding(finding=each, why=why[each.fingerprint]) for each in found if why[each.fingerprint]]
        return FixGoal(known=tuple(self._known), written=tuple(self._written), left=tuple(left))

    async def _place(self, finding: Finding) -> str:
        """Why it is not fixed; empty if it is."""
        is_protected = is_off_limits(finding.path, self.configuration)
        if finding.is_credential:
            return texts.explain_credential()
        if is_protected and not self.is_alone:
            return texts.explain_protected(finding)
        if path_rules.find_mistake(finding.path) is not None:
            return texts.explain_unwritable(finding.path)
        if finding.fix is not None and not is_protected:
            return await self._take(finding, finding.fix)
        return self._hand_over(finding)

    def _hand_over(self, finding: Finding) -> str:
        """Leave it to an agent, if one may and can fix it."""
        if matches(finding.path, self.configuration.review.never_send):
            return texts.explain_kept_file(finding.path)
        if not self.configuration.review.may_ask_model:
            return texts.explain_kept_code()
        model = self.context.services.models.choose(ModelTier.strong)
        if isinstance(model, Unusable):
            return texts.explain_no_model(model.reason)
        if len(self._written) >= texts.MOST_WRITTEN:
            return texts.explain_too_many()
        self._written.append(finding)
        return ""

    async def _take(self, finding: Finding, fix: Fix) -> str:
        """Take its own fix, which was looked at by itself when it was found."""
        old, now = await self._read(self.review.head_sha, finding.path), await self._read(self.head, finding.path)
        moved = suggestions.move(fix, old, now) if now else None
        if moved is None:
            return texts.explain_moved(self.head)
        before = [each for each in self._known if each.path == finding.path and each.fix is not None]
        fixes = [each.fix for each in before if each.fix is not None and each.fix != moved]
        other = next((each for each in before if each.fix in fixes and suggestions.overlap(each.fix, moved)), None)
        if other is not None:
            return texts.explain_overlap(other)
        if fixes and await self._breaks_syntax(finding.path, now, suggestions.apply_all([*fixes, moved], now)):
            return texts.explain_clash()
        self._known.append(finding.model_copy(update={"fix": moved}))
        return ""

    async def _read(self, commit: str, path: str) -> bytes:
        return (await self.mirror.read(commit, [path])).get(path, b"")

    async def _breaks_syntax(self, path: str, before: bytes, after: bytes) -> bool:
        """Whether a file that could be parsed cannot be parsed any more; false for a language that is not known."""
        was, becomes = (each.decode(errors="replace") for each in (before, after))
        request: JsonValue = {"path": path, "before": was, "after": [becomes]}
        return bool(await self.context.services.toolbox.pool.call("broken by", request, _SYNTAX_SECONDS))
