"""Finds for whom Forge works on an issue: they count as authors of what it makes of it."""

from dataclasses import replace

from domain.gates import Gate
from domain.github.issues import IssueComment
from domain.runs.run import Run
from memory.gates import gates
from memory.runs import outbox, runs
from pipeline.context import Services
from pipeline.gates.actor import load_authorship
from safety.authorship import Authorship, Contribution


async def load_heard_comments(services: Services, run: Run) -> list[IssueComment]:
    """The comments that the run of an issue takes into account: of people, from before it started.

    Later ones, such as an answer to a gate, do not change its task.

    :raises CodeHostError: if GitHub does not list them.
    """
    started = await runs.get_started_at(services.database, run.id)
    every = await services.host.issue_comments(run.repository, run.number)
    return [each for each in every if not each.is_app and (started is None or each.created_at <= started)]


async def list_askers(services: Services, run: Run) -> frozenset[int]:
    """Whoever asked for the run of an issue, wrote the issue or a comment it heard, or said at a gate what to do.

    :raises CodeHostError: if GitHub does not say who wrote the issue and its comments.
    """
    requester = await runs.find_requester(services.database, run.id)
    issue = await services.host.issue(run.repository, run.number)
    decided = [gate.decision for gate in await gates.list_for_run(services.database, run.id)]
    said = [decision.by_id for decision in decided if decision is not None and decision.words.strip()]
    commented = [comment.author_id for comment in await load_heard_comments(services, run)]
    return frozenset(each for each in (requester, issue.author_id, *commented, *said) if each)


async def load_proposed_authorship(services: Services, gate: Gate) -> Authorship | None:
    """Who wrote the pull request that the run of an issue proposed, if a gate of that run is about it.

    :raises CodeHostError: if GitHub does not say.
    """
    run = await runs.get(services.database, gate.run_id)
    if run is None or not run.is_of_issue or not gate.request.proposed_head:
        return None
    number = await outbox.find_proposal(services.database, run.id)
    if number is None:
        return None
    pull_request = await services.host.pull_request(gate.repository, number)
    wrote = await load_authorship(services, gate.repository, pull_request, {gate.name})
    return replace(wrote, parts=(*wrote.parts, Contribution(run.id, await list_askers(services, run))))
