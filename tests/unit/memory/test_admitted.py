"""A run and what it is about are kept together, so that none begins without the words somebody asked for."""

from datetime import UTC, datetime

from domain.commands import Repeat
from domain.runs.run import RepositoryRef, Trigger
from memory.db.engine import Database
from memory.reports import pages, retention
from memory.runs import model_answers, runs
from memory.runs.runs import Candidate

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
WHERE = RepositoryRef(installation_id=1, id=10, owner="octo-org", name="shop")


async def test_what_a_run_is_about_is_kept_with_it(database: Database) -> None:
    words = {"title": "Discounts", "body": "A tenth."}
    wanted = Candidate("one", WHERE, 3, "a" * 40, "a" * 40, Trigger.issue, Repeat.anew, kept=("asked for", words))
    admission = await runs.admit(database, wanted, 0, NOON)
    assert admission.run is not None
    assert await model_answers.find(database, admission.run, "asked for") == words
    later = Candidate("one", WHERE, 3, "a" * 40, "a" * 40, Trigger.issue, Repeat.anew, kept=("asked for", {"body": ""}))
    again = await runs.admit(database, later, 1, NOON)  # by the same delivery, after a crash
    assert again.run is not None
    assert again.run.id == admission.run.id
    assert await model_answers.find(database, again.run, "asked for") == words


async def test_what_it_is_called_is_kept_until_the_repository_is_lost(database: Database) -> None:
    """The latest title counts for all runs; credentials in it are masked, and what is too long is cut off."""
    title = f"Use ghp_0123456789abcdefghijABCDEFGHIJ012345 {'x' * 300}"
    for fence, name in enumerate(("First", title, "")):
        head = str(fence) * 40
        wanted = Candidate(f"{fence}", WHERE, 3, head, head, Trigger.pull_request, Repeat.always, title=name)
        assert (await runs.admit(database, wanted, fence, NOON)).run is not None

    async def load_titles() -> list[str]:
        page = await pages.list_runs(database, WHERE.id, pages.RunFilter(), pages.PageKey(), 10)
        return [each.title for each in page.items]

    [one, other, last] = await load_titles()
    assert one == other == last
    assert last.startswith("Use ")
    assert "ghp_0123" not in last
    assert len(last) <= 256
    await retention.forget_repositories(database, [WHERE.id])
    assert await load_titles() == ["", "", ""]
    assert await runs.get_fence(database, WHERE.id, 3) == 3
