"""Contracts are held by one run at a time, for 300 s unless renewed, and a token tells who came later."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from domain.commands import Repeat
from domain.runs.plan import HeldContract
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState, Trigger
from memory.db.engine import Database
from memory.runs import contract_leases, outbox, runs
from memory.runs.contract_leases import AcquireResult
from memory.runs.runs import Candidate

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SHOP = 10


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


async def start_run(database: Database, issue: int) -> Run:
    """A run of an issue that works."""
    where = RepositoryRef(installation_id=1, id=SHOP, owner="octo-org", name="shop")
    wanted = Candidate(f"for {issue}", where, issue, "a" * 40, "a" * 40, Trigger.issue, Repeat.anew)
    run = (await runs.admit(database, wanted, await runs.get_fence(database, SHOP, issue), NOON)).run
    assert run is not None
    assert await runs.move(database, run.id, RunState.running, NOON)
    return run


async def test_one_run_holds_a_contract(database: Database) -> None:
    assert (await contract_leases.acquire(database, SHOP, ["db"], "one", at(0))).tokens == {"db": 1}

    refused = await contract_leases.acquire(database, SHOP, ["db"], "two", at(299))

    assert not refused.is_ours
    assert [(lease.holder, lease.token, lease.until) for lease in refused.held] == [("one", 1, at(300))]
    assert (await contract_leases.acquire(database, SHOP + 1, ["db"], "two", at(299))).is_ours


async def test_a_lapsed_lease_goes_to_the_next_with_a_larger_token(database: Database) -> None:
    await contract_leases.acquire(database, SHOP, ["db"], "one", at(0))

    assert (await contract_leases.acquire(database, SHOP, ["db"], "two", at(300))).tokens == {"db": 2}

    assert await contract_leases.renew(database, SHOP, {"db": 1}, "one", at(301)) == ("db",)
    assert await contract_leases.load_newest_tokens(database, SHOP) == {"db": 2}
    refused = await contract_leases.acquire(database, SHOP, ["db"], "three", at(301))
    assert [lease.holder for lease in refused.held] == ["two"]


async def test_the_heartbeat_keeps_a_lease(database: Database) -> None:
    await contract_leases.acquire(database, SHOP, ["db", "events"], "one", at(0))
    for beat in range(100, 1000, 100):
        assert await contract_leases.renew(database, SHOP, {"db": 1, "events": 1}, "one", at(beat)) == ()

    assert not (await contract_leases.acquire(database, SHOP, ["events"], "two", at(1199))).is_ours
    assert (await contract_leases.acquire(database, SHOP, ["events"], "two", at(1200))).is_ours


async def test_a_lease_that_lapsed_unnoticed_is_renewed(database: Database) -> None:
    await contract_leases.acquire(database, SHOP, ["db"], "one", at(0))

    assert await contract_leases.renew(database, SHOP, {"db": 1}, "one", at(1000)) == ()

    assert not (await contract_leases.acquire(database, SHOP, ["db"], "two", at(1299))).is_ours


async def test_acquiring_again_renews_and_keeps_the_token(database: Database) -> None:
    await contract_leases.acquire(database, SHOP, ["db"], "one", at(0))

    assert (await contract_leases.acquire(database, SHOP, ["db", "openapi"], "one", at(200))).tokens == {
        "db": 1,
        "openapi": 1,
    }

    assert not (await contract_leases.acquire(database, SHOP, ["db"], "two", at(400))).is_ours


async def test_all_or_none(database: Database) -> None:
    await contract_leases.acquire(database, SHOP, ["events"], "one", at(0))

    refused = await contract_leases.acquire(database, SHOP, ["db", "events", "openapi"], "two", at(1))

    assert (refused.tokens, [lease.contract for lease in refused.held]) == ({}, ["events"])
    assert (await contract_leases.acquire(database, SHOP, ["db", "openapi"], "three", at(1))).is_ours


async def test_nothing_asked_for_is_nothing_held(database: Database) -> None:
    assert await contract_leases.acquire(database, SHOP, [], "one", at(0)) == AcquireResult({})


async def test_twenty_runs_race(database: Database) -> None:
    """Whatever contracts they want and in whatever order: nobody waits for ever, and each contract has one holder."""
    wanted = [["db", "events"], ["events", "db"], ["events", "openapi"], ["openapi", "db"]]
    races = [contract_leases.acquire(database, SHOP, wanted[i % 4], f"run {i}", at(0)) for i in range(20)]

    won = [(i, each.tokens) for i, each in enumerate(await asyncio.gather(*races)) if each.is_ours]

    taken = [contract for _, tokens in won for contract in tokens]
    assert won
    assert len(taken) == len(set(taken))
    for i, tokens in won:
        for contract, token in tokens.items():
            late = await contract_leases.acquire(database, SHOP, [contract], "late", at(1))
            assert [(lease.holder, lease.token) for lease in late.held] == [(f"run {i}", token)]


async def test_twenty_runs_race_for_a_lapsed_lease(database: Database) -> None:
    await contract_leases.acquire(database, SHOP, ["db"], "gone", at(0))

    tried = await asyncio.gather(
        *(contract_leases.acquire(database, SHOP, ["db"], f"run {i}", at(301)) for i in range(20)),
        contract_leases.renew(database, SHOP, {"db": 1}, "gone", at(301)),
    )

    won = [each for each in tried[:-1] if isinstance(each, AcquireResult) and each.is_ours]
    assert len(won) + (tried[-1] == ()) == 1
    assert [each.tokens for each in won] in ([], [{"db": 2}])


async def test_a_repository_that_is_lost_is_forgotten(database: Database) -> None:
    await contract_leases.acquire(database, SHOP, ["db"], "one", at(0))
    await contract_leases.acquire(database, SHOP + 1, ["db"], "one", at(0))

    await contract_leases.purge(database, [SHOP])

    assert await contract_leases.load_newest_tokens(database, SHOP) == {}
    assert await contract_leases.load_newest_tokens(database, SHOP + 1) == {"db": 1}


@pytest.mark.parametrize("end", [RunState.completed, RunState.failed, RunState.cancelled])
async def test_a_run_that_ended_holds_nothing(database: Database, end: RunState) -> None:
    """However it ended, nobody has to release what it held; what it still writes is void."""
    run = await start_run(database, 1)
    await contract_leases.acquire(database, SHOP, ["db"], run.id, at(0))
    assert not (await contract_leases.acquire(database, SHOP, ["db"], "two", at(1))).is_ours

    await runs.move(database, run.id, end, NOON)

    assert (await contract_leases.acquire(database, SHOP, ["db"], "two", at(1))).tokens == {"db": 2}
    assert await contract_leases.renew(database, SHOP, {"db": 1}, run.id, at(1)) == ("db",)


async def test_people_are_told_which_issue_holds_it(database: Database) -> None:
    first, second = await start_run(database, 1), await start_run(database, 2)
    await contract_leases.acquire(database, SHOP, ["db"], first.id, at(0))
    await contract_leases.acquire(database, SHOP, ["events"], second.id, at(0))
    await contract_leases.acquire(database, SHOP, ["openapi"], "gone", at(0))
    claim = await outbox.claim(database, second, "propose", outbox.PULL_REQUEST, NOON)
    await outbox.mark_done(database, claim.id, 7, NOON)

    refused = await contract_leases.acquire(database, SHOP, ["db", "events", "openapi"], "three", at(1))

    told = await contract_leases.load_holdings(database, refused.held)
    assert told == (HeldContract("db", 1), HeldContract("events", 2, 7), HeldContract("openapi", None))


async def test_the_lease_of_a_run_that_waits_stands(database: Database) -> None:
    """Nothing works there, so there is no heartbeat; once the run works again, it is needed again."""
    run = await start_run(database, 1)
    await contract_leases.acquire(database, SHOP, ["db"], run.id, at(0))
    await runs.move(database, run.id, RunState.waiting, NOON, ReasonCode.in_review)

    assert not (await contract_leases.acquire(database, SHOP, ["db"], "two", at(100_000))).is_ours

    await runs.move(database, run.id, RunState.running, NOON)
    assert (await contract_leases.acquire(database, SHOP, ["db"], "two", at(300))).is_ours
