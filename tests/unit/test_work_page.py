"""The page that `forge runs --page` writes: what it shows, what it leaves out, and what it is never written over."""

import base64
import hashlib
import re
from collections.abc import AsyncGenerator
from datetime import timedelta
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli import checkpoints, checkpoints_page
from bot.cli.main import cli
from bot.cli.page_file import write_page
from bot.cli.runs import show_runs
from bot.pages.rendering import MARK, render_work_page
from domain.errors import ForgeError, UnknownName
from domain.runs.patches import ChangedFile, ChangeSet
from domain.runs.work_checkpoint import CheckpointCause, CheckpointDetails, WorkCheckpoint, WorkKey
from memory.db.engine import Database
from memory.db.tables.runs import RunRow, WorkCheckpointRow
from memory.runs import work_checkpoints
from messages.work_page import PageRoom, RunFacts, WorkPage, view_checkpoint, view_run, view_work
from tests.rows import NOON, run_row, settings
from tests.world.checkpoints import STATES, add_chain, build_change

RUN = "01J00000000000000000AAAAAA"
KEY = WorkKey(run_id=RUN, work="implement T1", base="b" * 40)
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
HOSTILE = "<script>alert(1)</script>"
VOID = {"meta", "link", "img", "br"}


@pytest.fixture
async def database(url: str) -> AsyncGenerator[Database]:
    opened = Database(url)
    async with opened.transaction() as session:
        session.add(run_row(RUN, trigger="issue", state="waiting", reason="gate", finished_at=None))
    yield opened
    await opened.close()


