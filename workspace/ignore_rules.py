"""Asks git what a commit's own ``.gitignore`` files ignore, wherever the files in question are.

git never looks at those files: it gets their paths, and an own folder that holds nothing but the commit's rules.
"""

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from workspace.checkout import make_repository, write_files
from workspace.git import Git
from workspace.temporary import temporary_folder

RULES = ".gitignore"
# What tools leave behind, for repositories that do not say so themselves; their own rules come first.
_DROPPINGS = """
__pycache__/
*.pyc
.pytest_cache/
.mypy_cache/
.ruff_cache/
node_modules/
.venv/
*.egg-info/
.aider*
"""


class IgnoreRules:
    """The rules of one commit.

    :param git: for a repository of our own.
    :param folder: with the rules and nothing else.
    """

    def __init__(self, git: Git, folder: Path) -> None:
        self._git = git
        self._folder = folder

    async def select_ignored(self, paths: Collection[str]) -> set[str]:
        """Those of the paths that are ignored, if they are not committed.

        :param paths: of files, and of folders with a slash at the end.
        :raises CodeAccessError: the rules take too long.
        """
        if not paths:
            return set()
        # git cannot be told to take all paths literally here; none that begins like this has a special meaning.
        asked = b"".join(b"./%b\0" % path.encode("utf-8", "surrogateescape") for path in paths)
        environment = {"GIT_WORK_TREE": str(self._folder), "GIT_LITERAL_PATHSPECS": "0"}
        done = await self._git.run(
            *("check-ignore", "--no-index", "-z", "--stdin"),
            stdin=asked,
            expect=(0, 1),
            environment=environment,
            cwd=self._folder,
        )
        return {path.decode("utf-8", "surrogateescape").removeprefix("./") for path in done.stdout.split(b"\0")[:-1]}


@asynccontextmanager
async def open_ignore_rules(git: Git, commit: str, files: Collection[str]) -> AsyncGenerator[IgnoreRules]:
    """The rules of a commit.

    :param git: for the repository, which has the blobs of the rules.
    :param files: the paths of the regular files with rules.
    :raises CodeAccessError: git cannot write them.
    """
    with temporary_folder("rules") as place:
        folder, own = place / "files", place / "git"
        folder.mkdir()
        own.mkdir()
        if files:
            await write_files(git, commit, folder, files)
        ours = await make_repository(own, git, [str(folder)])
        (own / "info" / "exclude").write_text(_DROPPINGS)
        yield IgnoreRules(ours, folder)
