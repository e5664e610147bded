"""One new commit on a pull request's branch: made in the mirror without a checkout, pushed over real HTTP."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.errors import CodeAccessError, Recovery
from domain.github.commits import Signature
from simulator import pull_json
from simulator.errors import Kind
from simulator.gitstore import Blob
from simulator.state import Repository
from tests.contract.stage import CODE, Stage
from workspace.commits import BranchMoved, CannotCommit, Pushed, PushRejected
from workspace.mirror import Mirror, Mirrors
from workspace.patches.tree import load_tree

FORGE = Signature(name="forge[bot]", email="77+forge[bot]@users.noreply.github.com")
AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
CHANGED = CODE.replace("line 3\n", "line three\n").encode()


@pytest.fixture
async def mirror(stage: Stage, tmp_path: Path) -> Mirror:
    """A blobless mirror that has the pull request's head."""
    files = {
        "run.sh": Blob(b"#!/bin/sh\n", "100755"),
        "link": Blob(b"a.py", "120000"),
        "module": Blob(b"1" * 40, "160000"),
        "docs/naïve name.md": "one\n",
        "untouched/big.txt": "never brought\n" * 100,
    }
    await stage.ann.push(stage.shelf, "topic", files)
    return await fetch(stage, tmp_path)


async def fetch(stage: Stage, tmp_path: Path, program: str | None = None) -> Mirror:
    mirrors = Mirrors(tmp_path / "mirrors", seconds=20, program=program)
    authorization = await stage.host.git_credentials(stage.repository)
    mirror = await mirrors.mirror(stage.shelf.id, stage.host.clone_url(stage.repository), authorization)
    await mirror.fetch(stage.head, stage.pull.base_sha, stage.pull.number)
    return mirror


async def make_commit(
    stage: Stage,
    mirror: Mirror,
    files: Mapping[str, bytes] | None = None,
    *,
    parent: str = "",
    author: Signature = FORGE,
) -> str:
    parent = parent or stage.head
    files = files or {"a.py": CHANGED}
    change = (await load_tree(mirror, parent, files)).replace(files)
    return await mirror.commit_change(parent, change, "Name line three\n", author, AT)


def tree(shelf: Repository, revision: str) -> dict[str, tuple[str, str]]:
    return {entry.path: (entry.mode, entry.sha) for entry in shelf.git.entries(revision, recursive=True)}


# --- making the commit -------------------------------------------------------------------------------------


async def test_a_commit_replaces_files_and_nothing_else(stage: Stage, mirror: Mirror) -> None:
    before, shelf = stage.head, stage.shelf
    files = {"a.py": b"\xff\x00\r\n", "run.sh": b"#!/bin/bash\n", "docs/naïve name.md": b""}
    sha = await make_commit(stage, mirror, files)
    assert await mirror.push(sha, "topic", before) == Pushed()
    was, now = tree(shelf, before), tree(shelf, sha)
    assert {path for path in was if was[path] != now[path]} == {*files, "docs"}
    assert was.keys() == now.keys()
    assert {path: mode for path, (mode, _) in was.items()} == {path: mode for path, (mode, _) in now.items()}
    assert {path: shelf.git.read(sha, path) for path in files} == files


async def test_a_commit_says_who_made_it_and_is_the_same_when_repeated(stage: Stage, mirror: Mirror) -> None:
    sha = await make_commit(stage, mirror)
    assert await make_commit(stage, mirror) == sha
    await mirror.push(sha, "topic", stage.head)
    commit = stage.shelf.git.commit(sha)
    assert (commit.author_name, commit.author_email) == (FORGE.name, FORGE.email)
    assert (commit.committer_name, commit.committer_date, commit.author_date) == (FORGE.name, AT, AT)
    assert commit.message == "Name line three"


async def test_github_knows_the_apps_commit_as_its_own(stage: Stage, mirror: Mirror) -> None:
    author = await stage.host.signature(stage.repository)
    bot = stage.sim.app.bot
    assert author == Signature(name="forge[bot]", email=f"{bot.id}+forge[bot]@users.noreply.127.0.0.1")
    sha = await make_commit(stage, mirror, author=author)
    await mirror.push(sha, "topic", stage.head)
    shown = pull_json.commit(stage.sim.world, stage.shelf, stage.shelf.git.commit(sha))
    assert (shown["author"]["id"], shown["committer"]["id"]) == (bot.id, bot.id)


