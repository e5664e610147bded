"""What is read back of a folder in which a program works: its changes, what is none, and what it tries to slip in."""

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.errors import ToolError
from domain.github.commits import Signature
from domain.runs.patches import LIMITS, Areas, ChangedFile, ChangeSet
from tests.unit.sandbox.machine import has_bubblewrap
from tests.unit.workspace.remotes import Author, Files
from workspace import commits
from workspace.git import Git
from workspace.objects import Objects
from workspace.patches.tree import load_tree
from workspace.patches.validation import validate
from workspace.sandbox import probing
from workspace.sandbox.sandbox import Sandbox
from workspace.shadow import Shadow, ShadowChanges, open_shadow

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")

Changes = Callable[..., Awaitable[ShadowChanges]]
is_root = os.geteuid() == 0


@pytest.fixture
async def sandbox() -> Sandbox:
    return await probing.make_sandbox()


@pytest.fixture
def objects(author: Author) -> Objects:
    return Objects(Git(author.tree / ".git"))


@asynccontextmanager
async def shadow_of(objects: Objects, commit: str, sandbox: Sandbox, *scripts: str) -> AsyncGenerator[Shadow]:
    """A shadow in which some scripts ran."""
    async with open_shadow(objects, commit, sandbox) as shadow:
        for script in scripts:
            await run(shadow, script)
        yield shadow


async def run(shadow: Shadow, script: str) -> None:
    program = "python3" if "import " in script else "sh"
    done = await shadow.checkout.run([program, "-c", script], seconds=60)
    assert done.status == 0, done.stderr.data.decode()


@pytest.fixture
def change(author: Author, objects: Objects, sandbox: Sandbox) -> Changes:
    """What is read back after a script ran in a commit with some files."""

    async def change(files: Files, script: str) -> ShadowChanges:
        async with shadow_of(objects, author.commit(files), sandbox, script) as shadow:
            async with asyncio.timeout(30):
                return await shadow.read_changes()

    return change


def list_changed(changes: ShadowChanges) -> dict[str, bytes | None]:
    return {file.path: file.after for file in changes.change.files}


def list_wrong(changes: ShadowChanges) -> set[tuple[str, str, str]]:
    return {(each.file, each.constraint, each.severity.value) for each in changes.violations}


# --- changes -----------------------------------------------------------------------------------------------


async def test_edits_additions_deletions_and_renames_are_changes(change: Changes) -> None:
    files = {"same": "1\n", "edited": "2\n", "gone/x": "3\n", "old/name": "4\n"}
    script = "echo 5 > edited; rm -r gone; mkdir -p new/deep; mv old/name new/deep/name; echo 6 > added"
    changes = await change(files, script)
    assert list_changed(changes) == {
        "added": b"6\n",
        "edited": b"5\n",
        "gone/x": None,
        "new/deep/name": b"4\n",
        "old/name": None,
    }
    assert {file.path: file.before for file in changes.change.files}["edited"] == b"2\n"
    assert not changes.violations


async def test_what_nobody_touched_is_no_change(change: Changes) -> None:
    assert await change({"a": "1", "b/c": "2"}, "cat a b/c; mkdir empty") == await change({}, "true")


async def test_modes_are_read(author: Author, objects: Objects, sandbox: Sandbox) -> None:
    author.write({"tool": "1\n", "plain": "2\n", "kept": "3\n"})
    for name in ("tool", "kept"):
        (author.tree / name).chmod(0o755)
    script = "chmod 644 tool; chmod 755 plain; echo 4 > kept; echo 5 > new; chmod 4755 new; chmod 700 kept"
    async with shadow_of(objects, author.commit(), sandbox, script) as shadow:
        changes = await shadow.read_changes()
    assert list(changes.change.files) == [
        ChangedFile(path="kept", before=b"3\n", after=b"4\n", mode="100755"),
        ChangedFile(path="new", before=None, after=b"5\n", mode="100755"),
        ChangedFile(path="plain", before=b"2\n", after=b"2\n", mode="100755", old_mode="100644"),
        ChangedFile(path="tool", before=b"1\n", after=b"1\n", mode="100644", old_mode="100755"),
    ]


async def test_what_is_again_as_it_was_is_no_change(author: Author, objects: Objects, sandbox: Sandbox) -> None:
    large = "x" * (LIMITS.file_bytes + 1)
    commit = author.commit({"a": "1\n", "large": large})
    async with shadow_of(objects, commit, sandbox, "echo 2 > a; mv large x; echo > new") as shadow:
        changes = await shadow.read_changes()
        assert list_changed(changes) == {"a": b"2\n", "new": b"\n"}
        assert list_wrong(changes) == {("large", "limits", "error"), ("x", "limits", "error")}
        await run(shadow, "rm new; echo 1 > a; cp x large; rm x; touch *; chmod 600 *")
        changes = await shadow.read_changes()
    assert (changes.change.files, changes.violations) == ((), ())


