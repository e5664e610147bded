"""Chooses where a reproduction stands: beside a test of the same language, under a name that the repository lacks."""

from collections.abc import Callable, Collection, Iterator
from itertools import takewhile
from pathlib import PurePosixPath

from agents.syntax.languages import find_language
from agents.testing.earlier_tests.reading import Reader
from agents.testing.earlier_tests.running import Runners
from agents.testing.runners.runner import drop_folder, go_to
from domain.runs.testing import Framework
from domain.value import Value

_CALLS = {
    Framework.pytest: "python3 -m pytest",
    Framework.unittest: "python3 -m unittest",
    Framework.node: "node --test",
    Framework.jest: "npx jest",
    Framework.vitest: "npx vitest run",
    Framework.mocha: "npx mocha",
    Framework.ava: "npx ava",
}
"""Runners that run one file, and whose report says which of its tests failed, as people call them."""
_MOST_READ = 40  # files of tests that are looked at
_SCRIPTS = frozenset({"javascript", "typescript", "tsx"})
_NAMELESS = frozenset({"__init__", "index", "mod", "main"})


class TestPlace(Value):
    """Where a reproduction will be, and a test that is there already.

    :param path: nothing is there, before or after the change.
    :param command: what runs it, for people.
    :param example: the path of a test that is there; :param text: its content.
    """

    __test__ = False

    path: str
    framework: Framework
    command: str
    example: str
    text: str


async def find_place(
    reader: Reader, base: str, head: str, about: str, digest: str, allows: Callable[[str], bool]
) -> TestPlace | None:
    """The place of a test about a file; None if no test of its language can be run by itself here.

    :param base: the commit before the change; :param head: the one with it.
    :param about: the path of that file.
    :param digest: hexadecimal, for the name.
    :param allows: whether a model may be shown a file.
    """
    files, before = await reader.list_files(head), await reader.list_files(base)
    runners = await Runners.of(reader, head, files)
    family = _find_family(about)
    tests = [
        path for path in files if family and _find_family(path) == family and allows(path) and _suits(runners, path)
    ]
    nearest = sorted(tests, key=lambda path: (-_measure_nearness(path, about), len(path), path))[:_MOST_READ]
    texts = await reader.read(head, nearest)
    holding = await reader.find_versions({path: texts[path] for path in nearest if path in texts})
    found = [path for path in nearest if holding.get(path)]
    if not found:
        return None
    example = max(found, key=lambda path: (names_file(texts[path], about), -found.index(path)))
    runner = runners.find(example)
    own = (path for path in _list_names(example, digest) if runners.find(path) is runner)
    path = next((path for path in own if path not in files and path not in before), None)
    if runner is None or path is None:
        return None
    command = go_to(runner.folder, f"{_CALLS[runner.framework]} {drop_folder(path, runner.folder)}")
    return TestPlace(path=path, framework=runner.framework, command=command, example=example, text=texts[example])


def names_file(text: str, path: str) -> bool:
    """Whether a text names a file or its folder, as what imports it does."""
    return any(name in text for name in _list_stems(path))


def _suits(runners: Runners, path: str) -> bool:
    runner = runners.find(path)
    return runner is not None and runner.framework in _CALLS


def _find_family(path: str) -> str | None:
    language = find_language(path)
    return "javascript" if language in _SCRIPTS else "python" if language == "python" else None


def _measure_nearness(path: str, about: str) -> int:
    """How much a path says that a test is about a file: its name counts more than its folder."""
    is_named = any(name in path.rpartition("/")[2] for name in _list_stems(about))
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(path.split("/"), about.split("/"), strict=False))
    return 100 * is_named + sum(1 for _ in shared)


def _list_stems(path: str) -> Collection[str]:
    file = PurePosixPath(path)
    stem = file.name.partition(".")[0]
    return [file.parent.name] if stem in _NAMELESS and file.parent.name else [stem]


def _list_names(example: str, digest: str) -> Iterator[str]:
    """Names beside a test that its runner may take, those that look like its own first."""
    file = PurePosixPath(example)
    folder = "" if str(file.parent) == "." else f"{file.parent}/"
    stem, _, kind = file.name.removesuffix(file.suffix).rpartition(".")
    if stem and kind in {"test", "spec"}:
        yield f"{folder}forge_{digest}.{kind}{file.suffix}"
    yield f"{folder}test_forge_{digest}{file.suffix}"
    yield f"{folder}forge_{digest}_test{file.suffix}"
    yield f"{folder}forge_{digest}.test{file.suffix}"
