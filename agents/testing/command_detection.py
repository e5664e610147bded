"""Detects the commands that build, check and test a repository, from its files and its configuration.

The configuration wins. Whatever else is detected is reported with the reason.
"""

import json
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import cast

from pydantic import BaseModel, ConfigDict

from agents.testing.test_selection import Selection, is_runnable
from domain.config.configuration import Commands
from domain.runs.testing import CommandKind, CommandResult, Framework, TestCase

RESULTS = "FORGE_RESULTS"
"""The environment variable that names the folder for ``junit.xml`` and ``coverage.xml``."""

MANIFESTS = ("pyproject.toml", "setup.cfg", "tox.ini", "package.json", "go.mod", "Cargo.toml", "Makefile")
_MOST_NAMED = 500  # tests on one command line; with more, all are run
_LARGEST = 1_000_000  # characters of a manifest that are read


class ProjectCommand(BaseModel):
    """A command to run at the top of a checkout, without a shell.

    :param environment: additional variables, as (name, value).
    :param writes_report: whether Forge asked it for ``junit.xml``; a configured command may write it anyway.
    :param is_configured: it comes from the repository's configuration, and may name tests itself.
    """

    model_config = ConfigDict(frozen=True)

    kind: CommandKind
    words: tuple[str, ...]
    framework: Framework = Framework.other
    environment: tuple[tuple[str, str], ...] = ()
    writes_report: bool = False
    is_configured: bool = False

    @property
    def line(self) -> str:
        """The command as a shell would take it, for people."""
        return shlex.join(self.words)


class DetectedCommands(BaseModel):
    """The commands to run.

    :param reason: what was found and why, one sentence.
    """

    model_config = ConfigDict(frozen=True)

    commands: tuple[ProjectCommand, ...] = ()
    reason: str

    @property
    def setups(self) -> tuple[ProjectCommand, ...]:
        """The commands that set up a checkout."""
        return tuple(command for command in self.commands if command.kind == "setup")

    @property
    def tests(self) -> tuple[ProjectCommand, ...]:
        """The commands that run tests; none where there are no tests."""
        return tuple(command for command in self.commands if command.kind == "test")

    def without(self, kinds: Collection[CommandKind]) -> "DetectedCommands":
        """The same without the commands of some kinds."""
        return self.model_copy(update={"commands": tuple(each for each in self.commands if each.kind not in kinds)})


def detect(
    paths: Collection[str], manifests: Mapping[str, str], configured: Commands, results: str
) -> DetectedCommands:
    """The commands in this order: set up, build, lint, check types, test.

    :param paths: the files of the repository.
    :param manifests: path → content, of the existing :data:`MANIFESTS`.
    :param results: absolute path of the folder for reports, as the commands see it.
    """
    known = _RepositoryFacts(frozenset(paths), {path: text[:_LARGEST] for path, text in manifests.items()}, results)
    found: list[ProjectCommand] = []
    reasons: list[str] = []
    for kind, line in _list_configured(configured):
        found += _build_configured(kind, line, known)
        reasons.append(f"`commands.{kind}` is configured")
    given = {command.kind for command in found}
    for detected, why in (_detect_python(known), _detect_node(known), _detect_go(known), _detect_cargo(known)):
        wanted = [
            each for each in detected if each.kind not in given and not ("test" in given and each.kind == "coverage")
        ]
        if not configured.network:  # a set-up would need it
            wanted = [each for each in wanted if each.kind != "setup"]
        found += wanted
        reasons += [why] if wanted else []
    if not any(command.kind == "test" for command in found) and known.has_make_target("test"):
        found.append(ProjectCommand(kind="test", words=("make", "test")))
        reasons.append("the Makefile has a target `test`")
    found.sort(key=lambda command: _ORDER.index(command.kind))
    if not any(command.kind == "test" for command in found):
        reasons.append("no tests were found")
    said = "; ".join(reasons)
    return DetectedCommands(commands=tuple(found), reason=f"{said[:1].upper()}{said[1:]}.")


_ORDER: tuple[CommandKind, ...] = ("setup", "build", "lint", "typecheck", "test", "coverage", "retry")