class Outline(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def check_page(html: str) -> Outline:
    """The outline of a page that is well formed, accessible in what can be counted, and can load and run nothing."""
    outline = Outline(html)
    tags = [tag for tag, _ in outline.elements]
    assert not {"script", "link", "img", "iframe", "form", "object", "base"} & {*tags}
    for _, attributes in outline.elements:
        assert not [name for name in attributes if name.startswith("on") or name in {"src", "style", "srcset"}]
        assert str(attributes.get("href") or "#").startswith("#")
    assert "http://" not in html
    assert "https://" not in html
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert tags.count("table") == tags.count("caption")
    assert all("scope" in attributes for tag, attributes in outline.elements if tag == "th")
    names = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(names) == len({*names})
    assert {str(attributes["href"])[1:] for tag, attributes in outline.elements if tag == "a"} <= {*names}
    assert ("html", {"lang": "en"}) in outline.elements
    check_policy(html, outline)
    return outline


def check_policy(html: str, outline: Outline) -> None:
    """Only the page's own style counts."""
    [policy] = [
        attributes["content"]
        for tag, attributes in outline.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    style = html.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


async def test_the_page_of_a_run(url: str, database: Database, tmp_path: Path) -> None:
    made = await add_chain(database, KEY, NOON, said=f"Stuck with {TOKEN}")
    await work_checkpoints.roll_back(database, made[2], made[0], ["shop/cart.py"], "jo", NOON, files=3, changed=1)
    later = WorkKey(run_id=RUN, work="implement T2", base="c" * 40)
    details = CheckpointDetails(refused=(".github/workflows/ci.yml: protected",))
    await work_checkpoints.add(database, later, None, CheckpointCause.done, build_change({}), details, NOON)
    await checkpoints_page.write_timeline(settings(url), "AAAAAA", tmp_path / "page.html")
    outline = check_page((tmp_path / "page.html").read_text())
    for told in (
        f"Checkpoints of run {RUN}",
        "waiting (",
        f"{made[0].short_id} 2026-05-01 12:00:00 time passed 1 1 0.25 USD 0.200 s, paused 0.050 s",
        f"taken back to {made[0].short_id} by jo, only shop/cart.py",
        f"{made[1].short_id} since {made[0].short_id}: 2 files",
        f"{made[1].short_id} since the base bbbbbbb: 2 files",
        "-A = 1 +A = 2",
        "Changed since the one before notes.md (new) shop/cart.py",
        "Stuck with [redacted: GitHub token]",
        "Not kept .github/workflows/ci.yml: protected",
        "Nothing differs from the base ccccccc.",
    ):
        assert told in outline.text
    assert outline.text.index("implement T1") < outline.text.index("implement T2")
    assert not [attributes for tag, attributes in outline.elements if tag == "details" and "open" in attributes]


async def test_the_page_says_the_mode_and_a_limit_that_was_exceeded(
    url: str, database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with database.transaction() as session:
        row = await session.get(RunRow, RUN)
        assert row is not None
        row.mode = "interactive"
    for _ in range(3):
        await work_checkpoints.record_failure(database, RUN, f"No {HOSTILE} room.", 1.0, NOON)
    told = f"could not be made, the last one for this reason: No {HOSTILE} room."
    await checkpoints_page.write_timeline(settings(url), RUN, tmp_path / "page.html")
    text = check_page((tmp_path / "page.html").read_text()).text
    assert "Mode interactive, as asked for" in text
    assert told in text
    capsys.readouterr()
    await checkpoints.show_timeline(settings(url), RUN)
    assert told in capsys.readouterr().out
    await show_runs(settings(url), None, 20, None)
    assert "interactive" in capsys.readouterr().out


async def test_the_page_of_a_checkpoint_and_of_two(url: str, database: Database, tmp_path: Path) -> None:
    made = await add_chain(database, KEY, NOON, states=[*STATES[:2], {**STATES[2], "gone.txt": None}])
    await checkpoints_page.write_one(settings(url), made[2].short_id, None, tmp_path / "one.html")
    one = check_page((tmp_path / "one.html").read_text())
    assert f"{made[2].short_id} since the base bbbbbbb: 4 files" in one.text
    assert "-gone" in one.text
    assert [attributes for tag, attributes in one.elements if tag == "details" and "open" in attributes]
    await checkpoints_page.write_one(settings(url), made[1].id, made[0].short_id, tmp_path / "two.html")
    two = check_page((tmp_path / "two.html").read_text())
    assert f"Checkpoint {made[1].short_id} compared with {made[0].short_id}" in two.text
    assert "-A = 1 +A = 2" in two.text
    await checkpoints_page.write_one(settings(url), made[1].id, made[1].id, tmp_path / "two.html")
    assert f"Nothing differs from {made[1].short_id}." in check_page((tmp_path / "two.html").read_text()).text


async def test_what_others_wrote_is_text_on_the_page(url: str, database: Database, tmp_path: Path) -> None:
    name = f'src/{HOSTILE}"onload="x.py'
    key = WorkKey(run_id=RUN, work=f"implement {HOSTILE}", base="b" * 40)
    states = [{name: f"</pre></details>{HOSTILE}{{{{ 7*7 }}}}\n\u202e{TOKEN}\x1b[31m\n"}]
    said = f"</blockquote>{HOSTILE}<img src=x onerror=alert(1)> {TOKEN}"
    [only] = await add_chain(database, key, NOON, states=states, said=said)
    await work_checkpoints.roll_back(database, only, only, [name], HOSTILE, NOON)
    for file, written in (
        ("run", checkpoints_page.write_timeline(settings(url), RUN, tmp_path / "run")),
        ("one", checkpoints_page.write_one(settings(url), only.short_id, None, tmp_path / "one")),
    ):
        await written
        html = (tmp_path / file).read_text()
        outline = check_page(html)
        assert f"+</pre></details>{HOSTILE}{{{{ 7*7 }}}}" in outline.text
        assert f'src/{HOSTILE}"onload="x.py (new)' in outline.text
        assert f"</blockquote>{HOSTILE}<img src=x onerror=alert(1)> [redacted: GitHub token]" in outline.text
        assert not [part for part in (TOKEN, "\u202e", "\x1b", "<script") if part in html]


async def test_work_that_was_damaged_is_said_and_not_shown(url: str, database: Database, tmp_path: Path) -> None:
    made = await add_chain(database, KEY, NOON)
    async with database.transaction() as session:
        row = await session.get(WorkCheckpointRow, made[1].id)
        assert row is not None
        row.content = b"x"
    await checkpoints_page.write_timeline(settings(url), RUN, tmp_path / "page.html")
    outline = check_page((tmp_path / "page.html").read_text())
    assert "is not as it was written" in outline.text
    assert made[2].short_id in outline.text
    assert "details" not in {tag for tag, _ in outline.elements}


def _build_chain(states: list[ChangeSet]) -> tuple[list[WorkCheckpoint], dict[str, ChangeSet]]:
    made = [
        WorkCheckpoint(
            id=f"01J{number:023}",
            key=KEY,
            number=number,
            cause=CheckpointCause.time,
            digest="",
            at=NOON + timedelta(seconds=number),
            files=len(state.files),
        )
        for number, state in enumerate(states, 1)
    ]
    return made, {each.id: state for each, state in zip(made, states, strict=True)}


def _render_run(made: list[WorkCheckpoint], states: dict[str, ChangeSet], room: PageRoom) -> str:
    return render_work_page(view_run(RunFacts(RUN), [view_work(made, states, room)]))


def test_a_long_run_shows_its_newest_checkpoints() -> None:
    made, states = _build_chain([build_change({"a.py": f"A = {number}\n"}) for number in range(2_000)])
    html = _render_run(made, states, PageRoom())
    text = check_page(html).text
    assert (
        f"1,700 of 2,000 checkpoints, the oldest ones, are left out to keep this page small. `forge runs --checkpoints "
        f"{RUN}` lists all of them." in text
    )
    assert "+A = 1999" in text
    assert "+A = 1700" in text
    assert "+A = 1698" not in text
    assert len(html) < 1_000_000


def test_a_diff_that_is_too_long_says_what_is_left_out() -> None:
    long = "".join(f"{number}\n" for number in range(5_000))
    made, states = _build_chain(
        [build_change({"a.py": long, "b.py": "B\n"}), build_change({"a.py": long, "c.py": "C\n"})]
    )
    text = check_page(_render_run(made, states, PageRoom())).text
    assert (
        f"Left out to keep this page small: 1 whole file and 2,003 lines. `forge runs --checkpoint {made[1].short_id}` "
        "prints everything." in text
    )
    assert "+2996 " in text
    assert "+2997 " not in text
    page = view_checkpoint(made, states, RunFacts(RUN), made[1], made[0], PageRoom(diff_lines=1))
    assert f"`forge runs --checkpoint {made[1].short_id} --since {made[0].short_id}` prints everything." in (
        check_page(render_work_page(page)).text
    )


def test_no_page_is_large() -> None:
    """Large files, long lines and many names, all of characters that take more of a page than of a file."""
    states = [
        build_change({
            **{f"{'&' * 200}{name}": ('"' * 99 + "\n") * 900 + f"{number}\n" for name in range(40)},
            "one line": '"' * 400_000,
        })
        for number in range(30)
    ]  # fmt: skip
    made, by_id = _build_chain(states)
    details = {"said": '"' * 100_000, "refused": ('"' * 10_000,) * 20}
    made = [each.model_copy(update=details) for each in made]
    html = _render_run(made, by_id, PageRoom())
    assert len(html) < 100_000_000
    assert "Left out to keep this page small: 41 whole files." in html


def test_a_run_without_checkpoints_has_a_page() -> None:
    assert "This run has no checkpoints of an agent's work." in check_page(
        render_work_page(view_run(RunFacts(RUN), ()))
    ).text  # fmt: skip


def test_a_page_takes_the_place_of_a_page_only(tmp_path: Path) -> None:
    page = render_work_page(WorkPage("First", (), ()))
    file = tmp_path / "page.html"
    write_page(file, page)
    assert file.read_text() == page
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    write_page(file, page.replace("First", "Second"))
    assert "Second" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o644
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_what_is_no_page_stays_as_it_is(tmp_path: Path) -> None:
    page = render_work_page(WorkPage("First", (), ()))
    other, link, folder = tmp_path / "notes.html", tmp_path / "link", tmp_path / "folder"
    other.write_text(f"<p>Mine</p>{' ' * 2000}{MARK}")
    link.symlink_to(other)
    folder.mkdir()
    for file in (other, link, folder):
        with pytest.raises(
            ForgeError, match=r"is there and is no page of Forge.*Name another file, or remove that one\."
        ):
            write_page(file, page)
    with pytest.raises(ForgeError, match="could not be written: No such file or directory"):
        write_page(tmp_path / "none" / "page.html", page)
    assert other.read_text().startswith("<p>Mine</p>")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", "link", "notes.html"]


async def test_names_that_are_not_there_write_nothing(url: str, database: Database, tmp_path: Path) -> None:
    made = await add_chain(database, KEY, NOON)
    other = await add_chain(database, WorkKey(run_id=RUN, work="implement T2", base="c" * 40), NOON)
    file = tmp_path / "page.html"
    with pytest.raises(UnknownName, match="There is no run"):
        await checkpoints_page.write_timeline(settings(url), "NOPE", file)
    with pytest.raises(UnknownName, match="There is no checkpoint"):
        await checkpoints_page.write_one(settings(url), "C-000000", None, file)
    with pytest.raises(ForgeError, match="different pieces of work"):
        await checkpoints_page.write_one(settings(url), made[0].id, other[0].id, file)
    assert not file.exists()


@pytest.mark.parametrize("options", [[], ["--events", "R"], ["--rollback", "C-1"]])
def test_a_page_needs_what_it_shows(options: list[str]) -> None:
    assert CliRunner().invoke(cli, ["runs", "--page", "page.html", *options]).exit_code == 2


def test_a_file_that_differs_too_much_is_not_compared() -> None:
    """Comparing takes quadratic time where lines repeat."""
    before = "".join(f"{number * 7919 % 97}\n" for number in range(90_000))
    after = "".join(f"{number * 7907 % 97}\n" for number in range(90_000))
    change = ChangeSet(files=(ChangedFile(path="a", before=before.encode(), after=after.encode()),))
    made, states = _build_chain([change])
    assert "a: too much differs to compare it here" in _render_run(made, states, PageRoom())
