"""What the detectors find in a labelled change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agents.review.avoidance.comparison import find_avoidance
from agents.review.avoidance.fast_paths import FastPaths
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.reading import read_facts
from agents.review.avoidance.repository_context import SETTINGS, RepositoryContext, read_settings
from domain.globs import matches
from domain.paths import is_test
from domain.review.avoidance import Avoidance
from tests.bench.avoidance.entry import LabelledChange, Package


def judge(package: Package, change: LabelledChange) -> tuple[Avoidance, ...]:
    """What is found in a change."""
    after, moved = package.apply(change), {edit.moves: edit.path for edit in change.edits if edit.moves}
    paths = {path for path in {*package.base, *after} if package.base.get(path) != after.get(path)} - {*moved.values()}
    files = [_read_pair(path, moved.get(path, path), package.base, after) for path in sorted(paths)]
    return find_avoidance(files, change.asked, _build_context(package.base, after, files))


def _build_context(
    before: Mapping[str, str], after: Mapping[str, str], files: Sequence[ChangedFacts]
) -> RepositoryContext:
    """What surrounds the change, read where the product reads it."""
    settings = {
        path: text.encode() for path, text in after.items() if matches(path, SETTINGS) and before.get(path) == text
    }
    packages = {part for path in before for part in path.removeprefix("src/").split("/")[:1] if part.isidentifier()}
    around = read_settings(settings, packages)
    if not FastPaths(files).need_tests:
        return around
    tests = [read_facts(path, text) for path, text in before.items() if is_test(path)]
    return replace(around, tested=frozenset(literal for test in tests for literal in test.literals))


def _read_pair(path: str, old: str, before: Mapping[str, str], after: Mapping[str, str]) -> ChangedFacts:
    base = read_facts(old, before[old]) if old in before else None
    return ChangedFacts(
        path, base, read_facts(path, after[path]) if path in after else None, old if old != path else ""
    )
