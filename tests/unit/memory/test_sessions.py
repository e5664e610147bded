"""Who is signed in: for how long, how often, and how many may come at once."""

from datetime import timedelta

from memory.db.engine import Database
from memory.process import sessions
from memory.process.sessions import DashboardSession
from safety.authorization import LONGEST, MOST_SESSIONS, MOST_SIGN_INS
from tests.rows import NOON
from tests.unit.memories.records import SHOP

ALICE = DashboardSession("a", 7, "alice", [SHOP])


async def test_a_session_is_found_until_it_is_over(database: Database) -> None:
    await sessions.begin(database, ALICE, NOON)
    assert await sessions.find(database, "a", NOON + timedelta(minutes=59)) == ALICE
    assert await sessions.find(database, "a", NOON + timedelta(minutes=118)) == ALICE
    assert await sessions.find(database, "a", NOON + timedelta(minutes=178)) is None
    assert await sessions.find(database, "b", NOON) is None


async def test_what_was_used_a_moment_ago_is_not_noted_again(database: Database) -> None:
    """So reading page after page does not write each time; that costs a minute of the hour at most."""
    await sessions.begin(database, ALICE, NOON)
    await sessions.find(database, "a", NOON + timedelta(seconds=59))
    assert await sessions.find(database, "a", NOON + timedelta(minutes=60)) is None


async def test_the_oldest_sessions_of_an_account_end(database: Database) -> None:
    for number in range(MOST_SESSIONS + 2):
        began = DashboardSession(f"a{number:02}", 7, "alice")
        await sessions.begin(database, began, NOON + timedelta(seconds=number))
    await sessions.begin(database, DashboardSession("b", 8, "bob"), NOON)
    found = [await sessions.find(database, f"a{number:02}", NOON) for number in range(MOST_SESSIONS + 2)]
    assert [each is not None for each in found] == [False] * 2 + [True] * MOST_SESSIONS
    assert await sessions.find(database, "b", NOON) is not None


async def test_signing_out_ends_one_session(database: Database) -> None:
    await sessions.begin(database, ALICE, NOON)
    await sessions.begin(database, DashboardSession("b", 7, "alice"), NOON)
    await sessions.end(database, "a")
    assert await sessions.find(database, "a", NOON) is None
    assert await sessions.find(database, "b", NOON) is not None


async def test_old_sessions_are_removed(database: Database) -> None:
    await sessions.begin(database, ALICE, NOON)
    await sessions.begin(database, DashboardSession("b", 8, "bob"), NOON + timedelta(minutes=30))
    assert await sessions.remove_old(database, NOON + timedelta(minutes=61)) == 1
    assert await sessions.remove_old(database, NOON + LONGEST + timedelta(minutes=31)) == 1


async def test_a_sign_in_counts_once_and_only_so_many_in_a_minute(database: Database) -> None:
    assert await sessions.claim_sign_in(database, "first", NOON) is True
    assert await sessions.claim_sign_in(database, "first", NOON) is False
    for number in range(MOST_SIGN_INS - 1):
        assert await sessions.claim_sign_in(database, f"{number}", NOON) is True
    assert await sessions.claim_sign_in(database, "one more", NOON) is None
    assert await sessions.claim_sign_in(database, "one more", NOON + timedelta(seconds=61)) is True
    assert await sessions.claim_sign_in(database, "first", NOON + timedelta(minutes=9)) is False


async def test_a_known_browser_signs_in_whatever_others_do(database: Database) -> None:
    """Once while its row is kept, so that nobody goes on for ever with what one sign-in gave; then as others."""
    for number in range(MOST_SIGN_INS):
        assert await sessions.claim_sign_in(database, f"{number}", NOON) is True
    assert await sessions.claim_sign_in(database, "a", NOON, "alice") is True
    assert await sessions.claim_sign_in(database, "a", NOON, "bob") is False
    assert await sessions.claim_sign_in(database, "b", NOON, "alice") is None
    assert await sessions.claim_sign_in(database, "b", NOON + timedelta(seconds=61), "alice") is True
    assert await sessions.claim_sign_in(database, "c", NOON + timedelta(minutes=10), "alice") is True


async def test_known_browsers_count_as_any_other(database: Database) -> None:
    for number in range(MOST_SIGN_INS - 1):
        assert await sessions.claim_sign_in(database, f"{number}", NOON, f"browser {number}") is True
    assert await sessions.claim_sign_in(database, "one more", NOON) is True
    assert await sessions.claim_sign_in(database, "too many", NOON) is None
