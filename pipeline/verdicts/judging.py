"""Keeps what a person says about findings of giving up, and lets it take effect: as a false alarm, or confirmed."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.gates import digest
from domain.github.pull_requests import PullRequest
from domain.review.findings import Finding
from domain.review.judgements import FindingJudgement, JudgementKind
from domain.runs.run import RepositoryRef, RunState
from memory.findings import dismissals, findings, judgements, whitelists
from memory.runs import checkpoints, runs
from messages import commands as command_texts
from messages import judgements as texts
from pipeline.config import loading
from pipeline.context import Services
from pipeline.gates.actor import CommandActor
from pipeline.verdicts import threads, update
from pipeline.verdicts.dismissal import dismiss
from safety.avoidance_gates import list_mattering, may_overrule


@dataclass(frozen=True)
class Judging:
    """The findings that somebody judges, at least one. The caller checked the permission. All may be repeated.

    :param words: why.
    :param guid: of the delivery that asks for it.
    """

    services: Services
    repository: RepositoryRef
    actor: CommandActor
    pull_request: PullRequest
    found: Sequence[Finding]
    words: str
    guid: str

    async def keep(self, kind: JudgementKind) -> None:
        """Keep what was said, with the head and what was shown."""
        database = self.services.database
        for each in self.found:
            said = await self._build(kind, each)
            await judgements.add(database, self.repository, said, make_cause(self.guid, kind, each))

    async def count_as_false_alarm(self) -> None:
        """Dismiss the findings, and keep who said why."""
        services, where = self.services, (self.repository, self.pull_request.number)
        await self.keep(JudgementKind.legitimate)
        cause = f"{self.guid} dismiss {self.found[0].id}"
        await dismiss(services, *where, tuple(self.found), self.actor.sender, self.words, cause)
        for each in self.found:
            await threads.resolve(services, *where, each)

    async def matters(self) -> bool:
        """Whether all of the findings block, or people are asked about them."""
        services, number = self.services, self.pull_request.number
        review = await checkpoints.load_latest_review(services.database, self.repository.id, number)
        ceilings = services.ceilings.of_configuration
        loaded = await loading.load(services.host, services.database, self.repository, ceilings)
        known: set[str] = set() if review is None else list_mattering(review, loaded.configuration)
        return {each.fingerprint for each in self.found} <= known

    async def is_run_over(self) -> bool:
        """Whether the newest run ended without a verdict that could change."""
        past = await runs.list_for_pull_request(self.services.database, self.repository.id, self.pull_request.number)
        return bool(past) and past[0].run.state in {RunState.failed, RunState.cancelled}

    async def _build(self, kind: JudgementKind, finding: Finding) -> FindingJudgement:
        number, now = self.pull_request.number, self.services.clock.now()
        since = await findings.find_raised_at(self.services.database, self.repository.id, number, finding.id)
        return FindingJudgement(
            number=number,
            name=finding.id,
            fingerprint=finding.fingerprint,
            rule=finding.rule,
            path=finding.path,
            kind=kind,
            words=self.words,
            by_id=self.actor.sender.id,
            by_login=self.actor.sender.login,
            role=self.actor.role,
            head_sha=self.pull_request.head_sha,
            shown=digest(finding.model_dump_json()),
            asked_at=since or now,
            at=now,
        )


async def take_back(
    services: Services, repository: RepositoryRef, number: int, actor: CommandActor, finding: Finding, cause: str
) -> str:
    """Take back all that was said about a finding, and end the whitelists by which it passes; the answer.

    The caller checked the role. May be repeated.
    """
    database, now, here = services.database, services.clock.now(), (repository.id, number)
    said = (await judgements.load_standing(database, *here, [finding.fingerprint])).get(finding.fingerprint)
    if said is not None and not may_overrule(said, actor.facts, actor.sender.id):
        return texts.refuse_to_overrule(finding, said)
    is_undone = await dismissals.undo(database, repository, number, finding, actor.sender, now)
    is_undone |= await judgements.undo(database, *here, finding.fingerprint, now)
    is_undone |= await whitelists.end_covering(database, repository, finding, now)
    await whitelists.undo(database, repository, number, finding.fingerprint, now)
    await update.update_verdict(services, repository, number, cause)
    return texts.confirm_taking_back(finding) if is_undone else command_texts.not_dismissed(finding)


def make_cause(guid: str, kind: JudgementKind, finding: Finding) -> str:
    """What a judgement is kept under, once."""
    return f"{guid} {kind} {finding.id}"