async def test_blobs_that_are_not_here_are_neither_needed_nor_brought(stage: Stage, mirror: Mirror) -> None:
    await mirror.read(stage.head, ["a.py"])
    requests = len(stage.sim.requests)
    await make_commit(stage, mirror)
    assert len(stage.sim.requests) == requests
    untouched = stage.shelf.git.entry(stage.head, "untouched/big.txt")
    assert untouched is not None
    assert await mirror.sizes([untouched.sha]) == {}


async def test_what_the_repository_says_about_its_files_changes_nothing(stage: Stage, tmp_path: Path) -> None:
    attributes = "* text=auto eol=crlf ident filter=evil working-tree-encoding=UTF-16\n"
    await stage.ann.push(stage.shelf, "topic", {".gitattributes": attributes})
    mirror = await fetch(stage, tmp_path)
    content = b"$Id$\r\nline\n"
    sha = await make_commit(stage, mirror, {"a.py": content})
    await mirror.push(sha, "topic", stage.head)
    assert stage.shelf.git.read(sha, "a.py") == content


# --- pushing it --------------------------------------------------------------------------------------------


async def test_a_push_moves_the_pull_request_and_the_app_is_told_that_it_was_itself(
    stage: Stage, mirror: Mirror
) -> None:
    before = stage.head
    sha = await make_commit(stage, mirror)
    assert await mirror.push(sha, "topic", before) == Pushed()
    assert stage.head == sha
    await stage.sim.settle()
    told = {
        (one.event, one.payload.get("action")): one.payload
        for one in stage.sim.deliveries
        if one.payload.get("after") == sha
    }
    assert told.keys() == {("push", None), ("pull_request", "synchronize")}
    for payload in told.values():
        assert (payload["before"], payload["sender"]["id"]) == (before, stage.sim.app.bot.id)
    assert (told["push", None]["forced"], len(told["push", None]["commits"])) == (False, 1)


async def test_a_push_that_happened_may_be_repeated(stage: Stage, mirror: Mirror) -> None:
    before = stage.head
    sha = await make_commit(stage, mirror)
    assert await mirror.push(sha, "topic", before) == await mirror.push(sha, "topic", before) == Pushed()


async def test_a_push_that_curl_sent_twice_as_its_connection_broke_happened_once(stage: Stage, mirror: Mirror) -> None:
    before = stage.head
    sha = await make_commit(stage, mirror)
    stage.sim.faults.add(kind="reset", path="/git-receive-pack$")
    assert await mirror.push(sha, "topic", before) == Pushed()
    assert stage.pull.head_history[-2:] == [before, sha]


@pytest.mark.parametrize(("kind", "happened"), [("after", True), ("reset", True), ("before", False)])
async def test_a_push_without_an_answer_may_have_happened_and_is_repeated(
    stage: Stage, mirror: Mirror, kind: Kind, happened: bool
) -> None:
    before = stage.head
    sha = await make_commit(stage, mirror)
    path = "/git-receive-pack$"
    stage.sim.faults.add(kind=kind, path=path, times=None)
    stage.sim.faults.add(kind="before", path="/info/refs$", skip=1, times=None)
    with pytest.raises(CodeAccessError) as caught:
        await mirror.push(sha, "topic", before)
    assert caught.value.recovery is Recovery.retry
    assert (stage.shelf.git.branch("topic") == sha) is happened
    stage.sim.faults.clear()
    assert await mirror.push(sha, "topic", before) == Pushed()


async def test_a_branch_that_moved_or_went_is_left_alone(stage: Stage, mirror: Mirror) -> None:
    before = stage.head
    sha = await make_commit(stage, mirror)
    newer = await stage.ann.push(stage.shelf, "topic", {"b.py": "x\n"})
    assert await mirror.push(sha, "topic", before) == BranchMoved()
    assert stage.shelf.git.branch("topic") == newer
    await stage.ann.reset_branch(stage.shelf, "topic", stage.pull.base_sha)
    assert await mirror.push(sha, "topic", before) == BranchMoved()
    await stage.ann.delete_branch(stage.shelf, "topic")
    assert await mirror.push(sha, "topic", before) == BranchMoved()
    assert stage.shelf.git.branch("topic") is None


