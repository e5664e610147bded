"""What operators read from the database, and what they have done again."""

import os

import pytest
from inline_snapshot import snapshot

from bot.cli import audit, intervention, runs
from domain.errors import UnknownName
from memory.deliveries import deliveries
from tests.stories.driver import Story
from tests.world.gates import open_protected
from tests.world.replies import first_lines


async def test_a_replay_is_a_delivery_of_its_own(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    repository, alice = story.repository({"app.py": "print()\n"})
    pull, head = await story.propose(repository, alice, {"app.py": "print(1)\n"})
    capsys.readouterr()
    opened = next(each.guid for each in story.github.deliveries if each.event == "pull_request")

    await intervention.replay(story.forge.settings, opened)
    again = capsys.readouterr().out.removeprefix("Queued again as ").splitlines()[0].removesuffix(".")
    await story.settle()
    assert first_lines(story.reviews(pull)) == snapshot([])

    row = await deliveries.find(story.forge.services.database, again)
    assert row is not None
    assert again.startswith(f"{opened}/")
    assert (row.event, row.action, row.reason) == ("pull_request", "opened", "this head was reviewed before")
    assert row.finished_at is not None
    assert len(await story.runs()) == 1
    assert story.check(repository, head).conclusion == "neutral"

    [run] = await story.runs()
    os.environ.pop("COLUMNS", None)  # as where no terminal is
    await runs.show_runs(story.forge.settings)
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == ["run", "pull", "request", "head", "what", "outcome", "created", "(UTC)"]
    assert line.split()[:2] == [run.id[-6:], f"octo-org/shop#{pull.number}"]
    assert (story.check(repository, head).title or "?") in line
    await runs.show_runs(story.forge.settings, events=run.id[-6:])
    assert "run.admitted" in capsys.readouterr().out

    await runs.show_deliveries(story.forge.settings)
    printed = capsys.readouterr().out
    assert "this head was reviewed before" in printed
    assert not any(each.id in printed for each in await story.runs())


async def test_what_failed_is_listed_for_a_replay(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    repository, alice = story.repository({"app.py": "print()\n"})
    story.github.faults.add(kind="before", method="GET", path=r"pulls/\d+$", status=422, times=1)
    pull, _ = await story.propose(repository, alice, {"app.py": "print(1)\n"})
    capsys.readouterr()

    await runs.show_deliveries(story.forge.settings, failed=True, limit=10)
    [line] = capsys.readouterr().out.splitlines()
    guid = line.split()[0]
    assert "pull_request opened" in line

    await intervention.replay(story.forge.settings, guid)
    await story.settle()
    assert first_lines(story.reviews(pull)) == snapshot([])
    assert len(await story.runs()) == 1
    capsys.readouterr()
    await runs.show_deliveries(story.forge.settings, failed=True, limit=10)
    assert capsys.readouterr().out == ""


async def test_the_audit_tells_the_story_of_a_gate(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, carol, pull, _ = await open_protected(story)
    story.clock.move(seconds=90)
    await story.after(carol.comment(pull, "/forge approve with: tell operations first"))
    assert story.answers(pull) == []
    assert first_lines(story.questions(pull)) == snapshot(
        ["**protected_paths: Approved by carol, with a note** · G-ID · head `SHA`"]
    )
    capsys.readouterr()

    [run] = await story.runs()
    await audit.show(story.forge.settings, run=run.id[-6:])
    shown = capsys.readouterr().out.splitlines()
    what = [line.split("  ")[2] for line in shown if not line.startswith(" ")]
    assert [each.partition(" (G-")[0] for each in what] == [
        "run is admitted",
        "run begins",
        "gate protected_paths",
        "run waits",
        "gate protected_paths",
        "run goes on",
        "run completed",
    ]
    assert any("by carol (command), after 1 min 3" in line for line in shown)
    assert "                     “tell operations first”" in shown
    assert any(line.startswith("                     why: ") and "protected" in line for line in shown)


async def test_events_of_a_run_that_is_not_there(story: Story) -> None:
    with pytest.raises(UnknownName, match="There is no run NOPE"):
        await runs.show_runs(story.forge.settings, events="NOPE")


async def test_a_replay_of_a_delivery_that_is_not_there(story: Story) -> None:
    with pytest.raises(UnknownName, match="There is no delivery NOPE"):
        await intervention.replay(story.forge.settings, "NOPE")