async def test_a_time_that_is_set_back_hides_nothing(change: Changes) -> None:
    script = "touch -r a $TMPDIR/time; printf 2 > a; touch -r $TMPDIR/time a"
    assert list_changed(await change({"a": "1"}, script)) == {"a": b"2"}


async def test_a_write_to_memory_hides_nothing(change: Changes) -> None:
    script = "import mmap, time\nwith open('a', 'r+b') as f, mmap.mmap(f.fileno(), 0) as m:\n m[0]; m[:1] = b'2'\n"
    assert list_changed(await change({"a": "1"}, script)) == {"a": b"2"}


async def test_a_change_can_be_judged_and_committed(author: Author, objects: Objects, sandbox: Sandbox) -> None:
    """Also one where a file takes the place of a folder."""
    base = author.commit({"a/b": "1\n", "c": "2\n"})
    async with shadow_of(objects, base, sandbox, "rm -r a; echo 3 > a; echo 4 >> c; echo 5 > d") as shadow:
        changes = await shadow.read_changes()
    assert not changes.violations
    assert not validate(changes.change, Areas("implementer"), await load_tree(objects, base, ()))
    person = Signature(name="a", email="a@example.org")
    at = datetime(2026, 1, 1, tzinfo=UTC)
    made = await commits.Commits(objects.git).commit_change(base, changes.change, "x", person, at)
    assert await objects.read(made, ["a", "c", "d", "a/b"]) == {"a": b"3\n", "c": b"2\n4\n", "d": b"5\n"}


# --- what is ignored ---------------------------------------------------------------------------------------

IGNORING: Files = {
    ".gitignore": "*.log\n!keep.log\n/dist\nbuild/\n",
    "sub/.gitignore": "local\n",
    "sub/a": "",
    "dist/committed": "1\n",
}


async def test_what_the_commit_ignores_is_no_change(author: Author, change: Changes) -> None:
    script = (
        "echo > x.log; echo > keep.log; echo 2 > dist/committed; echo > dist/new; mkdir -p build/x other/build;"
        "mkfifo build/x/fifo; echo > other/build/a; echo > other/b; echo > sub/local; echo > local"
    )
    author.write(IGNORING)
    author.git("add", "-f", "dist/committed")
    changes = await change(IGNORING, script)
    assert set(list_changed(changes)) == {"dist/committed", "keep.log", "local", "other/b"}
    assert not changes.violations


async def test_rules_that_the_program_wrote_hide_nothing(change: Changes) -> None:
    script = "echo '*' > .gitignore; echo '*' > sub/.gitignore; echo > x.log; echo > y; echo > sub/y"
    assert set(list_changed(await change(IGNORING, script))) == {".gitignore", "sub/.gitignore", "sub/y", "y"}


async def test_what_tools_leave_is_no_change_unless_it_is_committed(change: Changes) -> None:
    files = {"__pycache__/kept.pyc": "1", "a.py": ""}
    script = (
        "mkdir -p a/__pycache__ node_modules/x .venv/bin b.egg-info .pytest_cache; echo 2 > __pycache__/kept.pyc;"
        "touch a/__pycache__/a.pyc node_modules/x/y .venv/bin/z b.egg-info/c .pytest_cache/d e.pyc __pycache__/new.pyc;"
        "ln -s /usr/bin/python3 .venv/bin/python"
    )
    changes = await change(files, script)
    assert (list_changed(changes), changes.violations) == ({"__pycache__/kept.pyc": b"2\n"}, ())


async def test_names_with_a_meaning_to_git_are_taken_as_they_are(change: Changes) -> None:
    changes = await change({".gitignore": "x\n", "a": ""}, "touch ':(top)x' '*' ':!a' -- '-z' './ x'; touch x")
    assert set(list_changed(changes)) == {" x", "*", "-z", ":!a", ":(top)x"}


# --- what is no change of a regular file -------------------------------------------------------------------

