"""What must hold after every attack and every fault (the invariants I1 to I7 of the threat model, as far as built)."""

from collections import Counter
from collections.abc import Collection, Sequence

from sqlalchemy import select

from domain.runs import RunState
from memory.database import Database
from memory.tables import DeliveryRow, OutboxRow, RunRow
from simulator import Simulator
from simulator.state import PullRequest
from tests.accounts import unaccounted


async def violations(github: Simulator, database: Database) -> list[str]:
    """What is wrong once everything has come to rest; each is one sentence with the invariant's number."""
    async with database.transaction() as session:
        deliveries = (await session.scalars(select(DeliveryRow))).all()
        runs = (await session.scalars(select(RunRow))).all()
        writes = (await session.scalars(select(OutboxRow))).all()
    return [
        *_deliveries_end(github, deliveries),
        *_nothing_twice(github, writes),
        *await unaccounted(database),
        *_runs_end(github, runs, {row.run_id for row in writes if row.step == "concluded"}),
    ]


def _deliveries_end(github: Simulator, rows: Sequence[DeliveryRow]) -> list[str]:
    ended = {row.guid for row in rows if row.finished_at is not None and row.reason}
    accepted = {each.guid: each for each in github.deliveries if 200 <= each.status_code < 300}
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
            if review.user is github.app.bot and review.body:  # GitHub wraps each reply in a review without a body
                reviews[f"#{pull.number} {review.body.rsplit('<!--', 1)[-1]}"] += 1
        for comment in github.review_comments(pull):
            if comment.user is github.app.bot:
                comments[f"{pull.repository.full_name}#{pull.number} {comment.path} {comment.body}"] += 1
    rows = Counter(f"{row.run_id} {row.step} {row.kind}" for row in writes)
    counted = {"check": checks, "review": reviews, "comment": comments, "annotation": annotations, "write": rows}
    return [
        f"I2: {kind} {times} times: {key}"
        for kind, counter in counted.items()
        for key, times in counter.items()
        if times > 1
    ]


def _runs_end(github: Simulator, rows: Sequence[RunRow], concluded: Collection[str]) -> list[str]:
    """:param concluded: the runs that wrote their verdict, or began to."""
    wrong = [f"I6: run {row.id} is {row.state}" for row in rows if not RunState(row.state).is_final]
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


def _pulls(github: Simulator) -> list[PullRequest]:
    return [
        issue
        for repository in github.world.repositories.values()
        for issue in repository.issues.values()
        if isinstance(issue, PullRequest)
    ]
