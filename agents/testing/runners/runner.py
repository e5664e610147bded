"""A test runner as a repository has it, the commands that run its tests, and the manifests that tell of it."""

import json
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast

from agents.testing.test_selection import is_runnable
from domain.paths import is_test
from domain.runs.testing import LONGEST_ID, CommandKind, Framework, TestCase
from domain.value import Value
from workspace.diff import is_vendored

MANIFESTS = (
    *("pyproject.toml", "setup.cfg", "tox.ini", "package.json", "go.mod", "Cargo.toml", "Makefile", "pom.xml"),
    *("build.gradle", "build.gradle.kts", "Gemfile", "composer.json", "pytest.ini", ".pytest.ini"),
)
_SCRIPTS = ("Rakefile",)
_MOST_MANIFESTS = 200  # those nearest to the top
_SAMPLE_FOLDERS = frozenset({"testdata", "fixtures", "__fixtures__"})
_SAMPLES = 20  # files of tests
_LARGEST = 1_000_000  # characters of a manifest that are read

ReportFormat = Literal["junit", "jest", "mocha", "node", "rspec", "trx", "go", "cargo", "minitest", "tap", "ava"]
_MOST_NAMED = 500  # files or tests on one command line; with more, all are run


class ReportPlace(Value):
    """Where a command says how each test ended.

    :param file: its name in the folder for results; empty if that is what the command prints.
    :param or_printed: whether some versions of the runner cannot write it, and print it.
    """

    format: ReportFormat = "junit"
    file: str = "junit.xml"
    or_printed: bool = False


JUNIT = ReportPlace()
JOINED = ("sh", "-c", 'exec "$@" 2>&1', "sh")
"""The error output in the order of the other: it says which target runs, and why something is not built or ends."""


class ProjectCommand(Value):
    """A command to run in a checkout, without a shell.

    :param environment: additional variables, as (name, value).
    :param report: what is read of its tests afterwards.
    :param writes_report: whether Forge asked it for a file of its tests; a configured command may write one anyway.
    :param is_configured: it comes from the repository's configuration, and may name tests itself.
    :param results: absolute path of the folder for reports, as the command sees it.
    :param shown: how people would call it, where the words say it at length.
    :param folder: in which it runs, relative to the checkout; empty at its top.
    """

    kind: CommandKind
    words: tuple[str, ...]
    framework: Framework = Framework.other
    environment: tuple[tuple[str, str], ...] = ()
    report: ReportPlace = JUNIT
    writes_report: bool = False
    is_configured: bool = False
    results: str = ""
    shown: str = ""
    folder: str = ""

    @property
    def line(self) -> str:
        """The command as a shell would take it at the top, for people."""
        return go_to(self.folder, self.shown or shlex.join(self.words))


def go_to(folder: str, line: str) -> str:
    """A line for a shell that runs another in a folder of the repository."""
    return f"cd {shlex.quote(folder)} && {line}" if folder else line


Naming = Callable[[Sequence[str], Sequence[str]], Sequence[str]]
"""(files, names of tests in them) → the words that follow the command; the names are empty to run whole files."""


