"""A change is committed as it says, on a parent that is as it says, and nothing else with it."""

from datetime import UTC, datetime

import pytest

from domain.errors import Recovery
from domain.github.commits import Signature
from domain.runs.patches import ChangedFile, ChangeSet
from tests.unit.workspace.remotes import Author
from workspace.commits import CannotCommit
from workspace.mirror import Mirror
from workspace.patches.tree import load_tree

WHO = Signature(name="forge[bot]", email="1+forge[bot]@users.noreply.github.com")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
FILES = {"a": "a\n", "folder/b": "b\n", "folder/c": "c\n", "é/d": "d\n"}


async def parent(mirror: Mirror, author: Author) -> str:
    (author.tree / "link").symlink_to("/etc")
    (author.tree / "module").mkdir()
    author.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    author.write({"run": "run\n"})
    (author.tree / "run").chmod(0o755)
    sha = author.commit(FILES)
    await mirror.fetch(sha, sha, 7)
    return sha


def edit(path: str, before: bytes | None, after: bytes | None, mode: str = "100644", old: str | None = None):
    return ChangedFile(path=path, before=before, after=after, mode=mode, old_mode=old)


async def commit(mirror: Mirror, on: str, *files: ChangedFile) -> str:
    return await mirror.commit_change(on, ChangeSet(files=files), "Change it", WHO, AT)


async def list_differences(mirror: Mirror, before: str, after: str) -> list[str]:
    listed = await mirror.git.run("diff-tree", "-r", "--name-status", "--no-renames", before, after)
    return listed.stdout.decode().replace("\t", " ").splitlines()


async def test_files_are_made_changed_deleted_and_their_modes_set(mirror: Mirror, author: Author) -> None:
    base = await parent(mirror, author)
    sha = await commit(
        mirror,
        base,
        edit("new/e", None, b"", "100755"),
        edit("folder/b", b"b\n", None),
        edit("é/d", b"d\n", b"D\n"),
        edit("run", b"run\n", b"run\n", "100644", old="100755"),
    )
    assert await list_differences(mirror, base, sha) == ["D folder/b", "A new/e", "M run", "M é/d"]
    listed = (await mirror.git.run("ls-tree", sha, "--", "new/e", "run")).stdout.decode()
    assert [line[:6] for line in listed.splitlines()] == ["100755", "100644"]
    assert (await mirror.describe(sha)).email == WHO.email
    assert await mirror.follows(sha, base)


async def test_the_same_again_is_the_same_commit(mirror: Mirror, author: Author) -> None:
    base = await parent(mirror, author)
    files = [edit("a", b"a\n", b"A\n"), edit("folder/b", b"b\n", None), edit("x", None, b"x\n")]
    sha = await commit(mirror, base, *files)
    assert await commit(mirror, base, *reversed(files)) == sha
    replaced = (await load_tree(mirror, base, ["a", "run"])).replace({"a": b"A\n", "run": b"RUN\n"})
    run = edit("run", b"run\n", b"RUN\n", "100755")
    assert await commit(mirror, base, *replaced.files) == await commit(mirror, base, files[0], run)


async def test_a_folder_and_a_file_change_places(mirror: Mirror, author: Author) -> None:
    base = await parent(mirror, author)
    sha = await commit(
        mirror,
        base,
        edit("folder", None, b"file\n"),
        edit("folder/b", b"b\n", None),
        edit("folder/c", b"c\n", None),
        edit("a/in", None, b"in\n"),
        edit("a", b"a\n", None),
    )
    assert await list_differences(mirror, base, sha) == ["D a", "A a/in", "A folder", "D folder/b", "D folder/c"]


@pytest.mark.parametrize(
    "file",
    [
        edit("a", b"other\n", b"A\n"),  # another content
        edit("a", b"a\n", b"A\n", "100755"),  # another mode, said to be as before
        edit("run", b"run\n", b"RUN\n"),
        edit("a", None, b"A\n"),  # said to be new
        edit("none", b"a\n", b"A\n"),  # said to exist
        edit("none", b"a\n", None),
        edit("a", b"a\n", b"a\n"),  # no change
        edit("folder", b"a\n", b"A\n"),
        edit("folder", None, b"A\n"),  # b and c would go with it
        edit("folder", b"a\n", None),
        edit("a/b", None, b"A\n"),  # a would go
        edit("link", b"/etc", b"/root"),
        edit("link", b"/etc", None),
        edit("link", b"/etc", b"/root", "120000"),
        edit("link/passwd", None, b"x\n"),
        edit("new", None, b"/etc/passwd", "120000"),
        edit("new", None, b"x\n", "160000"),
        edit("new", None, b"x\n", "100664"),
        edit("../x", None, b"x\n"),
        edit("/x", None, b"x\n"),
        edit("folder/../a", b"a\n", b"A\n"),
        edit("folder//b", b"b\n", b"B\n"),
        edit(".git/config", None, b"x\n"),
        edit("x/.Git/hooks/y", None, b"x\n"),
        edit("x\ny", None, b"x\n"),
        edit("\udce9", None, b"x\n"),
        edit("", None, b"x\n"),
        *(edit(path, b"a\n", b"A\n") for path in ("*", "-a", ":/a", "a\n", "a\0b", ".", "folder/", "./a", "module")),
    ],
)
async def test_what_is_not_as_it_says_is_refused(mirror: Mirror, author: Author, file: ChangedFile) -> None:
    base = await parent(mirror, author)
    with pytest.raises(CannotCommit) as caught:
        await commit(mirror, base, file)
    assert caught.value.recovery is Recovery.stop
    with pytest.raises(CannotCommit):
        await commit(mirror, base, edit("good", None, b"x\n"), file)


async def test_an_empty_change_is_refused(mirror: Mirror, author: Author) -> None:
    with pytest.raises(CannotCommit):
        await commit(mirror, await parent(mirror, author))


async def test_contents_that_are_not_here_are_not_needed(mirror: Mirror, author: Author) -> None:
    base = await parent(mirror, author)
    sha = await commit(mirror, base, edit("a", b"a\n", b"A\n"))
    blob = author.git("rev-parse", f"{base}:folder/b")
    assert await mirror.sizes([blob]) == {}
    assert await list_differences(mirror, base, sha) == ["M a"]
