"""Memories on the dashboard: who taught what, what came of it, and people who add, correct and archive them."""

import csv
import re
from io import StringIO

from sqlalchemy import select

from agents.llm.scripted import ScriptedModel
from domain.events import EventType
from domain.memories import Scope, Use
from domain.runs.run import Phase
from memory.db.tables.runs import EventRow
from memory.learned import memories, recall
from memory.learned.recall import RecalledMemory
from tests.rows import run_row
from tests.stories.driver import Story
from tests.unit.memories.records import keep
from tests.world.dashboard import HOSTILE, Visitor, dismiss_finding, fill_repository, signed_in
from tests.world.memories import teach

SHOP = "/dashboard/octo-org/shop"
ID, HERE, ELSEWHERE = "01JSHAREDMEMORY000000SHARE", "01JRVNHERE000000000000HERE", "01JRVNELSEWHERE00000ELSE77"
SAID = "Start the database with `make db` before the tests."


async def list_acts(story: Story) -> list[tuple[str, str]]:
    """What people did with memories on the dashboard, by login; in the story of no run."""
    kinds = [EventType.memory_stored.value, EventType.memory_edited.value, EventType.memory_archived.value]
    async with story.forge.services.database.transaction() as session:
        query = select(EventRow).where(EventRow.type.in_(kinds), EventRow.source == "person").order_by(EventRow.id)
        rows = [*await session.scalars(query)]
    assert {row.trace for row in rows} == {str(row.payload["repository"]) for row in rows}
    return [(row.type, row.payload["by"]) for row in rows]


async def add(person: Visitor, content: str, **more: str) -> tuple[int, str, str]:
    """Add a memory with the form; status, address and text of what follows."""
    await person.open(f"{SHOP}/memories/new")
    seen = await person.send(f"{SHOP}/memories/new", content=content, **more)
    return seen.status, seen.address, seen.text


async def test_a_person_teaches_corrects_and_archives(story: Story, model: ScriptedModel) -> None:
    """In their own name; the same text twice is one memory, and what is not allowed says why and loses nothing."""
    await fill_repository(story, model)
    async with signed_in(story, "alice") as alice, signed_in(story, "rita") as rita:
        status, address, text = await add(alice, SAID, tags="database, make")
        again = await add(alice, SAID.upper())
        secret = await add(alice, "The token is ghp_0123456789abcdefghijABCDEFGHIJ012345.", context="kept words")
        long = await add(alice, "word " * 300, context="kept words")
        lost = await rita.send(f"{SHOP}/memories/new", content="Kept as typed.")
        hidden = await add(alice, f"Look here. {HOSTILE}")
        memory = address.partition("?")[0]
        corrected = await rita.send(memory, content="Corrected as typed.")
        await alice.open(memory)
        changed = await alice.send(memory, content="Use `make db` first.", context="before tests", tags="make")
        read = await rita.open(memory)
        found = await rita.open(f"{SHOP}/memories?q=make")
        others = [await rita.open(f"{SHOP}/memories?q=make&{rest}") for rest in ("kind=episodic", "archived=yes")]
        refused = [await rita.open(f"{SHOP}/memories/new"), await rita.send(f"{memory}/archive")]
        archived = await alice.send(f"{memory}/archive")
        late = await alice.send(memory, content="Too late.")
        gone = await rita.open(f"{SHOP}/memories")
        kept = await rita.open(f"{SHOP}/memories?q=DB+first&archived=yes")
        audit = await alice.open(f"{SHOP}/audit?kind=memory&account=alice")
        table = await alice.open(f"{SHOP}/audit/export/csv?kind=memory")
    assert (status, "does not decay" in text) == (200, True)
    assert again[1].partition("?")[0] == memory
    assert (secret[0], "looks like a credential" in secret[2]) == (422, True)
    assert hidden[0] == 422
    assert "It is changed." in changed.text
    assert "by alice" in read.text
    assert SAID.replace("`", "") in read.text  # what it said before
    assert "Correct it" not in read.text
    assert "shared with the organisation" not in read.text  # nobody chose that
    assert memory in found.html
    assert memory in kept.html
    for page in others:
        assert "No memory is like this." in page.text
    assert [each.status for each in refused] == [404, 403]
    assert (again[1].endswith("done=known"), long[0], "word word" in long[2]) == (True, 422, True)
    assert (lost.status, "you have read now" in lost.text, "Kept as typed." in lost.text) == (403, True, True)
    assert (corrected.status, "Corrected as typed." in corrected.text) == (403, True)
    assert f'action="{memory}"' in corrected.html  # not the form for a new one
    assert "archived" in archived.text
    assert "no longer used" in late.text
    assert "Forge remembers nothing" in gone.text
    name = memory.rpartition("/")[2]
    for told in (f"memory {name} stored", f"memory {name} corrected", f"memory {name} archived"):
        assert told in audit.text
    assert f"content was: {SAID}".replace("`", "") in audit.text
    assert "content is: Use make db first." in audit.text
    acts = [*csv.DictReader(StringIO(table.html))]
    account = str(story.github.user("alice").id)
    assert [(each["type"], each["who"], each["account_id"]) for each in acts] == [
        ("memory.stored", "alice", account),
        ("memory.edited", "alice", account),
        ("memory.archived", "alice", account),
    ]
    assert await list_acts(story) == [
        ("memory.stored", "alice"),
        ("memory.edited", "alice"),
        ("memory.archived", "alice"),
    ]


