"""`forge memory`: what it lists and changes, on both databases, and its answers to mistakes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.cli import memory as remembered
from domain.errors import ForgeError, UnknownName
from domain.events import EventType
from domain.memories import Archived, Memory, MemoryKind, Use
from memory import ledger
from memory.db.engine import Database
from memory.db.tables.repositories import FeedbackRow, RecallRow
from memory.learned import memories
from memory.repositories import configurations
from memory.repositories.configurations import ConfigurationScope
from tests.rows import NOON, dismissal_row, run_row, settings
from tests.unit.memories.records import archive, build_rated, keep

RUN, OTHER = "01J00000000000000000AAAAAA", "01J00000000000000000BBBBBB"
SHOP, BANK = 10, 11
FIRST, SECOND, THIRD, PATTERN = (f"01J0000000000000000000M00{number}" for number in range(4))


def _memory(memory_id: str, **more: Any) -> Memory:
    values: dict[str, Any] = {"id": memory_id, "repository_id": SHOP, "used_at": datetime.now(UTC)}
    return build_rated().model_copy(update=values | more)


@pytest.fixture
async def url(url: str) -> str:
    database = Database(url)
    async with database.transaction() as session:
        session.add_all([run_row(RUN), run_row(OTHER, BANK, "bank")])
    ago = datetime.now(UTC) - timedelta(weeks=3, hours=1)
    await keep(database, _memory(FIRST, content="Tests \x1b[31muse\nmake db.", tags=("tests",), used_at=ago))
    await keep(database, _memory(SECOND, content="Ask first.", pinned=True, kind=MemoryKind.procedural))
    await keep(database, _memory(THIRD, content="Old.", repository_id=BANK))
    await archive(database, [THIRD], Archived.unused, NOON)
    await database.close()
    return url


async def test_what_is_listed(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    await remembered.show_all(settings(url))
    assert capsys.readouterr().out.splitlines() == [
        "M-00M001  procedural  octo-org/shop  confidence 0.70  pinned  never recalled",
        "    Ask first.",
        "M-00M000  semantic  octo-org/shop  confidence 0.55  never recalled",
        "    Tests use make db.",
    ]
    await remembered.show_all(settings(url), repository="octo-org/bank")
    assert capsys.readouterr().out == "No memory matches.\n"
    await remembered.show_all(settings(url), kind=MemoryKind.semantic, archived=True, limit=2)
    listed = capsys.readouterr().out.splitlines()
    assert listed[0] == "M-00M002  semantic  octo-org/bank  archived: unused  never recalled"
    assert listed[-1] == "Only the newest 2 are shown; --limit shows more."


async def test_what_is_added_edited_and_archived_is_told(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    await remembered.add(settings(url), "Use  dataclasses.", "Octo-Org/shop", context="style", tags="a, b,a,")
    name = capsys.readouterr().out.split()[0]
    await remembered.add(settings(url), "use dataclasses.", "octo-org/shop", context="Style")
    assert capsys.readouterr().out == f"{name} says that already, so nothing was added.\n"

    await remembered.edit(settings(url), name, "Use attrs.", tags="c")
    await remembered.edit(settings(url), name, context="style")
    await remembered.archive(settings(url), name)
    await remembered.archive(settings(url), name)
    assert capsys.readouterr().out.splitlines() == [
        f"{name} is changed; `forge memory show {name}` shows what it said before.",
        f"{name} says that already, so nothing was changed.",
        f"{name} is archived: Forge keeps it but no longer uses it.",
        f"{name} was archived before, so nothing was changed.",
    ]
    with pytest.raises(ForgeError, match="is archived and no longer used"):
        await remembered.edit(settings(url), name, "Use neither.")

    await remembered.show_one(settings(url), name)
    shown = capsys.readouterr().out
    assert "  Use attrs.\n  When it matters: style\n  Tags: c\n  Source: the operator" in shown
    assert "Confidence 0.70; it is pinned, so it does not decay\n" in shown
    happened = [line.split("  ")[2] for line in shown.splitlines() if line[2:5] == "202"]
    assert [each.split(" by ")[0] for each in happened] == ["stored", "edited", "archived"]
    assert "before: content “Use dataclasses.”, tags “a, b”" in happened[1]


async def test_patterns_are_listed_with_what_makes_them_one(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Which of both outcomes it is of, how many runs taught it, and whether it helped since."""
    database = Database(url)
    words = "A price is computed anew. Run the tests of the cart."
    await keep(database, _memory(PATTERN, content=words, context="shop/", tags=("pattern", "failure", "patterns")))
    for use, causes in ((Use.recurred, "ab"), (Use.applied, "abc"), (Use.dismissed, "d")):
        for cause in causes:
            await memories.record_use(database, [PATTERN], use, cause, NOON)
    async with database.transaction() as session:
        ledger.record(session, RUN, EventType.learning_stored, NOON, payload={"memory": PATTERN, "event": 1})
    await database.close()
    await remembered.show_all(settings(url), patterns=True)
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == ["M-00M003", "A", "Pattern"]
    assert listed[2] == "    Pattern (failure): 3 runs taught it, helped 75% of the time"
    await remembered.show_one(settings(url), "M-00M003")
    shown = capsys.readouterr().out
    assert listed[2].strip() in shown
    assert f"  learned by looking back at run {RUN}\n" in shown
    assert "taught again (a)" in shown


