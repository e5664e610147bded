"""GitHub's ids no longer fit a number of 32 bits: what is asked for by one within JSON is found, on both databases."""

from datetime import timedelta

from domain.commands import Repeat, Sender
from domain.events import EventType
from domain.runs.run import RepositoryRef, Trigger
from memory import ledger
from memory.db.engine import Database
from memory.reports import audit
from memory.reports.audit import EventFilter
from memory.runs import runs
from memory.runs.runs import Candidate
from tests.rows import NOON, delivery_row

LARGE = 2_412_345_678
RUN = "01J00000000000000000AAAAAA"
SHOP = RepositoryRef(installation_id=LARGE, id=LARGE + 1, owner="octo-org", name="shop")


async def test_a_thread_is_known_by_the_comment_it_began_with(database: Database) -> None:
    replied = {"thread": LARGE, "replied": True}
    await ledger.record_feedback(database, RUN, EventType.feedback_replied, replied, "guid", NOON)
    assert await ledger.count_replies(database, RUN, LARGE) == 1
    assert await ledger.count_replies(database, RUN, LARGE - 2**32) == 0


async def test_who_began_a_run_is_known_by_their_account(database: Database) -> None:
    command = {"repository": SHOP.model_dump(), "sender": {"id": LARGE, "login": "alice"}, "number": 1}
    async with database.transaction() as session:
        session.add(delivery_row("guid", SHOP.id, command=command))
    head = "a" * 40
    wanted = Candidate("guid#1", SHOP, 1, head, head, Trigger.pull_request, Repeat.always)
    found = (await runs.admit(database, wanted, 0, NOON)).run
    assert found is not None
    assert await runs.find_requester(database, found.id) == LARGE
    begun = await runs.count_begun(database, found, NOON - timedelta(hours=1))
    assert (begun.by_sender, begun.in_repository) == (1, 1)


async def test_the_audit_of_a_repository_is_found_by_its_id(database: Database) -> None:
    mallory = Sender(id=LARGE + 2, login="mallory")
    async with database.transaction() as session:
        session.add(delivery_row("guid", SHOP.id, command={"repository": SHOP.model_dump()}))
        ledger.record(session, "guid", EventType.permission_refused, NOON, payload={"account": mallory.id})
        await ledger.record_person_action(session, SHOP, None, EventType.ladder_changed, mallory, NOON)
    found = await audit.list_newest(database, EventFilter(repositories=[SHOP.id]), 10)
    assert [each.event.type for each in found] == [EventType.permission_refused, EventType.ladder_changed]
    assert await audit.list_newest(database, EventFilter(repositories=[SHOP.id - 2**32]), 10) == []
