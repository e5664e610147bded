"""What `forge runs` shows of checkpoints and takes back, and what metrics and audit make of them."""

import re
from collections.abc import AsyncGenerator

import pytest
from aiohttp.test_utils import make_mocked_request
from inline_snapshot import snapshot
from typer.testing import CliRunner

from bot.cli import checkpoints
from bot.cli.audit import AuditOptions, show
from bot.cli.main import cli
from bot.prometheus import Metrics
from domain.errors import ForgeError, UnknownName
from domain.runs.patches import ChangedFile
from domain.runs.work_checkpoint import CheckpointCause, CheckpointDetails, WorkCheckpoint, WorkKey
from memory.db.engine import Bus, Database
from memory.runs import work_checkpoints
from messages.checkpoints import DiffRoom, fit_diff, render_diff
from tests.rows import NOON, run_row, settings
from tests.world.checkpoints import STATES, add_chain, build_change

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


async def _read_lines(capsys: pytest.CaptureFixture[str], made: list[WorkCheckpoint]) -> list[str]:
    """What was printed, with numbers for ids."""
    text = capsys.readouterr().out
    for each in made:
        text = text.replace(each.id, f"ID {each.number}").replace(each.short_id, f"C-{each.number}")
    return [line.rstrip() for line in text.splitlines()]


