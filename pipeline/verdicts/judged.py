"""Loads what people said about the findings of giving up in a review, and which pass by a dismissal of another."""

from collections.abc import Sequence
from datetime import datetime

from domain.review.avoidance import RULE
from domain.review.feedback import FindingFeedback, Word, find_lapsed, find_passing
from domain.review.findings import Finding
from domain.review.review import NOTHING_JUDGED, JudgedFindings, Review
from domain.runs.run import Run
from memory.findings import feedback
from memory.runs import outbox
from messages import feedback as texts
from pipeline.context import Services
from pipeline.gates.actor import load_authorship


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
