"""What must hold after every attack and every fault (I1 to I4 and I6 in docs/threats.md)."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

from sqlalchemy import select

from domain.gates import CHECK_ID_PREFIX, GateState
from domain.runs.run import RunState, Trigger
from memory.db.engine import Database
from memory.db.tables.deliveries import DeliveryRow
from memory.db.tables.repositories import GateRow
from memory.db.tables.runs import OutboxRow, RunRow
from simulator import Simulator
from simulator.state import Issue, PullRequest
from tests.accounts import find_discrepancies

_MARKER = re.compile(r"<!-- forge:.*?-->")
_ASKS = "**Forge asks: "


async def find_violations(github: Simulator, database: Database) -> list[str]:
    """What is wrong once everything has come to rest; each is one sentence with the invariant's number."""
    async with database.transaction() as session:
        deliveries = (await session.scalars(select(DeliveryRow))).all()
        runs = (await session.scalars(select(RunRow))).all()
        writes = (await session.scalars(select(OutboxRow))).all()
        gates = (await session.scalars(select(GateRow))).all()
    return [
        *_deliveries_end(github, deliveries),
        *_nothing_twice(github, writes),
        *await find_discrepancies(database),
        *_runs_end(github, runs, gates, {row.run_id for row in writes if row.step == "concluded"}),
        *_gates_are_shown(github, runs, gates),
    ]


def _deliveries_end(github: Simulator, rows: Sequence[DeliveryRow]) -> list[str]:
    ended = {row.guid for row in rows if row.finished_at is not None and row.reason}
    answered = [each for each in github.deliveries if 200 <= each.status_code < 300]
    # What is known under another GUID has its outcome there (T-W14).
    accepted = {each.guid: each for each in answered if each.response.strip() != "seen before"}
    return [
        f"I1: delivery {guid} ({each.event} {each.action or ''}) was answered {each.status_code} and has no outcome"
        for guid, each in accepted.items()
        if guid not in ended
    ]


def _nothing_twice(github: Simulator, writes: Sequence[OutboxRow]) -> list[str]:
    checks, reviews, comments, annotations = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for check in github.world.check_runs.values():
        if check.app is not github.app:
            continue
        checks[f"{check.external_id} {check.name}"] += 1
        for one in check.annotations:
            annotations[f"{check.external_id} {one['path']}:{one['start_line']} {one['title']} {one['message']}"] += 1
    for pull in _pulls(github):
        for review in github.reviews(pull):
            # GitHub wraps each reply in a review without a body. An approval that was taken back may be given again.
            if review.user is github.app.bot and review.body and review.state != "DISMISSED":
                reviews[f"#{pull.number} {review.body.rsplit('<!--', 1)[-1]}"] += 1
        for comment in github.review_comments(pull):
            if comment.user is github.app.bot:
                comments[f"{pull.repository.full_name}#{pull.number} {comment.path} {comment.body}"] += 1
    rows = Counter(f"{row.run_id} {row.step} {row.kind}" for row in writes)
    counted = {"check": checks, "review": reviews, "comment": comments, "annotation": annotations, "write": rows}
    counted |= _count_markers(github)
    return [
        f"I2: {kind} {times} times: {key}"
        for kind, counter in counted.items()
        for key, times in counter.items()
        if times > 1
    ]


def _count_markers(github: Simulator) -> dict[str, Counter[str]]:
    """What carries a hidden marker, below issues and pull requests and in those that were opened; each has its own."""
    said, opened = Counter[str](), Counter[str]()
    for issue in _issues(github):
        where, bot = issue.repository.full_name, github.app.bot
        bodies = [each.body for each in github.comments(issue) if each.user is bot]
        said.update(f"{where}#{issue.number} {marker}" for body in bodies for marker in _MARKER.findall(body))
        if isinstance(issue, PullRequest) and issue.user is bot:
            opened.update(f"{where} {marker}" for marker in _MARKER.findall(issue.body or ""))
    return {"issue comment": said, "pull request": opened}


