"""What the detectors find in a labelled change."""

from collections.abc import Mapping

from agents.review.avoidance.comparison import find_avoidance
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.reading import read_facts
from domain.review.avoidance import Avoidance
from tests.bench.avoidance.entry import LabelledChange, Package


def judge(package: Package, change: LabelledChange) -> tuple[Avoidance, ...]:
    """What is found in a change."""
    after, moved = package.apply(change), {edit.moves: edit.path for edit in change.edits if edit.moves}
    paths = {path for path in {*package.base, *after} if package.base.get(path) != after.get(path)} - {*moved.values()}
    files = [_read_pair(path, moved.get(path, path), package.base, after) for path in sorted(paths)]
    return find_avoidance(files, change.asked)


def _read_pair(path: str, old: str, before: Mapping[str, str], after: Mapping[str, str]) -> ChangedFacts:
    base = read_facts(old, before[old]) if old in before else None
    return ChangedFacts(
        path, base, read_facts(path, after[path]) if path in after else None, old if old != path else ""
    )
