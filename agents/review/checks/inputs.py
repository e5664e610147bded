"""The input of the checks: the changed text files, of which kind each is, and copies on disk for programs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from domain.paths import escape_unprintable, is_document
from domain.review.changes import Change, ChangeStatus, ContentKind, FileChange, FileVersions
from domain.review.findings import Category, Layer, RawFinding, Severity
from workspace.sandbox.sandbox import Completed, Sandbox, SandboxCommand, tool_path

_TEST_OR_DOCUMENT = re.compile(
    r"(^|/)(tests?|unit_?tests?|[^/]+\.tests?(\.[^/]+)?|testing|testdata|specs?|__tests__|__mocks__|mocks?|fixtures?|examples?|samples?|docs?|cassettes)/"
    r"|(^|/)(test_[^/]*|conftest\.py|tests?\.[^/]+|[^/]*[._-](test|tests|spec|mock|fixture)s?\.[^/]+)$"
    r"|\.(md|mdx|rst|adoc|txt|snap|example|sample|template|tmpl|dist|tpl|j2)$|\.(example|sample|template)\.",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"\.(pyi?|[cm]?[jt]sx?|vue|svelte|go|java|kts?|scala|groovy|gradle|cs|vb|fs|c|cc|cpp|h|hpp|m|rs|rb|php|pl|swift|dart"
    r"|lua|exs?|r|sql)$",
    re.IGNORECASE,
)
_MACHINE_MADE = re.compile(
    r"(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|[^/]+\.lock)$|\.min\.(js|css)$|\.(map|svg|ipynb)$",
    re.IGNORECASE,
)


def is_test_or_document(path: str) -> bool:
    """Whether a file is a test, an example or a document."""
    return _TEST_OR_DOCUMENT.search(path) is not None


def lists_addresses(path: str) -> bool:
    """Whether programs read addresses in a plain text, as pip does those of indexes in its requirements."""
    folders, _, name = path.lower().rpartition("/")
    return name.endswith(".txt") and not is_document(path) and not is_test_or_document(f"{folders}/")


def is_utf8(content: bytes) -> bool:
    """Whether a content is text in UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_code(path: str) -> bool:
    """Whether a file is code, where a value without quotes is an expression."""
    return _CODE.search(path) is not None


def is_machine_made(path: str) -> bool:
    """Whether a program wrote this file: a lock file, minified or generated."""
    return _MACHINE_MADE.search(path) is not None


_LONGEST_PATH, _LONGEST_NAME = 1000, 250
MOST_PRINTED = 8 << 20  # bytes; parsing them takes 50 ms, during which nothing else runs
MOST_TAKEN_IN = 4_000
"""The most findings of one version from one tool; if there are more, Forge says so and asks a person."""
TOO_MANY = f"It found more than {MOST_TAKEN_IN:,} problems; the rest was not weighed."
HEAD, BASE = "head", "base"
_TYPE_COMMENT = re.compile(r"#[ \t]*type:(?![ \t]*ignore\b)([^\n]+)")
_NAME = re.compile(r"\w+")
# From Python 3.14 on these are two kinds of errors; a variable for the error is written in lower case.
_NAMES_ERROR_IN_PYTHON_2 = re.compile(r"^[ \t]*except[ \t]+[\w.]+[ \t]*,[ \t]*[a-z_]\w*[ \t]*:", re.MULTILINE)
_PRINTS_IN_PYTHON_2 = re.compile(
    r"^[ \t]*(?:print[ \t]+(?:>>|[\"'\w])|raise[ \t]+[\w.\[\]()]+[ \t]*,)|\blambda[ \t]*\(", re.MULTILINE
)
_ENCODING = re.compile(rb"coding[:=][ \t]*([-\w.]+)")
_PLAIN = frozenset({"utf-8", "utf8", "ascii", "us-ascii", "latin-1", "latin1", "iso-8859-1", "iso-latin-1"})


def _is_of_python_2(text: str) -> bool:
    return any(each.search(text) for each in (_NAMES_ERROR_IN_PYTHON_2, _PRINTS_IN_PYTHON_2))


