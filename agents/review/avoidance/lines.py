"""Reads what no syntax tree tells: comments that silence tools, commands whose failure is ignored, tests left out."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agents.review.avoidance.facts import PlaceFact

LONGEST = 1_000
"""Characters of a line that is read."""
TABLES = tomllib.loads((Path(__file__).parent / "patterns.toml").read_text())
"""Section → what a line does → the expressions that recognise it."""


@dataclass(frozen=True)
class _LinePattern:
    """What a line does, and how it is recognised."""

    what: str
    expression: re.Pattern[str]


def _load(section: str) -> Sequence[_LinePattern]:
    return [_LinePattern(what, join_expressions(expressions)) for what, expressions in TABLES[section].items()]


def join_expressions(expressions: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(expressions))


_COMMENTS, _SETTINGS, _IGNORED, _DESELECTED = map(_load, ("comments", "settings", "ignored", "deselected"))
_ENVIRONMENT, _OPTIONS, _LEFT_OUT, _FOCUSED = map(_load, ("environment", "options", "left_out", "focused"))
_HOOKS, _TAKEN_OUT, _MOCKED = map(_load, ("hooks", "taken_out", "mocked"))
_SCRIPTS, _CONFIGURATION, _SUPPORT, _WORKFLOWS, _RUNNERS = (
    join_expressions(TABLES["files"][name]) for name in ("scripts", "configuration", "support", "workflows", "runner")
)
_SETTINGS_OF_TOOLS = [
    (join_expressions(TABLES["files"][tool]), _load(f"settings_of_{tool}")) for tool in ("eslint", "rubocop")
]
SKIPPED = "a module of tests may be skipped"
ASKS_FOR_CI = "the code asks whether CI runs it"
_IN_TESTS = frozenset({"tests are not collected", SKIPPED})
_NOT_COLLECTED = [each for each in _DESELECTED if each.what in _IN_TESTS]
_MAKE_IGNORED = re.compile(r"^\t@?-(?=\S)")
_MOST_DEMANDED = 100  # per cent


def _build_threshold(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{words})\W{{0,6}}?(\d+(?:\.\d+)?)%?", re.IGNORECASE)


_SAYS_COVERAGE = r"fail[_-]under|min(?:imum)?_coverage|check-coverage"
_THRESHOLD = _build_threshold(_SAYS_COVERAGE)
_THRESHOLD_OF_COVERAGE = _build_threshold(
    rf"{_SAYS_COVERAGE}|branches|functions|lines|statements|minimum|threshold|target"
)
"""With words that may be about anything else."""
_IS_ABOUT_COVERAGE = re.compile(r"cover|nycrc|c8rc|istanbul|jacoco", re.IGNORECASE)
_IS_DEMANDED = re.compile(
    r"getoption|addoption|environ|getenv|platform|version|\bENV\b|process\.env|find_spec|RUBY_|which\("
)
_NEAR = 8  # lines around a hook
_DATA = re.compile(r"\.(toml|json|ya?ml|xml)$")
_KNOWN = re.compile(
    r"(^|/)(\.[^/]*|\w*[cC]onfig\w*(\.\w+)?|package|composer|pyproject|Cargo|pom|build|project|nx|deno|tox|ruff|mypy|deny|"
    r"clippy|docker-compose|compose|Taskfile|appveyor|azure-pipelines|codecov|mise|turbo|biome|psalm|phpcs|phpmd|ruleset|"
    r"[\w.-]*lint\w*|[\w.-]*settings)\.\w+$|(^|/)\."
)


def is_script(path: str) -> bool:
    """Whether commands stand in a file, or settings of those that run checks."""
    return _SCRIPTS.search(path) is not None


def is_configuration(path: str) -> bool:
    """Whether a file sets how checks and tests behave."""
    return _CONFIGURATION.search(path) is not None


def is_support(path: str) -> bool:
    """Whether a file holds hooks of a runner, or what all tests share."""
    return _SUPPORT.search(path) is not None


def is_workflow(path: str) -> bool:
    """Whether a file is a workflow of a forge."""
    return _WORKFLOWS.search(path) is not None


def is_for_runner(path: str) -> bool:
    """Whether a file sets how tests run, and nothing else."""
    return _RUNNERS.search(path) is not None


def is_sample(path: str) -> bool:
    """Whether a file of data has no name that a tool looks for, so that its lines set nothing."""
    return _DATA.search(path) is not None and not is_for_runner(path) and not _KNOWN.search(path)


def find_suppressions(path: str, text: str, code: str = "") -> tuple[PlaceFact, ...]:
    """Comments that silence a tool, and settings that do.

    :param code: the text without what its literals hold; here as everywhere, what begins in a literal does not count.
    """
    return tuple(_find(text, [*_COMMENTS, *_list_settings(path)], code))


def _list_settings(path: str) -> Iterator[_LinePattern]:
    """What may silence a tool in a file of this name."""
    if is_configuration(path) and not is_sample(path):
        yield from _SETTINGS
    for files, patterns in _SETTINGS_OF_TOOLS:
        if files.search(path):
            yield from patterns


def find_ignored(path: str, text: str, *, is_shell: bool = False) -> tuple[PlaceFact, ...]:
    """Where a failure has no effect.

    :param is_shell: whether it is a script of a shell, whatever its name.
    """
    if not is_shell and not is_script(path) and not is_configuration(path):
        return ()
    found = [each for each in _find(text, _IGNORED) if not _is_cleanup(each.text)]
    if PurePosixPath(path).name.lower() in {"makefile", "gnumakefile"} or path.endswith(".mk"):
        found += [
            PlaceFact(line=number, what="`-` lets the command fail", text=line.strip())
            for number, line in enumerate(text.split("\n"), 1)
            if _MAKE_IGNORED.match(line)
        ]
    return tuple(found)


def find_hooks(text: str, code: str = "") -> tuple[PlaceFact, ...]:
    """Where tests, or hooks of their runner, make success of a failure."""
    return (*_find(text, _HOOKS, code), *_find_dropped_failures(text))


def _find_dropped_failures(text: str) -> Iterator[PlaceFact]:
    """Where a rule around each test catches its failure, and throws neither this nor another one."""
    for found in _CATCHES_FAILURE.finditer(text):
        kept = {found[1], *re.findall(rf"(\w+)\s*=\s*{found[1]}\s*;", found[2])}
        if not re.search(rf"\bthrow\s+(new\b|(?:{'|'.join(kept)})\s*;)|\bfail\(|add(Error|Failure)\(", found[2]):
            line = text.count("\n", 0, found.start()) + 1
            yield PlaceFact(line=line, what="a hook makes failures pass", text=found[0].split("\n")[0].strip()[:200])


_CATCHES_FAILURE = re.compile(
    r"\.(?:evaluate|proceed)\(\);.{0,300}?\bcatch\s*\((?:final\s+)?(?:[\w.]*\.)?(?:AssertionError|AssertionFailedError|"
    r"Throwable)\s+(\w+)\)\s*\{(.{0,800})",
    re.DOTALL,
)


def find_taken_out(text: str, code: str = "") -> tuple[PlaceFact, ...]:
    """Where hooks of a runner leave tests out; what does so on demand says so."""
    lines = text.split("\n")
    return tuple(
        place.model_copy(update={"what": ON_DEMAND})
        if any(_IS_DEMANDED.search(line[:LONGEST]) for line in lines[max(0, place.line - _NEAR) : place.line + _NEAR])
        else place
        for place in _find(text, _TAKEN_OUT, code)
    )


ON_DEMAND = "tests are taken out by a hook where something demands it"


def _is_cleanup(text: str) -> bool:
    """Whether only the tidying up may fail, which decides about nothing."""
    head = text.partition("||")[0]
    return re.search(r"[;&|]", head) is None and _TIDIES_UP.match(head) is not None


_TIDIES_UP = re.compile(r"(-\s+)?(\w+:\s*)?(rm|kill|pkill|umount|docker (rm|stop|kill)|rmdir|unlink|wait|trap)\b")


def find_deselected(path: str, text: str) -> tuple[PlaceFact, ...]:
    """Where tests are left out by a setting or a command."""
    if not is_script(path) and not is_configuration(path):
        return tuple(_find(text, _NOT_COLLECTED))
    return tuple(_find(text, _DESELECTED))


def find_focused(text: str, code: str = "") -> tuple[PlaceFact, ...]:
    """Tests beside which a runner leaves out all others."""
    return tuple(_find(text, _FOCUSED, code))


def find_thresholds(path: str, text: str) -> dict[str, float]:
    """The coverage that is demanded: setting → per cent."""
    if not is_script(path) and not is_configuration(path):
        return {}
    is_about_coverage = not is_workflow(path) and any(map(_IS_ABOUT_COVERAGE.search, (path, text)))
    expression = _THRESHOLD_OF_COVERAGE if is_about_coverage else _THRESHOLD
    return {
        found[0][: found.start(1) - found.start()].strip(" \"':=<>{"): float(found[1])
        for line in text.split("\n")
        for found in expression.finditer(line)
        if float(found[1]) <= _MOST_DEMANDED
    }


def find_environment(text: str) -> tuple[PlaceFact, ...]:
    """Where code asks whether it runs under a test."""
    return tuple(_find(text, _ENVIRONMENT))


def find_options(text: str) -> tuple[PlaceFact, ...]:
    """Options, routes and exports that a file offers, by their names."""
    return tuple(_find_named(text, _OPTIONS))


def find_mocks(text: str) -> tuple[PlaceFact, ...]:
    """What tests put a substitute for, by its name, or by that of its module."""
    found = _find_named(text, _MOCKED)
    return tuple(each for each in found if not (each.what.startswith(MODULE) and _KEEPS_PARTS.search(text)))


MODULE = "a module"
_KEEPS_PARTS = re.compile(r"requireActual|importActual|importOriginal|callThrough|jest\.unmock")


def _find_named(text: str, patterns: Sequence[_LinePattern]) -> Iterator[PlaceFact]:
    """Places that are known by the names in them."""
    return (
        PlaceFact(line=number, what=f"{each.what} `{name.strip()}`", text=name.strip())
        for number, line in _join_lines(text)
        if len(line) < LONGEST
        for each in patterns
        for match in each.expression.finditer(line)
        for names in filter(None, match.groups())
        for name in names.split(",")
        if name.strip()
    )


def _join_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line with its number, and with those that go on where it ends in an open bracket, or that call on."""
    lines = text.split("\n")
    for index, line in enumerate(lines):
        whole = line
        for following in lines[index + 1 : index + 1 + _MOST_JOINED]:
            is_open = whole.rstrip().endswith(("(", "[") if whole is line else ("(", "[", ","))
            if not (is_open or following.lstrip().startswith((".", "->"))) or len(whole) > LONGEST:
                break
            whole = f"{whole.rstrip()}{following.strip()}"
        yield index + 1, whole


_MOST_JOINED = 4  # lines


def find_left_out(text: str, code: str = "") -> tuple[PlaceFact, ...]:
    """Comments and errors that leave work for later."""
    return tuple(_find(text, _LEFT_OUT, code))


def _find(text: str, patterns: Sequence[_LinePattern], code: str = "") -> Iterator[PlaceFact]:
    bare = (code or text).split("\n")
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) <= LONGEST:
            known = bare[number - 1]
            found = next(
                (each for each in patterns if each.expression.search(line) and _is_code(each.expression, line, known)),
                None,
            )
            if found is not None:
                yield PlaceFact(line=number, what=found.what, text=line.strip())


def _is_code(expression: re.Pattern[str], line: str, bare: str) -> bool:
    """Whether an expression finds something in a line that does not begin within a literal."""
    return line == bare or any(
        line[at : at + 1] == bare[at : at + 1] for at in (each.start() for each in expression.finditer(line))
    )
