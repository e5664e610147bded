"""What is found in a change of a few small files."""

from collections.abc import Mapping

from agents.review.avoidance.comparison import find_avoidance
from agents.review.avoidance.facts import SourceFacts
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.reading import read_facts
from agents.review.avoidance.repository_context import UNKNOWN, RepositoryContext
from domain.review.avoidance import Avoidance, AvoidanceKind, list_certain


def compare(
    before: Mapping[str, str], after: Mapping[str, str], asked: str = "", around: RepositoryContext = UNKNOWN
) -> tuple[Avoidance, ...]:
    """What is found in a change of these files."""
    return find_avoidance(read_change(before, after), asked, around)


def read_change(before: Mapping[str, str], after: Mapping[str, str]) -> list[ChangedFacts]:
    """Those of these files that a change touches, as they are read."""
    paths = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    return [ChangedFacts(path, _read(path, before), _read(path, after)) for path in paths]


def _read(path: str, side: Mapping[str, str]) -> SourceFacts | None:
    return read_facts(path, side[path]) if path in side else None


def list_kinds(found: tuple[Avoidance, ...]) -> set[AvoidanceKind]:
    return {each.kind for each in list_certain(found)}
