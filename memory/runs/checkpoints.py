"""Keeps the output of each phase of a run, from which it continues, and what tests say of a base, for all its runs."""

import base64
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue
from sqlalchemy import Select, delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.review.findings import Finding
from domain.review.review import Conclusion, Review, SuppressedFinding
from domain.runs.coverage import BaseCoverage
from domain.runs.earlier_tests import Baseline, BaseRun, EarlierTests
from domain.runs.next_step import SendBack
from domain.runs.plan import RatedPlan, count_versions
from domain.runs.run import Phase, ReasonCode, Run, RunState
from domain.value import new_id
from memory import findings, ledger
from memory.db.engine import Database
from memory.db.tables.runs import CheckpointRow, RecoveryRow, RunRow, WorkCheckpointRow
from memory.runs.runs import NOT_REVIEWS

Shape = TypeVar("Shape", bound=BaseModel)
_SHARED: Mapping[type[BaseModel], str] = {
    BaseCoverage: "coverage",
    EarlierTests: "earlier tests",
    BaseRun: "earlier tests before",
}
"""What is kept for all runs of a repository, by its name among the phases."""
_BASELINE = "baseline"  # among the phases, although it is part of the planning


async def save_review(database: Database, run: Run, review: Review, now: datetime) -> Review:
    """Store the review once, with ids for its findings; a repeated step gets the stored review."""
    async with database.transaction() as session:
        row = await session.scalar(_select_phase(run, Phase.review).with_for_update())
        if row is not None:
            return Review.model_validate(row.output)
        named = review.model_copy(
            update={
                "findings": await findings.name_all(session, run, review.findings, now),
                "dismissed": await findings.name_all(session, run, review.dismissed, now),
                "held": await _name_suppressed(session, run, review.held, now),
                "in_history": await findings.name_all(session, run, review.in_history, now),
                "in_history_dismissed": await findings.name_all(session, run, review.in_history_dismissed, now),
            }
        )
        row = _add(session, run, Phase.review, named.model_dump(mode="json"), now)
        for layer in review.layers:
            for tool in layer.tools:
                ledger.record(
                    session,
                    run.id,
                    EventType.tool_executed,
                    now,
                    source=tool.tool,
                    phase=Phase.review,
                    payload={"files": tool.files, "problem": tool.problem},
                    duration=tool.seconds,
                )
        facts = {"id": row.id, **_tell_verdict(named)}
        ledger.record(session, run.id, EventType.checkpoint_created, now, phase=Phase.review, payload=facts)
        return named


def _tell_verdict(review: Review) -> dict[str, Any]:
    """What the ledger keeps of a verdict, so that a run's timeline can tell how it changed."""
    return {"decision": review.decision.value, "findings": len(review.findings)}


async def _name_suppressed(
    session: AsyncSession, run: Run, held: Sequence[SuppressedFinding], now: datetime
) -> tuple[SuppressedFinding, ...]:
    named = await findings.name_all(session, run, [each.finding for each in held], now)
    return tuple(each.model_copy(update={"finding": f}) for each, f in zip(held, named, strict=True))


async def load_review(database: Database, run: Run) -> Review | None:
    """The review of a run, if that phase was completed."""
    return await _load(database, _select_phase(run, Phase.review), Review)


async def load_reviews(database: Database, run_ids: Collection[str]) -> Mapping[str, Review]:
    """The reviews of these runs, by run, as far as that phase was completed."""
    query = select(CheckpointRow).where(CheckpointRow.run_id.in_(run_ids), CheckpointRow.phase == Phase.review.value)
    return {row.run_id: Review.model_validate(row.output) for row in await database.scalars(query)}


async def replace_review(database: Database, run: Run, before: Review, review: Review, now: datetime) -> bool:
    """Store the review with people's changes, unless it is not as it was before them; whether it was stored.

    The ledger tells if they change the verdict.
    """
    async with database.transaction() as session:
        row = await session.scalar(_select_phase(run, Phase.review).with_for_update())
        if row is None or Review.model_validate(row.output) != before:
            return False
        row.output, told = review.model_dump(mode="json"), _tell_verdict(review)
        if told != _tell_verdict(before):
            facts = {"id": row.id, "is_changed": True, **told}
            ledger.record(session, run.id, EventType.checkpoint_created, now, phase=Phase.review, payload=facts)
        return True