def _runs_end(
    github: Simulator, rows: Sequence[RunRow], gates: Sequence[GateRow], concluded: Collection[str]
) -> list[str]:
    """A run ends, or waits for a person whom it asked.

    :param concluded: the runs that wrote their verdict, or began to.
    """
    asking = {gate.run_id for gate in gates if gate.state == GateState.waiting}
    wrong = [
        f"I6: run {row.id} is {row.state}"
        for row in rows
        if not RunState(row.state).is_final
        and not (row.state == "waiting" and row.reason == "gate" and row.id in asking)
    ]
    wrong += [
        f"I6: run {row.id} is {row.state} without a reason"
        for row in rows
        if row.state in {"failed", "cancelled"} and not row.reason
    ]
    out_of_reach = {row.id for row in rows if row.reason == "access_lost"}
    wrong += [
        f"I6: check {check.name} of run {check.external_id} is left {check.status}"
        for check in github.world.check_runs.values()
        if check.app is github.app and check.status != "completed" and check.external_id not in out_of_reach
    ]
    # A pull request may be closed right after the verdict, which stands then.
    ended = {
        row.id: row.reason
        for row in rows
        if row.reason == "superseded" or (row.reason == "closed" and row.id not in concluded)
    }
    wrong += [
        f"I6: the check of run {check.external_id}, which was {ended[check.external_id]}, says {check.conclusion}"
        for check in github.world.check_runs.values()
        if check.external_id in ended and check.conclusion not in {None, "cancelled"}
    ]
    return wrong


_SHOWN = {
    GateState.waiting: "action_required",
    GateState.approved: "success",
    GateState.rejected: "failure",
    GateState.expired: "action_required",
    GateState.void: "cancelled",
}


def _gates_are_shown(github: Simulator, runs: Sequence[RunRow], gates: Sequence[GateRow]) -> list[str]:
    """Nobody decided who was not a person, no run that ended still asks, and each gate is shown as it stands."""
    by_id = {row.id: row for row in runs}
    shown = {check.external_id: check for check in github.world.check_runs.values() if check.app is github.app}
    wrong: list[str] = []
    for gate in gates:
        run, check = by_id[gate.run_id], shown.get(f"{CHECK_ID_PREFIX}{gate.id}")
        by = (gate.decision or {}).get("by_id")
        if gate.state in {GateState.approved, GateState.rejected} and (by is None or by == github.app.bot.id):
            wrong.append(f"I4: gate {gate.id} ({gate.name}) was {gate.state} by nobody")
        if gate.state == GateState.waiting and RunState(run.state).is_final:
            wrong.append(f"I6: gate {gate.id} ({gate.name}) of run {run.id}, which is {run.state}, still waits")
        if check is not None and run.reason != "access_lost" and check.conclusion != _SHOWN[GateState(gate.state)]:
            wrong.append(f"I6: the check of gate {gate.id} ({gate.name}) is {gate.state} and says {check.conclusion}")
        if Trigger(run.trigger).is_of_issue and run.reason != "access_lost" and not _is_said(github, gate):
            wrong.append(f"I6: the comment of gate {gate.id} ({gate.name}) does not say that it is {gate.state}")
    return wrong


def _is_said(github: Simulator, gate: GateRow) -> bool:
    """Whether the one comment of a gate on an issue, which has no check, asks as long as it waits and not after that.

    The comment of a question that lost its object may have become that of another one.
    """
    mine = [
        each.body
        for issue in _issues(github)
        for each in github.comments(issue)
        if each.user is github.app.bot and f"<!-- forge:gate:{gate.id}:" in each.body
    ]
    is_asking = [body.startswith(_ASKS) for body in mine]
    return is_asking == [gate.state == GateState.waiting] or (gate.state == GateState.void and not mine)


def _pulls(github: Simulator) -> list[PullRequest]:
    return [issue for issue in _issues(github) if isinstance(issue, PullRequest)]


def _issues(github: Simulator) -> list[Issue]:
    """Pull requests among them."""
    return [issue for repository in github.world.repositories.values() for issue in repository.issues.values()]
