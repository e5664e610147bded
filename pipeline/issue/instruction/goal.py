"""Decides what ``/forge fix`` is to fix: what has a fix already, what an agent mends, and why the others stay."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from agents.llm.models import ModelTier, Unusable
from agents.syntax.validity import find_broken
from agents.testing.reproduction.run import run_reproduction, write_again
from domain.config.configuration import Configuration
from domain.errors import CommitGone
from domain.globs import matches
from domain.review.changes import Change
from domain.review.findings import Finding, Fix, Layer, ProofOutcome
from domain.review.review import Review
from domain.slash import AskFix
from domain.value import Value
from memory import findings
from memory.runs import checkpoints, runs
from messages import fixes as texts
from messages.fixes import FixOutcome, FixState
from pipeline.checkout import fetch_commits
from pipeline.issue.instruction.kept_commits import EarlierFix, list_standing
from pipeline.run_context import RunContext, run_while_current
from safety import autofix
from safety.plan_risk import is_off_limits
from workspace.mirror import Mirror
from workspace.patches import refusals

TEST_SECONDS = 120
"""For the test that shows a finding, where reviews run none any more."""
_SYNTAX_SECONDS = 10.0


class FixGoal(Value):
    """What is to be fixed; in journals.

    :param known: findings whose own fixes go together.
    :param written: findings that an agent fixes.
    :param left: those that are left alone.
    :param aged: fingerprints of those of them whose file changed since, so that the agent may call them gone.
    """

    known: tuple[Finding, ...] = ()
    written: tuple[Finding, ...] = ()
    left: tuple[FixOutcome, ...] = ()
    aged: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is to be fixed."""
        return (*self.known, *self.written)


async def find_goal(
    context: RunContext, configuration: Configuration, asked: AskFix, mirror: Mirror, change: Change
) -> FixGoal | str:
    """What is to be fixed; or why nothing is, as an answer.

    :param change: of the pull request; the mirror has its commits.
    """
    run, head = context.run, change.head_sha
    where = (context.database, run.repository.id, run.number)
    review = await checkpoints.load_latest_review(*where)
    standing = await list_standing(context.services, run.repository, run.number, mirror, head)
    if review is not None and not await _builds_on(context, head, review.head_sha):
        review = None
    if asked.finding is None:
        return await _find_all(context, configuration, mirror, change, review, standing)
    named = await findings.find_by_name(*where, asked.finding)
    current = () if named is None or review is None else review.all_findings
    finding = next((each for each in current if named is not None and each.fingerprint == named.fingerprint), None)
    done = None if named is None else await _find_done(mirror, named, standing, review if finding else None)
    if named is not None and done is not None:
        return texts.report_all([_tell_done(named, done)])
    if finding is None or review is None:
        return texts.report_gone(asked.finding, head)
    goal = await Sorting(context, configuration, mirror, change, review, is_alone=True).sort([finding])
    return texts.report_all(goal.left) if goal.left else goal


async def _find_all(
    context: RunContext,
    configuration: Configuration,
    mirror: Mirror,
    change: Change,
    review: Review | None,
    standing: Sequence[EarlierFix],
) -> FixGoal | str:
    if review is None:
        return texts.report_unreviewed(change.head_sha)
    if not review.findings:
        return texts.report_nothing_open(change.head_sha, [each.told for each in standing])
    done = [(each, await _find_done(mirror, each, standing, review)) for each in review.findings]
    sorting = Sorting(context, configuration, mirror, change, review)
    goal = await sorting.sort([finding for finding, by in done if by is None])
    left = (*goal.left, *(_tell_done(each, by) for each, by in done if by is not None))
    return goal.model_copy(update={"left": left}) if goal.findings else texts.report_all(left)