async def add_earlier_tests(
    database: Database, run: Run, said: EarlierTests, found: Sequence[Finding], now: datetime
) -> Review | None:
    """Add to the stored review, once, what the tests of before say of its code; None if there is no review.

    :param found: what follows from it.
    """
    async with database.transaction() as session:
        row = await session.scalar(_select_phase(run, Phase.review).with_for_update())
        if row is None:
            return None
        review = Review.model_validate(row.output)
        known = {each.fingerprint for each in review.all_findings}
        new = [each for each in found if each.fingerprint not in known]
        named = await findings.name_all(session, run, new, now)
        review = review.model_copy(update={"findings": (*review.findings, *named), "earlier": said})
        row.output = review.model_dump(mode="json")
        return review


async def keep_unposted(database: Database, run: Run, why: str) -> Review | None:
    """Keep with the stored review why it has no comments; empty: it has some. None if there is no review."""
    async with database.transaction() as session:
        row = await session.scalar(_select_phase(run, Phase.review).with_for_update())
        if row is None:
            return None
        review = Review.model_validate(row.output).model_copy(update={"unposted": why})
        row.output = review.model_dump(mode="json")
        return review


async def load_latest_review(
    database: Database, repository_id: int, number: int, before: str | None = None
) -> Review | None:
    """The newest review of a pull request.

    :param before: id of a run; only earlier runs count.
    """
    query = _select_newest(repository_id, number, Phase.review)
    return await _load(database, query if before is None else query.where(RunRow.id < before), Review)


@dataclass(frozen=True)
class PastPlan:
    """A plan of an earlier run, and when it was made."""

    run: Run
    plan: RatedPlan
    at: datetime


async def save_plan(database: Database, run: Run, plan: RatedPlan, now: datetime) -> None:
    """Store the plan of a run, once."""
    async with database.transaction() as session:
        if await session.scalar(_select_phase(run, Phase.planning)) is not None:
            return
        row = _add(session, run, Phase.planning, plan.model_dump(mode="json"), now)
        _record(session, run, Phase.planning, row, now)


async def load_plan(database: Database, run: Run) -> RatedPlan | None:
    """The plan of a run, if there is one."""
    return await _load(database, _select_phase(run, Phase.planning), RatedPlan)


async def load_latest_plan(database: Database, repository_id: int, number: int) -> RatedPlan | None:
    """The newest plan of an issue."""
    return await _load(database, _select_newest(repository_id, number, Phase.planning), RatedPlan)


async def list_plans(database: Database, run: Run) -> Sequence[PastPlan]:
    """The plans that earlier runs made of the same issue, oldest first."""
    query = (
        select(CheckpointRow, RunRow)
        .join(RunRow, RunRow.id == CheckpointRow.run_id)
        .where(
            RunRow.repository_id == run.repository.id,
            RunRow.number == run.number,
            RunRow.id < run.id,
            CheckpointRow.phase == Phase.planning.value,
        )
        .order_by(RunRow.id)
    )
    found = await database.rows(query)
    return [PastPlan(by.as_run(), RatedPlan.model_validate(row.output), row.time) for row, by in found]


async def find_version(database: Database, run: Run, plan: RatedPlan) -> int:
    """Which version of the plan of its issue the plan of a run is."""
    past = [each.plan.plan for each in await list_plans(database, run)]
    return count_versions([*past, plan.plan])


async def save_tests(database: Database, run: Run, tested: Mapping[str, JsonValue], now: datetime) -> None:
    """Store the test result of the newest head, in place of an earlier one."""
    async with database.transaction() as session:
        row = await session.scalar(_select_phase(run, Phase.testing).with_for_update())
        if row is None:
            row = _add(session, run, Phase.testing, dict(tested), now)
        else:
            row.output, row.time = dict(tested), now
        _record(session, run, Phase.testing, row, now)


