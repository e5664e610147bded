"""What an agent made so far is kept as commits: the same wherever it is rebuilt, and only what may be."""

import asyncio

import pytest

from domain.config.limits import PathRule
from domain.errors import CodeAccessError
from domain.runs.patches import Areas, ChangedFile, PatchLimits
from tests.unit.patches.building import hunk, new_file
from tests.unit.workspace.remotes import Author
from workspace.draft import Draft
from workspace.mirror import Mirror
from workspace.patches.refusals import PatchRefused

FREE = Areas(role="implementer")
FILES = {"src/a.py": "1\n2\n3\n", "src/b.py": "b\n", "docs/x.md": "x\n", ".github/workflows/ci.yml": "on: push\n"}
EDIT = hunk("src/a.py", "@@ -1,3 +1,3 @@\n-1\n+one\n 2\n 3\n")
THEN = hunk("src/a.py", "@@ -1,3 +1,3 @@\n one\n-2\n+two\n 3\n")
MAKE = new_file("src/new/c.py", "c\n")
DELETE = (
    b"diff --git a/src/b.py b/src/b.py\ndeleted file mode 100644\n--- a/src/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
)


def _add_returns(diff: bytes, *lines: bytes) -> bytes:
    """The diff with a carriage return at each line of its hunk, or at those with one of these contents."""
    head, _, body = diff.partition(b" @@\n")
    ended = (line + b"\r" if line and (not lines or line[1:] in lines) else line for line in body.split(b"\n"))
    return head + b" @@\n" + b"\n".join(ended)


async def begin_draft(mirror: Mirror, author: Author, areas: Areas = FREE, limits: PatchLimits | None = None) -> Draft:
    """A draft on a new commit of FILES and whatever else the author has in the tree."""
    base = author.commit(FILES)
    await mirror.fetch(base, base, 7)
    return Draft(mirror, base, areas, limits or PatchLimits())


def reopen_draft(draft: Draft, mirror: Mirror, areas: Areas = FREE) -> Draft:
    """As another process begins."""
    return Draft(mirror, draft.base, areas)


async def list_modes(mirror: Mirror, commit: str) -> dict[str, str]:
    """Path → mode of every file."""
    lines = (await mirror.git.run("ls-tree", "-r", "-z", commit)).stdout.decode().split("\0")[:-1]
    return {line.partition("\t")[2]: line[:6] for line in lines}


async def content(mirror: Mirror, commit: str, path: str) -> bytes:
    return (await mirror.read(commit, [path]))[path]


async def constraints(draft: Draft, diff: bytes) -> set[str]:
    """Why a diff is refused; and a check that it left nothing behind."""
    before = draft.head, await draft.change()
    judged = await draft.apply(diff)
    assert judged.change is None
    assert (draft.head, await draft.change()) == before
    return {each.constraint for each in judged.violations}


# --- what is applied ---------------------------------------------------------------------------------------


