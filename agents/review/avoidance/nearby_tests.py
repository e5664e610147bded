"""Reads some tests of a repository as they were before a change: those named like what it changes first."""

from collections.abc import Mapping
from functools import partial
from pathlib import PurePosixPath

from agents.review.avoidance.detection import TestReader
from domain.paths import is_source, is_test
from domain.review.changes import Change
from workspace.objects import Code

_MOST = 20
"""Files of tests that are read for each of both questions: by the name of what changed, and any."""
_MOST_NAMES = 10
_ANY = ("**/test*/**", "**/spec/**", "**/__tests__/**", "**/test_*.*", "**/*_test.*", "**/*.test.*", "**/*.spec.*")
_AT_THE_TOP = ("test.*", "tests.*", "**/*Test.*", "**/*Tests.*", "**/*_spec.rb")


def build_test_reader(code: Code, change: Change) -> TestReader:
    """What reads the tests of the repository that a change is for, at its merge base."""
    return partial(_read, code, change)


async def _read(code: Code, change: Change) -> Mapping[str, bytes]:
    changed = [file.path for file in change.files if is_source(file.path) and not is_test(file.path)]
    names = sorted({PurePosixPath(path).stem for path in changed})[:_MOST_NAMES]
    alike = [f"**/*{name}*.*" for name in names if name.isidentifier()]
    near = await code.read_matching(change.merge_base, alike, _MOST * 5)
    others = await code.read_matching(change.merge_base, (*_ANY, *_AT_THE_TOP), _MOST)
    found = {path: content for path, content in near.items() if is_test(path) and path not in changed}
    return {**dict([*found.items()][:_MOST]), **others}