async def load_tests(database: Database, run: Run) -> Mapping[str, JsonValue] | None:
    """The test result of the newest tested head."""
    row = await database.scalar(_select_phase(run, Phase.testing))
    return None if row is None else row.output


async def save_baseline(database: Database, run: Run, key: str, baseline: Baseline, now: datetime) -> None:
    """Store, once, how the repository's commands end before anything is changed.

    :param key: stands for the commands.
    """
    async with database.transaction() as session:
        if await session.scalar(_select_phase(run, _BASELINE)) is not None:
            return
        output = {"key": key, "baseline": baseline.model_dump(mode="json")}
        _record(session, run, Phase.planning, _add(session, run, _BASELINE, output, now), now)


async def load_baseline(database: Database, run: Run) -> Baseline | None:
    """The baseline of a run, if it has one."""
    row = await database.scalar(_select_phase(run, _BASELINE))
    return None if row is None else Baseline.model_validate(row.output["baseline"])


async def find_baseline(database: Database, run: Run, key: str) -> Baseline | None:
    """The newest baseline of any run on the same base with the same commands.

    :param key: stands for the commands.
    """
    query = (
        select(CheckpointRow)
        .join(RunRow, RunRow.id == CheckpointRow.run_id)
        .where(
            RunRow.repository_id == run.repository.id,
            RunRow.base_sha == run.base_sha,
            CheckpointRow.phase == _BASELINE,
            CheckpointRow.output["key"].as_string() == key,
        )
        .order_by(RunRow.id.desc())
        .limit(1)
    )
    row = await database.scalar(query)
    return None if row is None else Baseline.model_validate(row.output["baseline"])


async def save_send_back(database: Database, run: Run, bounce: SendBack, count: int, now: datetime) -> None:
    """Store, once, that the proposed change was sent back for correction.

    :param count: how often it was sent back before.
    """
    async with database.transaction() as session:
        row = await session.scalar(_select_phase(run, Phase.implementation).with_for_update())
        known: Sequence[SendBack] = [] if row is None else _parse_send_backs(row)
        if len(known) > count:
            return
        output = {"bounces": [each.model_dump(mode="json") for each in (*known, bounce)]}
        if row is None:
            row = _add(session, run, Phase.implementation, output, now)
        else:
            row.output, row.time = output, now
        payload = {"count": count + 1, "head": bounce.head, "to_fix": len(bounce.to_fix)}
        ledger.record(session, run.id, EventType.phase_bounced, now, phase=bounce.phase, payload=payload)
        _record(session, run, Phase.implementation, row, now)


async def load_send_backs(database: Database, run: Run) -> Sequence[SendBack]:
    """Each time that the proposed change was sent back for correction, in order."""
    row = await database.scalar(_select_phase(run, Phase.implementation))
    return [] if row is None else _parse_send_backs(row)


def _add(session: AsyncSession, run: Run, phase: str, output: dict[str, Any], now: datetime) -> CheckpointRow:
    row = CheckpointRow(id=new_id(), run_id=run.id, phase=str(phase), output=output, time=now)
    session.add(row)
    return row


def _record(session: AsyncSession, run: Run, phase: Phase, row: CheckpointRow, now: datetime) -> None:
    ledger.record(session, run.id, EventType.checkpoint_created, now, phase=phase, payload={"id": row.id})


async def _load(database: Database, query: Select[CheckpointRow], shape: type[Shape]) -> Shape | None:
    row = await database.scalar(query)
    return None if row is None else shape.model_validate(row.output)


