"""Deployments in the database: admitted once, one at a time in each environment, and found again to go back to."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from domain.commands import Repeat
from domain.deployments.deployment import Cause, Deployment, DeploymentState, Step, Wish
from domain.deployments.health import Health, StageHealth
from domain.events import EventType
from domain.review.review import RiskLevel
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState, Trigger
from memory import ledger
from memory.db.engine import Database
from memory.deployments import deployments
from memory.runs import runs
from memory.runs.runs import Candidate
from tests.unit.deployments.orders import build_order

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SHOP = RepositoryRef(installation_id=3, id=7, owner="octo", name="shop")
STATE = DeploymentState


@dataclass
class Shop:
    """One repository; each deployment is ordered a minute after the one before."""

    one: Database
    two: Database
    now: datetime = field(default=NOON)

    async def order(
        self, sha: str, environment: str = "staging", guid: str = "", cause: Cause = Cause.merge
    ) -> tuple[Run, Sequence[Deployment]]:
        """Order a commit; its run, and what it replaces."""
        self.now += timedelta(minutes=1)
        order = build_order(guid or f"{sha} {self.now}", SHOP, environment, sha, cause=cause)
        return await deployments.admit(self.one, order, self.now)

    async def begin(self, sha: str, environment: str = "staging") -> Run:
        """Order a commit, whose run begins and takes its environment."""
        run, _ = await self.order(sha, environment)
        await runs.move(self.one, run.id, RunState.running, self.now)
        assert await self.claim(run, environment)
        return run

    async def deploy(self, sha: str, state: DeploymentState = STATE.healthy, environment: str = "staging") -> Run:
        """A deployment from its order to its end."""
        run = await self.begin(sha, environment)
        await self.move(run, STATE.rolling_out, percentage=100)
        await self.move(run, state)
        await runs.move(self.one, run.id, RunState.completed, self.now, ReasonCode.deployed)
        return run

    async def claim(self, run: Run, environment: str = "staging") -> bool:
        return await deployments.claim_environment(self.one, run, environment)

    async def move(self, run: Run, state: DeploymentState, *, percentage: int | None = None) -> None:
        self.now += timedelta(seconds=1)
        await deployments.move(self.one, run, state, self.now, percentage=percentage)

    async def get(self, run: Run) -> Deployment:
        found = await deployments.get(self.two, run.id)
        assert found is not None
        return found

    async def find_there(self, other_than: str = "") -> str | None:
        """The first character of the commit that staging runs."""
        found = await deployments.find_there(self.two, SHOP.id, "staging", other_than * 40)
        return None if found is None else found.sha[0]

    async def find_way_back(self) -> str | None:
        found = await deployments.find_way_back(self.two, SHOP.id, "staging")
        return None if found is None else found.sha[0]


@pytest.fixture
async def shop(url: str) -> AsyncGenerator[Shop]:
    opened = Shop(Database(url), Database(url))
    yield opened
    await opened.one.close()
    await opened.two.close()


# --- orders -----------------------------------------------------------------------------------------------------


async def test_a_delivery_orders_once(shop: Shop) -> None:
    first, _ = await shop.order("a", guid="one")
    again, _ = await shop.order("a", guid="one")
    assert first == again
    other, _ = await shop.order("a", guid="two")
    assert other.id != first.id
    assert (first.attempt, other.attempt) == (1, 2)
    assert len(await deployments.list_latest(shop.one, SHOP.id)) == 2


async def test_forty_orders_of_one_commit_at_once_are_forty_deployments(shop: Shop) -> None:
    orders = [build_order(f"delivery {number}", SHOP, f"s{number}") for number in range(40)]
    admitted = await asyncio.gather(*(deployments.admit(shop.one, order, NOON) for order in (*orders, *orders)))
    assert len({run.id for run, _ in admitted}) == 40
    assert {run.attempt for run, _ in admitted} == set(range(1, 41))


async def test_what_was_ordered_is_kept(shop: Shop) -> None:
    run, _ = await shop.order("a", "production", cause=Cause.command)
    found = await shop.get(run)
    assert (found.sha, found.environment, found.is_production) == ("a" * 40, "production", True)
    assert (found.cause, found.ordered_by, found.risk) == (Cause.command, "carol", RiskLevel.low)
    assert (found.state, found.percentage, found.previous_sha, found.wish) == (STATE.queued, 0, "", None)
    assert (run.trigger, run.head_sha, run.number) == (Trigger.deployment, "a" * 40, 1)


async def test_each_deployment_has_a_fence_of_its_own_beside_its_pull_request(shop: Shop) -> None:
    fence = await runs.get_fence(shop.one, SHOP.id, 1)
    review = Candidate("d", SHOP, 1, "a" * 40, "b" * 40, Trigger.pull_request, Repeat.always)
    reviewed = (await runs.admit(shop.one, review, fence, NOON)).run
    one, _ = await shop.order("a")
    two, _ = await shop.order("a", "production")
    assert reviewed is not None
    lanes = {each.fence_number for each in (reviewed, one, two)}
    assert len(lanes) == 3
    assert max(one.fence_number, two.fence_number) < 0 < reviewed.fence_number
    await runs.end_all(shop.one, SHOP.id, 1, ReasonCode.closed, "closed", NOON)
    assert await runs.is_current(shop.one, one)
    assert not await runs.is_current(shop.one, reviewed)
    await runs.end_all(shop.one, SHOP.id, one.fence_number, ReasonCode.superseded, "replaced", NOON)
    assert not await runs.is_current(shop.one, one)
    assert await runs.is_current(shop.one, two)


async def test_a_newer_one_replaces_what_waits_and_nothing_else(shop: Shop) -> None:
    working = await shop.begin("a")
    await shop.move(working, STATE.rolling_out)
    queued, replaced = await shop.order("b")
    assert replaced == []
    elsewhere, replaced = await shop.order("c", "production")
    assert replaced == []
    _, replaced = await shop.order("d")
    assert [each.run_id for each in replaced] == [queued.id]
    assert elsewhere.id not in {each.run_id for each in replaced}


async def test_a_repeated_order_does_not_replace_what_came_after_it(shop: Shop) -> None:
    await shop.order("a", guid="one")
    await shop.order("b", guid="two")
    _, replaced = await shop.order("a", guid="one")
    assert replaced == []


# --- one at a time ----------------------------------------------------------------------------------------------


async def test_one_works_in_an_environment_and_the_next_waits(shop: Shop) -> None:
    first = await shop.begin("a")
    second, _ = await shop.order("b")
    other, _ = await shop.order("b", "production")
    assert not await shop.claim(second)
    assert await shop.claim(first)  # again, after a restart
    assert await shop.claim(other, "production")
    await shop.move(first, STATE.healthy)
    assert await shop.claim(second)
    assert not await shop.claim(first)


async def test_of_many_at_once_only_the_first_one_works(shop: Shop) -> None:
    ordered = [(await shop.order(sha))[0] for sha in "abcdef"]
    databases = [shop.one, shop.two] * 3
    claims = [
        deployments.claim_environment(database, run, "staging")
        for database, run in zip(databases, reversed(ordered), strict=True)
    ]
    assert await asyncio.gather(*claims) == [False, False, False, False, False, True]


async def test_who_came_first_goes_first_whoever_asks_first(shop: Shop) -> None:
    first, _ = await shop.order("a")
    second, _ = await shop.order("b")
    assert not await shop.claim(second)
    assert await shop.claim(first)


async def test_a_run_that_died_does_not_keep_its_environment(shop: Shop) -> None:
    """Nobody recorded how its deployment ended."""
    died = await shop.begin("a")
    await shop.move(died, STATE.rolling_out, percentage=5)
    second, _ = await shop.order("b")
    assert not await shop.claim(second)
    await runs.move(shop.one, died.id, RunState.failed, NOON, ReasonCode.error)
    assert await shop.claim(second)


async def test_a_run_that_died_while_it_waited_keeps_nobody_waiting(shop: Shop) -> None:
    died, _ = await shop.order("a")
    second, _ = await shop.order("b")
    await runs.move(shop.one, died.id, RunState.cancelled, NOON, ReasonCode.aborted)
    assert await shop.claim(second)


# --- how it goes ------------------------------------------------------------------------------------------------


async def test_what_a_deployment_went_through_is_kept_and_told_once(shop: Shop) -> None:
    run = await shop.begin("a")
    health = StageHealth(health=Health.healthy, signals=(), looks=3, is_final=True)
    step = Step(percentage=5, health=health)
    await shop.move(run, STATE.preparing)
    await shop.move(run, STATE.preparing)
    await deployments.move(shop.one, run, STATE.rolling_out, NOON, percentage=5, step=step)
    assert [*await deployments.list_steps(shop.two, run.id)] == [step]
    told = [
        (event.payload["state"], event.payload["percentage"])
        for event in await ledger.load_events(shop.two, run.id)
        if event.type is EventType.deployment_moved
    ]
    assert told == [("preparing", 0), ("rolling_out", 5)]


async def test_what_is_over_stays_as_it_is(shop: Shop) -> None:
    run = await shop.deploy("a")
    await shop.move(run, STATE.failed, percentage=5)
    found = await shop.get(run)
    assert (found.state, found.percentage) == (STATE.healthy, 100)
    assert found.finished_at is not None


async def test_what_is_kept_first_stays(shop: Shop) -> None:
    run, _ = await shop.order("a")
    assert await deployments.load_kept(shop.one, run.id, "plan") is None
    assert await deployments.keep(shop.one, run.id, "plan", {"steps": 1}) == {"steps": 1}
    assert await deployments.keep(shop.two, run.id, "plan", {"steps": 2}) == {"steps": 1}
    assert await deployments.keep(shop.two, run.id, "build", {}) == {}
    assert await deployments.load_kept(shop.one, run.id, "plan") == {"steps": 1}


async def test_the_id_on_github_is_kept(shop: Shop) -> None:
    run, _ = await shop.order("a")
    assert await deployments.get_github_id(shop.one, run.id) is None
    await deployments.keep_github_id(shop.one, run.id, 4_000_000_000)
    assert await deployments.get_github_id(shop.two, run.id) == 4_000_000_000


# --- wishes -----------------------------------------------------------------------------------------------------


async def test_the_newest_wish_counts_until_it_is_done(shop: Shop) -> None:
    run = await shop.begin("a")
    await deployments.wish(shop.one, run.id, Wish.hold, "alice")
    await deployments.wish(shop.two, run.id, Wish.roll_back, "erin")
    await deployments.fulfil_wish(shop.one, run.id, Wish.hold)  # it saw the first one only
    found = await shop.get(run)
    assert (found.wish, found.wished_by) == (Wish.roll_back, "erin")
    await deployments.fulfil_wish(shop.one, run.id, Wish.roll_back)
    assert (await shop.get(run)).wish is None


async def test_nothing_is_asked_of_what_is_over_or_unknown(shop: Shop) -> None:
    run = await shop.begin("a")
    await deployments.wish(shop.one, run.id, Wish.hold, "alice")
    await shop.move(run, STATE.healthy)
    assert (await shop.get(run)).wish is None
    assert await deployments.wish(shop.one, run.id, Wish.hold, "alice") is None
    assert await deployments.wish(shop.one, "nothing", Wish.hold, "alice") is None


# --- what is there ----------------------------------------------------------------------------------------------


async def test_what_is_there_is_the_newest_that_is_well_or_nearly(shop: Shop) -> None:
    assert await shop.find_there() is None
    for sha, state in (("a", STATE.healthy), ("b", STATE.unverified), ("c", STATE.degraded)):
        await shop.deploy(sha, state)
        assert await shop.find_there() == sha
    for sha, state in (("d", STATE.rolled_back), ("e", STATE.stopped), ("f", STATE.failed)):
        await shop.deploy(sha, state)
        assert await shop.find_there() == "c"
    await shop.deploy("9", environment="production")
    assert await shop.find_there() == "c"
    assert await shop.find_there("c") == "b"


async def test_a_deployment_knows_what_was_there_before(shop: Shop) -> None:
    assert (await shop.get(await shop.deploy("a"))).previous_sha == ""
    assert (await shop.get(await shop.deploy("b"))).previous_sha == "a" * 40
    assert (await shop.get(await shop.deploy("c", STATE.rolled_back))).previous_sha == "b" * 40
    assert (await shop.get(await shop.deploy("b"))).previous_sha == "a" * 40  # again: not itself
    assert (await shop.get(await shop.deploy("d"))).previous_sha == "b" * 40


async def test_the_way_back_leads_to_what_ran_before(shop: Shop) -> None:
    assert await shop.find_way_back() is None
    await shop.deploy("a")
    assert await shop.find_way_back() is None
    await shop.deploy("b")
    assert await shop.find_way_back() == "a"
    await shop.deploy("c", STATE.rolled_back)  # so that is b again
    assert await shop.find_way_back() == "a"
    await shop.deploy("d", STATE.stopped)
    assert await shop.find_way_back() == "a"


async def test_after_a_failure_the_way_back_leads_to_what_was_well_last(shop: Shop) -> None:
    await shop.deploy("a")
    await shop.deploy("b")
    await shop.deploy("c", STATE.failed)
    assert await shop.find_way_back() == "b"


async def test_a_first_deployment_that_failed_has_no_way_back(shop: Shop) -> None:
    await shop.deploy("a", STATE.failed)
    assert await shop.find_way_back() is None


async def test_the_latest_come_first_and_the_open_ones_oldest_first(shop: Shop) -> None:
    await shop.deploy("a")
    for sha in "bc":
        await shop.order(sha)
    await shop.order("d", "production")
    latest = await deployments.list_latest(shop.one, SHOP.id, "staging", limit=2)
    assert [each.sha[0] for each in latest] == ["c", "b"]
    assert [each.sha[0] for each in await deployments.list_latest(shop.one)] == ["d", "c", "b", "a"]
    assert [each.sha[0] for each in await deployments.list_open(shop.one, SHOP.id)] == ["b", "c", "d"]
    assert await deployments.list_latest(shop.one, 8) == []