def _list_configured(commands: Commands) -> list[tuple[CommandKind, str]]:
    lines: list[tuple[CommandKind, str | None]] = [
        ("setup", commands.setup),
        ("build", commands.build),
        ("lint", commands.lint),
        ("typecheck", commands.typecheck),
        ("test", commands.test),
    ]
    return [(kind, line) for kind, line in lines if line is not None]


class _RepositoryFacts:
    """What is known of a repository."""

    def __init__(self, paths: frozenset[str], manifests: Mapping[str, str], results: str) -> None:
        self.paths = paths
        self.results = results.rstrip("/")
        self._manifests = manifests

    def text(self, *names: str) -> str:
        return "\n".join(self._manifests.get(name, "") for name in names)

    def tests(self, *suffixes: str) -> list[str]:
        return sorted(path for path in self.paths if path.endswith(suffixes) and is_runnable(path))

    def has_make_target(self, name: str) -> bool:
        return re.search(rf"^{name}\s*:(?!=)", self.text("Makefile"), re.MULTILINE) is not None


# --- Python ------------------------------------------------------------------------------------------------

_PYTHON = ("pyproject.toml", "setup.cfg", "tox.ini")
_IS_PYTHON = re.compile(r"python3?(\.\d{1,2})?")
_PYTEST_SECTION = re.compile(r"^\[(tool\.pytest\b|tool:pytest\]|pytest\])", re.MULTILINE)


def _detect_python(known: _RepositoryFacts) -> tuple[list[ProjectCommand], str]:
    declared = known.text(*_PYTHON)
    found: list[ProjectCommand] = []
    why = ""
    tests = known.tests(".py")
    if tests:
        sign = _explain_pytest(known, declared)
        if sign:
            found += _build_pytest(known, declared)
            why = f"pytest, because {sign}"
        else:
            found.append(ProjectCommand(kind="test", words=("python3", "-m", "unittest"), framework=Framework.unittest))
            why = f"unittest, because there are Python tests (as {tests[0]}) and no sign of pytest"
    if re.search(r"^\[tool\.ruff\b", declared, re.MULTILINE) or known.paths & {"ruff.toml", ".ruff.toml"}:
        found.append(ProjectCommand(kind="lint", words=("ruff", "check", ".")))
        why = why or "ruff is configured"
    if re.search(r"^\[(tool\.)?mypy\b", declared, re.MULTILINE) or known.paths & {"mypy.ini", ".mypy.ini"}:
        found.append(ProjectCommand(kind="typecheck", words=("python3", "-m", "mypy", ".")))
        why = why or "mypy is configured"
    elif re.search(r"^\[tool\.pyright\b", declared, re.MULTILINE) or "pyrightconfig.json" in known.paths:
        found.append(ProjectCommand(kind="typecheck", words=("pyright",)))
        why = why or "pyright is configured"
    return found, why


def _explain_pytest(known: _RepositoryFacts, declared: str) -> str:
    if _PYTEST_SECTION.search(declared):
        return "it is configured"
    if named := next((path for path in ("pytest.ini", ".pytest.ini") if path in known.paths), None):
        return f"there is a `{named}`"
    if re.search(r"\bpytest\b", declared):
        return "a manifest names it"
    return "there is a `conftest.py`" if any(p.rpartition("/")[2] == "conftest.py" for p in known.paths) else ""


def _build_pytest(known: _RepositoryFacts, declared: str) -> list[ProjectCommand]:
    """pytest with reports, and with coverage by its plug-in or by coverage.py if the repository uses one of them."""
    if "pytest-cov" not in declared and re.search(r"\bcoverage\b", declared):
        start = ("python3", "-m", "coverage", "run", "--branch", "-m", "pytest")
        written = ("python3", "-m", "coverage", "xml", "-o", f"{known.results}/coverage.xml")
        return [_add_reports(start, known), ProjectCommand(kind="coverage", words=written)]
    return [_add_reports(("python3", "-m", "pytest"), known)]


def _add_reports(words: Sequence[str], known: _RepositoryFacts) -> ProjectCommand:
    """pytest's command line with the options for reports; only the older family names file and line.

    A file that cannot be collected does not keep the others from being run.
    """
    report = ("-o", "junit_family=xunit1", f"--junit-xml={known.results}/junit.xml", "--continue-on-collection-errors")
    measure: tuple[str, ...] = ()
    if "pytest-cov" in known.text(*_PYTHON):
        chosen = any(word == "--cov" or word.startswith("--cov=") for word in words)
        measure = (*(() if chosen else ("--cov",)), "--cov-branch", f"--cov-report=xml:{known.results}/coverage.xml")
    return ProjectCommand(
        kind="test", words=(*words, *report, *measure), framework=Framework.pytest, writes_report=True
    )