async def find_disagreeing(database: Database, run: Run) -> Mapping[int, Conclusion]:
    """Other pull requests whose newest run on the same head, under the same check name, is not a success.

    Closed, superseded and excluded runs do not count.

    :returns: number → `neutral` if nothing was found but not everything was read; else `action_required`.
    """
    query = (
        select(RunRow.number, RunRow.state, RunRow.reason, CheckpointRow.output)
        .outerjoin(CheckpointRow, (CheckpointRow.run_id == RunRow.id) & (CheckpointRow.phase == Phase.review.value))
        .where(
            RunRow.repository_id == run.repository.id,
            RunRow.head_sha == run.head_sha,
            RunRow.number != run.number,
            RunRow.check_name == run.check_name,
            RunRow.trigger.not_in(NOT_REVIEWS),
        )
        .order_by(RunRow.id)
    )
    newest = {row.number: row for row in await database.rows(query)}
    said = {number: _find_objection(row.state, row.reason, row.output) for number, row in newest.items()}
    return {number: conclusion for number, conclusion in said.items() if conclusion is not None}


def _find_objection(state: str, reason: str, output: dict[str, Any] | None) -> Conclusion | None:
    """The conclusion that a run holds against a head; None if none."""
    if reason in {ReasonCode.closed.value, ReasonCode.superseded.value, ReasonCode.excluded.value}:
        return None
    if state != RunState.completed.value:
        return Conclusion.action_required
    passed = None if output is None else _PASSED.get(output["conclusion"], Conclusion.action_required)
    return None if passed is Conclusion.success else passed


_PASSED = {each.value: each for each in (Conclusion.success, Conclusion.neutral)}


async def purge(database: Database, repository_ids: Sequence[int], run: Run | None = None) -> None:
    """Remove what the runs in these repositories, or one run, made and what agents answered."""
    of_runs = select(RunRow.id).where(RunRow.repository_id.in_(repository_ids))
    if run is not None:
        of_runs = of_runs.where(RunRow.id == run.id)
    async with database.transaction() as session:
        for row in (CheckpointRow, WorkCheckpointRow, RecoveryRow):
            await session.execute(delete(row).where(row.run_id.in_(of_runs)))


def _parse_send_backs(row: CheckpointRow) -> list[SendBack]:
    return [SendBack.model_validate(each) for each in row.output["bounces"]]


def _select_newest(repository_id: int, number: int, phase: Phase):
    """The newest output of a phase on an issue or pull request."""
    return (
        select(CheckpointRow)
        .join(RunRow, RunRow.id == CheckpointRow.run_id)
        .where(RunRow.repository_id == repository_id, RunRow.number == number, CheckpointRow.phase == phase)
        .order_by(RunRow.id.desc())
        .limit(1)
    )


def _select_phase(run: Run, phase: str):
    return select(CheckpointRow).where(CheckpointRow.run_id == run.id, CheckpointRow.phase == phase)


async def keep_shared(database: Database, run: Run, key: str, value: BaseModel, now: datetime) -> None:
    """Store what tests say of a base for all runs of its repository, once for each run.

    :param key: stands for the code, the commands and the place where they run.
    :param value: of a kind that :data:`_SHARED` names.
    """
    phase, content = _name_shared(type(value), key), zlib.compress(value.model_dump_json().encode())
    async with database.transaction() as session:
        if await session.scalar(_select_phase(run, phase)) is None:
            _add(session, run, phase, {"content": base64.b64encode(content).decode()}, now)


async def find_shared(
    database: Database, repository_id: int, key: str, shape: type[Shape], since: datetime | None = None
) -> Shape | None:
    """The newest one of any run in a repository.

    :param since: None: however old it is.
    """
    query = (
        select(CheckpointRow.output)
        .join(RunRow, RunRow.id == CheckpointRow.run_id)
        .where(RunRow.repository_id == repository_id, CheckpointRow.phase == _name_shared(shape, key))
        .order_by(CheckpointRow.id.desc())
        .limit(1)
    )
    output = await database.scalar(query if since is None else query.where(CheckpointRow.time >= since))
    return None if output is None else shape.model_validate_json(zlib.decompress(base64.b64decode(output["content"])))


def _name_shared(shape: type[BaseModel], key: str) -> str:
    """Each key has a phase of its own, so that nothing has to be unpacked to be found."""
    return f"{_SHARED[shape]} {key}"
