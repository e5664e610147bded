"""What Forge keeps goes with its time and with the App; what is in use stays."""

import os
from datetime import timedelta

import pytest
from sqlalchemy import func, select, text

from agents.llm.scripted import ScriptedModel
from memory.db.engine import Database
from memory.db.tables.repositories import FindingRow, GateRow
from memory.db.tables.runs import AnswerRow, CheckpointRow, EventRow, RunRow
from memory.reports import retention
from pipeline.maintenance.retention import remove_old
from simulator.state import PullRequest, Repository
from tests.resting import find_unfinished
from tests.stories.driver import Story
from tests.world.model_findings import PAY, SHOP, find_division

_JOURNALS = {
    "sqlite": "SELECT count(*) FROM workflow_status",
    "postgresql": "SELECT count(*) FROM dbos.workflow_status",
}


async def _counts(database: Database) -> dict[str, int]:
    """How much there is of what holds code and words."""
    kinds = (RunRow, EventRow, AnswerRow, CheckpointRow, FindingRow, GateRow)
    async with database.transaction() as session:
        counts = {table.__tablename__: await session.scalar(select(func.count()).select_from(table)) for table in kinds}
        counts["journals"] = await session.scalar(text(_JOURNALS[database.dialect]))
    return {name: count for name, count in counts.items() if count}


async def _download(story: Story, repository: Repository) -> None:
    """Keep something as if a set-up had downloaded it."""
    filling = story.forge.services.toolbox.cache_warmer
    assert filling is not None
    home = story.forge.settings.data_dir / "home"
    (home / ".cache").mkdir(parents=True, exist_ok=True)  # of an earlier story on this Forge
    assert filling.cache.may_fill(repository.id, "key")
    await filling.cache.keep(repository.id, "key", home, os.geteuid())
    assert _downloads(story) == [str(repository.id)]


def _downloads(story: Story) -> list[str]:
    return [path.name for path in (story.forge.settings.data_dir / "dependencies").iterdir()]


async def _open_reviewed(story: Story, model: ScriptedModel) -> tuple[Repository, PullRequest]:
    find_division(model)
    repository, alice = story.repository(SHOP)
    pull, _ = await story.propose(repository, alice, {"billing/pay.py": PAY}, title="Add totals")
    assert len(story.comments(pull)) == 1
    return repository, pull


async def test_code_and_prompts_go_first_and_the_audit_later(story: Story, model: ScriptedModel) -> None:
    repository, pull = await _open_reviewed(story, model)
    await _download(story, repository)
    services, now = story.forge.services, story.clock.now()
    before = await _counts(services.database)
    assert {"answers", "checkpoints", "journals"} <= set(before)
    assert await remove_old(services, now + timedelta(days=13)) == {}

    removed = await remove_old(services, now + timedelta(days=15))
    assert {"answers", "journals"} <= set(removed)
    assert not {"answers", "journals"} & set(await _counts(services.database))
    assert [*services.mirrors.root.glob("*.git")]

    removed = await remove_old(services, now + timedelta(days=91))
    assert (removed["mirrors"], removed["downloads"]) == (1, 1)
    assert [*services.mirrors.root.glob("*.git")] == []
    assert set(await _counts(services.database)) == {"runs", "findings"}
    assert await find_unfinished(services.database, now) == []

    alice = story.github.user("alice")  # and Forge works on
    await story.after(alice.push(pull.repository, "feature", {"billing/pay.py": PAY + "\n\nEXTRA = 1\n"}))
    assert (await story.runs())[0].state == "completed"
    assert len(story.comments(pull)) == 1


@pytest.mark.tells("repositories")  # which ones Forge was installed for
async def test_an_uninstalled_app_keeps_no_code_and_no_words(story: Story, model: ScriptedModel) -> None:
    repository, pull = await _open_reviewed(story, model)
    del pull
    await _download(story, repository)
    [installation] = story.github.world.installations.values()
    story.github.uninstall(installation)
    await story.settle()
    left = await _counts(story.forge.services.database)
    assert not {"answers", "checkpoints", "findings", "gates"} & set(left)
    assert left["journals"] == 2  # of the deliveries that told of the installation and of its end; they say no more
    assert await retention.list_lost_runs(story.forge.services.database, [repository.id])
    assert _downloads(story) == []


async def test_what_runs_is_not_removed(story: Story, model: ScriptedModel) -> None:
    del model
    services = story.forge.services
    fault = story.github.faults.add(
        kind="before",
        method="PATCH",
        path=r"/check-runs/\d+$",
        status=403,
        headers={"retry-after": str(100 * 24 * 3600)},
        message="You have exceeded a secondary rate limit.",
    )
    repository, alice = story.repository(SHOP)
    _, head = await story.propose(repository, alice, {"app.py": "print()\n"})
    assert fault.fired
    before = await _counts(services.database)
    await remove_old(services, story.clock.now() + timedelta(days=95))
    after = await _counts(services.database)
    assert (after["events"], after["runs"]) == (before["events"], 1)
    await story.wait(days=101)
    assert story.check(repository, head).conclusion == "success"
