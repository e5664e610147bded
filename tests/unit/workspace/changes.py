"""Changes of repositories as the tests ask about them."""

import os
import subprocess
from pathlib import Path

from domain.review.changes import Change
from tests.unit.workspace.remotes import Author, Files
from workspace.diff import DiffLimits
from workspace.git import Git
from workspace.local_repository import open_local
from workspace.objects import Objects


async def compare(author: Author, before: Files, after: Files, limits: DiffLimits | None = None) -> Change:
    base = author.commit(before)
    return await between(author, base, author.commit(after), limits)


async def between(author: Author, base: str, head: str, limits: DiffLimits | None = None) -> Change:
    return await Objects(Git(author.tree / ".git")).change(base, head, limits or DiffLimits())


def reasons(change: Change) -> dict[str, str]:
    return {item.path: item.reason for item in change.not_looked_at}


async def diff_tree(path: Path, base: str = "HEAD") -> Change:
    async with open_local(path, base) as code:
        return await code.change(code.merge_base_sha, code.head)


def content(change: Change) -> dict[str, list[str]]:
    return {file.path: list(file.added_lines.values()) for file in change.files}


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, check=False)
