"""What is kept of dismissals: what they taught and doubted, what stands, and what people took up instead."""

from datetime import timedelta

from domain.memories import Archived, Memory
from domain.review.feedback import FeedbackStatement
from domain.review.findings import Finding, Layer
from domain.review.review import UptakeRecord
from domain.runs.run import RepositoryRef
from domain.value import new_id
from memory import findings
from memory.db.engine import Database
from memory.learned import feedback, memories
from tests.rows import NOON, finding_row, run_row
from tests.unit.memories.records import build_rated, keep
from tests.unit.memory.dismissed_findings import CAROL, SHOP, build_finding

OTHER = RepositoryRef(installation_id=1, id=11, owner="octo-org", name="other")


async def load_memory(database: Database, memory_id: str) -> Memory:
    kept = await memories.find(database, memory_id)
    assert kept is not None
    return kept


async def test_a_dismissal_doubts_what_led_to_the_finding_once(database: Database) -> None:
    led = build_rated(0.5)
    await keep(database, led)
    one = build_finding(memories=(led.id,))
    taught = await feedback.dismiss(database, SHOP, 1, [one], FeedbackStatement(CAROL, "no", NOON))
    assert await feedback.dismiss(database, SHOP, 1, [one], FeedbackStatement(CAROL, "no", NOON)) == taught
    assert (await load_memory(database, led.id)).confidence == 0.3
    assert (await load_memory(database, *taught)).is_live


async def test_what_mutes_a_finding_is_the_first_dismissal_there_or_else_elsewhere(database: Database) -> None:
    """A later one of the same code elsewhere changes nothing, so it is not what people are told."""
    for number, words, at in ((2, "elsewhere", 0), (3, "again elsewhere", 1), (1, "here", 2), (4, "late", 3)):
        await feedback.dismiss(
            database, SHOP, number, [build_finding()], FeedbackStatement(CAROL, words, NOON + timedelta(hours=at))
        )
    told = {number: await feedback.find_dismissed(database, SHOP, number, ["A"]) for number in (1, 4, 5)}
    assert [each["A"].reason for each in told.values()] == ["here", "late", "elsewhere"]
    assert told[5]["A"].at == NOON


async def test_where_nothing_is_learned_the_dismissal_holds(database: Database) -> None:
    led = build_rated(0.5)
    await keep(database, led)
    one = build_finding(memories=(led.id,))
    assert await feedback.dismiss(database, SHOP, 1, [one], FeedbackStatement(CAROL, "no", NOON), learns=False) == {}
    assert list(await feedback.find_dismissed(database, SHOP, 1, ["A"])) == ["A"]
    assert (await load_memory(database, led.id)).confidence == 0.5
    assert await memories.list_live(database, SHOP.id) == []
    assert await feedback.undo(database, SHOP, 1, one, CAROL, NOON)
    assert not await feedback.undo(database, SHOP, 1, one, CAROL, NOON)


async def test_like_ones_are_found_by_rule_and_by_place_of_what_a_model_said(database: Database) -> None:
    await feedback.dismiss(database, SHOP, 1, [build_finding("A")], FeedbackStatement(CAROL, "no", NOON))
    await feedback.dismiss(
        database, SHOP, 2, [build_finding("B", Layer.static, rule="ruff/E501")], FeedbackStatement(CAROL, "no", NOON)
    )
    await feedback.dismiss(database, OTHER, 3, [build_finding("C")], FeedbackStatement(CAROL, "no", NOON))

    assert [past.name for past in await feedback.find_related(database, SHOP, ["model/race"])] == ["F-A"]
    assert [past.name for past in await feedback.find_related(database, SHOP, [], ["place of A"])] == ["F-A"]
    assert await feedback.find_related(database, SHOP, [], ["place of B", ""]) == []  # a tool has no other words
    assert [past.number for past in await feedback.find_related(database, SHOP, ["ruff/E501"])] == [2]


