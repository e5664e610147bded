"""Which side of a repository a file is on: that of its program, or that of its tests with all they need."""

import re

from domain.paths import is_test

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
_DATA_FOLDER = re.compile(r"(^|/)(tests?|specs?|__tests__|testdata|(__)?fixtures?(__)?)/", re.IGNORECASE)
_FOR_PEOPLE = re.compile(
    r"(^|/)docs?/|(^|/)(readme|contributing|changelog|changes|history|licen[cs]e|todo|notes|authors)[^/]*$",
    re.IGNORECASE,
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
    if _DOCUMENT.search(path) and (_FOR_PEOPLE.search(path) or not _DATA_FOLDER.search(path)):
        return False
    return is_test(path) or any(each.search(path) for each in (_SHARED, _OF_TESTS)) or is_setting(path)


def is_mixed(path: str) -> bool:
    """Whether a file of the program may hold settings of test runners, or tests of its own."""
    return path.rpartition("/")[2] in _MIXED or path.endswith(".rs")