async def test_files_are_changed_made_and_deleted(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    judged = await draft.apply(EDIT + MAKE + DELETE)
    assert judged.violations == ()
    assert await list_modes(mirror, draft.head) == dict.fromkeys(
        [".github/workflows/ci.yml", "docs/x.md", "src/a.py", "src/new/c.py"], "100644"
    )
    assert await content(mirror, draft.head, "src/a.py") == b"one\n2\n3\n"
    assert await mirror.follows(draft.head, draft.base)


RETURNS = {
    "a diff without returns": (b"1\r\n2\r\n3\r\n", EDIT, b"one\r\n2\r\n3\r\n"),
    "a diff with returns": (b"1\r\n2\r\n3\r\n", _add_returns(EDIT), b"one\r\n2\r\n3\r\n"),
    "the last line is not ended": (
        b"1\r\n2\r\n3",
        hunk("src/a.py", "@@ -1,3 +1,3 @@\n-1\n+one\n 2\n 3\n\\ No newline at end of file\n"),
        b"one\r\n2\r\n3",
    ),
    "the last line is changed": (
        b"1\r\n2",
        hunk("src/a.py", "@@ -1,2 +1,3 @@\n 1\n-2\n\\ No newline at end of file\n+two\n+3\n"),
        b"1\r\ntwo\r\n3\r\n",
    ),
    "an empty line lost its space": (
        b"1\r\n\r\n3\r\n",
        hunk("src/a.py", "@@ -1,3 +1,3 @@\n-1\n+one\n\n 3\n"),
        b"one\r\n\r\n3\r\n",
    ),
    "two hunks": (
        b"".join(b"%d\r\n" % number for number in range(1, 10)),
        hunk("src/a.py", "@@ -1,2 +1,3 @@\n 1\n+x\n 2\n@@ -8,2 +9,2 @@\n-8\n+y\n 9\n"),
        b"1\r\nx\r\n" + b"".join(b"%d\r\n" % number for number in range(2, 8)) + b"y\r\n9\r\n",
    ),
}


@pytest.mark.parametrize("case", RETURNS)
async def test_a_file_keeps_its_carriage_returns(mirror: Mirror, author: Author, case: str) -> None:
    """Which no model writes, since none sees them."""
    before, diff, after = RETURNS[case]
    base = author.commit({"src/a.py": before, "src/b.py": b"b\r\n"})
    await mirror.fetch(base, base, 7)
    draft = Draft(mirror, base, FREE)
    judged = await draft.apply(diff + DELETE + MAKE)
    assert judged.violations == ()
    assert await content(mirror, draft.head, "src/a.py") == after
    assert await content(mirror, draft.head, "src/new/c.py") == b"c\n"
    assert "src/b.py" not in await list_modes(mirror, draft.head)
    rebuilt = reopen_draft(draft, mirror)
    await rebuilt.replay([diff + DELETE + MAKE])
    assert rebuilt.head == draft.head


async def test_a_file_with_both_line_ends_is_changed_by_what_it_holds_only(mirror: Mirror, author: Author) -> None:
    base = author.commit({"src/a.py": b"1\r\n2\n3\r\n"})
    await mirror.fetch(base, base, 7)
    draft = Draft(mirror, base, FREE)
    assert await constraints(draft, EDIT) == {"base"}
    assert (await draft.apply(_add_returns(EDIT, b"1", b"one", b"3"))).change is not None
    assert await content(mirror, draft.head, "src/a.py") == b"one\r\n2\n3\r\n"


async def test_each_diff_is_written_against_what_the_ones_before_left(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    assert await constraints(draft, THEN) == {"base"}
    assert (await draft.apply(EDIT)).change is not None
    assert await constraints(draft, EDIT) == {"base"}
    assert (await draft.apply(THEN)).change is not None
    assert (await draft.change()).files == (ChangedFile(path="src/a.py", before=b"1\n2\n3\n", after=b"one\ntwo\n3\n"),)


async def test_what_was_made_and_taken_back_is_no_change(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    back = hunk("src/a.py", "@@ -1,3 +1,3 @@\n-one\n+1\n 2\n 3\n")
    for diff in (EDIT, back):
        assert (await draft.apply(diff)).change is not None
    assert (await draft.change()).files == ()
    assert draft.head != draft.base


async def test_the_files_read_are_those_with_every_diff(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    await draft.apply(EDIT + MAKE + DELETE)
    snapshot = await draft.snapshot()
    assert await snapshot.read("src/a.py") == b"one\n2\n3\n"
    assert "src/new/c.py" in snapshot.files
    assert "src/b.py" not in snapshot.files
    assert await draft.snapshot() is snapshot


async def test_an_executable_file_stays_one(mirror: Mirror, author: Author) -> None:
    author.write({"run.sh": "1\n"})
    (author.tree / "run.sh").chmod(0o755)
    draft = await begin_draft(mirror, author)
    assert (await draft.apply(hunk("run.sh", "@@ -1 +1 @@\n-1\n+2\n"))).change is not None
    assert (await list_modes(mirror, draft.head))["run.sh"] == "100755"


async def test_a_new_executable_is_made_and_flagged(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    judged = await draft.apply(new_file("run.sh", mode="100755"))
    assert [(each.constraint, each.severity.value) for each in judged.violations] == [("mode", "warning")]
    assert (await list_modes(mirror, draft.head))["run.sh"] == "100755"


# --- what is not -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("diff", "constraint"),
    [
        (b"", "syntax"),
        (b"Here is the diff:\n" + EDIT, "syntax"),
        (EDIT[:-1], "syntax"),
        (EDIT + EDIT, "syntax"),
        (hunk("src/a.py", "@@ -1,3 +1,3 @@\n-stale\n+one\n 2\n 3\n"), "base"),
        (hunk("src/none.py", "@@ -1 +1 @@\n-1\n+2\n"), "base"),
        (new_file("src/a.py"), "base"),
        (MAKE + new_file("../out.py"), "path"),
        (MAKE + new_file("/etc/cron.d/x"), "path"),
        (MAKE + new_file(".git/hooks/pre-commit"), "path"),
        (MAKE + new_file("src/.GIT/config"), "path"),
        (MAKE + new_file("git~1/config"), "path"),
        (MAKE + new_file("SRC/a.py"), "path"),
        (MAKE + new_file("src"), "path"),
        (MAKE + new_file("src/a.py/x"), "path"),
        (new_file("link", "/etc/passwd\n", mode="120000"), "mode"),
        (new_file("module", mode="160000"), "mode"),
        (b"diff --git a/src/a.py b/src/a.py\nold mode 100644\nnew mode 100755\n", "mode"),
        (
            MAKE + hunk(".github/workflows/ci.yml", "@@ -1 +1 @@\n-on: push\n+on: pull_request_target\n"),
            "protected_areas",
        ),
        (MAKE + new_file("uv.lock"), "protected_areas"),
        (MAKE + new_file("db/migrations/0002.py"), "protected_areas"),
        (MAKE + new_file("openapi.yaml"), "contract_lock"),
    ],
)
async def test_what_may_not_be_leaves_everything_as_it_was(
    mirror: Mirror, author: Author, diff: bytes, constraint: str
) -> None:
    draft = await begin_draft(mirror, author)
    assert constraint in await constraints(draft, diff)
    assert draft.head == draft.base


async def test_the_areas_of_the_plan_and_of_the_repository_hold(mirror: Mirror, author: Author) -> None:
    rule = PathRule(paths=("src/billing/**",), roles=("tester",))
    areas = Areas(role="implementer", allowed=("src",), forbidden=("src/b.py",), protected=("src/x/**",), rules=(rule,))
    draft = await begin_draft(mirror, author, areas)
    assert await constraints(draft, new_file("other.py")) == {"allowed_areas"}
    assert await constraints(draft, DELETE) == {"forbidden_areas"}
    assert await constraints(draft, new_file("src/x/y.py")) == {"protected_areas"}
    assert await constraints(draft, new_file("src/billing/y.py")) == {"path_rules"}
    assert (await draft.apply(EDIT)).change is not None


async def test_links_are_neither_followed_nor_changed(mirror: Mirror, author: Author) -> None:
    (author.tree / "link").symlink_to("docs")
    draft = await begin_draft(mirror, author)
    assert "mode" in await constraints(draft, hunk("link", "@@ -1 +1 @@\n-docs\n+/etc\n"))
    assert await constraints(draft, new_file("link/y.md")) == {"path"}


async def test_what_single_diffs_may_the_whole_may_still_not(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author, limits=PatchLimits(files=2))
    for name in ("a", "b"):
        assert (await draft.apply(new_file(name))).change is not None
    assert await constraints(draft, new_file("c")) == {"limits"}


async def test_a_mode_cannot_be_changed_in_two_diffs(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    assert (await draft.apply(DELETE)).change is not None
    assert await constraints(draft, new_file("src/b.py", "b\n", mode="100755")) == {"mode"}
    assert (await draft.apply(new_file("src/b.py", "new\n"))).change is not None


async def test_the_whole_is_judged_again_by_what_holds_now(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    await draft.apply(EDIT)
    assert await draft.violations() == ()
    found = await draft.violations(Areas(role="implementer", forbidden=("src",)))
    assert [(each.file, each.constraint) for each in found] == [("src/a.py", "forbidden_areas")]


# --- the same again ----------------------------------------------------------------------------------------


async def test_the_same_diffs_make_the_same_commits_anywhere(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    heads = [draft.head]
    for diff in (EDIT, MAKE, THEN):
        await draft.apply(diff)
        heads.append(draft.head)
    other = reopen_draft(draft, mirror)
    for count, head in enumerate(heads):
        await other.replay([EDIT, MAKE, THEN][:count])
        assert other.head == head
    assert await other.change() == await draft.change()
    times = await mirror.git.run("log", "--format=%at %ct", f"{draft.base}..{draft.head}")
    assert set(times.stdout.decode().splitlines()) == {"946684800 946684800"}


async def test_a_replay_takes_back_what_is_not_in_it(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    await draft.apply(EDIT)
    head, change = draft.head, await draft.change()
    await draft.apply(MAKE)
    await draft.replay([EDIT])
    assert (draft.head, await draft.change()) == (head, change)
    await draft.replay([])
    assert (draft.head, (await draft.change()).files) == (draft.base, ())


async def test_commits_that_got_lost_are_made_again(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    for diff in (EDIT, MAKE):
        await draft.apply(diff)
    head = draft.head
    (mirror.path / "objects" / head[:2] / head[2:]).unlink()
    await draft.replay([EDIT, MAKE])
    assert draft.head == head
    assert await content(mirror, head, "src/new/c.py") == b"c\n"


async def test_what_may_not_be_applied_any_more_is_not_replayed(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    stricter = reopen_draft(draft, mirror, Areas(role="implementer", forbidden=("src/new",)))
    with pytest.raises(PatchRefused, match="forbids"):
        await stricter.replay([EDIT, MAKE, THEN])
    assert [file.path for file in (await stricter.change()).files] == ["src/a.py"]


async def test_what_is_asked_at_once_is_done_in_order(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    before, first, between, second, third = await asyncio.gather(
        draft.snapshot(), draft.apply(EDIT), draft.snapshot(), draft.apply(THEN), draft.apply(EDIT)
    )
    assert first.change is not None
    assert second.change is not None
    assert third.change is None
    assert [await each.read("src/a.py") for each in (before, between)] == [b"1\n2\n3\n", b"one\n2\n3\n"]
    other = reopen_draft(draft, mirror)
    await other.replay([EDIT, THEN])
    assert other.head == draft.head


async def test_nothing_is_checked_out_and_no_reference_is_made(mirror: Mirror, author: Author) -> None:
    draft = await begin_draft(mirror, author)
    names = {path.name for path in mirror.path.iterdir()}
    references = (await mirror.git.run("for-each-ref")).stdout
    await draft.apply(EDIT + MAKE)
    assert {path.name for path in mirror.path.iterdir()} == names
    assert (await mirror.git.run("for-each-ref")).stdout == references


async def test_a_base_that_is_not_here_is_an_error(mirror: Mirror, author: Author) -> None:
    await begin_draft(mirror, author)
    with pytest.raises(CodeAccessError):
        await Draft(mirror, "1" * 40, FREE).apply(EDIT)
