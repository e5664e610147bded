"""Compares the commands and settings of checks: what made a build fail before and does no more."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from domain.review.avoidance import Avoidance, AvoidanceKind

_SURE = 0.9
_COMMANDS = re.compile(
    r"(^|/)\.(github/workflows|circleci|buildkite|woodpecker)/.*\.ya?ml$|"
    r"(^|/)(\.gitlab-ci|\.travis|\.cirrus|\.drone|appveyor|\.appveyor|azure-pipelines|bitbucket-pipelines)\.ya?ml$|"
    r"(^|/)(Makefile|makefile|GNUmakefile|[jJ]ustfile|Jenkinsfile|Rakefile|tox\.ini|package\.json|composer\.json|noxfile\.py)$|"
    r"\.(sh|ps1|mk|cmd|bat|gradle|kts)$|(^|/)pom\.xml$"
)
_CHECKS = re.compile(
    r"test|lint|check|mypy|pyright|ruff|flake8|black|tsc\b|eslint|jest|mocha|phpunit|phpstan|psalm|rubocop|rspec|clippy|"
    r"verify|cover|bats|vet\b|audit|spec\b|prettier|biome|nox\b|tox\b|mvn|gradle",
    re.IGNORECASE,
)
_STEP = re.compile(r"^(\s*)-\s+\S")
_SETTINGS = re.compile(
    r"\.(toml|cfg|ini|ya?ml|json|xml|neon|dist|gradle|kts|rb|js|ts|cjs|mjs|props|csproj)$|(^|/)\.\w+rc$"
)
_NUMBER = r"[\"']?\s*(?:[:=>, ]|\s)\s*[\"'{]?\s*(\d+(?:\.\d+)?)"
_THRESHOLD = re.compile(
    rf"(fail[_-]under|cov-fail-under|min(?:imum)?_coverage(?:_by_file)?|covered[A-Z]\w+|coveredratio){_NUMBER}",
    re.IGNORECASE,
)
_THRESHOLD_NEAR = re.compile(rf"\b(branches|functions|lines|statements|minimum|min-?[mM]si|minCoveredMsi){_NUMBER}")
_ABOUT_COVERAGE = re.compile(r"coverageThreshold|check-coverage|\bthresholds?\b|jacoco|\"?nyc\"?|c8\b|infection")
_SWITCH = re.compile(
    r"^\s*[\"'<]?(strict|noImplicit\w+|strictNullChecks|check_untyped_defs|disallow_\w+|warn_\w+|no_implicit_optional|"
    r"noUnused\w+|TreatWarningsAsErrors|warnings_as_errors|failOnWarning|failOnRisky|allWarningsAsErrors)"
    r"[\"']?\s*[:=>]\s*[\"']?(true|false)\b",
    re.IGNORECASE,
)


def find_avoidance(path: str, before: str, after: str, tables: Mapping[str, Mapping[str, Any]]) -> Iterator[Avoidance]:
    """Where a file of commands or settings demands less.

    :param tables: ``ignored`` and ``allowed`` of the table of rules.
    """
    if _COMMANDS.search(path):
        yield from _find_ignored(path, before.split("\n"), after.split("\n"), tables["ignored"])
        yield from _find_allowed(path, before, after, tables["allowed"])
    if _SETTINGS.search(path) or _COMMANDS.search(path):
        yield from _find_lowered(path, before, after)
        yield from _find_switched(path, before, after)


def _find_ignored(
    path: str, before: Sequence[str], after: Sequence[str], rules: Mapping[str, str]
) -> Iterator[Avoidance]:
    """Commands that are the same but for what makes them succeed."""
    there = {_squeeze(line) for line in before}
    is_make = PurePosixPath(path).name.lower() in {"makefile", "gnumakefile"} or path.endswith(".mk")
    for number, line in enumerate(after, 1):
        if _squeeze(line) in there or line.lstrip().startswith("#"):
            continue
        for what, expression in rules.items():
            rest = re.sub(expression, "", line)
            is_same = rest != line and _squeeze(rest) in there and _CHECKS.search(rest)
            if is_same and (is_make or what != "`-`"):
                text = f"The failure of this command has no effect any more, by {what}"
                yield _describe(AvoidanceKind.failure_ignored, path, number, line, text)
                break


def _find_allowed(path: str, before: str, after: str, rules: Mapping[str, str]) -> Iterator[Avoidance]:
    """Steps that are the same but may fail now."""
    for what, expression in rules.items():
        allows = re.compile(expression)
        strict = {_join(block, allows) for _, block in _split(before) if not any(map(allows.search, block))}
        for start, block in _split(after):
            allowed = [number for number, line in enumerate(block, start) if allows.search(line)]
            if allowed and _join(block, allows) in strict and _CHECKS.search("\n".join(block)):
                text = f"The failure of this step has no effect any more, by {what}"
                line = block[allowed[0] - start]
                yield _describe(AvoidanceKind.failure_ignored, path, allowed[0], line, text)


def _split(text: str) -> Iterator[tuple[int, Sequence[str]]]:
    """The steps of a list, or of a file without one its parts between empty lines, each with its first line."""
    lines = text.split("\n")
    starts = [index for index, line in enumerate(lines) if _STEP.match(line) or not line.strip()]
    for first, last in zip([0, *starts], [*starts, len(lines)], strict=True):
        yield first + 1, lines[first:last]


def _join(block: Sequence[str], allows: re.Pattern[str]) -> str:
    return "\n".join(_squeeze(line) for line in block if line.strip() and not allows.search(line))


def _find_lowered(path: str, before: str, after: str) -> Iterator[Avoidance]:
    old, new = _list_numbers(before), _list_numbers(after)
    for key, values in new.items():
        was = old.get(key, [])
        if len(was) != len(values):
            continue
        for (_, low, _), (number, high, line) in zip(was, values, strict=True):
            if high < low:
                text = f"`{key}` is {high:g} instead of {low:g}"
                yield _describe(AvoidanceKind.threshold_lowered, path, number, line, text)


def _list_numbers(text: str) -> dict[str, list[tuple[int, float, str]]]:
    found: dict[str, list[tuple[int, float, str]]] = {}
    is_about = _ABOUT_COVERAGE.search(text) is not None
    for number, line in enumerate(text.split("\n"), 1):
        for each in (*_THRESHOLD.finditer(line), *(_THRESHOLD_NEAR.finditer(line) if is_about else ())):
            found.setdefault(each[1].lower(), []).append((number, float(each[2]), line))
    return found


def _find_switched(path: str, before: str, after: str) -> Iterator[Avoidance]:
    old, new = _list_switches(before), _list_switches(after)
    for key, (number, is_on, line) in new.items():
        if not is_on and key in old and old[key][1]:
            yield _describe(AvoidanceKind.checker_disabled, path, number, line, f"`{key}` is switched off")


def _list_switches(text: str) -> dict[str, tuple[int, bool, str]]:
    lines = enumerate(text.split("\n"), 1)
    found = ((number, line, _SWITCH.match(line)) for number, line in lines)
    return {each[1]: (number, each[2].lower() == "true", line) for number, line, each in found if each is not None}


def _squeeze(line: str) -> str:
    return re.sub(r"\s+", " ", line).strip().strip(",\"'")


def _describe(kind: AvoidanceKind, path: str, number: int, line: str, what: str) -> Avoidance:
    shown = line.strip().replace("`", "")[:100]
    return Avoidance(kind=kind, path=path, line=number, what=f"{what}: `{shown}`.", confidence=_SURE, name=shown)