async def test_a_branch_that_moves_while_it_is_pushed_to_is_left_alone(stage: Stage, mirror: Mirror) -> None:
    before, newer = stage.head, ""

    async def push(info: object, moment: str) -> None:
        nonlocal newer
        if moment == "before" and not newer:
            newer = await stage.ann.push(stage.shelf, "topic", {"b.py": "x\n"})

    sha = await make_commit(stage, mirror)
    stage.sim.on_write(push)
    assert await mirror.push(sha, "topic", before) == BranchMoved()
    assert stage.shelf.git.branch("topic") == newer


async def test_a_new_branch_is_made_only_where_there_is_none(stage: Stage, mirror: Mirror) -> None:
    sha = await make_commit(stage, mirror)
    assert await mirror.push(sha, "forge/1", None) == Pushed()
    assert stage.shelf.git.branch("forge/1") == sha
    other = await make_commit(stage, mirror, {"a.py": b"other\n"})
    assert await mirror.push(other, "forge/1", None) == BranchMoved()


async def test_what_would_overwrite_is_not_pushed(stage: Stage, mirror: Mirror) -> None:
    sha = await make_commit(stage, mirror, parent=stage.pull.base_sha)
    writes = len(stage.sim.writes())
    with pytest.raises(CannotCommit, match="overwrite"):
        await mirror.push(sha, "topic", stage.head)
    for name in ("to pic", "a:refs/heads/main", "", "x..y", "*"):
        with pytest.raises(CannotCommit, match="name of a branch"):
            await mirror.push(sha, name, None)
    assert len(stage.sim.writes()) == writes


async def test_a_protected_branch_and_a_workflow_are_refused_in_githubs_words(stage: Stage, tmp_path: Path) -> None:
    workflow = ".github/workflows/ci.yml"
    await stage.ann.push(stage.shelf, "topic", {workflow: "on: push\n"})
    mirror = await fetch(stage, tmp_path)
    sha = await make_commit(stage, mirror, {workflow: b"on: [push]\n"})
    refused = await mirror.push(sha, "topic", stage.head)
    assert isinstance(refused, PushRejected)
    assert "without 'workflows' permission" in refused.said
    stage.sim.protect(stage.shelf, "topic", ["build"])
    refused = await mirror.push(await make_commit(stage, mirror), "topic", stage.head)
    assert isinstance(refused, PushRejected)
    assert "GH006" in refused.said
    assert stage.shelf.git.branch("topic") == stage.head


async def test_without_the_permission_nothing_is_pushed(stage: Stage, mirror: Mirror) -> None:
    sha = await make_commit(stage, mirror)
    for token in stage.sim.world.tokens.values():
        token.permissions["contents"] = "read"
    with pytest.raises(CodeAccessError, match="did not let Forge push"):
        await mirror.push(sha, "topic", stage.head)


async def test_the_credential_is_on_no_command_line_and_on_no_disk(stage: Stage, tmp_path: Path) -> None:
    log, spy = tmp_path / "argv", tmp_path / "git-spy"
    spy.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\nexec git "$@"\n')
    spy.chmod(0o755)
    mirror = await fetch(stage, tmp_path, str(spy))
    assert await mirror.push(await make_commit(stage, mirror), "topic", stage.head) == Pushed()
    secret = (await stage.host.git_credentials(stage.repository)).removeprefix("Basic ")
    written = log.read_text() + "".join(
        file.read_bytes().decode("latin-1") for file in mirror.path.rglob("*") if file.is_file()
    )
    assert "push" in written
    assert secret not in written
    assert not re.search(r"x-access-token|ghs_", written)


async def test_the_mirror_stays_whole(stage: Stage, mirror: Mirror) -> None:
    await mirror.push(await make_commit(stage, mirror), "topic", stage.head)
    await mirror.fetch(stage.head, stage.pull.base_sha, stage.pull.number)
    change = await mirror.change(stage.pull.base_sha, stage.head)
    assert "a.py" in {file.path for file in change.files}
    refs = (await mirror.git.run("for-each-ref", "--format=%(refname)")).stdout.decode()
    assert refs.split() == ["refs/forge/1/base", "refs/forge/1/head"]
