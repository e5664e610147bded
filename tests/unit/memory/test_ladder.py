"""What the level of a repository is decided from: only what really happened there, and no more than is looked at."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from domain.commands import Sender
from domain.config.configuration import Ladder
from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.db.tables.repositories import FeedbackRow, FindingRow, GateRow
from memory.db.tables.runs import RunRow
from memory.repositories import automation_level
from safety.automation_level import RUNS_NEEDED, HumanDecision, LevelChange, RunRecord, evaluate
from tests.rows import NOON, dismissal_row, finding_row, gate_row, run_row

ALICE, CAROL = Sender(id=1, login="alice"), Sender(id=2, login="carol")
SHOP = RepositoryRef(installation_id=1, id=10, owner="octo-org", name="shop")


def at(minute: float) -> datetime:
    return NOON + timedelta(minutes=minute)


def run(count: int, *, repository: int = 10, state: str = "completed", reason: str = "", number: int = 0) -> RunRow:
    """The run that ended ``count`` minutes after noon."""
    return run_row(
        f"{repository:04}{count:022}",
        repository,
        number=number or count,
        head_sha=f"{count:040}",
        state=state,
        reason=reason,
        created_at=at(count - 1),
        finished_at=None if state == "waiting" else at(count),
    )


def finding(posted_by: RunRow | None, name: str, number: int) -> FindingRow:
    run = None if posted_by is None else posted_by.id
    return finding_row(f"{number}-{name}", f"print-{name}", name=name, number=number, posted_by=run)


def dismissal(name: str, number: int, undone: datetime | None = None) -> FeedbackRow:
    row_id = f"{number}-{name}-{undone}"
    return dismissal_row(row_id, f"print-{name}", name=name, number=number, undone_at=undone)


def gate(name: str, state: str, minute: float, repository: int = 10) -> GateRow:
    return gate_row(
        f"{repository}-{name}-{minute}",
        f"{name}-{minute}",
        name,
        repository_id=repository,
        state=state,
        decision=None,
        decided_at=None if state == "waiting" else at(minute),
    )


async def keep(database: Database, rows: Sequence[object]) -> None:
    async with database.transaction() as session:
        session.add_all(rows)


async def test_a_repository_nothing_happened_in_starts_at_one(database: Database) -> None:
    known = await automation_level.load_facts(database, 10)
    assert (known.level, known.since, list(known.runs), list(known.missed)) == (1, None, [], [])
    assert list(known.decisions) == []


async def test_completed_runs_count_with_what_they_posted(database: Database) -> None:
    first, second = run(1), run(2)
    others = [
        run(3, reason="excluded"),
        run(4, state="failed", reason="error"),
        run(5, state="waiting", reason="gate"),
        run(6, repository=11),
    ]
    found = [
        finding(first, "F-A", 1),
        finding(first, "F-B", 1),
        finding(first, "F-C", 1),
        finding(None, "F-D", 1),
        finding(second, "F-E", 2),
    ]
    taken_back = dismissal("F-B", 1, NOON)
    told = [dismissal("F-A", 1), taken_back, dismissal("F-D", 1), dismissal("F-E", 9)]
    await keep(database, [first, second, *others, *found, *told])
    await automation_level.record_merge(database, second.as_run(), at(7))
    known = await automation_level.load_facts(database, 10)
    assert list(known.runs) == [RunRecord(at(1), 3, 1, merged=False), RunRecord(at(2), 1, 0)]


async def test_a_pull_request_counts_once_however_often_it_is_pushed_to(database: Database) -> None:
    first, again, pushed = run(1), run(5, number=1), run(6, number=1)
    again.head_sha, again.attempt = first.head_sha, 2
    found = [finding(first, "F-A", 1), finding(first, "F-B", 1), finding(again, "F-C", 1), finding(pushed, "F-D", 1)]
    await keep(database, [first, again, pushed, *found, dismissal("F-A", 1), dismissal("F-C", 1)])
    assert list((await automation_level.load_facts(database, 10)).runs) == [
        RunRecord(at(1), 4, 2, merged=False),
    ]
    await automation_level.record_merge(database, pushed.as_run(), at(7))
    assert [each.merged for each in (await automation_level.load_facts(database, 10)).runs] == [True]


async def test_an_author_who_merges_decides_nothing_about_the_verdict(database: Database) -> None:
    await keep(database, [run(1), run(2)])
    await automation_level.record_decision(database, run(1).as_run(), True, ALICE, at(5), own=True)
    await automation_level.record_decision(database, run(2).as_run(), False, ALICE, at(6), own=True)
    assert list((await automation_level.load_facts(database, 10)).decisions) == []
    assert await automation_level.was_approved(database, run(1).id)


async def test_no_more_runs_are_read_than_the_highest_level_needs(database: Database) -> None:
    await keep(database, [run(count) for count in range(1, RUNS_NEEDED + 20)])
    known = await automation_level.load_facts(database, 10)
    assert len(known.runs) == RUNS_NEEDED
    assert known.runs[-1].at == at(RUNS_NEEDED + 19)


async def test_decisions_are_those_of_people_about_changes(database: Database) -> None:
    merged, against = run(1), run(2)
    gates = [
        gate("human_review", "approved", 1),
        gate("security_findings", "rejected", 5),
        gate("cost_overrun", "approved", 6),
        gate("guard", "rejected", 7),
        gate("human_review", "expired", 8),
        gate("human_review", "void", 9),
        gate("human_review", "waiting", 10),
        gate("human_review", "approved", 11, repository=11),
        gate("of_notes", "approved", 13),
        gate("of_notes", "rejected", 14),
    ]
    for each in gates[-2:]:
        each.decision = {"weightless": True}
    await keep(database, [merged, against, *gates])
    await automation_level.record_decision(database, merged.as_run(), True, CAROL, at(3))
    await automation_level.record_decision(database, merged.as_run(), True, CAROL, at(4))  # the same again
    await automation_level.record_decision(database, against.as_run(), False, CAROL, at(12))
    known = await automation_level.load_facts(database, 10)
    assert list(known.decisions) == [
        HumanDecision(at(1), True),
        HumanDecision(at(3), True, CAROL.id),
        HumanDecision(at(5), False),
        HumanDecision(at(12), False, CAROL.id),
        HumanDecision(at(14), False),
    ]


async def test_a_missed_bug_is_recorded_once_per_cause(database: Database) -> None:
    assert await automation_level.record_missed_bug(database, SHOP, 7, None, "carol", "money was lost", "guid-1", at(1))
    assert not await automation_level.record_missed_bug(
        database, SHOP, 7, None, "carol", "money was lost", "guid-1", at(2)
    )
    assert list((await automation_level.load_facts(database, 10)).missed) == [at(1)]
    assert list((await automation_level.load_facts(database, 11)).missed) == []


async def test_a_level_is_changed_once_and_told(database: Database) -> None:
    await keep(database, [run(count) for count in range(1, 60)])
    for count in range(1, 40):
        by = (ALICE, CAROL)[count % 2]
        await automation_level.record_decision(database, run(count).as_run(), True, by, at(count))
    for count in range(40, 60):
        await automation_level.record_merge(database, run(count).as_run(), at(count))
    known = await automation_level.load_facts(database, 10)
    verdict = evaluate(known, Ladder(), at(100))
    assert (verdict.level, verdict.move) == (2, LevelChange.rises)
    assert await automation_level.move_level(database, 10, known, verdict, "run-1")
    assert not await automation_level.move_level(database, 10, known, verdict, "run-1")
    [told] = await automation_level.list_changes(database, "run-1")
    assert (told["before"], told["level"], told["repository"]) == (1, 2, 10)
    now = await automation_level.load_facts(database, 10)
    assert (now.level, now.since) == (2, at(100))
    falls = evaluate(now, Ladder(max_level=1), at(101))
    assert await automation_level.move_level(database, 10, now, falls, "run-2")
    assert await automation_level.get_level(database, 10) == 1


async def test_a_person_sets_the_level_once_per_delivery(database: Database) -> None:
    assert await automation_level.set_level(database, 10, 3, "alice", "guid-1", at(1)) == 1
    assert await automation_level.set_level(database, 10, 3, "alice", "guid-1", at(2)) == 1
    assert await automation_level.set_level(database, 10, 2, "alice", "guid-2", at(3)) == 3
    known = await automation_level.load_facts(database, 10)
    assert (known.level, known.since) == (2, at(3))
    assert [told["level"] for told in await automation_level.list_changes(database, "guid-1")] == [3]


async def test_an_act_is_recorded_once(database: Database) -> None:
    await keep(database, [run(1)])
    for _ in range(2):
        await automation_level.record_action(
            database, run(1).as_run(), "auto_fix", at(1), {"level": 2, "rule": "ladder.auto_fix"}
        )
    [told] = await automation_level.list_actions(database, run(1).id)
    assert (told["act"], told["level"], told["rule"], told["number"]) == ("auto_fix", 2, "ladder.auto_fix", 1)


async def test_what_was_merged_after_the_verdict_was_approved(database: Database) -> None:
    await keep(database, [run(1), run(2), run(3), run(4)])
    await automation_level.record_decision(database, run(1).as_run(), True, CAROL, at(5))
    await automation_level.record_decision(database, run(2).as_run(), False, CAROL, at(5))
    await automation_level.record_action(database, run(3).as_run(), "auto_merge", at(5), {})
    await automation_level.record_action(database, run(4).as_run(), "auto_approve", at(5), {})
    assert [await automation_level.was_approved(database, run(count).id) for count in range(1, 5)] == [
        True,
        False,
        True,
        False,
    ]


async def test_an_announcement_keeps_its_first_moment(database: Database) -> None:
    await keep(database, [run(1)])
    one = run(1).as_run()
    assert await automation_level.find_announcement(database, one.id) is None
    assert await automation_level.record_announcement(database, one, at(10), at(0), {"level": 3}) == at(10)
    assert await automation_level.record_announcement(database, one, at(20), at(10), {"level": 4}) == at(10)
    assert (await automation_level.find_announcement(database, one.id) or {})["level"] == 3
    assert await automation_level.find_stop_reason(database, one.id) is None
    await automation_level.record_stop(database, one, "carol rejected it", at(2))
    assert await automation_level.find_stop_reason(database, one.id) == "carol rejected it"
