"""What is known of a repository before anything of it runs: its files, and what its manifests say."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import cast

from agents.testing.test_selection import is_runnable
from domain.paths import is_test
from workspace.diff import is_vendored

MANIFESTS = (
    *("pyproject.toml", "setup.cfg", "tox.ini", "package.json", "go.mod", "Cargo.toml", "Makefile", "pom.xml"),
    *("build.gradle", "build.gradle.kts", "Gemfile", "composer.json"),
)
_SCRIPTS = ("Rakefile",)
_MOST_MANIFESTS = 200  # those nearest to the top
_SAMPLE_FOLDERS = frozenset({"testdata", "fixtures", "__fixtures__"})
_SAMPLES = 20  # files of tests
_LARGEST = 1_000_000  # characters of a manifest that are read


def list_needed(paths: Collection[str]) -> list[str]:
    """The files whose contents tell how tests are run: manifests, scripts, some files of Python tests."""
    there = frozenset(paths)
    tests = sorted(path for path in paths if path.endswith(".py") and is_runnable(path))
    named = [path for path in paths if path.rpartition("/")[2] in {*MANIFESTS, *_SCRIPTS} and is_own(path, there)]
    nearest = sorted(named, key=lambda path: (path.count("/"), path))
    return [*nearest[:_MOST_MANIFESTS], *tests[:_SAMPLES]]


def is_own(path: str, there: Collection[str]) -> bool:
    """Whether a manifest tells of a part of the repository itself, and not of a copy or of a sample in its tests.

    :param there: all paths of the repository.
    """
    return not is_test(path) and not is_vendored(path, there) and _SAMPLE_FOLDERS.isdisjoint(path.split("/"))


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it; the empty one is the top."""
    return not folder or path == folder or path.startswith(f"{folder}/")


class RepositoryFacts:
    """The files of a repository at one commit, or of one of its folders, whose paths are relative to it.

    :param manifests: path → content, of those that :func:`list_needed` names.
    :param folder: relative to the repository; empty at its top.
    :param apart: folders in it that are parts of their own, relative to the repository.
    """

    def __init__(
        self, paths: Collection[str], manifests: Mapping[str, str], folder: str = "", apart: Sequence[str] = ()
    ) -> None:
        self.paths = frozenset(paths)
        self.folder = folder
        self.apart = tuple(apart)
        self._manifests = {path: text[:_LARGEST] for path, text in manifests.items()}

    def below(self, folder: str, apart: Sequence[str] = ()) -> "RepositoryFacts":
        """What is known of one folder of the repository, without others that are apart."""
        if not folder and not apart:
            return self
        start = f"{folder}/" if folder else ""

        def belongs(path: str) -> bool:
            return path.startswith(start) and not any(is_within(path, each) for each in apart)

        paths = [path.removeprefix(start) for path in self.paths if belongs(path)]
        texts = {path.removeprefix(start): text for path, text in self._manifests.items() if belongs(path)}
        return RepositoryFacts(paths, texts, folder, apart)

    def text(self, *names: str) -> str:
        """The content of some manifests, one after the other."""
        return "\n".join(self._manifests.get(name, "") for name in names)

    def find_text(self, suffix: str, pattern: re.Pattern[str]) -> str | None:
        """The first read file of some suffix whose content matches anywhere."""
        found = (path for path, text in self._manifests.items() if path.endswith(suffix) and pattern.search(text))
        return next(found, None)

    def tests(self, *suffixes: str) -> list[str]:
        """The files of tests that end so."""
        return sorted(path for path in self.paths if path.endswith(suffixes) and is_runnable(path))

    def find(self, pattern: re.Pattern[str]) -> list[str]:
        """The files whose path matches anywhere."""
        return sorted(path for path in self.paths if pattern.search(path))

    def has_make_target(self, name: str) -> bool:
        """Whether the Makefile can make it."""
        return re.search(rf"^{name}\s*:(?!=)", self.text("Makefile"), re.MULTILINE) is not None

    @cached_property
    def scripts(self) -> Mapping[str, str]:
        """The scripts of ``package.json``."""
        return _texts(self._package, "scripts")

    @cached_property
    def packages(self) -> frozenset[str]:
        """What ``package.json`` needs, to run or to develop."""
        return frozenset({**_texts(self._package, "dependencies"), **_texts(self._package, "devDependencies")})

    @property
    def has_workspaces(self) -> bool:
        """Whether ``package.json`` or what stands beside it names packages in folders below."""
        return "workspaces" in self._package or not self.paths.isdisjoint({"pnpm-workspace.yaml", "lerna.json"})

    @cached_property
    def _package(self) -> dict[str, object]:
        try:
            value = json.loads(self.text("package.json"))
        except (ValueError, RecursionError):
            return {}
        return cast(dict[str, object], value) if isinstance(value, dict) else {}


def _texts(table: Mapping[str, object], key: str) -> dict[str, str]:
    value = table.get(key)
    items = cast(dict[str, object], value).items() if isinstance(value, dict) else ()
    return {name: text for name, text in items if isinstance(text, str)}
