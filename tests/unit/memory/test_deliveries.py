"""What became of deliveries: told by kind, and those that failed by name."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.value import new_id
from memory.db.engine import Database, begin, sync_engine
from memory.deliveries import deliveries
from memory.deliveries.deliveries import ReceivedDelivery, build_replay_guid, classify_reason, list_failures

RUN = "01M7XCMZ0WQR4Y7N654AA0JQQY"  # the same in every process that collects the tests
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("", "under way"),
        (f"run {RUN}", "run"),
        (f"run {RUN}, run {RUN}", "run"),
        ("failed: GitHub did not answer.", "failed"),
        ("ignored: GitHub does not show the installation 4711.", "ignored"),
        ("refused: it needs the role write, the sender has read", "refused"),
        ("0 runs ended", "run ended"),
        ("1 run ended", "run ended"),
        ("12 runs ended, 3 purged", "run ended"),
        ("2 answered", "answered"),
        ("F-ABC234 is critical: only a command dismisses it", "finding is critical"),
        ("reported action_required", "reported action_required"),
        ("action_not_used", "action_not_used"),
        ("this head was reviewed before", "this head was reviewed before"),
    ],
)
def test_a_reason_is_of_a_kind(reason: str, told: str) -> None:
    assert classify_reason(reason) == told


def test_a_replay_of_a_replay_is_one_of_the_delivery() -> None:
    first = build_replay_guid("4f3c-guid", new_id())
    assert first.startswith("4f3c-guid/")
    second = build_replay_guid(first, new_id())
    assert second.startswith("4f3c-guid/")
    assert second.count("/") == 1


async def test_many_runs_are_one_line(url: str) -> None:
    await _store(url, *((f"guid-{number}", number, f"run {new_id()}") for number in range(20)))
    database = Database(url)
    assert await deliveries.count_outcomes(database) == {("pull_request", "accepted", "run"): 20}
    await database.close()


async def test_what_failed_is_listed_until_a_replay_makes_it_good(url: str) -> None:
    await _store(
        url,
        ("fine", 0, f"run {new_id()}"),
        ("older", 1, "failed: GitHub did not answer."),
        ("newer", 2, "failed: git was not found."),
        ("repaired", 3, "failed: git was not found."),
        (build_replay_guid("repaired", new_id()), 4, f"run {new_id()}"),
        (build_replay_guid("older", new_id()), 5, "failed: still not."),
        (build_replay_guid("fine", new_id()), 6, "failed: not this time."),
        ("waiting", 7, None),
    )
    database = Database(url)
    found = await list_failures(database, 10)
    assert [(each.guid, each.reason) for each in found] == [
        ("fine", "not this time."),
        ("older", "still not."),
        ("newer", "git was not found."),
    ]
    assert [each.guid for each in await list_failures(database, 2)] == ["fine", "older"]
    await database.close()


async def _store(url: str, *rows: tuple[str, int, str | None]) -> None:
    """Accepted deliveries: GUID, minutes after noon, what became of it."""
    engine = sync_engine(url)
    with begin(engine) as connection:
        deliveries.store(
            connection,
            [
                ReceivedDelivery(guid, "pull_request", "opened", NOON + timedelta(minutes=at), {}, "")
                for guid, at, _ in rows
            ],
        )
    engine.dispose()
    database = Database(url)
    for guid, _, reason in rows:
        if reason is not None:
            await deliveries.finish(database, guid, reason, NOON)
    await database.close()
