"""Detects the commands that build, check and test a repository, from its files and its configuration.

The configuration wins. Whatever else is detected is reported with the reason.
"""

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from agents.testing.runners.node import list_node_runners
from agents.testing.runners.python import PYTHON, build_pytest_options, uses_coverage
from agents.testing.runners.runner import ProjectCommand, RepositoryFacts, Runner
from agents.testing.runners.table import FAMILIES, Language, find_runners, list_parts, list_runners
from agents.testing.test_selection import Selection
from domain.config.configuration import Commands
from domain.runs.testing import CommandKind, Framework, TestCase
from domain.value import Value


class DetectedCommands(Value):
    """The commands to run.

    :param reason: what was found and why, one sentence.
    """

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
    known = RepositoryFacts(paths, manifests)
    results = results.rstrip("/")
    found: list[ProjectCommand] = []
    reasons: list[str] = []
    for kind, line in _list_configured(configured):
        found.append(_build_configured(kind, line, known, results))
        reasons.append(f"`commands.{kind}` is configured")
    given = {command.kind for command in found}
    for detected, why in _detect_all(known, results):
        wanted = [
            each for each in detected if each.kind not in given and not ("test" in given and each.kind == "coverage")
        ]
        if not configured.network:  # a set-up would need it
            wanted = [each for each in wanted if each.kind != "setup"]
        found += wanted
        reasons += [why] if wanted and why else []
    if not any(command.kind == "test" and not command.folder for command in found) and known.has_make_target("test"):
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


def _detect_all(known: RepositoryFacts, results: str) -> Iterable[tuple[list[ProjectCommand], str]]:
    """What is found in each part, with the reason; where a runner gives it, the checks of its language give none."""
    parts = [(family, part) for family in FAMILIES for part in list_parts(family, known)]
    for language, detect_checks in _CHECKS.items():
        for family, part in parts:
            if family.language == language:
                detected, why = detect_checks(part)
                yield _place(part, detected, "" if find_runners(family, part) else why)
    for family, part in parts:
        if family.language == "node":
            yield _place(part, *_detect_node_tests(part, results))
            continue
        for runner in find_runners(family, part):
            commands = [runner.build((), results)]
            if runner.framework is Framework.pytest and uses_coverage(part):
                written = ("python3", "-m", "coverage", "xml", "-o", f"{results}/coverage.xml")
                commands.append(ProjectCommand(kind="coverage", words=written))
            yield _place(part, commands, f"{runner.framework.value}, {runner.reason}")


def _place(part: RepositoryFacts, commands: Sequence[ProjectCommand], why: str) -> tuple[list[ProjectCommand], str]:
    """The commands of a part, to be run in its folder, with the reason."""
    said = f"in `{part.folder}/`: {why}" if part.folder and why else why
    return [each.model_copy(update={"folder": part.folder}) for each in commands], said


def _detect_python_checks(known: RepositoryFacts) -> tuple[list[ProjectCommand], str]:
    declared = known.text(*PYTHON)
    found: list[ProjectCommand] = []
    why = ""
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


def _build_configured(kind: CommandKind, line: str, known: RepositoryFacts, results: str) -> ProjectCommand:
    """The command as it is configured; pytest is also asked for its reports."""
    words = tuple(shlex.split(line))
    if kind != "test" or not _is_pytest(words):
        return ProjectCommand(kind=kind, words=words, is_configured=True)
    options = tuple(word.replace("{results}", results) for word in build_pytest_options(known, words))
    return ProjectCommand(
        kind=kind, words=(*words, *options), framework=Framework.pytest, writes_report=True, is_configured=True
    )


_IS_PYTHON = re.compile(r"python3?(\.\d{1,2})?")


def _is_pytest(words: Sequence[str]) -> bool:
    program = words[0].rpartition("/")[2]
    is_module = _IS_PYTHON.fullmatch(program) is not None and tuple(words[1:3]) == ("-m", "pytest")
    return (program in {"pytest", "py.test"} or is_module) and "--" not in words