def _build_configured(kind: CommandKind, line: str, known: _RepositoryFacts) -> list[ProjectCommand]:
    """The command as it is configured; pytest is also asked for its reports."""
    words = tuple(shlex.split(line))
    if kind == "test" and _is_pytest(words):
        return [_add_reports(words, known).model_copy(update={"is_configured": True})]
    return [ProjectCommand(kind=kind, words=words, is_configured=True)]


def _is_pytest(words: Sequence[str]) -> bool:
    program = words[0].rpartition("/")[2]
    is_module = _IS_PYTHON.fullmatch(program) is not None and tuple(words[1:3]) == ("-m", "pytest")
    return (program in {"pytest", "py.test"} or is_module) and "--" not in words


# --- other languages ---------------------------------------------------------------------------------------


def _detect_node(known: _RepositoryFacts) -> tuple[list[ProjectCommand], str]:
    manifest = _table(known.text("package.json"))
    scripts = _texts(manifest, "scripts")
    test = scripts.get("test", "")
    needed = {**_texts(manifest, "dependencies"), **_texts(manifest, "devDependencies")}
    found: list[ProjectCommand] = []
    if "package-lock.json" in known.paths:
        found.append(ProjectCommand(kind="setup", words=("npm", "ci")))
    for kind, names in _SCRIPTS:
        if name := next((name for name in names if name in scripts), None):
            found.append(ProjectCommand(kind=kind, words=("npm", "run", name)))
    if not test or "no test specified" in test:  # what `npm init` writes
        return found, "`package.json` has scripts" if found else ""
    command = _build_node_tests(test, needed, known.results)
    found.append(command)
    return found, f"`package.json` has a script `test` ({command.framework.value})"


_SCRIPTS: tuple[tuple[CommandKind, tuple[str, ...]], ...] = (
    ("build", ("build",)),
    ("lint", ("lint",)),
    ("typecheck", ("typecheck", "type-check")),
)


def _build_node_tests(script: str, needed: Collection[str], results: str) -> ProjectCommand:
    """The runner itself if the script does nothing else, because only then it can be given arguments."""
    report = f"{results}/junit.xml"
    match script.split():
        case ["vitest"] | ["vitest", "run"]:
            words = ("npx", "--no-install", "vitest", "run")
            reporters = ("--reporter=default", "--reporter=junit", f"--outputFile.junit={report}")
            return ProjectCommand(
                kind="test", words=(*words, *reporters), framework=Framework.vitest, writes_report=True
            )
        case ["jest"] | ["jest", "--ci"] if "jest-junit" in needed:
            words = ("npx", "--no-install", "jest", "--ci", "--reporters=default", "--reporters=jest-junit")
            environment = (("JEST_JUNIT_OUTPUT_FILE", report), ("JEST_JUNIT_ADD_FILE_ATTRIBUTE", "true"))
            return ProjectCommand(
                kind="test", words=words, framework=Framework.jest, environment=environment, writes_report=True
            )
        case ["jest"] | ["jest", "--ci"]:
            return ProjectCommand(kind="test", words=("npx", "--no-install", "jest", "--ci"), framework=Framework.jest)
        case ["node", "--test"]:
            words = (
                *("node", "--test", "--test-reporter=spec", "--test-reporter-destination=stdout"),
                *("--test-reporter=junit", f"--test-reporter-destination={report}"),
            )
            return ProjectCommand(kind="test", words=words, framework=Framework.node, writes_report=True)
        case _:
            return ProjectCommand(kind="test", words=("npm", "test"))


def _detect_go(known: _RepositoryFacts) -> tuple[list[ProjectCommand], str]:
    if not known.text("go.mod"):
        return [], ""
    found = [
        ProjectCommand(kind="setup", words=("go", "mod", "download")),
        ProjectCommand(kind="build", words=("go", "build", "./...")),
        ProjectCommand(kind="lint", words=("go", "vet", "./...")),
    ]
    if known.tests("_test.go"):
        found.append(ProjectCommand(kind="test", words=("go", "test", "./..."), framework=Framework.go))
    return found, "`go.mod` makes it a Go module"


