"""A diff applied to a real commit, of which only the files it changes are read."""

from pathlib import Path

import pytest

from domain.errors import CodeAccessError
from domain.runs.patches import Areas
from tests.unit.patches.building import Git, hunk, new_file
from workspace import git
from workspace.objects import Objects
from workspace.patches import patching
from workspace.patches.refusals import PatchRefused
from workspace.patches.tree import load_tree
from workspace.patches.validation import judge

FILES = {"src/a.py": b"1\n", "src/é.py": b"1\n", "README.md": b"read me\n", "large": b"1\n" * 100}


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    made = Git(tmp_path)
    made.tree(FILES)
    return Objects(git.Git(tmp_path / ".git"))


async def test_a_commit_is_what_a_diff_is_judged_against(objects: Objects) -> None:
    diff = hunk("src/é.py", "@@ -1 +1 @@\n-1\n+2\n") + new_file("new") + new_file("readme.md")
    assert patching.list_paths(diff) == ("src/é.py",)

    tree = await load_tree(objects, "main", patching.list_paths(diff))
    judged = judge(diff, tree, Areas(role="implementer"))

    assert tree.modes == dict.fromkeys(FILES, "100644")
    assert [(each.file, each.constraint) for each in judged.violations] == [("readme.md", "path")]


async def test_a_file_that_is_too_large_is_refused(objects: Objects) -> None:
    diff = hunk("large", "@@ -1,2 +1,2 @@\n-1\n+2\n 1\n")
    tree = await load_tree(objects, "main", patching.list_paths(diff), most_bytes=200)
    with pytest.raises(PatchRefused, match="too large to be changed"):
        patching.parse(diff, tree)


async def test_a_content_that_is_not_here_is_no_empty_file(objects: Objects, tmp_path: Path) -> None:
    blob = Git(tmp_path).run("rev-parse", "main:README.md").stdout.decode().strip()
    Path(tmp_path, ".git", "objects", blob[:2], blob[2:]).unlink()
    with pytest.raises(CodeAccessError, match="could not be read"):
        await load_tree(objects, "main", ["README.md", "large"])


def test_a_path_that_leads_elsewhere_is_not_asked_for() -> None:
    assert patching.list_paths(hunk("../x", "@@ -1 +1 @@\n-1\n+2\n")) == ()
