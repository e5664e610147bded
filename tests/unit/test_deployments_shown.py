"""How operators and people see deployments: the dashboard, `/metrics`, `forge doctor`, `/forge status`."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from bot.doctor import PartState
from bot.doctor.configured import check_commands, check_permissions
from bot.prometheus import Metrics
from domain.deployments.deployment import DeployAccess, DeploymentState, Step
from domain.deployments.health import Health, Signal, StageHealth
from domain.runs.run import RepositoryRef, Run
from memory.db.engine import Bus, Database
from memory.deployments import deployments
from messages import deployments as texts
from tests.rows import NOON
from tests.unit.deployments.orders import build_order, deployment
from tests.unit.scraping import scrape

SHOP = RepositoryRef(installation_id=1, id=10, owner="octo-org", name="shop")
TOOLS = RepositoryRef(installation_id=1, id=11, owner="octo-org", name="tools")
STATE = DeploymentState


async def _order(database: Database, repository: RepositoryRef, environment: str, at: datetime) -> Run:
    order = build_order(f"{repository.id} {at}", repository, environment)
    run, _ = await deployments.admit(database, order, at)
    return run


@pytest.fixture
async def filled(url: str) -> tuple[str, list[Run]]:
    """Three deployments: one that was rolled back, one of another repository that waits, one that is at 25 %."""
    database = Database(url)
    signal = Signal(
        name="latency\x1b[31m", health=Health.unhealthy, before=100, now=900, history=(100, 900), problem="slow"
    )
    stage = StageHealth(health=Health.unhealthy, signals=(signal,), looks=3, is_final=True)
    one = await _order(database, SHOP, "production", NOON)
    await deployments.move(database, one, STATE.rolling_out, NOON, percentage=5, step=Step(percentage=5, health=stage))
    await deployments.move(
        database, one, STATE.rolled_back, NOON + timedelta(minutes=3), detail="At 5 % it is\x1b[31m unhealthy"
    )
    two = await _order(database, TOOLS, "staging", NOON + timedelta(hours=1))
    three = await _order(database, SHOP, "staging", NOON + timedelta(hours=2))
    await deployments.move(database, three, STATE.rolling_out, NOON, percentage=25)
    await database.close()
    return url, [one, two, three]


# --- the dashboard ----------------------------------------------------------------------------------------------


async def test_the_newest_of_a_repository_come_first(filled: tuple[str, list[Run]], database: Database) -> None:
    one, _, three = filled[1]
    first, second = await deployments.list_past(database, SHOP.id, 20)
    assert [each.deployment.run_id for each in (first, second)] == [three.id, one.id]
    assert [(step.percentage, step.health and step.health.looks) for step in second.steps] == [(5, 3)]
    assert second.deployment.state is STATE.rolled_back
    assert len(await deployments.list_past(database, SHOP.id, 1)) == 1


async def test_each_environment_has_what_was_deployed_last_and_kept(database: Database) -> None:
    """However long ago: of production, though staging was deployed to since, and the last one was taken back."""
    states = (STATE.healthy, STATE.unverified, STATE.rolled_back)
    production = [await _order(database, SHOP, "production", NOON + timedelta(hours=n)) for n in range(3)]
    staging = [await _order(database, SHOP, "staging", NOON + timedelta(days=1, hours=n)) for n in range(2)]
    elsewhere = await _order(database, TOOLS, "production", NOON + timedelta(days=2))
    for run, state in zip((*production, staging[0], elsewhere), (*states, STATE.degraded, STATE.healthy), strict=True):
        await deployments.move(database, run, state, NOON)
    there = await deployments.list_there(database, SHOP.id)
    assert [(each.environment, each.run_id) for each in there] == [
        ("production", production[1].id),
        ("staging", staging[0].id),
    ]


# --- /metrics ---------------------------------------------------------------------------------------------------


async def test_deployments_are_counted_by_how_they_ended(filled: tuple[str, list[Run]]) -> None:
    database = Database(filled[0])
    told = [line for line in await scrape(Metrics(Bus(), database)) if line.startswith("forge_deployments")]
    await database.close()
    over = sorted(state.value for state in STATE if state.is_over)
    assert sorted(told) == [
        *(f'forge_deployments_over{{state="{state}"}} {float(state == "rolled_back")}' for state in over),
        "forge_deployments_under_way 2.0",
    ]


# --- forge doctor -----------------------------------------------------------------------------------------------


def test_the_app_must_be_allowed_to_deploy() -> None:
    assert check_permissions(1, []).condition is PartState.well
    lacking = check_permissions(2, ["deployments: write"])
    assert (lacking.condition, lacking.state) == (
        PartState.broken,
        "2 environments in the repositories' configurations, but the App lacks deployments: write",
    )


@pytest.mark.parametrize(
    ("access", "level", "condition"),
    [
        ({}, 3, PartState.note),
        ({("octo-org/shop", "staging"): DeployAccess("10.2.0.7", 8443)}, 3, PartState.well),
        ({("octo-org/shop", "staging"): DeployAccess("10.2.0.7", 8443)}, 2, PartState.note),
        ({("octo-org/shop", "staging"): DeployAccess(secrets={"TOKEN": "x"})}, 2, PartState.well),
    ],
)
def test_commands_need_what_the_operator_names(
    access: Mapping[tuple[str, str], DeployAccess], level: int, condition: PartState
) -> None:
    assert check_commands(1, access, level).condition is condition


# --- status and history -----------------------------------------------------------------------------------------


def test_status_tells_the_newest_of_each_environment() -> None:
    found = [
        deployment(3, STATE.holding, percentage=25),
        deployment(2, STATE.healthy, environment="production", finished_at=NOON),
        deployment(1, STATE.rolled_back),
    ]
    assert texts.render_latest(found).splitlines() == [
        "Deployments:",
        "",
        "- `staging`: Holds at 25 % (`D-000003`, `3333333`, 2026-05-01 12:03 UTC)",
        "- `production`: Deployed and healthy (`D-000002`, `2222222`, 2026-05-01 12:00 UTC)",
    ]
    assert texts.render_latest([]) == ""


def test_history_tells_all() -> None:
    found = [deployment(2, STATE.healthy), deployment(1, STATE.rolled_back)]
    assert texts.render_past(found).splitlines() == [
        "| ordered | deployment | to | commit | because of | how it is |",
        "| --- | --- | --- | --- | --- | --- |",
        "| 2026-05-01 12:02 UTC | `D-000002` | `staging` | `2222222` | merge | Deployed and healthy |",
        "| 2026-05-01 12:01 UTC | `D-000001` | `staging` | `1111111` | merge | Rolled back |",
    ]
    assert texts.render_past([]) == ""


def test_what_was_never_there_before_is_not_said_to_be_taken_back() -> None:
    for state in (STATE.healthy, STATE.rolling_out, STATE.holding):
        first, second = (deployment(state=state, previous_sha=sha) for sha in ("", "b" * 40))
        said = texts.render_check(texts.DeploymentReport(first)).summary
        assert "takes it back" not in said
        assert "taken back" not in said
        assert "Forge knows nothing that it could go back to." in said
        assert "takes it back" in texts.render_check(texts.DeploymentReport(second)).summary