def _tell_done(finding: Finding, by: EarlierFix) -> FixOutcome:
    return FixOutcome(finding, FixState.done if by.commit else FixState.proposed, by.told)


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
    change: Change
    review: Review
    is_alone: bool = False
    _known: list[Finding] = field(default_factory=list[Finding])
    _written: list[Finding] = field(default_factory=list[Finding])
    _aged: list[str] = field(default_factory=list[str])

    async def sort(self, found: Sequence[Finding]) -> FixGoal:
        """Their own fixes first, as far as they go together."""
        ended = {each.fingerprint: await self._place(each) for each in sorted(found, key=lambda each: each.fix is None)}
        left = [outcome for each in found if (outcome := ended[each.fingerprint]) is not None]
        known, written, aged = tuple(self._known), tuple(self._written), tuple(self._aged)
        return FixGoal(known=known, written=written, left=tuple(left), aged=aged)

    async def _place(self, finding: Finding) -> FixOutcome | None:
        """What became of it already, or why it is left; None if it is to be fixed."""
        is_protected = is_off_limits(finding.path, self.configuration)
        if finding.is_credential:
            return _leave(finding, texts.CREDENTIAL)
        if await self._passes(finding):
            return FixOutcome(finding, FixState.done, texts.explain_passing(self._head))
        if is_protected and not self.is_alone:
            return _leave(finding, texts.explain_protected(finding))
        if refusals.find_mistake(finding.path) is not None:
            return _leave(finding, texts.explain_unwritable(finding.path))
        found_at = await self._find_first_head(finding)
        old, now = await self._read(found_at, finding.path), await self._read(self._head, finding.path) or b""
        if finding.fix is None or is_protected:
            return self._hand_over(finding, is_aged=old != now)
        if old == now:
            return await self._take(finding, finding.fix, now)
        return self._weigh(finding, finding.fix, old, now)

    @property
    def _head(self) -> str:
        return self.change.head_sha

    async def _passes(self, finding: Finding) -> bool:
        """Whether the test that showed it on an earlier head passes now."""
        test, proof, configuration = write_again(finding), finding.proof, self.configuration
        if test is None or proof is None or proof.head_sha == self._head or configuration.testing.runner == "actions":
            return False
        seconds = float(configuration.review.proof_seconds or TEST_SECONDS)
        tester = self.context.build_tester(self.mirror, configuration)
        running = run_reproduction(tester, self.change, test, seconds)
        said = await run_while_current(self.context.services, self.context.run, running)
        return said.outcome is ProofOutcome.refuted

    async def _find_first_head(self, finding: Finding) -> str:
        """The head for which it was made, with its fix: a tool makes it anew in each review, a model once."""
        if finding.layer is not Layer.model:
            return self.review.head_sha
        database, run = self.context.database, self.context.run
        ids = await findings.find_runs(database, run.repository.id, run.number, finding.id)
        first = None if ids is None else await runs.get(database, ids[0])
        return self.review.head_sha if first is None else first.head_sha

    def _weigh(self, finding: Finding, fix: Fix, old: bytes | None, now: bytes) -> FixOutcome | None:
        """What becomes of it where its file is another one than its fix was made for."""
        is_reviewed = self.review.head_sha == self._head  # and has the finding all the same
        if old and not is_reviewed and autofix.is_made(fix, old, now):
            return FixOutcome(finding, FixState.done, texts.explain_made(self._head))
        if finding.layer is Layer.model:
            return self._hand_over(finding, is_aged=True)
        instead = autofix.find_instead(fix, old, now) if old else ""
        return _leave(finding, texts.explain_moved(finding, instead, self._head))

    def _hand_over(self, finding: Finding, *, is_aged: bool) -> FixOutcome | None:
        """Give it to an agent, if one may and can fix it.

        :param is_aged: its file is another one than when it was found.
        """
        if matches(finding.path, self.configuration.review.never_send):
            return _leave(finding, texts.explain_kept_file(finding.path))
        if not self.configuration.review.may_ask_model:
            return _leave(finding, texts.CODE_KEPT)
        model = self.context.services.models.choose(ModelTier.strong)
        if isinstance(model, Unusable):
            return _leave(finding, texts.explain_no_model(model.reason))
        if len(self._written) >= texts.MOST_WRITTEN:
            return _leave(finding, texts.TOO_MANY)
        self._written.append(finding)
        is_shown_here = finding.proof is not None and finding.proof.is_shown and finding.proof.head_sha == self._head
        if finding.layer is Layer.model and is_aged and not is_shown_here:
            self._aged.append(finding.fingerprint)
        return None

    async def _take(self, finding: Finding, fix: Fix, now: bytes) -> FixOutcome | None:
        """Take its own fix, which was looked at by itself when it was found."""
        before = [each for each in self._known if each.path == finding.path and each.fix is not None]
        fixes = [each.fix for each in before if each.fix is not None and each.fix != fix]
        other = next((each for each in before if each.fix in fixes and autofix.overlap(each.fix, fix)), None)
        if other is not None:
            return _leave(finding, texts.explain_overlap(other))
        if fixes and await self._breaks_syntax(finding.path, now, autofix.apply_all([*fixes, fix], now)):
            return _leave(finding, texts.CLASH)
        self._known.append(finding)
        return None

    async def _read(self, commit: str, path: str) -> bytes | None:
        """A file, empty if it is not there; None where nobody has the commit any more."""
        services, run = self.context.services, self.context.run
        try:
            mirror = await fetch_commits(services, run.repository, run.number, self._head, commit)
        except CommitGone:
            return None
        return (await mirror.read(commit, [path])).get(path, b"")

    async def _breaks_syntax(self, path: str, before: bytes, after: bytes) -> bool:
        """Whether a file that could be parsed cannot be parsed any more; false for a language that is not known."""
        was, becomes = (each.decode(errors="replace") for each in (before, after))
        job = partial(find_broken, path, was, [becomes])
        return bool(await self.context.services.toolbox.pool.call(job, _SYNTAX_SECONDS))


def _leave(finding: Finding, why: str) -> FixOutcome:
    return FixOutcome(finding, FixState.left, why)
