"""The operator stops everything at once; what waits for that goes on by itself, and nothing is lost."""

from pathlib import Path

import aiohttp
import pytest

from agents.llm.models import Models
from agents.llm.scripted import ScriptedModel
from bot.cli import intervention
from bot.doctor import machine
from bot.server import serve
from memory.process import halts
from simulator import Simulator
from simulator.state import PullRequest, Repository
from tests.clock import MovableClock
from tests.databases import Backend, create_database, drop_database
from tests.stories.driver import SECRET, Story, run_forge
from tests.stories.gate_scenes import WORKFLOW
from tests.threats.meanwhile import act_after_write
from tests.world.model_findings import PAY, SHOP, find_division


def count_writes(story: Story) -> int:
    """How much Forge wrote to GitHub."""
    return len([each for each in story.github.writes() if "/access_tokens" not in each.path])


async def _open_pull_request(story: Story) -> tuple[Repository, PullRequest, str]:
    repository, alice = story.repository(SHOP)
    pull, head = await story.propose(repository, alice, {"billing/pay.py": PAY}, title="Add totals")
    return repository, pull, head


async def test_nothing_is_written_or_asked_until_it_is_resumed(story: Story, model: ScriptedModel) -> None:
    find_division(model)
    await intervention.halt(story.forge.settings, "prices look wrong")
    before = count_writes(story)
    repository, pull, head = await _open_pull_request(story)
    assert (count_writes(story), model.calls) == (before, [])
    [run] = await story.runs()
    assert (run.state, run.reason) == ("waiting", "halted")
    story.clock.move(hours=30)  # longer than the longest wait: it looks, and waits again
    await story.settle()
    assert (count_writes(story), model.calls) == (before, [])

    await intervention.resume(story.forge.settings)
    await story.settle()
    assert story.check(repository, head).conclusion == "failure"
    assert len(story.comments(pull)) == 1
    assert len(model.calls) == 2


async def test_a_run_at_work_stops_before_its_next_write(story: Story, model: ScriptedModel) -> None:
    find_division(model)

    async def stop() -> None:
        await intervention.halt(story.forge.settings, "")

    act_after_write(story, stop, said="in_progress")
    repository, pull, head = await _open_pull_request(story)
    assert model.calls == []
    assert story.check(repository, head).status == "in_progress"

    await intervention.resume(story.forge.settings)
    await story.settle()
    assert story.check(repository, head).conclusion == "failure"
    assert len(story.comments(pull)) == 1


async def test_a_decision_counts_while_forge_is_halted(story: Story) -> None:
    repository, alice = story.repository({"README.md": "# Shop\n", ".github/workflows/ci.yml": WORKFLOW})
    carol = story.member(repository, "carol", "maintain")
    changed = WORKFLOW.replace("make", "make test")
    pull, head = await story.propose(repository, alice, {".github/workflows/ci.yml": changed})

    await intervention.halt(story.forge.settings, "lunch")
    story.clock.move(seconds=5)
    before = count_writes(story)
    await story.after(carol.comment(pull, "/forge approve"))
    story.clock.move(hours=25)  # the gate's own time is over: it was answered before
    await story.settle()
    assert count_writes(story) == before

    await intervention.resume(story.forge.settings)
    await story.settle()
    assert story.check(repository, head).conclusion == "success"
    assert story.answers(pull) == []
    assert story.gate_outcomes(pull) == ["protected_paths: Approved by carol"]


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_a_halt_outlives_the_process(backend: Backend, tmp_path: Path) -> None:
    url, clock, none = create_database(backend, tmp_path), MovableClock(), Models.only(ScriptedModel().language_model)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET, now=clock.now) as github:
        async with run_forge(github, clock, url, tmp_path, models=none) as story:
            await intervention.halt(story.forge.settings, "")
            repository, alice = story.repository({"app.py": "print()\n"})
            _, head = await story.propose(repository, alice, {"app.py": "print(1)\n"})
        async with run_forge(github, clock, url, tmp_path, models=none) as story:
            await story.settle()
            assert github.check_runs(repository, head) == []
            await intervention.resume(story.forge.settings)
            await story.settle()
            assert story.check(repository, head).conclusion == "success"
    drop_database(url)


async def test_operators_are_told(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    settings = story.forge.settings
    await intervention.resume(settings)
    assert capsys.readouterr().out == "Forge is not halted; nothing to do.\n"
    await intervention.halt(settings, "a\x1b[31m [red]leak[/]\n")
    assert capsys.readouterr().out.startswith("Halted: Forge calls no model")
    await intervention.halt(settings, "again")
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("Forge has been halted since 20")
    assert "\x1b" not in line
    assert "[red]leak[/]" in line
    assert line.endswith("`forge resume` lets it continue.")

    async with (
        serve(story.forge) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/readyz") as answer,
    ):
        assert (answer.status, await answer.text()) == (200, "ready, but halted by the operator\n")
    found = await machine.check_database(settings)
    assert "Forge has been halted since" in found.state
    assert found.advice == "`forge resume` lets it continue."

    await intervention.resume(settings)
    assert capsys.readouterr().out == "Resumed: the work continues within a second.\n"
    assert await halts.get_current(story.forge.services.database) is None
    assert (await machine.check_database(settings)).advice == ""
