"""Reads some tests of a repository as they were before a change: those named like what it changes first."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from pathlib import PurePosixPath

from domain.paths import is_source, is_test
from workspace.objects import Code

_MOST = 20
"""Files of tests that are read for each of both questions: by the name of what changed, and any."""
_MOST_NAMES = 10
_ANY = ("**/test*/**", "**/spec/**", "**/__tests__/**", "**/test_*.*", "**/*_test.*", "**/*.test.*", "**/*.spec.*")
_AT_THE_TOP = ("test.*", "tests.*", "**/*Test.*", "**/*Tests.*", "**/*_spec.rb")


TestReader = Callable[[], Awaitable[Mapping[str, bytes]]]
"""Reads some tests of a repository: path → content."""


def build_test_reader(code: Code, changed: Collection[str], tree: str) -> TestReader:
    """What reads the tests that a repository has for these paths, as a commit has them."""
    return partial(_read, code, [path for path in changed if is_source(path) and not is_test(path)], tree)


async def _read(code: Code, changed: Collection[str], tree: str) -> Mapping[str, bytes]:
    names = sorted({PurePosixPath(path).stem for path in changed})[:_MOST_NAMES]
    alike = [f"**/*{name}*.*" for name in names if name.isidentifier()]
    near = await code.read_matching(tree, alike, _MOST * 5)
    others = await code.read_matching(tree, (*_ANY, *_AT_THE_TOP), _MOST)
    found = {path: content for path, content in near.items() if is_test(path)}
    return {**dict([*found.items()][:_MOST]), **others}
