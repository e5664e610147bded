"""What decides over a roll-back: which states can still be restored, and what that would change."""

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.runs.patches import ChangedFile, ChangeSet
from domain.runs.run import RepositoryRef, Run, RunState, Trigger
from domain.runs.work_checkpoint import (
    CheckpointCause,
    RollbackFacts,
    RollbackPlan,
    RollbackProblem,
    RollbackRefusal,
    WorkCheckpoint,
    WorkKey,
    can_go_on,
    decide_rollback,
)

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
KEY = WorkKey(run_id="run", work="implement T1", base="b" * 40)
STATES = [{"a": "1"}, {"a": "2", "b": "1"}, {"a": "2", "b": "2", "c": "1"}]


def _state(**files: str) -> ChangeSet:
    return ChangeSet(files=tuple(ChangedFile(path=path, before=None, after=files[path].encode()) for path in files))


def _checkpoint(number: int, key: WorkKey = KEY, cause: CheckpointCause = CheckpointCause.time) -> WorkCheckpoint:
    return WorkCheckpoint(id=f"{key.work} {number}", key=key, number=number, cause=cause, digest="", at=NOON)


def _run(state: RunState) -> Run:
    return Run(
        id="run",
        repository=RepositoryRef(installation_id=1, id=10, owner="octo-org", name="shop"),
        number=1,
        head_sha="a",
        base_sha="b",
        trigger=Trigger.issue,
        attempt=1,
        fence=1,
        state=state,
    )


def _facts(target: int, state: RunState = RunState.waiting, **more: Any) -> RollbackFacts:
    made = [_checkpoint(number) for number in (1, 2, 3)]
    states = {each.id: _state(**files) for each, files in zip(made, STATES, strict=True)}
    known: dict[str, Any] = {"is_newest_run": True, "of_run": made, "states": states, **more}
    return RollbackFacts(asked="C-4ZK9QX", target=made[target - 1], run=_run(state), **known)


def _refuse(facts: RollbackFacts, *paths: str) -> RollbackProblem:
    refused = decide_rollback(facts, paths)
    assert isinstance(refused, RollbackRefusal)
    return refused.problem


@pytest.mark.parametrize(
    ("target", "paths", "files", "changed"),
    [(2, (), 2, 2), (1, (), 1, 3), (1, ("a",), 3, 1), (1, ("c", "a", "a"), 2, 2), (2, ("a", "b"), 3, 1)],
)
def test_what_a_roll_back_changes(target: int, paths: tuple[str, ...], files: int, changed: int) -> None:
    plan = decide_rollback(_facts(target), paths)
    assert isinstance(plan, RollbackPlan)
    assert (plan.newest.number, plan.target.number) == (3, target)
    assert (plan.files, plan.changed) == (files, changed)
    assert plan.paths == tuple(dict.fromkeys(paths))


def test_what_would_differ_in_nothing_is_refused() -> None:
    assert _refuse(_facts(3)) is RollbackProblem.same
    assert _refuse(_facts(2), "a") is RollbackProblem.same


def test_a_file_that_nobody_changed_is_refused_by_its_name() -> None:
    refused = decide_rollback(_facts(1), ["a", "d", "../a"])
    assert isinstance(refused, RollbackRefusal)
    assert (refused.problem, refused.paths) == (RollbackProblem.untouched, ("d", "../a"))


def test_what_is_committed_is_not_taken_back() -> None:
    made = [_checkpoint(1), _checkpoint(2), _checkpoint(3, cause=CheckpointCause.done)]
    assert _refuse(_facts(1, of_run=made)) is RollbackProblem.finished
    later = _checkpoint(1, WorkKey(run_id="run", work="implement T2", base="c" * 40))
    assert _refuse(_facts(1, of_run=[*made[:2], _checkpoint(3), later])) is RollbackProblem.finished


@pytest.mark.parametrize("state", RunState)
@pytest.mark.parametrize("is_newest", [True, False])
def test_only_a_run_that_can_go_on_is_taken_back(state: RunState, *, is_newest: bool) -> None:
    may = can_go_on(_run(state), is_newest=is_newest)
    assert may == (state.value in {"pending", "running", "waiting"} or (state.value != "completed" and is_newest))
    found = decide_rollback(_facts(1, state, is_newest_run=is_newest))
    assert isinstance(found, RollbackPlan) == may
    assert may or (isinstance(found, RollbackRefusal) and found.problem is RollbackProblem.over)
