"""A test runner as a repository has it, and the commands that run all of its tests, some files or some tests."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from agents.testing.runners.facts import is_within
from domain.runs.testing import LONGEST_ID, CommandKind, Framework, TestCase
from domain.value import Value

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
    folder: str = ""
    apart: tuple[str, ...] = ()

    def owns(self, path: str) -> bool:
        """Whether it takes tests from this file."""
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
