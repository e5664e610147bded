"""Has the warm workers compare both versions of each changed file, and says where the change gives up in disguise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import JsonValue

from agents.review.avoidance.comparison import find_avoidance
from agents.review.checks.inputs import is_machine_made
from agents.review.checks.worker_pool import WorkerBudget, run_each
from domain.review.avoidance import Avoidance
from domain.review.changes import Change, ContentKind, FileVersions

_LARGEST = 500_000  # bytes


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
    """

    found: tuple[Avoidance, ...]
    files: int = 0
    problem: str | None = None


async def detect(change: Change, versions: Mapping[str, FileVersions], shift: WorkerBudget) -> Detection:
    """Where a change gives up in disguise.

    :param versions: path at head → both versions of the changed files.
    """
    pairs = [
        VersionPair(file.path, file.old_path or file.path, there.base, there.head)
        for file in change.files
        if file.kind is ContentKind.text and (there := versions.get(file.path)) is not None
    ]
    return await detect_in_pairs(pairs, shift)


async def detect_in_pairs(pairs: Sequence[VersionPair], shift: WorkerBudget) -> Detection:
    """The same of files whose versions are at hand."""
    files = [pair for pair in pairs if _is_read(pair)]
    answers, problem = await run_each(files, _build_request, lambda pair: pair.path, "avoidance", shift)
    found = [Avoidance.model_validate(each) for _, answer in answers for each in cast(list[Any], answer)]
    return Detection(tuple(found), len(files), problem)


def compare_versions(request: Any) -> JsonValue:
    """The job of the worker: what both versions of one file tell."""
    found = find_avoidance(request["head_path"], request["base_path"], request["base"], request["head"])
    return [each.model_dump(mode="json") for each in found]


def _is_read(pair: VersionPair) -> bool:
    is_small = all(len(content or b"") <= _LARGEST for content in (pair.base, pair.head))
    return pair.head is not None and is_small and not is_machine_made(pair.path)


def _build_request(pair: VersionPair) -> dict[str, JsonValue]:
    return {
        "base_path": pair.old_path,
        "head_path": pair.path,
        "base": None if pair.base is None else pair.base.decode(errors="replace"),
        "head": None if pair.head is None else pair.head.decode(errors="replace"),
    }
