"""Finds whose words Forge carries out in a run: they count as authors of what it pushes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from agents.coding.planner import PlanningTask
from domain.gates import Gate
from domain.github.commits import AN_APP
from domain.github.conversation import AskedIssue, Issue, IssueComment, TextEdit
from domain.runs.run import Run
from memory import gates
from memory.learned import recall
from memory.runs import checkpoints, model_answers, outbox, runs
from pipeline.context import Services
from pipeline.gates.actor import load_authorship
from safety.authorship import Authorship, Contribution, Doubt


class HeardComment(NamedTuple):
    """A comment, and who wrote or edited it."""

    comment: IssueComment
    by: tuple[int, ...]


@dataclass(frozen=True)
class HeardWords:
    """What the run of an issue takes into account beside the issue, and whose words all of it is.

    :param issue_by: who wrote or edited the issue or its title.
    :param comments: oldest first.
    """

    issue_by: tuple[int, ...]
    comments: Sequence[HeardComment]

    @property
    def writers(self) -> frozenset[int]:
        """Everybody who wrote or edited something of it."""
        return frozenset(self.issue_by).union(*(each.by for each in self.comments))


async def load_heard(services: Services, run: Run, issue: Issue) -> HeardWords:
    """The comments of people as they were when somebody asked for the run.

    Later ones, such as an answer to a gate, do not change its task; nor does what somebody edited since then: whoever
    asked did not see it.

    :raises CodeHostError: if GitHub does not list them, or does not say who edited them.
    """
    until = await _find_asked_at(services, run)
    every = await services.host.issue_comments(run.repository, run.number)
    there = [each for each in every if not each.is_app and each.created_at <= until]
    texts = [issue.node_id, *(each.node_id for each in there if each.is_edited)]
    edits = await services.host.text_edits(run.repository, texts)
    late = {text for text, made in edits.items() if any(each.at > until for each in made)}

    def list_by(text: Issue | IssueComment) -> tuple[int, ...]:
        made = drop_own(text.author_id, edits.get(text.node_id, ()))
        return list_writers(text.author_id, [each for each in made if each.at <= until], is_app=text.is_app)

    heard = [HeardComment(each, list_by(each)) for each in there if each.node_id not in late]
    return HeardWords(list_by(issue), heard)


def list_writers(author: int | None, edits: Collection[TextEdit], *, is_app: bool = False) -> tuple[int, ...]:
    """Who wrote or edited a text, as far as the author's account is still there.

    An App that wrote or edited it is among them as :data:`domain.github.commits.AN_APP`, because nobody knows whose
    words it brought, and so is whom GitHub does not name.

    :param is_app: an App wrote it.
    """
    wrote = {*([] if author is None else [author]), *([AN_APP] if is_app else [])}
    return tuple(sorted({each.writer for each in edits} | wrote))


def drop_own(author: int | None, edits: Collection[TextEdit]) -> list[TextEdit]:
    """The edits of others: an author's own say nothing more of whose words a text is, also if it is an App."""
    return [each for each in edits if each.by_id is None or each.by_id != author]


async def _find_asked_at(services: Services, run: Run) -> datetime:
    kept = await model_answers.find(services.database, run, model_answers.ISSUE)
    asked = None if kept is None else AskedIssue.model_validate(kept).asked_at
    return asked or await runs.get_started_at(services.database, run.id) or services.clock.now()


async def list_askers(services: Services, run: Run) -> frozenset[int]:
    """Whoever asked for a run, wrote or edited what it was told, requested changes, or said at a gate what to do.

    So did who taught what agents were told from memory: there, or where Forge said before what this run takes up.
    An App whose issue, check or review comment it was told is among them as :data:`domain.github.commits.AN_APP`.

    :raises CodeHostError: if GitHub does not say who wrote the issue and its comments.
    """
    requester = await runs.find_requester(services.database, run.id)
    decided = [gate.decision for gate in await gates.list_for_run(services.database, run.id)]
    said = [decision.by_id for decision in decided if decision is not None and decision.words.strip()]
    sent_back = await checkpoints.load_send_backs(services.database, run)
    wanted = [who for each in sent_back for fix in each.to_fix for who in (fix.by_id, *fix.edited_by)]
    taught = await recall.list_teachers(services.database, run.repository.id, run.number)
    accounts = (requester, *said, *wanted, *taught, *await _list_writers(services, run))
    return frozenset(who for who in accounts if who is not None)


async def _list_writers(services: Services, run: Run) -> Collection[int]:
    kept = await model_answers.find(services.database, run, model_answers.TASK)
    known = frozenset[int]() if kept is None else PlanningTask.model_validate(kept).writers
    if known:
        return known
    issue = await services.host.issue(run.repository, run.number)  # a run of an earlier version
    return (await load_heard(services, run, issue)).writers


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
    asked = await list_askers(services, run)
    told = Contribution(run.id, asked - {AN_APP}, Doubt.app if AN_APP in asked else None)
    return replace(wrote, parts=(*wrote.parts, told))
