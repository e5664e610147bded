"""Draws the verdict of a finished review anew after a dismissal, and updates its check."""

from itertools import count

from domain.errors import Superseded
from domain.review.review import Decision, Review
from domain.runs.run import RepositoryRef, Run, RunState
from memory.findings import findings
from memory.gates import gates
from memory.repositories import automation_level
from memory.runs import checkpoints, runs
from messages import automation as automation_texts
from messages import gates as gate_texts
from messages import review as review_texts
from pipeline.context import Services
from pipeline.publishing.publisher import Publisher
from pipeline.verdicts.approval import withdraw
from pipeline.verdicts.gates import Asked
from pipeline.verdicts.settings import Settings, begun
from pipeline.verdicts.suppression import heeded
from safety.gates import answered, with_open


async def check(services: Services, repository: RepositoryRef, number: int, cause: str, *, anew: bool = True) -> None:
    """Let the check of the newest run say what holds now; nothing if a newer head is on its way.

    A run that waits for people says it itself once it goes on: perhaps there is nothing left to ask. Where a dismissal
    takes away what blocked, and something was not asked because of that, this is no approval: the run goes on, too.

    :param cause: the delivery behind it, so that a repeated step updates once.
    :param anew: also where it would say what it says.
    """
    past = await runs.of_pull_request(services.database, repository.id, number)
    if not past or past[0].run.state is not RunState.completed:
        return
    run, said = past[0].run, None
    settings = await begun(services, run)
    for attempt in count():
        review = await checkpoints.load_review(services.database, run)
        if review is None:
            return
        now = await _drawn(services, run, review, settings)
        if now == (said or (None if anew else review)):
            return
        await checkpoints.replace_review(services.database, run, now)
        try:
            await _say(services, run, now, cause if attempt == 0 else f"{cause}, {attempt}")
        except Superseded:
            return
        said = now  # two people may judge at once: whoever wrote last has to have seen both


async def _drawn(services: Services, run: Run, review: Review, settings: Settings) -> Review:
    """The review with what people said of it by now."""
    asked = await gates.of_run(services.database, run.id)
    drawn = await heeded(services, run.repository, review, settings.configuration)
    asking = Asked(services, run, settings.configuration, settings.pull_request)
    return with_open(answered(drawn, asked), await asking.unanswered(drawn, asked))


async def _say(services: Services, run: Run, now: Review, cause: str) -> None:
    """:raises Superseded: if another run owns the pull request."""
    posted = await findings.posted(services.database, run.repository.id, run.number)
    inline = [finding for finding in now.findings if finding.fingerprint in posted]
    if now.decision is not Decision.approve:
        await withdraw(services, run, all_of_them=True)
    level = automation_texts.measured(await automation_level.changes(services.database, run.id))
    asked = gate_texts.standing(await gates.of_run(services.database, run.id))
    standing = "\n\n".join(part for part in (level, asked) if part)
    text = review_texts.outcome(now, inline, 0, gates=standing)
    await Publisher.of(services).conclude_again(run, cause, now.conclusion, text)
