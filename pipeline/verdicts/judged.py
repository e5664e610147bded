"""Loads what people said about the findings of giving up in a review, and which whitelists they pass by."""

from collections.abc import Sequence
from datetime import datetime

from domain.review.avoidance import RULE
from domain.review.findings import Finding
from domain.review.judgements import JudgementKind, Whitelisting, find_lapsed, find_whitelisting
from domain.review.review import NOTHING_JUDGED, JudgedFindings, Review
from domain.runs.run import Run
from memory.findings import judgements, whitelists
from memory.runs import outbox
from messages import judgements as texts
from pipeline.context import Services
from pipeline.gates.actor import load_authorship


async def load_judged(services: Services, run: Run, review: Review) -> JudgedFindings:
    """What was said until now. No whitelist holds for what Forge proposed itself, nor for who asked for it."""
    database, now = services.database, services.clock.now()
    found = [each for each in review.all_findings if each.rule.startswith(RULE)]
    if not found:
        return NOTHING_JUDGED
    prints = [each.fingerprint for each in found]
    said = await judgements.load_standing(database, run.repository.id, run.number, prints)
    known = await whitelists.list_for_rules(database, run.repository.id, {each.rule for each in found})
    if known:
        known = await _select_of_others(services, run, known)
    confirmed = {
        print_: texts.describe_judgement(each) for print_, each in said.items() if each.kind is JudgementKind.violation
    }
    whitelisted, lapsed = _weigh([each for each in found if each.fingerprint not in confirmed], known, now)
    return JudgedFindings(
        confirmed=confirmed,
        disputed={print_: texts.describe_judgement(each) for print_, each in said.items() if each.kind.is_open},
        whitelisted=whitelisted,
        lapsed=lapsed,
    )


async def _select_of_others(services: Services, run: Run, known: Sequence[Whitelisting]) -> Sequence[Whitelisting]:
    """Those that no author of this change asked for; none if it is Forge's, or if not all of its authors are known."""
    if await outbox.find_proposing_run(services.database, run.repository.id, run.number) is not None:
        return ()
    pull_request = await services.host.pull_request(run.repository, run.number)
    wrote = await load_authorship(services, run.repository, pull_request, set())
    return () if wrote.doubt is not None else [each for each in known if not wrote.includes(each.by_id)]


def _weigh(
    found: Sequence[Finding], known: Sequence[Whitelisting], now: datetime
) -> tuple[dict[str, str], dict[str, str]]:
    """Fingerprint → by which whitelist it passes, and by which it would have passed."""
    whitelisted, lapsed = dict[str, str](), dict[str, str]()
    for each in found:
        holding = find_whitelisting(each, known, now)
        ended = find_lapsed(each, known, now)
        if holding is not None:
            whitelisted[each.fingerprint] = texts.describe_whitelisting(holding)
        elif ended is not None:
            lapsed[each.fingerprint] = texts.describe_lapse(*ended)
    return whitelisted, lapsed
