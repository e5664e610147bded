"""A local repository is read without writing to it and without running what it configures."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from domain.changes import Change
from domain.errors import CodeAccessError, Recovery
from tests.unit.workspace.remotes import Author
from workspace.local import LocalError, local


async def changed(path: Path, base: str = "HEAD", *, working_tree: bool = True) -> Change:
    async with local(path, base, working_tree=working_tree) as code:
        return await code.change(code.merge_base_sha, code.head)


def content(change: Change) -> dict[str, list[str]]:
    return {file.path: list(file.added_lines.values()) for file in change.files}


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, check=False)


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*")}


async def test_head_is_compared_with_the_merge_base(author: Author):
    start = author.commit({"a": "1\n", "b": "1\n"})
    author.commit({"b": "2\n"})
    author.git("checkout", "-q", "-b", "topic", start)
    author.commit({"a": "2\n"}, "refs/heads/topic")

    async with local(author.tree, "main") as code:
        change = await code.change(code.merge_base_sha, code.head)
        versions = await code.versions(change.files)

    assert code.merge_base_sha == start
    assert {path: (version.base, version.head) for path, version in versions.items()} == {"a": (b"1\n", b"2\n")}


async def test_uncommitted_changes_are_included(author: Author):
    author.commit({"edited": "1\n", "staged": "1\n", "removed": "1\n", "same": "1\n", ".gitignore": "*.log\n"})
    author.write({"edited": "2\n", "staged": "2\n", "removed": None, "sub/new": "n\n", "x.log": "ignored\n"})
    author.git("add", "staged")

    change = await changed(author.tree / "sub")

    assert content(change) == {"edited": ["2"], "staged": ["2"], "removed": [], "sub/new": ["n"]}


async def test_an_edit_in_the_second_of_the_commit_is_seen(author: Author):
    author.write({"a": "0\n"})
    await asyncio.sleep(1 - time.time() % 1)
    author.commit({"a": "1\n"})
    author.write({"a": "2\n"})
    await asyncio.sleep(1.1)

    assert content(await changed(author.tree)) == {"a": ["2"]}


async def test_uncommitted_changes_can_be_left_out(author: Author):
    author.commit({"a": "1\n"})
    author.write({"a": "2\n"})
    assert content(await changed(author.tree, working_tree=False)) == {}


async def test_nothing_is_written_to_the_repository(author: Author):
    author.commit({"a": "1\n", "b": "1\n"})
    author.write({"a": "2\n", "new": "x\n"})
    author.git("status")
    (author.tree / "b").touch()
    before = snapshot(author.tree)

    change = await changed(author.tree)

    assert content(change) == {"a": ["2"], "new": ["x"]}
    assert snapshot(author.tree) == before


async def test_what_a_repository_configures_is_not_run(author: Author, tmp_path: Path):
    """T-R3: each of these would leave a trace if git ran it."""
    trace = tmp_path / "trace"
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {trace}\ncat\n')
    trap.chmod(0o755)
    author.commit({"a.txt": "1\n", "b.txt": "1\n", "lib/x": "1\n"})
    for name in (
        *("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy"),
        *("diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge"),
        *("filter.evil.process", "credential.helper", "gpg.program", "alias.rev-parse", "merge.evil.driver"),
        *("uploadpack.packObjectsHook", "remote.origin.uploadpack", "core.alternateRefsCommand"),
    ):
        author.git("config", name, f"!{trap}" if name.startswith("alias") else str(trap))
    author.git("config", "core.hooksPath", str(tmp_path))
    (tmp_path / "post-index-change").write_bytes(trap.read_bytes())
    (tmp_path / "post-index-change").chmod(0o755)
    (author.tree / ".git/info/attributes").write_text("* diff=evil filter=evil merge=evil\n")
    author.write({".gitattributes": "* diff=evil filter=evil\n", "a.txt": "2\n", "new.txt": "n\n"})
    (author.tree / "b.txt").touch()

    change = await changed(author.tree)

    assert content(change) == {".gitattributes": ["* diff=evil filter=evil"], "a.txt": ["2"], "new.txt": ["n"]}
    assert not trace.exists(), trace.read_text()
    run("git", "diff", cwd=author.tree)
    assert trace.exists(), "the traps do not work, so this test proves nothing"


async def test_a_submodule_is_not_entered(author: Author, tmp_path: Path):
    trace = tmp_path / "trace"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho ran >> {trace}\n")
    trap.chmod(0o755)
    author.commit({"a": "1\n"})
    author.git("clone", "-q", str(author.remote), "lib")
    author.git("-C", "lib", "config", "core.fsmonitor", str(trap))
    author.commit({"a": "1\n"})
    author.write({"lib/a": "dirty\n", "a": "2\n"})
    trace.unlink(missing_ok=True)

    assert content(await changed(author.tree)) == {"a": ["2"]}
    assert not trace.exists()
    author.git("status")
    assert trace.exists(), "the trap does not work, so this test proves nothing"


async def test_a_partial_clone_is_not_completed_behind_the_users_back(author: Author, tmp_path: Path):
    trace = tmp_path / "trace"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho ran >> {trace}\n")
    trap.chmod(0o755)
    author.commit({"a": "1\n"})
    base = author.commit({"a": "2\n"})
    clone = tmp_path / "clone"
    author.git("clone", "-q", "--filter=blob:none", "--no-local", f"file://{author.remote}", str(clone))
    author.git("-C", str(clone), "config", "remote.origin.url", "host:x")
    author.git("-C", str(clone), "config", "core.sshCommand", str(trap))

    change = await changed(clone, f"{base}~1")

    assert [item.reason for item in change.not_looked_at] == ["its content is not in the repository (a partial clone)"]
    assert not trace.exists()


async def test_links_of_the_working_tree_are_not_followed(author: Author):
    author.commit({"a": "1\n"})
    (author.tree / "link").symlink_to("/etc/passwd")
    (author.tree / "folder").symlink_to("/etc")

    change = await changed(author.tree)

    assert {item.path: item.reason for item in change.not_looked_at} == {
        "folder": "symbolic link",
        "link": "symbolic link",
    }
    assert "root:" not in change.model_dump_json()


async def test_pipes_large_files_and_inner_repositories_are_left_out_and_named(author: Author):
    author.commit({"pipe": "1\n"})
    (author.tree / "pipe").unlink()
    os.mkfifo(author.tree / "pipe")
    author.write({"large": b"x" * 3_000_000})
    author.git("init", "-q", "inner")

    change = await changed(author.tree)

    assert content(change) == {}
    named = {item.path: item.reason for item in change.not_looked_at}
    assert named["pipe"] == "not a file"
    assert named["large"] == "not committed, and larger than 2,000,000 bytes"
    assert all(item.matters for item in change.not_looked_at)


async def test_a_working_tree_elsewhere_is_refused(author: Author, tmp_path: Path):
    author.commit({"a": "1\n"})
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "secret").write_text("x")
    author.git("config", "core.worktree", str(tmp_path))
    with pytest.raises(LocalError, match="working tree"):
        await changed(author.tree)


async def test_line_endings_are_stored_as_the_user_configured(author: Author):
    author.commit({"a": "one\ntwo\n"})
    author.git("config", "core.autocrlf", "true")
    author.write({"a": "one\r\nTWO\r\n"})
    assert content(await changed(author.tree)) == {"a": ["TWO"]}


async def test_a_split_index_and_a_linked_worktree_are_read_too(author: Author, tmp_path: Path):
    author.commit({"a": "1\n", "b": "1\n"})
    author.git("update-index", "--split-index")
    author.write({"a": "2\n"})
    assert content(await changed(author.tree)) == {"a": ["2"]}

    linked = tmp_path / "linked"
    author.git("worktree", "add", "-q", "--detach", str(linked))
    (linked / "b").write_text("2\n")
    assert content(await changed(linked)) == {"b": ["2"]}


async def test_a_bare_repository_has_no_working_tree(author: Author):
    base = author.commit({"a": "1\n"})
    author.commit({"a": "2\n"})
    assert content(await changed(author.remote, base)) == {"a": ["2"]}


async def test_a_shallow_clone_is_compared_as_far_as_it_goes(author: Author, tmp_path: Path):
    for i in range(3):
        author.commit({"a": f"{i}\n"})
    clone = tmp_path / "clone"
    author.git("clone", "-q", "--depth=2", f"file://{author.remote}", str(clone))
    assert content(await changed(clone, "HEAD~1")) == {"a": ["2"]}


@pytest.mark.parametrize("revision", ["nowhere", "--upload-pack=x", "-h", "", "HEAD~99", "a\0b", "HEAD^{tree}", ":/x("])
async def test_an_unknown_revision_says_what_to_do(author: Author, revision: str):
    author.commit({"a": "1\n"})
    with pytest.raises(LocalError, match="names no commit") as caught:
        await changed(author.tree, revision)
    assert "--base" in caught.value.advice
    assert caught.value.recovery is Recovery.stop


async def test_no_repository_no_folder_and_no_commit_say_what_to_do(author: Author, tmp_path: Path):
    with pytest.raises(LocalError, match="not in a git repository"):
        await changed(tmp_path)
    with pytest.raises(LocalError, match="no folder"):
        await changed(tmp_path / "nowhere")
    with pytest.raises(LocalError, match="no commit yet"):
        await changed(author.tree)


async def test_no_common_history_says_what_to_do(author: Author):
    base = author.commit({"a": "1\n"})
    author.git("checkout", "-q", "--orphan", "other")
    author.commit({"a": "2\n"}, "refs/heads/other")
    with pytest.raises(CodeAccessError, match="no common ancestor"):
        await changed(author.tree, base)


async def test_a_hostile_module_next_to_the_code_is_not_imported(author: Author):
    """T-R7: reading a repository from inside it imports nothing of it."""
    author.commit({"a": "1\n"})
    author.write({"git": "#!/bin/sh\necho hostile\n", "a": "2\n"})
    (author.tree / "git").chmod(0o755)
    script = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom workspace.local import local\n"
        "async def main():\n"
        "    async with local(Path('.'), 'HEAD') as code:\n"
        "        change = await code.change(code.merge_base_sha, code.head)\n"
        "        print([file.path for file in change.files])\n"
        "asyncio.run(main())\n"
    )
    done = run(sys.executable, "-c", script, cwd=author.tree, PATH=f".{os.pathsep}{os.environ['PATH']}")
    assert done.stdout.decode().strip() == "['a', 'git']", done.stderr.decode()