@dataclass(frozen=True)
class CheckedFile:
    """One changed text file with its content at head and, where it existed, at the merge base."""

    change: FileChange
    head: bytes
    base: bytes | None

    @property
    def path(self) -> str:
        return self.change.path

    @cached_property
    def head_text(self) -> str:
        return self.head.decode(errors="replace")

    @cached_property
    def head_lines(self) -> list[str]:
        """Lines as git counts them: only a line feed ends one."""
        return self.head_text.split("\n")

    @cached_property
    def base_lines(self) -> list[str]:
        return (self.base or b"").decode(errors="replace").split("\n")

    @cached_property
    def names_in_type_comments(self) -> Mapping[str, frozenset[str]]:
        """For each side the names in comments such as ``# type: List[int]``, which ruff does not look into."""
        return {
            side: frozenset(name for comment in _TYPE_COMMENT.findall(text) for name in _NAME.findall(comment))
            for side, text in self._texts.items()
        }

    @cached_property
    def is_of_python_2(self) -> Mapping[str, bool]:
        """For each side whether it names an error as only Python 2 does, so that its names are others, too."""
        return {side: _NAMES_ERROR_IN_PYTHON_2.search(text) is not None for side, text in self._texts.items()}

    @property
    def is_beyond_python_3(self) -> bool:
        """Whether a file at head that does not parse is written for Python 2."""
        return self.is_python and _is_of_python_2(self.head_text)

    def is_beyond_python_3_at(self, line: int) -> bool:
        """Whether a line at head, from 1, has what only Python 2 reads."""
        return _is_of_python_2("".join(self.head_lines[line - 1 : line]))

    @property
    def _texts(self) -> Mapping[str, str]:
        return {HEAD: self.head_text, BASE: (self.base or b"").decode(errors="replace")}

    @property
    def is_python(self) -> bool:
        """Python source, but not a template of it."""
        return self.path.endswith((".py", ".pyi")) and "{{" not in self.path and b"\0" not in self.head

    @property
    def is_as_python_reads_it(self) -> bool:
        """Whether its first two lines declare no encoding in which Python would read another program (PEP 263)."""
        named = [
            each.decode().lower().replace("_", "-")
            for each in _ENCODING.findall(b"\n".join(self.head.split(b"\n", 2)[:2]))
        ]
        return all(each in _PLAIN or each.startswith("utf-8-") for each in named)


@dataclass(frozen=True)
class ProgramTerms:
    """The terms on which a program checks code.

    :param level: sandbox level.
    :param seconds: how long it may take.
    :param heeding: whether comments in the code that silence it count.
    """

    sandbox: Sandbox
    level: int
    seconds: float
    heeding: bool

    async def run(self, argv: Sequence[str], folder: Path, output: int = MOST_PRINTED) -> Completed:
        """Run one of Forge's own programs.

        :param argv: its name, and its arguments.
        :param output: bytes that it may print at most.
        """
        command = (tool_path(argv[0]), *argv[1:])
        return await self.sandbox.run_tool(
            SandboxCommand(command, folder, seconds=self.seconds, output=output), self.level
        )


@dataclass(frozen=True)
class ToolReport:
    """The report of one tool on both versions.

    :param head: findings at head.
    :param base: findings at the merge base, under the path at head.
    :param unread: paths whose merge base it could not analyse, so that old findings cannot be recognised.
    :param files: how many files it checked.
    :param read: paths whose head it read as a linter of their language; a search for credentials or patterns does not
        count.
    :param problem: what it could not do.
    :param note: what people should know although it is no problem.
    """

    head: tuple[RawFinding, ...] = ()
    base: tuple[RawFinding, ...] = ()
    unread: frozenset[str] = frozenset()
    files: int = 0
    read: frozenset[str] = frozenset()
    problem: str | None = None
    note: str | None = None


def build_security_finding(
    rule: str,
    severity: Severity,
    path: str,
    line: int | None,
    message: str,
    *,
    end_line: int | None = None,
    category: Category = Category.security,
    confidence: float = 0.9,
    help_url: str | None = None,
    mark: str = "",
) -> RawFinding:
    """A finding of layer 2.

    :param end_line: None for a finding on one line.
    """
    return RawFinding(
        rule=rule,
        category=category,
        severity=severity,
        confidence=confidence,
        path=path,
        line=line,
        end_line=line if end_line is None else end_line,
        message=message,
        layer=Layer.security,
        help_url=help_url,
        mark=mark,
    )


def list_checked_files(change: Change, versions: Mapping[str, FileVersions]) -> tuple[CheckedFile, ...]:
    """The changed text files whose content at head is known."""
    return tuple(
        CheckedFile(file, found.head, found.base)
        for file in change.files
        if file.kind is ContentKind.text and file.status is not ChangeStatus.deleted
        if (found := versions.get(file.path)) is not None and found.head is not None
    )


def can_be_written(path: str) -> bool:
    """Whether a path of a repository can be written below a folder of ours, and never outside it."""
    parts = PurePosixPath(path).parts
    return (
        0 < len(path) <= _LONGEST_PATH
        and not path.startswith("/")
        and path == escape_unprintable(path)
        and "\\" not in path
        and all(part not in ("..", ".git") and len(part.encode()) <= _LONGEST_NAME for part in parts)
    )


def write_versions(folder: Path, files: Iterable[CheckedFile], beside: Mapping[str, bytes] | None = None) -> None:
    """Write both versions of files below ``folder/head`` and ``folder/base``, under their path at head.

    :param beside: files that lie in both, by path; they come first.
    A file whose path cannot be written is left out; if a file and a folder clash, the first one stays.
    """
    for side in (HEAD, BASE):
        (folder / side).mkdir(exist_ok=True)
        (folder / side).chmod(0o755)
        for path, content in (beside or {}).items():
            _write(folder / side, path, content)
    for file in files:
        if can_be_written(file.path):
            _write(folder / HEAD, file.path, file.head)
            if file.base is not None:
                _write(folder / BASE, file.path, file.base)


def _write(root: Path, path: str, content: bytes) -> None:
    target = root / path
    try:
        for parent in reversed(target.relative_to(root).parents[:-1]):
            (root / parent).mkdir(mode=0o755, exist_ok=True)
        with target.open("xb") as out:
            out.write(content)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return
