"""What `forge costs` and `forge gates` show, on both databases; the terminal shows and links, and decides nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.cli import costs as spending
from bot.cli import gates as asking
from domain.errors import ForgeError
from domain.gates import GateState
from domain.money import MICRO, GroupBy
from memory import gates
from memory.db.engine import Database
from memory.reports import costs
from memory.reports.costs import Cost, CostFilter
from memory.repositories import configurations
from memory.repositories.configurations import ConfigurationScope
from tests.rows import NOON, gate_row, run_row, settings, spend_row

RUN, OTHER = "01J00000000000000000AAAAAA", "01J00000000000000000BBBBBB"


@pytest.fixture
async def url(url: str) -> str:
    database = Database(url)
    today = datetime.now(UTC)
    async with database.transaction() as session:
        session.add_all(
            [
                run_row(RUN),
                run_row(OTHER, 11, "bank"),
                spend_row("1", RUN, 3 * MICRO),
                spend_row("2", RUN, MICRO, phase="testing", day="2026-05-02", reserved_at=NOON + timedelta(days=1)),
                spend_row("3", OTHER, 2 * MICRO, repository_id=11, model="openai:gpt[red]", state="reserved"),
                spend_row("4", RUN, 5 * MICRO, day=today.date().isoformat(), reserved_at=today),
                gate_row("01J0000000000000000000G001", RUN),
                gate_row("01J0000000000000000000G002", RUN, subject="t", decided_at=NOON + timedelta(minutes=9)),
                gate_row("01J0000000000000000000G003", RUN, "guard", state="expired", decision=None),
                gate_row("01J0000000000000000000G000", OTHER, "guard", state="waiting", decision=None, decided_at=None),
            ]
        )
    await configurations.keep(database, ConfigurationScope("repository 10", 1, False), "sha", {"budgets": {"day": 8}})
    await database.close()
    return url


def _brief(found: list[Cost] | tuple[Cost, ...]) -> list[tuple[str, int, int]]:
    return [(cost.name, cost.spent.amount // MICRO, cost.spent.calls) for cost in found]


async def test_costs_by_everything(url: str) -> None:
    database = Database(url)
    found = {
        by: _brief([*await costs.sum_costs(database, by, CostFilter(until=NOON + timedelta(days=2)))]) for by in GroupBy
    }
    one_day = await costs.sum_costs(database, GroupBy.model, CostFilter(NOON, NOON + timedelta(hours=1), [10]))
    of_run = await costs.sum_costs(database, GroupBy.phase, CostFilter(run=OTHER))
    await database.close()
    assert found == {
        GroupBy.phase: [("review", 5, 2), ("testing", 1, 1)],
        GroupBy.model: [("anthropic:claude-haiku-4-5", 4, 2), ("openai:gpt[red]", 2, 1)],
        GroupBy.repository: [("octo-org/shop", 4, 2), ("octo-org/bank", 2, 1)],
        GroupBy.day: [("2026-05-02", 1, 1), ("2026-05-01", 5, 2)],
    }
    assert _brief([*one_day]) == [("anthropic:claude-haiku-4-5", 3, 1)]
    assert [(cost.spent.amount, cost.spent.reserved) for cost in of_run] == [(2 * MICRO, 2 * MICRO)]


async def test_costs_are_shown_with_the_budgets_of_today(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    await spending.show(settings(url))
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "testing 1 1,000 500 100 1.00 USD 0.00 USD" in printed
    assert "openai:gpt[red] 1 1,000 500 100 2.00 USD 2.00 USD" in printed
    assert "octo-org/shop day 5.00 USD 8.00 USD" in printed
    await spending.show(settings(url), by=GroupBy.day, repository="octo-org/bank")
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.strip()] == ["day", "2026-05-01"]
    await spending.show(settings(url), until="2020-01-01")
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "No model was asked."
    assert not [line for line in told if line.startswith(("phase", "model", "repository", "day"))]


@pytest.mark.parametrize("asked", [{"run": "nope"}, {"repository": "a/b"}, {"since": "soon"}])
async def test_costs_of_what_is_not_there(asked: dict[str, Any], url: str) -> None:
    with pytest.raises(ForgeError, match=r"There is no run|Forge never ran in|is not a time"):
        await spending.show(settings(url), **asked)


async def test_gates_that_wait_come_first_and_are_linked(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    await asking.show_all(settings(url), None, 20)
    listed = capsys.readouterr().out.splitlines()
    assert listed[:4] == [
        "G-00G000  guard  octo-org/shop#1  waits until 2026-05-02 00:00 UTC",
        (
            "    Who may decide: maintain or above, but the author of the change only if nobody else has it. "
            "Until 2026-05-02 00:00 UTC; then"
            " octo-org/security will be told."
        ),
        "    https://github.com/octo-org/shop/pull/1#issuecomment-88",
        "G-00G003  guard  octo-org/shop#1  expired",
    ]
    table = [" ".join(line.split()) for line in listed]
    assert "guard 2 1 0 0 1 0" in table
    assert "security_findings 2 0 2 0 0 0 5 min" in table

    await asking.show_all(settings(url), GateState.expired, 20)
    assert capsys.readouterr().out == "G-00G003  guard  octo-org/shop#1  expired\n"
    await asking.show_all(settings(url), GateState.void, 20)
    assert capsys.readouterr().out == "No gate is void.\n"


async def test_a_gate_is_shown_whole(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    await asking.show_one(settings(url), "G-00G001")
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert printed.splitlines() == [
        "G-00G001  security_findings  approved  octo-org/shop#1  head aaaaaaa",
        "  Is that meant?",
        "  - eval of input",
        "  /forge approve security_findings: lets it go on",
        (
            "  Who may decide: maintain or above, but the author of the change only if nobody else has it. "
            "Until 2026-05-02 00:00 UTC; then"
            " octo-org/security will be told."
        ),
        "  approved by carol, after 1 min (button), 2026-05-01 12:01:00 UTC",
        "  “log it”",
        "  https://github.com/octo-org/shop/runs/77",
        "  https://github.com/octo-org/shop/pull/1#issuecomment-88",
    ]
    await asking.show_one(settings(url), "G-00G000")
    assert "the terminal only shows" in capsys.readouterr().out
    with pytest.raises(ForgeError, match="There is no gate G-NOPE99"):
        await asking.show_one(settings(url), "G-NOPE99")


async def test_records_of_gates(url: str) -> None:
    database = Database(url)
    records = {each.name: each for each in await gates.load_statistics(database)}
    await database.close()
    assert records["security_findings"].median_seconds == 300
    assert records["guard"].median_seconds is None
    assert (records["guard"].total, records["guard"].counts["waiting"]) == (2, 1)
