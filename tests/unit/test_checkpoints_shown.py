"""What diffs, metrics and audit show of the work that agents kept."""

from collections.abc import AsyncGenerator

import pytest

from bot.cli.audit import show
from bot.prometheus import Metrics
from domain.runs.patches import ChangedFile
from domain.runs.work_checkpoint import WorkKey
from memory.db.engine import Bus, Database
from memory.runs import work_checkpoints
from messages.checkpoints import DiffRoom, fit_diff, render_file
from tests.rows import NOON, run_row, settings
from tests.unit.scraping import scrape
from tests.world.checkpoints import add_chain

RUN = "01J00000000000000000AAAAAA"
KEY = WorkKey(run_id=RUN, work="implement T1", base="b" * 40)
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture
async def database(url: str) -> AsyncGenerator[Database]:
    opened = Database(url)
    async with opened.transaction() as session:
        session.add(run_row(RUN, trigger="issue", state="waiting", reason="gate", finished_at=None))
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        (ChangedFile(path="a", before=None, after=b"\0"), ["a: no text, or too long: not there before, 1 bytes now"]),
        (ChangedFile(path="a", before=b"x", after=b"\xff"), ["a: no text, or too long: 1 bytes before, 1 bytes now"]),
        (ChangedFile(path="a", before=None, after=b""), ["a: an empty file differs"]),
        (
            ChangedFile(path="a", before=b"1\n", after=b"1\n", mode="100755", old_mode="100644"),
            ["a: mode 100644 before, 100755 now"],
        ),
        (
            ChangedFile(path="a\x1b[31m", before=b"1\n", after=b"\x1b[31m2"),
            ["--- a/a", "+++ b/a", "@@ -1 +1 @@", "-1", "+2", "\\ No newline at end of file"],
        ),
        (
            ChangedFile(path="a", before=b"token = 'x'\n", after=f"token = '{TOKEN}'\n".encode()),
            ["--- a/a", "+++ b/a", "@@ -1 +1 @@", "-token = 'x'", "+token = '[redacted: GitHub token]'"],
        ),
        (
            ChangedFile(path="a", before=f"'{TOKEN}'\n".encode(), after=f"'{TOKEN[:-4]}aaaa'\n".encode()),
            ["a: only what is masked here differs"],
        ),
    ],
)
def test_what_a_diff_shows_of_a_file(file: ChangedFile, shown: list[str]) -> None:
    assert list(render_file(file)) == shown


def test_a_page_has_room_for_a_part_of_a_long_diff_and_says_what_is_left_out() -> None:
    long = "".join(f"{number}\n" for number in range(5_000)).encode()
    first, second = ChangedFile(path="a", before=None, after=long), ChangedFile(path="b", before=None, after=b"B\n")
    shown = fit_diff([first, second], DiffRoom())
    assert shown.left_out == "1 whole file and 2,003 lines"
    assert shown.lines[:4] == [
        ("--- /dev/null", "place"),
        ("+++ b/a", "place"),
        ("@@ -0,0 +1,5000 @@", "place"),
        ("+0", "added"),
    ]
    assert fit_diff([first], DiffRoom(compared=100)).left_out == "1 whole file"
    wide = fit_diff([ChangedFile(path="a", before=None, after=b"x" * 400_000)], DiffRoom(characters=500))
    assert wide.left_out == "2 lines"


def test_a_file_that_differs_too_much_is_not_compared() -> None:
    """Comparing takes quadratic time where lines repeat."""
    before = "".join(f"{number * 7919 % 97}\n" for number in range(90_000))
    after = "".join(f"{number * 7907 % 97}\n" for number in range(90_000))
    [said] = render_file(ChangedFile(path="a", before=before.encode(), after=after.encode()))
    assert "a: too much differs to compare it here" in said


async def test_what_was_taken_back_and_could_not_be_kept_is_in_the_audit(
    url: str, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    made = await add_chain(database, KEY, NOON)
    await work_checkpoints.roll_back(database, made[2], made[0], ["shop/cart.py"], "jo", NOON)
    await work_checkpoints.record_failure(database, RUN, "The disk is full.", 2.5, NOON)
    await show(settings(url), run=RUN)
    told = capsys.readouterr().out
    assert f"shop/cart.py taken back to {made[0].short_id}" in told
    assert "by jo" in told
    assert "an agent's work could not be kept" in told
    assert "why: The disk is full." in told
    assert f"checkpoint {made[0].short_id}" not in told


async def test_how_fast_work_is_kept(url: str) -> None:
    """What is kept of whole phases has no cause, and roll-backs take no time that counts."""
    bus = Bus()
    database, metrics = Database(url, bus), Metrics(bus)
    made = await add_chain(database, KEY, NOON)
    await work_checkpoints.roll_back(database, made[2], made[0], [], "jo", NOON)
    await work_checkpoints.record_failure(database, RUN, "The disk is full.", 2.5, NOON)
    await database.close()
    assert set(await scrape(metrics)) >= {
        'forge_checkpoints_total{cause="time"} 2.0',
        'forge_checkpoints_total{cause="stopped"} 1.0',
        'forge_checkpoints_total{cause="rollback"} 1.0',
        'forge_checkpoints_total{cause="done"} 0.0',
        "forge_checkpoint_failures_total 1.0",
        'forge_checkpoint_seconds_bucket{le="0.5"} 3.0',
        "forge_checkpoint_seconds_count 3.0",
        'forge_checkpoint_pause_seconds_bucket{le="0.1"} 2.0',
        "forge_checkpoint_pause_seconds_count 2.0",
    }
