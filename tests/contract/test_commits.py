"""Commits that GitHub makes of Forge's own: the same tree, with its signature."""

from datetime import UTC, datetime

import pytest

from domain.errors import Unprocessable
from domain.github.commits import CommitDraft
from simulator.gitstore import Blob, Commit
from tests.contract.stage import Stage
from workspace import commits
from workspace.git import Git

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
FILES = {"a.py": "x = 1\n", "gone.py": "y\n", "run.sh": Blob(b"#!/bin/sh\n", "100755"), "link": Blob(b"a.py", "120000")}
CHANGES = {
    "a.py": "x = 2\r\n",
    "gone.py": None,
    "run.sh": Blob(b"#!/bin/bash\n", "100755"),
    "link": Blob(b"run.sh", "120000"),
    "ä/ö ü.txt": "ß\n",
    "raw.bin": b"\x00\xff" * 600_000,
}


async def test_a_commit_is_made_anew_with_the_same_files_and_signed(stage: Stage) -> None:
    git = stage.shelf.git
    [base] = git.write("before", [Commit("Before", FILES)], None, "ann <ann@example.com>")
    [made] = git.write("made", [Commit("Made\n\nForge-Run: 1\n", CHANGES)], base, "ann <ann@example.com>")
    draft = await commits.Commits(Git(git.path)).draft_again(made)
    answered = await stage.host.create_commit(stage.repository, draft)
    kept = git.commit(answered.sha)
    assert (answered.tree, answered.is_verified) == (git.commit(made).tree, True)
    assert (kept.parents, kept.message) == ([base], "Made\n\nForge-Run: 1")
    assert kept.author_email == kept.committer_email == stage.sim.app.bot.email


async def test_a_merge_keeps_both_parents(stage: Stage) -> None:
    git = stage.shelf.git
    [base] = git.write("before", [Commit("Before", FILES)], None, "ann <ann@example.com>")
    [ours] = git.write("ours", [Commit("Ours", {"a.py": "x = 3\n"})], base, "ann <ann@example.com>")
    merged = git.commit_tree(git.commit(ours).tree, [base, ours], "Merge", "ann <ann@example.com>", NOON)
    draft = await commits.Commits(Git(git.path)).draft_again(merged)
    assert (draft.files, draft.parents) == ((), (base, ours))
    answered = await stage.host.create_commit(stage.repository, draft)
    assert (answered.tree, git.commit(answered.sha).parents) == (git.commit(ours).tree, [base, ours])


async def test_a_host_that_signs_nothing_says_so(stage: Stage) -> None:
    stage.sim.world.signs_commits = False
    git = stage.shelf.git
    draft = CommitDraft("Same", git.commit(stage.head).tree, (), (stage.head,))
    assert not (await stage.host.create_commit(stage.repository, draft)).is_verified


async def test_what_github_does_not_have_is_refused(stage: Stage) -> None:
    draft = CommitDraft("Same", "0" * 40, (), (stage.head,))
    with pytest.raises(Unprocessable):
        await stage.host.create_commit(stage.repository, draft)


async def test_a_submodule_is_left_to_gits_own_push(stage: Stage) -> None:
    git = stage.shelf.git
    module = {"lib": Blob(stage.head.encode(), "160000")}
    [made] = git.write("module", [Commit("With", module)], stage.head, "ann <ann@example.com>")
    with pytest.raises(commits.CannotCommit):
        await commits.Commits(Git(git.path)).draft_again(made)
