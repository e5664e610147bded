"""Has the warm workers read both versions of each changed file, and says where the change gives up in disguise."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, cast

from pydantic import JsonValue

from agents.review.avoidance.comparison import find_avoidance
from agents.review.avoidance.embedded import may_embed
from agents.review.avoidance.facts import SourceFacts
from agents.review.avoidance.fast_paths import FastPaths
from agents.review.avoidance.lines import is_configuration, is_script
from agents.review.avoidance.lost_checks import list_lost_checks
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.reading import read_facts
from agents.review.avoidance.repository_context import UNKNOWN, RepositoryContext
from agents.review.checks.paths import is_machine_made
from agents.review.checks.worker_pool import WorkerBudget, run_each
from agents.syntax.languages import find_language
from domain.review.avoidance import Avoidance
from domain.review.changes import Change, ContentKind, FileVersions
from domain.review.lost_checks import NOTHING_LOST, LostChecks

_LARGEST = 500_000  # bytes
_TOO_LONG = 10_000  # characters of a line, which no grammar is asked about
_SCRIPTS = frozenset({"", ".bats"})
"""Suffixes of files whose first line may name their language."""


@dataclass(frozen=True)
class VersionPair:
    """Both versions of a changed file; None where it does not exist."""

    path: str
    old_path: str
    base: bytes | None
    head: bytes | None


@dataclass(frozen=True)
class Detection:
    """What was found.

    :param files: how many files were read.
    :param problem: what could not be read, and why.
    :param checks: what seems to be lost, and where it may stand.
    """

    found: tuple[Avoidance, ...]
    files: int = 0
    problem: str | None = None
    checks: LostChecks = NOTHING_LOST


async def detect(
    change: Change,
    versions: Mapping[str, FileVersions],
    shift: WorkerBudget,
    asked: str = "",
    around: RepositoryContext = UNKNOWN,
) -> Detection:
    """Where a change gives up in disguise.

    :param versions: path at head → both versions of the changed files.
    :param asked: what people asked for; never the words of the change itself.
    :param around: what the repository says of its tests besides.
    """
    pairs = [
        VersionPair(file.path, file.old_path or file.path, there.base, there.head)
        for file in change.files
        if file.kind is ContentKind.text and (there := versions.get(file.path)) is not None
    ]
    return await detect_in_pairs(pairs, shift, asked, around)


async def detect_in_pairs(
    pairs: Sequence[VersionPair], shift: WorkerBudget, asked: str = "", around: RepositoryContext = UNKNOWN
) -> Detection:
    """The same of files whose versions are at hand."""
    files = [pair for pair in pairs if _is_read(pair)]
    answers, problem = await run_each(files, _build_request, lambda pair: pair.path, "avoidance", shift)
    read = [_parse(pair, answer) for pair, answer in answers]
    if around.read_tests is not None and FastPaths(read).need_tests:
        around = replace(around, tested=await _list_tested(await around.read_tests(), shift))
    found = await asyncio.to_thread(find_avoidance, read, asked, around)
    checks = await asyncio.to_thread(list_lost_checks, read, found)
    unread = [each.path for each in read if each.is_unread]
    if unread:
        lacking = f"These tests are too large, or have too long lines, to be compared: {', '.join(unread[:3])}."
        problem = f"{problem} {lacking}" if problem else lacking
    return Detection(found, len(files), problem, checks)


async def _list_tested(tests: Mapping[str, bytes], shift: WorkerBudget) -> frozenset[str]:
    """The literals of tests. What cannot be read tells nothing."""
    pairs = [VersionPair(path, path, content, None) for path, content in tests.items()]
    answers, _ = await run_each(pairs, _build_request, lambda pair: pair.path, "avoidance", shift)
    return frozenset(
        literal for pair, answer in answers if (side := _parse(pair, answer).before) for literal in side.literals
    )


def read_versions(request: Any) -> JsonValue:
    """The job of the worker: the facts of both versions of one file."""
    facts = {
        side: read_facts(request[f"{side}_path"], request[side]).model_dump(mode="json")
        for side in ("base", "head")
        if request[side] is not None
    }
    return cast(JsonValue, facts)


def _is_read(pair: VersionPair) -> bool:
    return not (is_machine_made(pair.path) and is_machine_made(pair.old_path)) and any(
        find_language(path) is not None
        or may_embed(path)
        or is_script(path)
        or is_configuration(path)
        or PurePosixPath(path).suffix in _SCRIPTS
        for path in (pair.path, pair.old_path)
    )


def _build_request(pair: VersionPair) -> dict[str, JsonValue]:
    return {
        "base_path": pair.old_path,
        "head_path": pair.path,
        "base": _decode(pair.base),
        "head": _decode(pair.head),
    }


def _decode(content: bytes | None) -> str | None:
    """The text; of a file that is too large one line that nobody can read, so that it does not seem to be gone."""
    if content is None:
        return None
    return content.decode(errors="replace") if len(content) <= _LARGEST else " " * _TOO_LONG


def _parse(pair: VersionPair, answer: JsonValue) -> ChangedFacts:
    facts = cast(dict[str, Any], answer)
    sides: Sequence[SourceFacts | None] = [
        SourceFacts.model_validate(facts[side]) if side in facts else None for side in ("base", "head")
    ]
    return ChangedFacts(pair.path, *sides, before_path=pair.old_path if pair.old_path != pair.path else "")
