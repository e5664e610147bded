"""A finding keeps its name, its comment and its dismissal from push to push, as long as its statement says the same."""

import pytest

from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import UNTHOUGHT, Story

QUERY = "    rows = db.execute(f\"SELECT id FROM orders WHERE customer = '{customer}'\")"
ORDERS = f"""\
def find(db, customer, path):
{QUERY}
    f = open(path, "w")
    f.write(str(rows.fetchall()))
    return path
"""
LAID_OUT_ANEW = """\
    rows = db.execute(
        f"SELECT id FROM orders WHERE customer = '{customer}'",
    )"""
LATER = {
    "a neighbour changes": ORDERS.replace('open(path, "w")', 'open(path, "a")'),
    "it moves": ORDERS.replace("def find", "LIMIT = 3\n\n\ndef find").replace(QUERY, f"    path = str(path)\n{QUERY}"),
    "it is laid out anew": ORDERS.replace(QUERY, LAID_OUT_ANEW),
    "it gets a comment": ORDERS.replace(QUERY, f"{QUERY}  # by name"),
}


HALF_FIXED = {
    "a template of SQL": (
        """def find(db, name, day):
    return db.execute(f"SELECT id FROM orders WHERE name = '{name}' AND day = '{day}'")
""",
        """def find(db, name, day):
    return db.execute(f"SELECT id FROM orders WHERE name = ? AND day = '{day}'", (name,))
""",
    ),
    "a template of SQL on several lines": (
        """def find(db, name, day):
    return db.execute(
        f"SELECT id FROM orders WHERE name = '{name}'"
        f" AND day = '{day}'"
    )
""",
        """def find(db, name, day):
    return db.execute(
        "SELECT id FROM orders WHERE name = ?"
        f" AND day = '{day}'",
        (name,),
    )
""",
    ),
    "a template that is written anew": (
        """def find(pool, name, day):
    db = pool.connect()
    limit = max(60, 5)
    # By both, as the index is.
    return db.execute(
        f"SELECT id FROM orders WHERE name = '{name}'"
        f" AND day = '{day}' LIMIT {limit}"
    )
""",
        """def find(pool, name, day):
    db = pool.connect()
    return name, db.execute(f"SELECT id FROM orders WHERE day = '{day}'")
""",
    ),
    "a command": (
        """import shlex
import subprocess


def pack(path, name):
    return subprocess.check_output(f"tar {shlex.quote('czf')} {name} {path}", shell=True)
""",
        """import shlex
import subprocess


def pack(path, name):
    return subprocess.check_output(f"tar {shlex.quote('czf')} {shlex.quote(name)} {path}", shell=True)
""",
    ),
}


async def _open(story: Story, orders: str = ORDERS) -> tuple[Repository, User, PullRequest]:
    repository, alice = story.repository({"app.py": "x = 1\n"})
    pull, _ = await story.propose(repository, alice, {"shop/orders.py": orders})
    return repository, alice, pull


@pytest.mark.parametrize("later", LATER.values(), ids=LATER)
async def test_nothing_is_said_twice_nor_ended(story: Story, later: str) -> None:
    repository, alice, pull = await _open(story)
    [comment] = story.comments(pull)
    head = await story.after(alice.push(repository, "feature", {"shop/orders.py": later}))
    assert story.comments(pull) == [comment]
    assert "No longer applies" not in comment.body
    assert story.check(repository, head).status == "completed"


@pytest.mark.parametrize("later", LATER.values(), ids=LATER)
async def test_what_was_dismissed_stays_so(story: Story, later: str) -> None:
    repository, alice, pull = await _open(story)
    carol = story.member(repository, "carol", "maintain")
    [comment] = story.comments(pull)
    await story.after(carol.reply(comment, "/forge dismiss names of customers hold no quotes"))
    head = await story.after(alice.push(repository, "feature", {"shop/orders.py": later}))
    assert story.comments(pull) == [comment]
    assert story.check(repository, head).title == UNTHOUGHT


async def test_another_statement_is_another_finding(story: Story) -> None:
    """What was dismissed of one query says nothing about the next."""
    repository, alice, pull = await _open(story)
    carol = story.member(repository, "carol", "maintain")
    [comment] = story.comments(pull)
    await story.after(carol.reply(comment, "/forge dismiss names of customers hold no quotes"))
    later = ORDERS.replace("{customer}", "{path}").replace("customer =", "place =")
    await story.after(alice.push(repository, "feature", {"shop/orders.py": later}))
    first, second = story.comments(pull)
    assert first == comment
    assert "No longer applies" in first.body
    assert "No longer applies" not in second.body


async def test_after_half_a_fix_the_other_half_stays_open(story: Story) -> None:
    """A statement that still takes what somebody gives is not over because one of its values became a parameter."""
    query = """\
def search(db, text, order):
    query = "SELECT id FROM orders WHERE customer LIKE '%" + text + "%'"
    query += " ORDER BY " + order
    return db.execute(query).fetchall()
"""
    repository, alice = story.repository({"app.py": "x = 1\n"})
    pull, _ = await story.propose(repository, alice, {"shop/orders.py": query})
    assert len(story.comments(pull)) == 2
    half = query.replace("""'%" + text + "%'\"""", '?"').replace("(query)", '(query, (f"%{text}%",))')
    await story.after(alice.push(repository, "feature", {"shop/orders.py": half}))
    over, rest = story.comments(pull)
    assert "No longer applies" in over.body
    assert "No longer applies" not in rest.body
    assert "Compare it with the names that are allowed" in rest.body


@pytest.mark.parametrize(("before", "after"), HALF_FIXED.values(), ids=HALF_FIXED)
async def test_half_a_fix_within_one_statement_ends_nothing(story: Story, before: str, after: str) -> None:
    repository, alice, pull = await _open(story, before)
    [comment] = story.comments(pull)
    await story.after(alice.push(repository, "feature", {"shop/orders.py": after}))
    assert story.comments(pull) == [comment]
    assert "No longer applies" not in comment.body
    assert not comment.thread.resolved
