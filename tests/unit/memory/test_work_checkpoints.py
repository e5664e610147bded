"""The checkpoints of agents' work: chains that only grow, are verified when they are read, and are taken back whole."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from domain.runs.patches import EXECUTABLE, NO_CHANGES, REGULAR, ChangedFile, ChangeSet
from domain.runs.work_checkpoint import (
    BrokenCheckpoint,
    CheckpointCause,
    CheckpointDetails,
    Link,
    WorkCheckpoint,
    WorkKey,
    find_taken_back,
    load_states,
    shrink,
)
from memory.db.engine import Database
from memory.db.tables.runs import WorkCheckpointRow
from memory.runs import checkpoints, work_checkpoints
from memory.runs.work_checkpoints import ChainMoved, CheckpointTooLarge
from tests.rows import NOON, run_row

KEY = WorkKey(run_id="run", work="implement T1", base="b" * 40)


def _change(**files: str | None) -> ChangeSet:
    """Files of the base, which all hold “old”, as they are now."""
    return ChangeSet(
        files=tuple(
            ChangedFile(path=path, before=b"old", after=None if text is None else text.encode())
            for path, text in files.items()
        )
    )


def _sort(change: ChangeSet) -> ChangeSet:
    return ChangeSet(files=tuple(sorted(change.files, key=lambda file: file.path)))


async def _add(database: Database, states: list[ChangeSet]) -> list[WorkCheckpoint]:
    made: list[WorkCheckpoint] = []
    earlier = NO_CHANGES
    for number, state in enumerate(states):
        newest = made[-1] if made else None
        at = NOON + timedelta(seconds=30 * number)
        details = CheckpointDetails(files=len(state.files))
        made.append(
            await work_checkpoints.add(database, KEY, newest, CheckpointCause.time, state.since(earlier), details, at)
        )
        earlier = state
    return made


async def test_states_are_found_again_and_rolled_back(database: Database) -> None:
    states = [_change(a="1"), _change(a="2", b="1"), _change(b="2", c=None)]
    made = await _add(database, states)
    found = load_states(await work_checkpoints.load_chain(database, KEY))
    assert [_sort(found[each.id]) for each in made] == states

    one = await work_checkpoints.roll_back(database, made[-1], made[1], ["a"], "jo", NOON)
    whole = await work_checkpoints.roll_back(database, one, made[0], [], "jo", NOON)
    found = load_states(await work_checkpoints.load_chain(database, KEY))
    assert _sort(found[one.id]) == _change(a="2", b="2", c=None)
    assert _sort(found[whole.id]) == states[0]
    assert await work_checkpoints.find_newest(database, KEY) == whole
    assert [each.number for each in await work_checkpoints.list_of_run(database, "run")] == [1, 2, 3, 4, 5]


async def test_a_chain_grows_in_one_place_only(database: Database) -> None:
    made = await _add(database, [_change(a="1"), _change(a="2")])
    with pytest.raises(ChainMoved):
        await work_checkpoints.roll_back(database, made[0], made[0], [], "jo", NOON)
    with pytest.raises(ChainMoved):
        await work_checkpoints.add(database, KEY, None, CheckpointCause.time, NO_CHANGES, CheckpointDetails(), NOON)
    assert await work_checkpoints.find_newest(database, KEY) == made[1]


@pytest.mark.parametrize("content", [b"", b"x\x9c", b"no zlib"])
async def test_a_damaged_checkpoint_is_never_valid(database: Database, content: bytes) -> None:
    made = await _add(database, [_change(a="1"), _change(a="2")])
    async with database.transaction() as session:
        await session.execute(
            update(WorkCheckpointRow).where(WorkCheckpointRow.id == made[0].id).values(content=content)
        )
    with pytest.raises(BrokenCheckpoint, match=made[0].short_id):
        load_states(await work_checkpoints.load_chain(database, KEY))


async def test_a_missing_checkpoint_breaks_the_chain(database: Database) -> None:
    made = await _add(database, [_change(a="1"), _change(a="2"), _change(a="3")])
    chain = await work_checkpoints.load_chain(database, KEY)
    with pytest.raises(BrokenCheckpoint, match=made[2].short_id):
        load_states([chain[0], chain[2]])


async def test_a_checkpoint_is_found_by_its_short_name_in_its_repository(database: Database) -> None:
    async with database.transaction() as session:
        session.add(run_row("run", 10))
    (made,) = await _add(database, [_change(a="1")])
    assert await work_checkpoints.find_by_short_id(database, made.short_id, 10) == [made]
    assert await work_checkpoints.find_by_short_id(database, made.id, 10) == [made]
    assert await work_checkpoints.find_by_short_id(database, made.short_id, 11) == []
    await checkpoints.purge(database, [10])
    assert await work_checkpoints.list_of_run(database, "run") == []


_CONTENT = st.sampled_from([b"1", b"2", None])


@st.composite
def _changes(draw: st.DrawFn) -> ChangeSet:
    """A change of a base that has “a” and “b” (which is executable), and not “c” and “d”."""
    files: list[ChangedFile] = []
    for path, before, was in (("a", b"0", REGULAR), ("b", b"0", EXECUTABLE), ("c", None, ""), ("d", None, "")):
        after, mode = draw(_CONTENT), draw(st.sampled_from([REGULAR, EXECUTABLE]))
        if draw(st.booleans()) and (before is not None or after is not None):
            mode = mode if after is not None else was
            files.append(
                ChangedFile(
                    path=path, before=before, after=after, mode=mode, old_mode=was if was not in {"", mode} else None
                )
            )
    return ChangeSet(files=tuple(files))


@given(_changes(), _changes())
def test_what_leads_from_one_change_to_another(earlier: ChangeSet, later: ChangeSet) -> None:
    reached = earlier.then(later.since(earlier))
    assert _sort(reached) == _sort(later)
    assert earlier.since(earlier) == NO_CHANGES


@given(_changes(), _changes())
def test_what_the_chain_tells_is_not_stored_again(earlier: ChangeSet, later: ChangeSet) -> None:
    stored = shrink(later.since(earlier), earlier)
    assert _sort(earlier.then(stored)) == _sort(later)
    known = {file.path for file in earlier.files}
    assert all(file.before is None for file in stored.files if file.path in known)


async def test_what_could_not_be_read_again_is_not_stored(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is too large, and one too many for the run; those before stay as they are."""
    made = await _add(database, [_change(a="1")])
    monkeypatch.setattr(work_checkpoints, "_MOST_BYTES", 300)
    with pytest.raises(CheckpointTooLarge, match="more than 300 bytes"):
        await _follow(database, made[0], "x" * 300)
    monkeypatch.setattr(work_checkpoints, "_MOST_OF_RUN", 10)
    with pytest.raises(CheckpointTooLarge, match="more than 10 bytes"):
        await _follow(database, made[0], "2")
    assert list(load_states(await work_checkpoints.load_chain(database, KEY)).values()) == [_change(a="1")]


async def _follow(database: Database, newest: WorkCheckpoint, content: str) -> WorkCheckpoint:
    change = _change(a=content)
    return await work_checkpoints.add(database, KEY, newest, CheckpointCause.time, change, CheckpointDetails(), NOON)


def test_only_what_was_taken_back_before_anything_else_counts() -> None:
    causes = ["time", "stopped", "rollback", "rollback", "changes", "rollback"]
    chain = [
        Link(WorkCheckpoint(id=str(n), key=KEY, number=n, cause=CheckpointCause(cause), digest="", at=NOON), b"")
        for n, cause in enumerate(causes, 1)
    ]
    assert find_taken_back(chain, 1) is None
    found = find_taken_back(chain, 2)
    assert found is not None
    assert found.number == 4
    assert find_taken_back(chain, 5) == chain[5].checkpoint
    assert find_taken_back(chain, 6) is None
