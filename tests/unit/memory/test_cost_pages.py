"""What a repository spent, as its page of costs sums it up: by day, phase, model and run."""

from datetime import timedelta

import pytest

from bot.dashboard.figures import BudgetShown
from domain.money import MICRO
from memory.db.engine import Database
from memory.reports import costs
from memory.reports.costs import Cost
from tests.rows import NOON, run_row, spend_row

OLD, CHEAP, DEAR, OTHER = (f"{number:026}" for number in range(4))
OPUS = "anthropic:claude-opus-5"


@pytest.fixture(autouse=True)
async def _spending(database: Database) -> None:
    """Three runs of octo-org/shop and one of another repository, on three days."""
    async with database.transaction() as session:
        session.add(run_row(OLD, attempt=1))
        session.add(run_row(CHEAP, state="waiting", attempt=2))
        session.add(run_row(DEAR, state="running", number=2))
        session.add(run_row(OTHER, repository_id=11, name="other", state="running"))
        session.add(spend_row("s1", OLD, 9 * MICRO, day="2026-04-29"))
        session.add(spend_row("s2", CHEAP, MICRO, day="2026-04-30"))
        session.add(spend_row("s3", DEAR, 2 * MICRO, model=OPUS))
        session.add(spend_row("s4", DEAR, 4 * MICRO, phase="implementation", state="reserved"))
        session.add(spend_row("s5", OTHER, 100 * MICRO, repository_id=11))


def show(costs: list[Cost]) -> list[tuple[str, int, int, int]]:
    return [(each.name, each.spent.amount // MICRO, each.spent.reserved // MICRO, each.spent.calls) for each in costs]


async def test_the_sums_are_of_this_repository_and_period(database: Database) -> None:
    """From the first day that was chosen on, that day included; each list in the order that people look for."""
    spent = await costs.load_costs(database, 10, NOON - timedelta(days=1))
    assert show([*spent.days]) == [("2026-05-01", 6, 4, 2), ("2026-04-30", 1, 0, 1)]
    assert show([*spent.phases]) == [("implementation", 4, 4, 1), ("review", 3, 0, 2)]
    assert show([*spent.models]) == [("anthropic:claude-haiku-4-5", 5, 4, 2), (OPUS, 2, 0, 1)]
    assert [(each.run.id, each.spent.amount // MICRO) for each in spent.runs] == [(DEAR, 6), (CHEAP, 1)]
    assert spent.amount == 7 * MICRO


async def test_runs_at_work_have_what_they_spent_in_all(database: Database) -> None:
    """The newest first; not those that are over, nor those of other repositories."""
    at_work = await costs.list_working(database, 10, 20)
    assert [(each.run.id, each.spent.amount // MICRO) for each in at_work] == [(DEAR, 6), (CHEAP, 1)]
    assert [each.run.id for each in await costs.list_working(database, 10, 1)] == [DEAR]


def test_what_is_reserved_is_not_left() -> None:
    assert BudgetShown("this day (UTC)", "", used=3, reserved=4, limit=10).remainder == 3
    assert BudgetShown("this day (UTC)", "", used=8, reserved=4, limit=10).remainder == 0