async def test_forgetting_a_memory_takes_its_dismissal_back(database: Database) -> None:
    [taught] = await feedback.dismiss(database, SHOP, 1, [build_finding()], FeedbackStatement(CAROL, "no", NOON))
    assert await feedback.undo_by_memory(database, OTHER, 1, taught, CAROL, NOON) == []
    assert [past.name for past in await feedback.undo_by_memory(database, SHOP, 9, taught, CAROL, NOON)] == ["F-A"]
    assert await feedback.undo_by_memory(database, SHOP, 9, taught, CAROL, NOON) == []
    assert await feedback.find_pull_requests(database, SHOP, taught) == {1}
    assert await feedback.find_dismissed(database, SHOP, 1, ["A"]) == {}
    assert (await load_memory(database, taught)).archived_why is Archived.forgotten


async def test_what_is_dismissed_together_teaches_once_for_each_folder(database: Database) -> None:
    one, two, three = build_finding("A"), build_finding("B"), build_finding("C", path="tools/b.py")
    taught = await feedback.dismiss(database, SHOP, 1, [one, two, three], FeedbackStatement(CAROL, "no", NOON))
    assert list(taught.values()) == [three, one]
    assert len(await memories.list_live(database, SHOP.id)) == 2
    again = await feedback.dismiss(database, SHOP, 1, [one, two, three], FeedbackStatement(CAROL, "no", NOON))
    assert again == taught
    assert set(await feedback.find_dismissed(database, SHOP, 1, ["A", "B", "C"])) == {"A", "B", "C"}


async def test_a_memory_lasts_as_long_as_one_of_those_that_taught_it(database: Database) -> None:
    one, two = build_finding("A"), build_finding("B")
    [taught] = await feedback.dismiss(database, SHOP, 1, [one, two], FeedbackStatement(CAROL, "no", NOON))
    await feedback.undo(database, SHOP, 1, one, CAROL, NOON)
    assert (await load_memory(database, taught)).is_live
    await feedback.undo(database, SHOP, 1, two, CAROL, NOON)
    assert (await load_memory(database, taught)).archived_why is Archived.forgotten


async def _save_finding(database: Database, one: Finding, last_run: str, *, posted: bool = True) -> None:
    async with database.transaction() as session:
        content, posted_by = one.model_dump(mode="json"), "1" if posted else None
        kept = {"name": one.id, "trail": one.trail, "content": content, "first_run": "1", "last_run": last_run}
        session.add(finding_row(new_id(), one.fingerprint, posted_by=posted_by, **kept))


async def test_taken_up_is_what_was_commented_and_is_gone_on_a_later_head(database: Database) -> None:
    async with database.transaction() as session:
        session.add_all(
            [
                run_row("1", head_sha="a"),
                run_row("2", head_sha="a", attempt=2),  # the same head once more: a model may say something else
                run_row("3", head_sha="b", state="cancelled", reason="superseded"),
            ]
        )
    gone = build_finding("GONE")
    await _save_finding(database, gone, "1")
    await _save_finding(database, build_finding("SILENT"), "1", posted=False)
    await _save_finding(database, build_finding("OTHER", rule="model/security"), "1")
    await _save_finding(database, build_finding("DISMISSED"), "1")
    await feedback.dismiss(database, SHOP, 1, [build_finding("DISMISSED")], FeedbackStatement(CAROL, "no", NOON))
    await feedback.undo(database, SHOP, 1, build_finding("DISMISSED"), CAROL, NOON)
    assert await findings.find_resolved(database, SHOP.id, ["model/race"]) == []

    async with database.transaction() as session:
        session.add(run_row("4", head_sha="c"))
    await _save_finding(database, build_finding("THERE"), "4")
    assert await findings.find_resolved(database, SHOP.id, ["model/race"]) == [UptakeRecord("model/race", "docs/a.py")]
    assert await findings.find_resolved(database, OTHER.id, ["model/race"]) == []