CRITICAL = {
    "a link that leads out": ("ln -s /etc/passwd x", "x", "mode"),
    "a link that leads nowhere": ("mkdir d; ln -s nowhere d/x", "d/x", "mode"),
    "a link to a folder": ("ln -s / x", "x", "mode"),
    "a link in place of a file": ("ln -sf /etc/passwd a", "a", "mode"),
    "a link in place of a folder": ("mv f $TMPDIR; ln -s $TMPDIR/f f", "f", "mode"),
    "a FIFO": ("mkfifo x", "x", "mode"),
    "a FIFO in place of a file": ("rm a; mkfifo a", "a", "mode"),
    "a socket": ("import socket; socket.socket(socket.AF_UNIX).bind('x')", "x", "mode"),
    "a folder .git": ("mkdir .git; echo x > .git/config", ".git", "path"),
    "a file .GIT below": ("echo 'gitdir: /' > f/.GIT", "f/.GIT", "path"),
    "a name that some disks take for it": ("mkdir 'git~1'", "git~1", "path"),
}


@pytest.mark.parametrize("what", CRITICAL)
async def test_what_is_no_regular_file_is_critical(change: Changes, what: str) -> None:
    script, path, constraint = CRITICAL[what]
    changes = await change({"a": "1", "f/b": "2"}, f"{script}\n")
    assert list_wrong(changes) == {(path, constraint, "critical")}
    assert all(file.after is None for file in changes.change.files)
    assert changes.violations[0].message.endswith(".")
    assert changes.violations[0].suggestion.endswith(".")


WRONG = {
    "a sparse file of a terabyte": ("truncate -s 200M x; truncate -s 250M a", {"a", "x"}, "limits"),
    "a file that is a little too large": (f"head -c {LIMITS.file_bytes + 1} /dev/zero > x", {"x"}, "limits"),
    "the end of a large file": ("rm large", {"large"}, "limits"),
    "the change of a large file": ("echo x | dd of=large conv=notrunc", {"large"}, "limits"),
    "a folder in place of a file": ("rm a; mkdir a; echo > a/x", {"a"}, "mode"),
    "a name that is not UTF-8": (r"touch $(printf 'x\377')", {r"x\xed\xb3\xbf"}, "path"),
    "a name with a line end": ("import os; os.mkdir('x\\n'); open('x\\n/y', 'w')", {r"x\n/y"}, "path"),
    "a name with a backslash": ("import os; open('x\\\\y', 'w')", {"x\\y"}, "path"),
    "a name that cannot be seen": ("import os; open('x\\u200b', 'w')", {r"x\u200b"}, "path"),
    "many folders within each other": ("import os\nos.makedirs('d/' * 70)", {"d/" * 65}, "limits"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_what_cannot_be_committed_is_an_error(change: Changes, what: str) -> None:
    script, paths, constraint = WRONG[what]
    changes = await change({"a": "1", "large": "x" * (LIMITS.file_bytes + 1)}, f"{script}\n")
    assert list_wrong(changes) == {(path, constraint, "error") for path in paths}
    assert not changes.change.files


async def test_a_sparse_file_of_a_terabyte_costs_nothing(author: Author, objects: Objects, sandbox: Sandbox) -> None:
    """The sandbox lets nobody make one; it is made from outside."""
    async with shadow_of(objects, author.commit({"a": "1"}), sandbox) as shadow:
        for name in ("a", "new"):
            with (shadow.checkout.code / name).open("wb") as file:
                file.truncate(1 << 40)
                os.fchown(file.fileno(), shadow.checkout.owner, -1)
        started = time.monotonic()
        changes = await shadow.read_changes()
    assert time.monotonic() - started < 5
    assert list_wrong(changes) == {("a", "limits", "error"), ("new", "limits", "error")}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import os\nfor n in range(2000): open(f'{n}', 'w')", "More than 1,000 files changed"),
        ("import os\nfor n in range(2000): os.mkfifo(f'{n}')", "There are 100 violations or more"),
        ("import os\nfor n in range(80): open(f'{n}', 'wb').write(bytes(1_000_000))", "more than 67,108,864 bytes"),
    ],
    ids=["files", "violations", "bytes"],
)
async def test_too_much_is_said_once_and_not_read(change: Changes, script: str, said: str) -> None:
    changes = await change({"a": "1"}, script)
    assert not changes.change.files
    assert [said in each.message for each in changes.violations].count(True) == 1
    assert len(changes.violations) <= 101


async def test_too_many_deleted_files_are_not_read_either(change: Changes) -> None:
    changes = await change({f"d/{number}": "" for number in range(1_001)}, "rm -r d")
    assert [each.constraint for each in changes.violations] == ["limits"]
    assert not changes.change.files


