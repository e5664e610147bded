"""Keeps what a person says about findings of giving up, and lets it take effect: as a false alarm, or confirmed."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.gates import digest
from domain.github.pull_requests import PullRequest
from domain.review.findings import Finding
from domain.review.judgements import FindingJudgement, JudgementKind
from domain.runs.run import RepositoryRef
from memory.findings import findings, judgements
from pipeline.context import Services
from pipeline.gates.actor import CommandActor
from pipeline.verdicts import threads
from pipeline.verdicts.dismissal import dismiss
from pipeline.verdicts.false_alarm import keep_false_alarm


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
        """Dismiss the findings, and keep their code."""
        services, where = self.services, (self.repository, self.pull_request.number)
        await self.keep(JudgementKind.legitimate)
        for each in self.found:
            await keep_false_alarm(services, self.repository, self.pull_request, each)
        cause = f"{self.guid} dismiss {self.found[0].id}"
        await dismiss(services, *where, tuple(self.found), self.actor.sender, self.words, cause)
        for each in self.found:
            await threads.resolve(services, *where, each)

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


def make_cause(guid: str, kind: JudgementKind, finding: Finding) -> str:
    """What a judgement is kept under, once."""
    return f"{guid} {kind} {finding.id}"
