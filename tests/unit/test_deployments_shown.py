"""How operators see deployments (`forge deployments`, `/metrics`, `forge doctor`), and people in `/forge status`."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest
from aiohttp.test_utils import make_mocked_request

from bot.cli import deployments as shown
from bot.cli.deployments import render_line
from bot.doctor import PartState
from bot.doctor.configured import check_commands, check_permissions
from bot.prometheus import Metrics
from domain.commands import Sender
from domain.deployments.deployment import Cause, DeployAccess, DeploymentState, Step
from domain.deployments.health import Health, Signal, StageHealth
from domain.errors import ForgeError, UnknownName
from domain.review.review import RiskLevel
from domain.runs.run import RepositoryRef, Run
from memory.db.engine import Bus, Database
from memory.db.tables.repositories import DeploymentRow
from memory.deployments import deployments
from memory.deployments.deployments import DeploymentOrder, PastDeployment
from messages import deployments as texts
from tests.rows import NOON, run_row, settings
from tests.unit.deployments.orders import deployment

SHOP = RepositoryRef(installation_id=1, id=10, owner="octo-org", name="shop")
TOOLS = RepositoryRef(installation_id=1, id=11, owner="octo-org", name="tools")
STATE = DeploymentState


async def _order(database: Database, repository: RepositoryRef, environment: str, at: datetime) -> Run:
    order = DeploymentOrder(
        admitted_by=f"{repository.id} {environment} {at}",
        repository=repository,
        number=1,
        environment=environment,
        is_production=environment == "production",
        sha="a" * 40,
        cause=Cause.merge,
        risk=RiskLevel.low,
        sender=Sender(id=5, login="carol"),
    )
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


# --- forge deployments ------------------------------------------------------------------------------------------


async def test_the_newest_come_first(filled: tuple[str, list[Run]], capsys: pytest.CaptureFixture[str]) -> None:
    url, (one, two, three) = filled
    await shown.show_all(settings(url), None, None, 20, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [f"D-{each.id[-6:]}" for each in (three, two, one)]
    assert lines[2].split("  ")[1:] == [
        "octo-org/shop",
        "production",
        "aaaaaaa",
        "rolled_back (5 %)",
        "merge by carol",
        "2026-05-01 12:00 UTC",
        "took 3 min",
    ]
    assert "rolling_out (25 %)" in lines[0]


@pytest.mark.parametrize(
    ("repository", "environment", "limit", "found"),
    [
        ("octo-org/shop", None, 20, 2),
        (None, "staging", 20, 2),
        ("octo-org/shop", "staging", 20, 1),
        (None, None, 1, 1),
        (None, "nowhere", 20, 0),
    ],
)
async def test_a_selection(
    filled: tuple[str, list[Run]],
    repository: str | None,
    environment: str | None,
    limit: int,
    found: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await shown.show_all(settings(filled[0]), repository, environment, limit, as_json=True)
    assert len(json.loads(capsys.readouterr().out)) == found


async def test_nothing_is_said_as_such(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    await shown.show_all(settings(url), None, None, 20, as_json=False)
    assert capsys.readouterr().out == "Nothing was deployed.\n"


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


async def test_a_repository_that_nobody_knows(filled: tuple[str, list[Run]]) -> None:
    with pytest.raises(UnknownName, match="octo-org/none"):
        await shown.show_all(settings(filled[0]), "octo-org/none", None, 20, as_json=False)


@pytest.mark.parametrize("form", ["D-{}", "{}"])
async def test_one_shows_its_steps_and_figures(
    filled: tuple[str, list[Run]], form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url, (one, *_) = filled
    await shown.show_one(settings(url), form.format(one.id[-6:]), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        f"  run {one.id}, of #1; risk low",
        "  At 5 % it is unhealthy",
        "  5 %: unhealthy, after 3 looks",
        "    latency  unhealthy  100 before, 900 now  ▁ ▁█  slow",
    ]


async def test_one_as_json_has_its_steps(filled: tuple[str, list[Run]], capsys: pytest.CaptureFixture[str]) -> None:
    url, (one, *_) = filled
    await shown.show_one(settings(url), one.id, as_json=True)
    printed = capsys.readouterr().out
    assert printed.isascii()
    told = json.loads(printed)
    assert (told["run"], told["commit"], told["state"], told["percentage"]) == (one.id, "a" * 40, "rolled_back", 5)
    assert told["finished"].startswith("2026-05-01T12:03:00")
    assert told["steps"][0]["health"]["signals"][0]["now"] == 900


@pytest.mark.parametrize("name", ["D-ZZZZZZ", "D-", "%", "ZZZ"])
async def test_an_id_that_there_is_not(filled: tuple[str, list[Run]], name: str) -> None:
    with pytest.raises(UnknownName):
        await shown.show_one(settings(filled[0]), name, as_json=False)


def test_one_that_is_under_way_says_for_how_long() -> None:
    past = PastDeployment(deployment(1, STATE.holding, percentage=25), "octo-org/shop")
    line = render_line(past, past.deployment.created_at + timedelta(minutes=90))
    assert line.endswith("for 1 h 30 min")


async def test_two_with_one_ending_are_not_mistaken(url: str) -> None:
    database = Database(url)
    run = await _order(database, SHOP, "staging", NOON)
    async with database.transaction() as session:
        row = await session.get_one(DeploymentRow, run.id)
        values = {column.name: getattr(row, column.name) for column in DeploymentRow.__table__.columns}
        other = f"{'0' * 20}{run.id[-6:]}"
        session.add_all([run_row(other), DeploymentRow(**values | {"run_id": other})])
    await database.close()
    with pytest.raises(ForgeError, match="More than one deployment ends with"):
        await shown.show_one(settings(url), run.id[-6:], as_json=False)
    await shown.show_one(settings(url), other, as_json=False)


# --- /metrics ---------------------------------------------------------------------------------------------------


async def test_deployments_are_counted_by_how_they_ended(filled: tuple[str, list[Run]]) -> None:
    database = Database(filled[0])
    response = await Metrics(Bus(), database).expose(make_mocked_request("GET", "/metrics"))
    assert isinstance(response.body, bytes)
    told = [line for line in response.body.decode().splitlines() if line.startswith("forge_deployments")]
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