async def test_a_folder_without_rights_hides_nothing(author: Author, objects: Objects, sandbox: Sandbox) -> None:
    """Root reads it all the same. Anybody else says so, and does not take what is in it for deleted."""
    async with shadow_of(objects, author.commit({"d/a": "1", "e/b": "2"}), sandbox) as shadow:
        await shadow.checkout.run(["sh", "-c", "echo 3 > d/a; chmod 0 d e"], seconds=30)
        changes = await shadow.read_changes()
    if is_root:
        assert (list_changed(changes), changes.violations) == ({"d/a": b"3\n"}, ())
    else:
        assert list_wrong(changes) == {("d/", "path", "error"), ("e/", "path", "error")}
        assert not changes.change.files


@pytest.mark.skipif(not is_root, reason="only root has files of others")
async def test_what_belongs_to_others_is_not_read(author: Author, objects: Objects, sandbox: Sandbox) -> None:
    async with shadow_of(objects, author.commit({"a": "1", "d/b": "2"}), sandbox) as shadow:
        for name in ("a", "d", "new"):
            path = shadow.checkout.code / name
            if name != "d":
                path.write_text("3")
            os.chown(path, 12345, -1)
        changes = await shadow.read_changes()
    assert list_wrong(changes) == {("a", "path", "error"), ("d/", "path", "error"), ("new", "path", "error")}
    assert not changes.change.files


# --- links and submodules of the commit --------------------------------------------------------------------


@pytest.fixture
def special(author: Author) -> str:
    """A commit with a link and a submodule."""
    author.write({"a": "1\n"})
    (author.tree / "link").symlink_to("a")
    author.git("add", "-A")
    author.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    author.git("commit", "-qm", "x")
    return author.publish("refs/heads/main")


@pytest.mark.parametrize("script", ["true", "touch link module", "printf a > link; rmdir module; mkdir module"])
async def test_links_and_submodules_may_stay(special: str, objects: Objects, sandbox: Sandbox, script: str) -> None:
    async with shadow_of(objects, special, sandbox, script) as shadow:
        changes = await shadow.read_changes()
    assert (changes.change.files, changes.violations) == ((), ())


@pytest.mark.parametrize(
    ("script", "path"),
    [
        ("echo b > link", "link"),
        ("rm link", "link"),
        ("ln -sf a link", "link"),
        ("rmdir module", "module"),
        ("touch module/x", "module"),
        ("rmdir module; touch module", "module"),
    ],
)
async def test_links_and_submodules_do_not_change(
    special: str, objects: Objects, sandbox: Sandbox, script: str, path: str
) -> None:
    async with shadow_of(objects, special, sandbox, script) as shadow:
        changes = await shadow.read_changes()
    assert (list_wrong(changes), changes.change.files) == ({(path, "mode", "critical")}, ())


# --- while the program runs --------------------------------------------------------------------------------

SWAPPING = {
    "a file and a link": "os.symlink('/etc/passwd', 'x'); os.rename('x', 'a'); open('x', 'w').write('mine'); "
    "os.rename('x', 'a')",
    "a folder and a link": "os.rename('d', 'e'); os.symlink('/etc', 'd'); os.unlink('d'); os.rename('e', 'd')",
    "a file and a FIFO": "os.mkfifo('x'); os.rename('x', 'a'); open('x', 'w').write('mine'); os.rename('x', 'a')",
}


@pytest.mark.parametrize("what", SWAPPING)
async def test_who_swaps_files_meanwhile_fools_nobody(
    author: Author, objects: Objects, sandbox: Sandbox, what: str
) -> None:
    script = f"import os, time\nend = time.monotonic() + 3\nwhile time.monotonic() < end:\n    {SWAPPING[what]}\n"
    async with shadow_of(objects, author.commit({"a": "1", "d/passwd": "mine"}), sandbox) as shadow:
        running = asyncio.create_task(run(shadow, script))
        async with asyncio.timeout(30):
            while not running.done():
                changes = await shadow.read_changes()
                assert {file.after for file in changes.change.files} <= {b"mine", b"", None}
        await running


def list_open_folders() -> list[str]:
    """The folders that this process has open; other tests' pipes and sockets may close at any time."""
    targets = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
    return sorted(target for target in targets if Path(target).is_dir())


async def test_who_is_cancelled_stops_reading_first(author: Author, objects: Objects, sandbox: Sandbox) -> None:
    async with shadow_of(objects, author.commit({"a": "1"}), sandbox) as shadow:
        await run(shadow, "import os\nfor n in range(20_000): open(f'{n}', 'w')")
        before = list_open_folders()
        task = asyncio.create_task(shadow.read_changes())
        await asyncio.sleep(0.02)
        task.cancel()
        started = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - started < 2
        assert not Counter(list_open_folders()) - Counter(before)


# --- what is written back ----------------------------------------------------------------------------------