def _name_files(files: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    return files


@dataclass(frozen=True)
class Runner:
    """A test runner in one repository, or in one folder of it; every path that it is given is the repository's.

    :param reason: why it is taken for the repository's, to be read after its name.
    :param collects: matches the paths of the files that it takes tests from, relative to its folder.
    :param words: what runs it; ``{results}`` stands for the folder for results.
    :param everything: words that follow to run all tests.
    :param select: words that follow to run some.
    :param can_name: whether it runs single tests by their ids.
    :param is_whole: whether running all of its tests is all that the repository does to test.
    :param before: words of a wrapper of ours, which people are not shown.
    :param unmeasured: what runs it instead where nobody asks what the tests ran; empty if that is the same.
    :param left_out: matches the paths of files that the repository keeps from it, relative to its folder.
    :param folder: where it runs, relative to the repository; empty at its top.
    :param apart: folders below, which it leaves to others.
    """

    framework: Framework
    reason: str
    collects: re.Pattern[str]
    words: tuple[str, ...]
    report: ReportPlace = JUNIT
    environment: tuple[tuple[str, str], ...] = ()
    everything: tuple[str, ...] = ()
    select: Naming = _name_files
    can_name: bool = True
    is_whole: bool = True
    before: tuple[str, ...] = ()
    shown: str = ""
    unmeasured: tuple[str, ...] = ()
    left_out: re.Pattern[str] | None = None
    folder: str = ""
    apart: tuple[str, ...] = ()

    def owns(self, path: str) -> bool:
        """Whether it takes tests from this file."""
        return self._collects(path) and not self.leaves_out(path)

    def leaves_out(self, path: str) -> bool:
        """Whether the repository keeps this file from it, in which it would find tests."""
        own = drop_folder(path, self.folder)
        return self.left_out is not None and self._collects(path) and self.left_out.search(own) is not None

    def _collects(self, path: str) -> bool:
        is_here = is_within(path, self.folder) and not any(is_within(path, each) for each in self.apart)
        return is_here and self.collects.search(drop_folder(path, self.folder)) is not None

    def build(
        self, files: Sequence[str], results: str, names: Sequence[str] = (), *, is_measured: bool = True
    ) -> ProjectCommand:
        """The command for these files, or these tests of them; for all tests if there are too many, or none given.

        :param files: of its own.
        :param results: absolute path of the folder for reports, as the command sees it.
        :param names: ids of tests in these files as its report gives them; where it cannot name tests, or one of
            these, the files run whole.
        :param is_measured: whether it may measure what the tests ran.
        """
        files = [drop_folder(path, self.folder) for path in files]
        names = [drop_folder(name, self.folder) for name in names]
        chosen = names if self.can_name and can_name(names) else []
        tail = tuple(self.select(files, chosen)) if files and can_name(files) else self.everything
        words = (*(self.words if is_measured else self.unmeasured or self.words), *tail)
        return ProjectCommand(
            kind="test",
            words=tuple(word.replace("{results}", results) for word in (*self.before, *words)),
            framework=self.framework,
            environment=tuple((name, value.replace("{results}", results)) for name, value in self.environment),
            report=self.report,
            writes_report=bool(self.report.file),
            results=results,
            shown=shlex.join((*shlex.split(self.shown), *tail)) if self.shown else "",
            folder=self.folder,
        )


def add_folder(case: TestCase, folder: str) -> TestCase:
    """A test that ran in a folder, as it is called at the top: by the whole path of its file."""
    if not folder or case.path is None or is_within(case.path, folder):
        return case
    path, start = f"{folder}/{case.path}", f"{case.path}::"
    rest = case.id.removeprefix(start) if case.id.startswith(start) else ""
    whole = {case.path: path, _to_module(case.path): _to_module(path)}.get(rest, rest)
    name = f"{path}::{whole}" if rest else path if case.id == case.path else case.id
    return case.model_copy(update={"path": path, "id": name[:LONGEST_ID]})


def drop_folder(name: str, folder: str) -> str:
    """The path of a file, or the id of a test in it, as it is called in a folder."""
    if not folder:
        return name
    path, mark, rest = name.removeprefix(f"{folder}/").partition("::")
    is_whole = rest in {f"{folder}/{path}", _to_module(f"{folder}/{path}")}
    return f"{path}{mark}{rest[len(folder) + 1 :] if is_whole else rest}"


def _to_module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def can_name(names: Sequence[str]) -> bool:
    """Whether these can follow a command, and none is read as something else or was cut."""
    return len(names) <= _MOST_NAMED and not any(name.startswith(("-", "@")) or "…" in name for name in names)


def strip_path(name: str) -> str:
    """The part of an id behind the path of its file."""
    return name.partition("::")[2] or name


def match_names(names: Sequence[str]) -> str:
    """A regular expression for exactly these texts, whatever white space is between their words."""
    return "^({})$".format("|".join(r"\s+".join(map(_escape, name.split())) for name in names))


def _escape(word: str) -> str:
    """As both JavaScript and RE2 read it; :func:`re.escape` also escapes what they do not let be escaped."""
    return re.sub(r"[\\^$.*+?()\[\]{}|/]", lambda match: "\\" + match[0], word)


def list_needed(paths: Collection[str]) -> list[str]:
    """The files whose contents tell how tests are run: manifests, scripts, some files of Python tests."""
    there = frozenset(paths)
    tests = sorted(path for path in paths if path.endswith(".py") and is_runnable(path))
    named = [
        path
        for path in paths
        if (name := path.rpartition("/")[2]) == "conftest.py"
        or (name in {*MANIFESTS, *_SCRIPTS} and is_own(path, there))
    ]
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