def _detect_scripts(known: RepositoryFacts) -> tuple[list[ProjectCommand], str]:
    found: list[ProjectCommand] = []
    if "package-lock.json" in known.paths:
        found.append(ProjectCommand(kind="setup", words=("npm", "ci")))
    for kind, names in _SCRIPTS:
        if name := next((name for name in names if name in known.scripts), None):
            found.append(ProjectCommand(kind=kind, words=("npm", "run", name)))
    return found, "`package.json` has scripts"


_SCRIPTS: tuple[tuple[CommandKind, tuple[str, ...]], ...] = (
    ("build", ("build",)),
    ("lint", ("lint",)),
    ("typecheck", ("typecheck", "type-check")),
)


def _detect_node_tests(known: RepositoryFacts, results: str) -> tuple[list[ProjectCommand], str]:
    """The runner itself if the script does nothing else, because only then it can be given arguments."""
    script = known.scripts.get("test", "")
    if not script or "no test specified" in script:  # what `npm init` writes
        return [], ""
    if whole := next((runner for runner in list_node_runners(known) if runner.is_whole), None):
        return [whole.build((), results)], whole.reason
    return [ProjectCommand(kind="test", words=("npm", "test"))], "`package.json` has a script `test`"


def _detect_go(known: RepositoryFacts) -> tuple[list[ProjectCommand], str]:
    if not known.text("go.mod"):
        return [], ""
    return [
        ProjectCommand(kind="setup", words=("go", "mod", "download")),
        ProjectCommand(kind="build", words=("go", "build", "./...")),
        ProjectCommand(kind="lint", words=("go", "vet", "./...")),
    ], "`go.mod` makes it a Go module"


def _detect_cargo(known: RepositoryFacts) -> tuple[list[ProjectCommand], str]:
    if not known.text("Cargo.toml"):
        return [], ""
    return [
        ProjectCommand(kind="setup", words=("cargo", "fetch")),
        ProjectCommand(kind="build", words=("cargo", "build")),
    ], "`Cargo.toml` makes it a Rust package"


_CHECKS: Mapping[Language, Callable[[RepositoryFacts], tuple[list[ProjectCommand], str]]] = {
    "python": _detect_python_checks,
    "node": _detect_scripts,
    "go": _detect_go,
    "cargo": _detect_cargo,
}


# --- selected tests ----------------------------------------------------------------------------------------


def narrow_command(command: ProjectCommand, selection: Selection, known: RepositoryFacts) -> ProjectCommand | None:
    """The command for the selected tests only; unchanged if it cannot select, None if none of them are its own."""
    if command.folder in selection.leaves:
        return None
    runner = find_runner(command, known)
    if selection.runs_all or runner is None:
        return command
    chosen = {test: test.partition("::")[0] for test in selection.tests}
    files = list(dict.fromkeys(file for file in chosen.values() if runner.owns(file)))
    if not files:
        return None if runner.framework is not Framework.cargo else command  # Rust's tests may stand in any source
    names = [test for test, file in chosen.items() if runner.owns(file)]
    return runner.build(files, command.results, names if any(name not in files for name in names) else ())


def build_retry(
    command: ProjectCommand, failed: Sequence[TestCase], selection: Selection, known: RepositoryFacts
) -> ProjectCommand:
    """The command that runs failed tests again: only those if its runner can name them, else all selected ones.

    :param command: as it was before it was narrowed.
    """
    runner = find_runner(command, known)
    files = list(dict.fromkeys(case.path for case in failed if case.path))
    if runner is not None and files and all(_is_named(case, runner) for case in failed):
        return runner.build(files, command.results, [case.id for case in failed]).model_copy(update={"kind": "retry"})
    return (narrow_command(command, selection, known) or command).model_copy(update={"kind": "retry"})


def _is_named(case: TestCase, runner: Runner) -> bool:
    """Whether a test can be run by its id."""
    return case.path is not None and runner.owns(case.path) and case.id.startswith(case.path)


def find_runner(command: ProjectCommand, known: RepositoryFacts) -> Runner | None:
    """The runner that a detected command for tests calls; None if none that Forge knows does."""
    if command.kind not in {"test", "retry"} or command.is_configured:
        return None
    wanted = (command.framework, command.folder)
    return next((each for each in list_runners(known) if (each.framework, each.folder) == wanted), None)
