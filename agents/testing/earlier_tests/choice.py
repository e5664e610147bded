"""Tells the side of the tests from that of the program, and chooses the earlier tests of a change.

These are the tests that it touches, and those that use what it touches beside them.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from domain.paths import holds_tests, is_source, is_test, is_test_data

_SHARED = re.compile(
    r"(^|/)(conftest\.py|__snapshots__/|__fixtures__/|__mocks__/|testdata/|fixtures?/|test[-_]?(utils?|helpers?|support)\b)"
    r"|\.snap$|(^|/)(spec|rails|test)_helper\.rb$",
    re.IGNORECASE,
)
_SETTINGS = re.compile(
    r"(^|/)(\.?pytest\.ini|tox\.ini|(jest|vitest|karma|ava|playwright)\.(config|setup)[^/]*|\.mocharc[^/]*|\.tapeignore|\.jasmine[^/]*"
    r"|phpunit\.xml(\.dist)?|\.rspec|\.coveragerc|testng\.xml|[^/]*\.runsettings|nextest\.toml)$"
)
_OF_TESTS = re.compile(
    r"(^|/)([^/]*[.-]?Tests?|[tT]|specs|e2e)/|(^|/)[^/]+(Tests?|Spec|IT|TestCase)\.(java|kt|cs|php|scala|swift)$|\.bats$"
    r"|(^|/)run[-_]?tests?(\.(sh|bash|py|rb|pl))?$"
)
_SCRIPTS = re.compile(
    r"(^|/)(GNUmakefile|[Mm]akefile|[^/]+\.mk|[Jj]ustfile|Taskfile\.ya?ml|noxfile\.py|pom\.xml|build\.gradle(\.kts)?|Rakefile"
    r"|\.gitlab-ci\.yml|\.travis\.yml|appveyor\.yml|azure-pipelines\.yml|Jenkinsfile)$"
    r"|^\.github/workflows/[^/]+\.ya?ml$|^\.circleci/config\.yml$"
)
_MIXED = frozenset({"pyproject.toml", "setup.cfg", "package.json", "Cargo.toml"})
_DOCUMENT = re.compile(r"\.(md|rst|adoc)$", re.IGNORECASE)


Entry = tuple[str, str]
"""The mode and the blob of a file, as git names them."""


@dataclass(frozen=True)
class OverlayChoice:
    """What is laid over the new code, and which files of it are run.

    :param overlay: path → the file as it was before; None if it was not there.
    :param touched: files of tests that the change touches, the most telling first.
    :param shared: what else of the tests' side it touches, without what it added.
    """

    overlay: Mapping[str, Entry | None]
    touched: tuple[str, ...]
    shared: tuple[str, ...]


def choose(base: Mapping[str, Entry], head: Mapping[str, Entry], holds_tests: Callable[[str], bool]) -> OverlayChoice:
    """The choice for two commits.

    :param base: path → file, of everything before the change; :param head: after it.
    :param holds_tests: whether a runner collects tests from a file of this path.
    """
    differing = sorted(path for path in {*base, *head} if base.get(path) != head.get(path) and is_of_tests(path))
    before = [path for path in differing if path in base]
    touched = [path for path in before if holds_tests(path)]
    touched.sort(key=lambda path: (path in head, path))  # deleted ones tell most
    shared = tuple(path for path in before if path not in set(touched))
    added = tuple(path for path in differing if path not in base and (not holds_tests(path) or _is_of_package(path)))
    return OverlayChoice({path: base.get(path) for path in differing}, tuple(touched), (*shared, *added))


def find_unknown(choice: OverlayChoice, is_known: Callable[[str], bool], *, has_runner: bool) -> tuple[str, ...]:
    """The files that are tests by their name or folder and that no runner takes.

    :param is_known: whether a runner takes tests from a file of this path.
    :param has_runner: whether one takes any file: then only names tell tests from what else lies beside them.
    """
    before = [path for path, entry in choice.overlay.items() if entry is not None and not is_known(path)]
    tests = [path for path in before if not (is_setting(path) or is_shared(path))]
    return tuple(path for path in tests if not has_runner or (holds_tests(path) and is_source(path)))


def find_users(shared: Collection[str], texts: Mapping[str, str]) -> list[str]:
    """The files of tests that use what tests share: they name it, or it counts for all in its folder.

    It also is among the data of those that name a folder around it, and of those that name them.

    :param texts: path → content, of files of tests and of their helpers before the change.
    """
    folders = {folder for each in shared for folder in PurePosixPath(each).parents if folder.name}
    readers = [path for path, text in texts.items() if any(_reads(path, text, each) for each in folders)]
    used = (*shared, *readers)
    return [path for path, text in texts.items() if path in readers or any(_uses(path, text, each) for each in used)]


def _reads(path: str, text: str, folder: PurePosixPath) -> bool:
    is_around = folder in PurePosixPath(path).parents
    return not is_around and re.search(rf"[\"'/]{re.escape(folder.name)}[\"'/]", text) is not None


def _uses(path: str, text: str, shared: str) -> bool:
    file = PurePosixPath(shared)
    if _is_of_package(shared):
        return PurePosixPath(path).parent == file.parent and path.endswith("_test.go")
    if file.parent.name == "__snapshots__" and is_source(file.stem):
        return path == str(file.parent.parent / file.stem)  # that of one file, as jest and vitest keep it
    folder = str(file.parent)
    name = file.parent.name if file.stem in {"mod", "index"} else file.stem.split(".")[0]
    if name and name in text:
        return True
    holds_for_folder = is_setting(shared) or file.name in _FOR_FOLDER or "config" in file.name
    if not (holds_for_folder or file.suffix in {".ini", ".toml", ".xml", ".snap"}):
        return False
    above = "." if folder == ".config" else folder.removesuffix("/__snapshots__").removesuffix("/support")
    return above == "." or path.startswith(f"{above}/")


def _is_of_package(path: str) -> bool:
    """Whether a file of tests is built into one program with all others of its folder."""
    return path.endswith("_test.go")


_FOR_FOLDER = frozenset(
    {"conftest.py", "__init__.py", "spec_helper.rb", "rails_helper.rb", "test_helper.rb", "package.json", "setup.cfg"}
)


def is_setting(path: str) -> bool:
    """Whether only runners of tests read this file, to know what and how to run."""
    return _SETTINGS.search(path) is not None


def is_shared(path: str) -> bool:
    """Whether a file of the tests' side is what tests share, by its name or folder."""
    return _SHARED.search(path) is not None


def is_script(path: str) -> bool:
    """Whether a file says how the program is built and which of its tests run, so that it may leave some out."""
    return _SCRIPTS.search(path) is not None


def is_of_tests(path: str) -> bool:
    """Whether a file is a test, or something that only tests need: a helper, fixture, snapshot or setting.

    A document is one where tests read it, and not people: among their data.
    """
    if _DOCUMENT.search(path) and not is_test_data(path):
        return False
    return is_test(path) or any(each.search(path) for each in (_SHARED, _OF_TESTS)) or is_setting(path)


def is_mixed(path: str) -> bool:
    """Whether a file of the program may hold settings of test runners, or tests of its own."""
    return path.rpartition("/")[2] in _MIXED or path.endswith(".rs")