def _detect_cargo(known: _RepositoryFacts) -> tuple[list[ProjectCommand], str]:
    if not known.text("Cargo.toml"):
        return [], ""
    found = [
        ProjectCommand(kind="setup", words=("cargo", "fetch")),
        ProjectCommand(kind="build", words=("cargo", "build")),
        ProjectCommand(
            kind="test", words=("cargo", "test"), framework=Framework.cargo
        ),  # tests may stand in any source
    ]
    return found, "`Cargo.toml` makes it a Rust package"


def _table(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, object], value) if isinstance(value, dict) else {}


def _texts(table: Mapping[str, object], key: str) -> dict[str, str]:
    value = table.get(key)
    items = cast(dict[str, object], value).items() if isinstance(value, dict) else ()
    return {name: text for name, text in items if isinstance(text, str)}


# --- selected tests ----------------------------------------------------------------------------------------

_OF_FRAMEWORK = {
    Framework.pytest: (".py",),
    Framework.jest: (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs"),
    Framework.vitest: (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs"),
    Framework.node: (".js", ".mjs", ".cjs"),
    Framework.go: ("_test.go",),
}


def narrow_command(command: ProjectCommand, selection: Selection) -> ProjectCommand | None:
    """The command for the selected tests only; unchanged if it cannot select, None if none of them are its own."""
    suffixes = _OF_FRAMEWORK.get(command.framework)
    if selection.runs_all or command.kind != "test" or suffixes is None or command.is_configured:
        return command
    files = {test: test.partition("::")[0] for test in selection.tests}
    tests = [test for test, file in files.items() if file.endswith(suffixes)]
    if command.framework is not Framework.pytest:
        tests = list(dict.fromkeys(files[test] for test in tests))
    return _append_tests(command, tests) if tests else None


def build_retry(command: ProjectCommand, failed: Sequence[TestCase], selection: Selection) -> ProjectCommand:
    """The command that runs failed tests again: only those if pytest ran them, else all selected ones.

    :param command: as it was before it was narrowed.
    """
    named = [_name_for_pytest(case) for case in failed]
    is_pytest = command.framework is Framework.pytest and not command.is_configured
    is_known = is_pytest and all(case.path and case.id.startswith(case.path) for case in failed)
    if named and is_known and _can_name(named):
        return _append_tests(command, named).model_copy(update={"kind": "retry"})
    return (narrow_command(command, selection) or command).model_copy(update={"kind": "retry"})


def _name_for_pytest(case: TestCase) -> str:
    """The name by which pytest runs a test again: that of its file if the file itself could not be collected."""
    path = case.path or ""
    module = path.removesuffix(".py").replace("/", ".")
    return path if case.id == f"{path}::{module}" else case.id


def is_missing(result: CommandResult) -> bool:
    """Whether a command's program is not installed, so that its failure says nothing about the code."""
    has_no_module = not result.is_successful and _NO_MODULE.fullmatch(result.output.strip()) is not None
    return (result.exit_status in _CANNOT_BE_RUN or has_no_module) and not result.cases


_CANNOT_BE_RUN = frozenset({126, 127})  # of a shell (POSIX, "Exit Status for Commands")
_NO_MODULE = re.compile(r"(\S{0,500}python[\d.]{0,9}: )?No module named '?[\w.]{1,200}'?")


def _can_name(names: Sequence[str]) -> bool:
    """Whether tests can be named after a command, and none of the names is read as something else."""
    return len(names) <= _MOST_NAMED and not any(name.startswith(("-", "@")) or "…" in name for name in names)


def _append_tests(command: ProjectCommand, names: Sequence[str]) -> ProjectCommand:
    """The command with tests named after it; unchanged if they cannot be."""
    if not _can_name(names):
        return command
    if command.framework is Framework.go:
        folders = sorted({f"./{name.rpartition('/')[0]}" for name in names})
        return command.model_copy(update={"words": (*command.words[:-1], *folders)})
    return command.model_copy(update={"words": (*command.words, *names)})