async def test_uses_and_recalls_are_shown(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    database = Database(url)
    await memories.record_use(database, [SECOND], Use.confirmed, "delivery 1", NOON)
    async with database.transaction() as session:
        told = {"run_id": RUN, "task": "review", "memory_id": SECOND, "phase": "review"}
        session.add(RecallRow(rank=1, at=NOON, outcome="helped", **told))
    await database.close()
    await remembered.show_one(settings(url), "M-00M001")
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "  2026-05-01 12:00 UTC  confirmed by a person (delivery 1)",
        "  Never recalled; 1× confirmed by a person",
        "    2026-05-01 12:00 UTC  run …AAAAAA in #1, review, place 1: helped",
    ]


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        (" ", {}, "The text is empty."),
        ("x" * 1001, {}, "The text has 1,001 characters. Allowed: at most 1,000."),
        ("a\u202eb", {}, "The text holds invisible or control characters."),
        ("a <!-- b -->", {}, "The text holds HTML"),
        ("a", {"context": "x" * 201}, "The context has 201 characters."),
        ("a", {"tags": "x" * 61}, "The tag is empty or too long."),
        ("AKIA" + "Q3EGRZ7VJX2MNB5T", {}, "The text holds what looks like a credential."),
    ],
)
async def test_what_is_refused(text: str, more: dict[str, Any], said: str, url: str) -> None:
    with pytest.raises(ForgeError) as refused:
        await remembered.add(settings(url), text, "octo-org/shop", **more)
    assert str(refused.value).startswith(said)
    with pytest.raises(ForgeError):
        await remembered.edit(settings(url), "M-00M000", text, **more)


async def test_what_is_not_there(url: str) -> None:
    for name in ("M-NOPE99", "M-001", "%"):
        with pytest.raises(UnknownName, match="There is no memory"):
            await remembered.show_one(settings(url), name)
    with pytest.raises(ForgeError, match="More than one memory ends with"):
        await _with_same_ending(url)
    for call in (
        remembered.show_all(settings(url), repository="a/b"),
        remembered.add(settings(url), "x", "a/b"),
    ):
        with pytest.raises(UnknownName, match="Forge never ran in a/b"):
            await call
    with pytest.raises(ForgeError, match="There is nothing to change"):
        await remembered.edit(settings(url), "M-00M000")


async def _with_same_ending(url: str) -> None:
    database = Database(url)
    await keep(database, _memory("02" + FIRST[2:], content="Another."))
    await database.close()
    await remembered.show_one(settings(url), "m-00m000")


async def test_no_more_than_the_repository_wants(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    database = Database(url)
    await configurations.keep(
        database, ConfigurationScope(f"repository {SHOP}", 1, False), "sha", {"memory": {"max": 2}}
    )
    await remembered.add(settings(url), "Ask twice.", "octo-org/shop")
    assert "does not decay" in capsys.readouterr().out
    assert {each.content for each in await memories.list_live(database, SHOP)} == {"Ask first.", "Ask twice."}
    with pytest.raises(ForgeError, match=r"all of them are pinned\. Nothing was added\."):
        await remembered.add(settings(url), "Ask thrice.", "octo-org/shop")
    await database.close()


async def test_an_archived_memory_leaves_the_dismissal_that_taught_it(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    database = Database(url)
    async with database.transaction() as session:
        session.add(_dismissal("F-AAAAAA", "1" * 64, memory_id=FIRST))
    await remembered.archive(settings(url), "M-00M000")
    assert capsys.readouterr().out.splitlines()[1] == (
        "The dismissal of F-AAAAAA in #1 that taught it still applies; `/forge undismiss F-AAAAAA` there undoes it."
    )
    await database.close()


def _dismissal(name: str, fingerprint: str, **more: Any) -> FeedbackRow:
    return dismissal_row(name, fingerprint, repository_id=SHOP, rule="ruff/F401", path="app.py", **more)