SPOILED = {
    "edited": "echo 9 > d/a; chmod 755 d/a",
    "deleted with its folder": "rm -r d",
    "made a link": "ln -sf /etc/passwd d/a",
    "made a folder": "rm d/a; mkdir -p d/a/b; echo > d/a/b/c",
    "its folder is a file": "rm -r d; echo > d",
    "its folder is a link that leads out": "rm -r d; ln -s /tmp d",
    "its folder is a FIFO": "rm -r d; mkfifo d",
}


@pytest.mark.parametrize("what", SPOILED)
async def test_a_file_is_restored_whatever_is_there(
    author: Author, objects: Objects, sandbox: Sandbox, what: str
) -> None:
    original = ChangedFile(path="d/a", before=b"", after=b"1\n")
    gone = ChangedFile(path="new/file", before=b"", after=None)
    script = f"{SPOILED[what]}; mkdir new; echo > new/file"
    async with shadow_of(objects, author.commit({"d/a": "1\n", "z": ""}), sandbox, script) as shadow:
        await shadow.apply(ChangeSet(files=(original, gone)))
        changes = await shadow.read_changes()
        await run(shadow, "echo 2 >> d/a; echo > d/b; rm -r d new")
        assert sorted(path.name for path in shadow.checkout.code.parent.iterdir()) == ["code", "home", "results"]
    assert (changes.change.files, changes.violations) == ((), ())


async def test_what_is_deleted_twice_or_behind_a_link_is_left(
    author: Author, objects: Objects, sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("kept")
    async with shadow_of(objects, author.commit({"a": "1"}), sandbox) as shadow:
        (shadow.checkout.code / "link").symlink_to(tmp_path)
        paths = ("link/file", "none/file", "none")
        await shadow.apply(ChangeSet(files=tuple(ChangedFile(path=path, before=b"", after=None) for path in paths)))
    assert (tmp_path / "file").read_text() == "kept"


async def test_new_files_belong_to_the_program(author: Author, objects: Objects, sandbox: Sandbox) -> None:
    tool = ChangedFile(path="bin/deep/tool", before=None, after=b"#!/bin/sh\necho 1 > made\n", mode="100755")
    async with shadow_of(objects, author.commit({"a": "1"}), sandbox) as shadow:
        await shadow.apply(ChangeSet(files=(tool,)))
        await run(shadow, "bin/deep/tool; touch bin/x bin/deep/y")
        changes = await shadow.read_changes()
    assert set(list_changed(changes)) == {"bin/deep/tool", "bin/deep/y", "bin/x", "made"}
    assert {file.path for file in changes.change.files if file.mode == "100755"} == {"bin/deep/tool"}


@pytest.mark.parametrize(
    "file",
    [
        ChangedFile(path="../x", before=None, after=b""),
        ChangedFile(path="/tmp/x", before=None, after=b""),
        ChangedFile(path=".git/config", before=None, after=b""),
        ChangedFile(path="x", before=None, after=b"/etc/passwd", mode="120000"),
    ],
    ids=lambda file: file.path,
)
async def test_only_regular_files_inside_are_written(
    author: Author, objects: Objects, sandbox: Sandbox, file: ChangedFile
) -> None:
    async with shadow_of(objects, author.commit({"a": "1"}), sandbox) as shadow:
        with pytest.raises(ToolError, match="regular file"):
            await shadow.apply(ChangeSet(files=(file,)))
        assert [path.name for path in shadow.checkout.code.iterdir()] == ["a"]


async def test_who_swaps_folders_meanwhile_gets_nothing_written_elsewhere(
    author: Author, objects: Objects, sandbox: Sandbox, tmp_path: Path
) -> None:
    """The link leads to where Forge may write and the program may not."""
    swap = f"os.rename('d', 'e'); os.symlink({str(tmp_path)!r}, 'd'); os.unlink('d'); os.rename('e', 'd')"
    script = f"import os, time\nend = time.monotonic() + 2\nwhile time.monotonic() < end:\n  try:\n    {swap}\n"
    script += "  except OSError:\n    os.makedirs('d', exist_ok=True)\n"
    before = set(tmp_path.iterdir())
    change = ChangeSet(files=(ChangedFile(path="d/x", before=None, after=b"1"),))
    async with shadow_of(objects, author.commit({"d/a": "1"}), sandbox) as shadow:
        running = asyncio.create_task(shadow.checkout.run(["python3", "-c", script], seconds=20))
        while not running.done():
            with contextlib.suppress(ToolError):
                await shadow.apply(change)
        await running
    assert {path.name for path in set(tmp_path.iterdir()) - before} <= {"remotes"}