async def test_the_timeline_of_a_run(url: str, database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    made = await add_chain(database, KEY, NOON, said=f"\x1b[31m[red]Stuck[/red]\nwith {TOKEN}")
    details = CheckpointDetails(refused=(".github/workflows/ci.yml: \x1b[31mprotected",))
    later = WorkKey(run_id=RUN, work="implement T2", base="c" * 40)
    await work_checkpoints.add(database, later, None, CheckpointCause.done, build_change({}), details, NOON)
    await work_checkpoints.roll_back(database, made[2], made[0], ["shop/cart.py"], "jo", NOON, files=3, changed=1)
    made = list(await work_checkpoints.list_of_run(database, RUN))
    await checkpoints.show_timeline(settings(url), "AAAAAA")
    shown = await _read_lines(capsys, [each for each in made if each.key == KEY])
    assert [re.sub("C-[0-9A-Z]{6}", "C-OTHER", line) for line in shown] == snapshot(
        [
            "implement T1, on bbbbbbb",
            "  C-1  2026-05-01 12:00:00  time passed  files 1, changed 1  spent 0.25 USD  took 0.200 s, paused 0.050 s",
            "  C-2  2026-05-01 12:00:30  time passed  files 2, changed 2  spent 0.50 USD  took 0.200 s, paused 0.050 s",
            "  C-3  2026-05-01 12:01:00  the agent ended  files 3, changed 2  spent 0.75 USD  took 0.200 s",
            "      said: “[red]Stuck[/red] with [redacted: GitHub token]”",
            "  C-4  2026-05-01 12:00:00  taken back to C-1 by jo, only shop/cart.py  files 3, changed 1",
            "implement T2, on ccccccc",
            "  C-OTHER  2026-05-01 12:00:00  done  files 0, changed 0  spent 0.00 USD  took 0.000 s",
            "      not kept: .github/workflows/ci.yml: protected",
        ]
    )


async def test_a_run_without_checkpoints(url: str, database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    await checkpoints.show_timeline(settings(url), RUN)
    assert capsys.readouterr().out == f"Run {RUN} has no checkpoints of an agent's work.\n"
    with pytest.raises(UnknownName):
        await checkpoints.show_timeline(settings(url), "NOPE")


async def test_a_checkpoint_and_its_diff(url: str, database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    made = await add_chain(database, KEY, NOON, states=[*STATES[:2], {**STATES[2], "gone.txt": None}])
    await checkpoints.show_one(settings(url), made[2].short_id)
    assert await _read_lines(capsys, made) == snapshot(
        [
            "C-3  2026-05-01 12:01:00  the agent ended  files 4, changed 3  spent 0.75 USD  took 0.200 s",
            "  C-ID 3, number 3 of implement T1, on bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
            "  said: “I am stuck.”",
            "  changed since C-2, the one before: gone.txt (deleted), notes.md (new), shop/cart.py",
            "",
            "Since the base bbbbbbb:",
            "--- a/gone.txt",
            "+++ /dev/null",
            "@@ -1 +0,0 @@",
            "-gone",
            "--- /dev/null",
            "+++ b/notes.md",
            "@@ -0,0 +1 @@",
            "+Hm.",
            "--- /dev/null",
            "+++ b/shop/cart.py",
            "@@ -0,0 +1 @@",
            "+oops",
            "--- /dev/null",
            "+++ b/tests/test_cart.py",
            "@@ -0,0 +1 @@",
            "+def test(): ...",
        ]
    )
    await checkpoints.show_one(settings(url), made[1].id, made[0].short_id)
    assert (await _read_lines(capsys, made))[3:] == snapshot(
        [
            "",
            "Since C-1:",
            "--- a/shop/cart.py",
            "+++ b/shop/cart.py",
            "@@ -1 +1 @@",
            "-A = 1",
            "+A = 2",
            "--- /dev/null",
            "+++ b/tests/test_cart.py",
            "@@ -0,0 +1 @@",
            "+def test(): ...",
        ]
    )
    await checkpoints.show_one(settings(url), made[1].id, made[1].id)
    assert (await _read_lines(capsys, made))[-1] == "Nothing differs from C-2."


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
    assert render_diff([file]) == shown


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
    [said] = render_diff([ChangedFile(path="a", before=before.encode(), after=after.encode())])
    assert "a: too much differs to compare it here" in said


async def test_checkpoints_that_are_not_there_or_not_of_one_work(url: str, database: Database) -> None:
    made = await add_chain(database, KEY, NOON)
    later = WorkKey(run_id=RUN, work="implement T2", base="c" * 40)
    other = await add_chain(database, later, NOON)
    for shown in ("C-000000", "C-", "", "%"):
        with pytest.raises(UnknownName, match="There is no checkpoint"):
            await checkpoints.show_one(settings(url), shown)
        with pytest.raises(UnknownName, match="There is no checkpoint"):
            await checkpoints.roll_back(settings(url), shown, [])
    with pytest.raises(ForgeError, match="different pieces of work"):
        await checkpoints.show_one(settings(url), made[0].id, other[0].id)
    with pytest.raises(ForgeError, match="finished and committed"):
        await checkpoints.roll_back(settings(url), made[0].id, [])


async def test_the_operator_takes_work_back(url: str, database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    made = await add_chain(database, KEY, NOON)
    await checkpoints.roll_back(settings(url), made[0].short_id, ["shop/cart.py"])
    [said] = await _read_lines(capsys, made)
    assert said == (
        "`shop/cart.py` is as at `C-1` (12:00:00 UTC) again: 1 file differs from before. The run is waiting; when it "
        "goes on, the agent is started from there. Nothing is lost: `/forge rollback C-3` undoes this."
    )
    newest = await work_checkpoints.find_newest(database, KEY)
    assert newest is not None
    assert (newest.restores, newest.paths, newest.files) == (made[0].id, ("shop/cart.py",), 3)
    assert newest.by.startswith("operator")
    await work_checkpoints.record_failure(database, RUN, "The disk is full.", 2.5, NOON)
    await show(settings(url), AuditOptions(run=RUN), "story")
    told = capsys.readouterr().out
    assert f"shop/cart.py taken back to {made[0].short_id}" in told
    assert f"by {newest.by}" in told
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
    response = await metrics.expose(make_mocked_request("GET", "/metrics"))
    assert isinstance(response.body, bytes)
    assert set(response.body.decode().splitlines()) >= {
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


@pytest.mark.parametrize(
    "options",
    [
        ["--events", "R", "--checkpoints", "R"],
        ["--checkpoint", "C-1", "--rollback", "C-1"],
        ["--since", "C-1"],
        ["--file", "a"],
    ],
)
def test_options_that_do_not_fit(options: list[str]) -> None:
    assert CliRunner().invoke(cli, ["runs", *options]).exit_code == 2