async def test_a_shared_memory_says_nothing_of_where_else_it_is_recalled(story: Story) -> None:
    """The other repositories of its organisation may be private."""
    repository, _ = story.repository({"README.md": "# Shop\n"})
    database = story.forge.services.database
    taught = (await teach(story, repository)).model_copy(update={"id": ID, "scope": Scope.organisation})
    await keep(database, taught)
    async with database.transaction() as session:
        for run_id, number, place in ((HERE, 5, repository.id), (ELSEWHERE, 77, repository.id + 1)):
            session.add(run_row(run_id, repository_id=place, number=number))
    for run_id, task in ((HERE, "review app/cart.py"), (ELSEWHERE, "review secret/plan.py")):
        await recall.note(database, run_id, Phase.review, task, [RecalledMemory(taught, 1.0)], story.clock.now())
        await memories.record_use(database, [ID], Use.applied, run_id, story.clock.now())
    async with signed_in(story, "alice") as alice:
        shown = await alice.open(f"{SHOP}/memories/{taught.short_id}")
    assert "recalled 2 times" in shown.text
    assert "of #5 review app/cart.py" in shown.text
    assert shown.text.count("helped") == 3  # once as the number of times, and in its history
    for hidden in ("#77", "secret/plan.py", ELSEWHERE, ELSEWHERE[-6:]):
        assert hidden not in shown.html


async def test_archiving_brings_findings_back(story: Story, model: ScriptedModel) -> None:
    """As `/forge forget` does: its page names the dismissal that taught it, the run's page that it is undone."""
    busy = await fill_repository(story, model)
    run = next(each for each in await story.runs() if each.number == busy.found.number)
    name = await dismiss_finding(story, busy.found, f"Never empty. {HOSTILE}")
    async with signed_in(story, "dora") as dora:
        muted = await dora.open(f"{SHOP}/runs/{run.id}")
        found = re.search(r"/memories/(M-\w{6})", muted.html)
        assert found is not None
        memory = await dora.open(f"{SHOP}/memories/{found[1]}")
        memories = await dora.open(f"{SHOP}/memories")
        await dora.send(f"{SHOP}/memories/{found[1]}/archive")
        await story.settle()
        after = await dora.open(f"{SHOP}/runs/{run.id}")
    for page in (memory, memories):
        assert "nothing yet" in page.text
        assert "recalled 0" not in page.text
    assert f'/pull/{busy.found.number}" rel="external">{name} in #{busy.found.number}</a> by dora' in memory.html
    assert "<img" not in memory.html
    assert "dismissed by dora: Never empty." in muted.text
    assert "dismissed; that was undone since" in after.text
