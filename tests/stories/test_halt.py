"""The operator stops everything at once; what waits for that goes on by itself, and nothing is lost."""

from pathlib import Path

import aiohttp
import pytest

from agents.llm.models import Models
from agents.llm.scripted import ScriptedModel
from bot.cli import halt
from bot.cli.doctor import doctor
from bot.server import serve
from memory.process import halts
from simulator import Simulator
from simulator.state import PullRequest, Repository
from tests.clock import MovableClock
from tests.databases import Backend, create_database, drop_database
from tests.stories.driver import SECRET, Story, run_forge
from tests.threats.meanwhile import act_after_write
from tests.world.gates import WORKFLOW
from tests.world.model_findings import PAY, SHOP, find_division


def count_writes(told: Story) -> int:
    """How much Forge wrote to GitHub."""
    return len([each for each in told.github.writes() if "/access_tokens" not in each.path])


async def _open_pull_request(told: Story) -> tuple[Repository, PullRequest, str]:
    repository, alice = told.repository(SHOP)
    head = await alice.push(repository, "feature", {"billing/pay.py": PAY}, base="main")
    pull = await alice.open_pull_request(repository, "feature", title="Add totals")
    await told.settle()
    return repository, pull, head


async def test_nothing_is_written_or_asked_until_it_is_resumed(read: Story, model: ScriptedModel) -> None:
    find_division(model)
    await halt.halt(read.forge.settings, "prices look wrong")
    before = count_writes(read)
    repository, pull, head = await _open_pull_request(read)
    assert (count_writes(read), model.calls) == (before, [])
    [run] = await read.runs()
    assert (run.state, run.reason) == ("waiting", "halted")
    read.clock.move(hours=30)  # longer than the longest wait: it looks, and waits again
    await read.settle()
    assert (count_writes(read), model.calls) == (before, [])

    await halt.resume(read.forge.settings)
    await read.settle()
    assert read.check(repository, head).conclusion == "failure"
    assert len(read.comments(pull)) == 1
    assert len(model.calls) == 2


async def test_a_run_at_work_stops_before_its_next_write(read: Story, model: ScriptedModel) -> None:
    find_division(model)

    async def stop() -> None:
        await halt.halt(read.forge.settings, "")

    act_after_write(read, stop, said="in_progress")
    repository, pull, head = await _open_pull_request(read)
    assert model.calls == []
    assert read.check(repository, head).status == "in_progress"

    await halt.resume(read.forge.settings)
    await read.settle()
    assert read.check(repository, head).conclusion == "failure"
    assert len(read.comments(pull)) == 1


async def test_a_decision_counts_while_forge_is_halted(told: Story) -> None:
    repository, alice = told.repository({"README.md": "# Shop\n", ".github/workflows/ci.yml": WORKFLOW})
    carol = told.github.user("carol")
    told.github.grant(repository, carol, "maintain")
    changed = WORKFLOW.replace("make", "make test")
    head = await alice.push(repository, "feature", {".github/workflows/ci.yml": changed}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()

    await halt.halt(told.forge.settings, "lunch")
    told.clock.move(seconds=5)
    before = count_writes(told)
    await carol.comment(pull, "/forge approve")
    await told.settle()
    told.clock.move(hours=25)  # the gate's own time is over: it was answered before
    await told.settle()
    assert count_writes(told) == before

    await halt.resume(told.forge.settings)
    await told.settle()
    assert told.check(repository, head).conclusion == "success"
    assert any("is approved" in each.body for each in told.answers(pull))
    assert len(told.questions(pull)) == 1


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_a_halt_outlives_the_process(backend: Backend, tmp_path: Path) -> None:
    url, clock, none = create_database(backend, tmp_path), MovableClock(), Models.only(ScriptedModel().language_model)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET, now=clock.now) as github:
        async with run_forge(github, clock, url, tmp_path, models=none) as told:
            await halt.halt(told.forge.settings, "")
            repository, alice = told.repository({"app.py": "print()\n"})
            head = await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
            await alice.open_pull_request(repository, "feature")
            await told.settle()
        async with run_forge(github, clock, url, tmp_path, models=none) as told:
            await told.settle()
            assert github.check_runs(repository, head) == []
            await halt.resume(told.forge.settings)
            await told.settle()
            assert told.check(repository, head).conclusion == "success"
    drop_database(url)


async def test_operators_are_told(told: Story, capsys: pytest.CaptureFixture[str]) -> None:
    settings = told.forge.settings
    await halt.resume(settings)
    assert capsys.readouterr().out == "Forge is not halted; nothing to do.\n"
    await halt.halt(settings, "a\x1b[31m [red]leak[/]\n")
    assert capsys.readouterr().out.startswith("Halted: no model is called")
    await halt.halt(settings, "again")
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("Forge is halted since 20")
    assert "\x1b" not in line
    assert "[red]leak[/]" in line
    assert line.endswith("`forge resume` lets it go on.")

    async with (
        serve(told.forge) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/readyz") as answer,
    ):
        assert (answer.status, await answer.text()) == (200, "ready, but halted by the operator\n")
    found = await doctor.check_database(settings)
    assert "Forge is halted since" in found.state
    assert found.advice == "`forge resume` lets it go on."

    await halt.resume(settings)
    assert capsys.readouterr().out == "Resumed: what waited goes on within a second.\n"
    assert await halts.get_current(told.forge.services.database) is None
    assert (await doctor.check_database(settings)).advice == ""
