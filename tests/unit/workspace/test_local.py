"""A local repository is read without writing to it and without running what it configures."""

import asyncio
import time
from pathlib import Path

import pytest

from domain.errors import CodeAccessError, Recovery
from tests.unit.workspace.changes import content, diff_tree
from tests.unit.workspace.remotes import Author
from workspace.local_repository import LocalError, open_local


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of everything; of objects the size only, since git marks one as used that it would write again."""
    return {
        str(path): (path.lstat().st_size, 0 if "objects" in path.parts else path.lstat().st_mtime_ns)
        for path in folder.rglob("*")
    }


async def test_head_is_compared_with_the_merge_base(author: Author):
    start = author.commit({"a": "1\n", "b": "1\n"})
    author.commit({"b": "2\n"})
    author.git("checkout", "-q", "-b", "topic", start)
    author.commit({"a": "2\n"}, "refs/heads/topic")

    async with open_local(author.tree, "main") as code:
        change = await code.change(code.merge_base_sha, code.head)
        versions = await code.versions(change.files)

    assert code.merge_base_sha == start
    assert {path: (version.base, version.head) for path, version in versions.items()} == {"a": (b"1\n", b"2\n")}


async def test_uncommitted_changes_are_included(author: Author):
    author.commit({"edited": "1\n", "staged": "1\n", "removed": "1\n", "same": "1\n", ".gitignore": "*.log\n"})
    author.write({"edited": "2\n", "staged": "2\n", "removed": None, "sub/new": "n\n", "x.log": "ignored\n"})
    author.git("add", "staged")

    change = await diff_tree(author.tree / "sub")

    assert content(change) == {"edited": ["2"], "staged": ["2"], "removed": [], "sub/new": ["n"]}


async def test_an_edit_in_the_second_of_the_commit_is_seen(author: Author):
    author.write({"a": "0\n"})
    await asyncio.sleep(1 - time.time() % 1)
    author.commit({"a": "1\n"})
    author.write({"a": "2\n"})
    await asyncio.sleep(1.1)

    assert content(await diff_tree(author.tree)) == {"a": ["2"]}


async def test_nothing_is_written_to_the_repository(author: Author):
    author.commit({"a": "1\n", "b": "1\n"})
    author.write({"a": "2\n", "new": "x\n"})
    author.git("status")
    (author.tree / "b").touch()
    before = snapshot(author.tree)

    change = await diff_tree(author.tree)

    assert content(change) == {"a": ["2"], "new": ["x"]}
    assert snapshot(author.tree) == before


async def test_a_working_tree_elsewhere_is_refused(author: Author, tmp_path: Path):
    author.commit({"a": "1\n"})
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "secret").write_text("x")
    author.git("config", "core.worktree", str(tmp_path))
    with pytest.raises(LocalError, match="working tree"):
        await diff_tree(author.tree)


async def test_line_endings_are_stored_as_the_user_configured(author: Author):
    author.commit({"a": "one\ntwo\n"})
    author.git("config", "core.autocrlf", "true")
    author.write({"a": "one\r\nTWO\r\n"})
    assert content(await diff_tree(author.tree)) == {"a": ["TWO"]}


async def test_a_split_index_and_a_linked_worktree_are_read_too(author: Author, tmp_path: Path):
    author.commit({"a": "1\n", "b": "1\n"})
    author.git("update-index", "--split-index")
    author.write({"a": "2\n"})
    assert content(await diff_tree(author.tree)) == {"a": ["2"]}

    linked = tmp_path / "linked"
    author.git("worktree", "add", "-q", "--detach", str(linked))
    (linked / "b").write_text("2\n")
    assert content(await diff_tree(linked)) == {"b": ["2"]}


async def test_a_bare_repository_has_no_working_tree(author: Author):
    base = author.commit({"a": "1\n"})
    author.commit({"a": "2\n"})
    assert content(await diff_tree(author.remote, base)) == {"a": ["2"]}


async def test_a_shallow_clone_is_compared_as_far_as_it_goes(author: Author, tmp_path: Path):
    for i in range(3):
        author.commit({"a": f"{i}\n"})
    clone = tmp_path / "clone"
    author.git("clone", "-q", "--depth=2", f"file://{author.remote}", str(clone))
    assert content(await diff_tree(clone, "HEAD~1")) == {"a": ["2"]}


@pytest.mark.parametrize("revision", ["nowhere", "--upload-pack=x", "-h", "", "HEAD~99", "a\0b", "HEAD^{tree}", ":/x("])
async def test_an_unknown_revision_says_what_to_do(author: Author, revision: str):
    author.commit({"a": "1\n"})
    with pytest.raises(LocalError, match="names no commit") as caught:
        await diff_tree(author.tree, revision)
    assert "--base" in caught.value.advice
    assert caught.value.recovery is Recovery.stop


async def test_no_repository_no_folder_and_no_commit_say_what_to_do(author: Author, tmp_path: Path):
    with pytest.raises(LocalError, match="not in a git repository"):
        await diff_tree(tmp_path)
    with pytest.raises(LocalError, match="no folder"):
        await diff_tree(tmp_path / "nowhere")
    with pytest.raises(LocalError, match="no commit yet"):
        await diff_tree(author.tree)


async def test_no_common_history_says_what_to_do(author: Author):
    base = author.commit({"a": "1\n"})
    author.git("checkout", "-q", "--orphan", "other")
    author.commit({"a": "2\n"}, "refs/heads/other")
    with pytest.raises(CodeAccessError, match="no common ancestor"):
        await diff_tree(author.tree, base)


@pytest.mark.parametrize("encoding", ["UTF-16", "no-such-encoding"])
async def test_no_attribute_says_how_the_working_tree_is_encoded(author: Author, encoding: str):
    """Else a hostile one would have git refuse the files, and nothing would be reviewed."""
    author.commit({"a.py": "a = 1\n"})
    author.write({".gitattributes": f"* working-tree-encoding={encoding}\n", "a.py": "a = 2\n", "b.py": "b = 1\n"})

    found = content(await diff_tree(author.tree))

    assert (found["a.py"], found["b.py"]) == (["a = 2"], ["b = 1"])
