"""A test runner as a repository has it, and the commands that run all of its tests, some files or some tests."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from domain.runs.testing import CommandKind, Framework

ReportFormat = Literal["junit", "jest", "mocha", "node", "rspec", "trx", "go", "cargo", "minitest", "tap"]
_MOST_NAMED = 500  # files or tests on one command line; with more, all are run


class ReportPlace(BaseModel):
    """Where a command says how each test ended.

    :param file: its name in the folder for results; empty if that is what the command prints.
    :param or_printed: whether some versions of the runner cannot write it, and print it.
    """

    model_config = ConfigDict(frozen=True)

    format: ReportFormat = "junit"
    file: str = "junit.xml"
    or_printed: bool = False


JUNIT = ReportPlace()
JOINED = ("sh", "-c", 'exec "$@" 2>&1', "sh")
"""The error output in the order of the other: it says which target runs, and why something is not built or ends."""


class ProjectCommand(BaseModel):
    """A command to run at the top of a checkout, without a shell.

    :param environment: additional variables, as (name, value).
    :param report: what is read of its tests afterwards.
    :param writes_report: whether Forge asked it for a file of its tests; a configured command may write one anyway.
    :param is_configured: it comes from the repository's configuration, and may name tests itself.
    :param results: absolute path of the folder for reports, as the command sees it.
    :param shown: how people would call it, where the words say it at length.
    """

    model_config = ConfigDict(frozen=True)

    kind: CommandKind
    words: tuple[str, ...]
    framework: Framework = Framework.other
    environment: tuple[tuple[str, str], ...] = ()
    report: ReportPlace = JUNIT
    writes_report: bool = False
    is_configured: bool = False
    results: str = ""
    shown: str = ""

    @property
    def line(self) -> str:
        """The command as a shell would take it, for people."""
        return self.shown or shlex.join(self.words)


Naming = Callable[[Sequence[str], Sequence[str]], Sequence[str]]
"""(files, names of tests in them) → the words that follow the command; the names are empty to run whole files."""


def _name_files(files: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    return files


@dataclass(frozen=True)
class Runner:
    """A test runner in one repository.

    :param reason: why it is taken for the repository's, to be read after its name.
    :param collects: matches the paths of the files that it takes tests from.
    :param words: what runs it; ``{results}`` stands for the folder for results.
    :param everything: words that follow to run all tests.
    :param select: words that follow to run some.
    :param can_name: whether it runs single tests by their ids.
    :param is_whole: whether running all of its tests is all that the repository does to test.
    :param before: words of a wrapper of ours, which people are not shown.
    :param unmeasured: what runs it instead where nobody asks what the tests ran; empty if that is the same.
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

    def owns(self, path: str) -> bool:
        """Whether it takes tests from this file."""
        return self.collects.search(path) is not None

    def build(
        self, files: Sequence[str], results: str, names: Sequence[str] = (), *, is_measured: bool = True
    ) -> ProjectCommand:
        """The command for these files, or these tests of them; for all tests if there are too many, or none given.

        :param files: of its own, relative to the repository.
        :param results: absolute path of the folder for reports, as the command sees it.
        :param names: ids of tests in these files as its report gives them; where it cannot name tests, or one of
            these, the files run whole.
        :param is_measured: whether it may measure what the tests ran.
        """
        chosen = [name for name in names if self.can_name and can_name(names)]
        tail = tuple(self.select([*files], chosen)) if files and can_name(files) else self.everything
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
        )


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
