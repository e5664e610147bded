"""Applies to a review what people said about its findings, and learned dismissals of similar ones."""

from collections.abc import Sequence
from datetime import datetime

from domain.config.configuration import Configuration, MemorySettings
from domain.review.avoidance import RULE
from domain.review.feedback import FindingFeedback, Word, drop_graver, find_lapsed, find_passing
from domain.review.findings import Finding, Layer
from domain.review.review import NOTHING_JUDGED, JudgedFindings, Review
from domain.runs.run import RepositoryRef, Run
from memory import findings
from memory.db.engine import Database
from memory.learned import feedback, memories
from memory.runs import outbox, runs
from messages import feedback as texts
from messages.memory import MOST_NAMED, Evidence
from pipeline.config import loading
from pipeline.context import Services
from pipeline.gates.authorship import load_authorship
from safety.suppression import (
    FEWEST,
    NO_HISTORY,
    DismissalHistory,
    find_suppression,
    list_distinct,
    may_be_suppressed,
    rate_confidence,
    with_dismissals,
)


async def load_judged(services: Services, run: Run, review: Review) -> JudgedFindings:
    """What was said until now. Nothing that Forge proposed itself passes by another, nor what the dismisser wrote."""
    database, now = services.database, services.clock.now()
    found = [each for each in review.all_findings if each.rule.startswith(RULE)]
    if not found:
        return NOTHING_JUDGED
    said = await feedback.load_standing(database, run.repository.id, run.number, found)
    known = await feedback.list_with_scope(database, run.repository.id, {each.rule for each in found})
    if known:
        known = await _select_of_others(services, run, known)
    confirmed, disputed = (
        {print_: texts.describe_feedback(each) for print_, each in said.items() if each.word is word}
        for word in (Word.confirmed, Word.disputed)
    )
    passing, lapsed = _weigh([each for each in found if each.fingerprint not in confirmed], known, now)
    return JudgedFindings(confirmed=confirmed, disputed=disputed, passing=passing, lapsed=lapsed)


async def _select_of_others(
    services: Services, run: Run, known: Sequence[FindingFeedback]
) -> Sequence[FindingFeedback]:
    """Those that no author of this change gave; none if it is Forge's, or if not all of its authors are known."""
    if await outbox.find_proposing_run(services.database, run.repository.id, run.number) is not None:
        return ()
    pull_request = await services.host.pull_request(run.repository, run.number)
    wrote = await load_authorship(services, run.repository, pull_request, set())
    return () if wrote.doubt is not None else [each for each in known if not wrote.includes(each.by_id)]


def _weigh(
    found: Sequence[Finding], known: Sequence[FindingFeedback], now: datetime
) -> tuple[dict[str, str], dict[str, str]]:
    """Fingerprint → by which dismissal of another it passes, and by which it would have passed."""
    passing, lapsed = dict[str, str](), dict[str, str]()
    for each in found:
        holding = find_passing(each, known, now)
        ended = find_lapsed(each, known, now)
        if holding is not None:
            passing[each.fingerprint] = texts.describe_scope(holding)
        elif ended is not None:
            lapsed[each.fingerprint] = texts.describe_lapse(*ended)
    return passing, lapsed


async def apply_dismissals(
    services: Services, run: Run, review: Review, configured: Configuration | None = None
) -> Review:
    """The review without the findings that people dismissed in this repository until now, and with what they said.

    :param configured: the repository's configuration; loaded where it matters and is not given.
    """
    repository = run.repository
    dismissed = await feedback.find_dismissed(services.database, repository, run.number, review.fingerprints)
    history = await load_dismissal_history(services.database, repository, review.all_findings)
    if history.dismissed and not await is_learning_enabled(services, repository, configured):
        history = NO_HISTORY
    judged = await load_judged(services, run, review)
    return with_dismissals(review, drop_graver(dismissed, review.all_findings), history, judged)


async def load_dismissal_history(
    database: Database, repository: RepositoryRef, found: Sequence[Finding]
) -> DismissalHistory:
    """Decisions of people here about findings of the same rules or places, and about a model's findings nearby."""
    rules, places = {finding.rule for finding in found}, {finding.place for finding in found}
    if not rules:
        return NO_HISTORY
    of_model = {finding.path for finding in found if finding.layer is Layer.model}
    past = await feedback.find_related(database, repository, rules, places, of_model)
    if len(past) < FEWEST:
        return DismissalHistory(past)
    doubted = {each.rule for each in past}
    return DismissalHistory(past, await findings.find_resolved(database, repository.id, doubted))


async def load_evidence(
    database: Database, repository: RepositoryRef, number: int, finding: Finding, *, is_learning: bool
) -> Evidence:
    """The reasons why a finding of a pull request is raised or not.

    :param is_learning: whether decisions about similar findings count in the repository.
    """
    history = await load_dismissal_history(database, repository, [finding])
    own = [past for past in history.dismissed if past.fingerprint == finding.fingerprint]
    led = [await memories.find(database, each) for each in finding.memories[:MOST_NAMED]]
    return Evidence(
        finding,
        dismissal=own[0] if own else None,
        weight=rate_confidence(finding, history) if is_learning else None,
        exempt=not may_be_suppressed(finding),
        held=find_suppression(finding, history) if is_learning and not own else None,
        past=list_distinct(finding, history),
        memories=[memory for memory in led if memory is not None],
        heads=await load_heads(database, repository, number, finding),
    )


async def load_heads(
    database: Database, repository: RepositoryRef, number: int, finding: Finding
) -> tuple[str, str] | None:
    """The first and the last head at which a finding of a pull request was found."""
    ids = await findings.find_runs(database, repository.id, number, finding.id)
    found = [await runs.get(database, run_id) for run_id in ids or ()]
    first, last = found or (None, None)
    return None if first is None or last is None else (first.head_sha, last.head_sha)


async def is_learning_enabled(
    services: Services, repository: RepositoryRef, configured: Configuration | None = None
) -> bool:
    """Whether the repository wants Forge to learn, and to use what it learned."""
    return (await load_memory_settings(services, repository) if configured is None else configured.memory).enabled


async def load_memory_settings(services: Services, repository: RepositoryRef) -> MemorySettings:
    """The repository's settings of Forge's memory."""
    return (await loading.load_configuration(services, repository)).memory
