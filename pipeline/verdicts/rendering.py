"""Renders all that the check of a finished review says."""

from collections.abc import Sequence

from domain.review.findings import Finding
from domain.review.review import Review
from domain.runs.run import Run
from memory import gates
from memory.repositories import automation_level
from memory.runs import outbox
from messages import automation as automation_texts
from messages import gates as gate_texts
from messages import review as review_texts
from messages import updates as update_texts
from messages.review import CheckText
from pipeline.context import Services
from pipeline.verdicts.settings import RunSettings


async def render_verdict(
    services: Services,
    run: Run,
    review: Review,
    settings: RunSettings,
    posted: Sequence[Finding],
    posted_before: int = 0,
) -> CheckText:
    """All that the check of a finished review says, as things are now: at its end, and whenever it is shown again.

    :param posted: the findings that have a comment.
    :param posted_before: how many more have a comment of an earlier review.
    """
    database, live = services.database, await services.host.pull_request(run.repository, run.number)
    sections = (
        automation_texts.render_changes(await automation_level.list_changes(database, run.id)),
        automation_texts.report_refusal(await automation_level.find_refusal(database, run.id)),
        gate_texts.render_gates_section(await gates.list_for_run(database, run.id)),
    )
    return review_texts.render_outcome(
        review,
        posted,
        posted_before,
        " ".join(why for why in (review.unposted, settings.problem) if why) or None,
        "\n\n".join(filter(None, sections)),
        is_tested=await outbox.has_tested(database, run.repository.id, run.head_sha),
        offer=update_texts.offer(live.base_ref) if live.is_open and live.has_conflicts else "",
    )
