"""Plans the tidying of memories: archives doubtful, unused and surplus ones, and merges duplicates."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from domain.memories import Archived, Memory, MemoryKind, Use, compute_confidence, find_archive_reason
from domain.text.similarity import SAME_THRESHOLD, Statement
from domain.value import Value, new_id

MOST_LIVE = 10_000
"""The upper limit of live memories in a repository."""


@dataclass(frozen=True)
class Eviction:
    """The decision about new memories.

    :param kept: the new memories that fit, in their order.
    :param gone: the live memories that they replace.
    """

    kept: Sequence[Memory] = field(default=())
    gone: Sequence[Memory] = field(default=())


def sort_least_first(memories: Sequence[Memory], now: datetime) -> list[Memory]:
    """The replaceable memories, in the order of replacement."""
    others = [each for each in memories if not each.pinned]
    return sorted(others, key=lambda each: (compute_confidence(each, now), each.created_at, each.id))


def plan_eviction(live: Sequence[Memory], new: Sequence[Memory], most: int, now: datetime) -> Eviction:
    """Decides which new memories to keep and which live ones they replace, never a more certain one if unpinned.

    :param live: of the repository.
    :param most: memories that may live there.
    """
    free = max(0, most - len(live))
    giving = sort_least_first(live, now)
    kept: list[Memory] = []
    gone: list[Memory] = []
    for each in new[:most]:
        if free > 0:
            free -= 1
        elif giving and (each.pinned or compute_confidence(giving[0], now) <= compute_confidence(each, now)):
            gone.append(giving.pop(0))
        else:
            continue
        kept.append(each)
    return Eviction(kept, gone)


RECURS = 3
"""The number of runs that taught the same from which an episode is a pattern."""
PATTERN = "pattern"
"""The tag of a pattern; the next tag is its kind: ``failure``, ``success`` or ``approach``.

Its context is the trigger, the first sentence of its content the pattern, and what follows the resolution.
"""

_DOES = re.compile(
    r"\b(when|whenever|if|before|after|run|use|add|avoid|check|call|read|write|set|keep|prefer)\b", re.IGNORECASE
)
_FAILS = re.compile(r"\b(fail\w*|error\w*|break\w*|broke\w*|wrong\w*|crash\w*|bounce\w*|reject\w*)\b", re.IGNORECASE)
_WORKS = re.compile(r"\b(work(s|ed)|fix(es|ed)|solve[sd]?|pass(es|ed)|help(s|ed))\b", re.IGNORECASE)


@dataclass(frozen=True)
class LiveMemory:
    """A live memory.

    :param recurred: how many other runs and merged memories taught the same.
    """

    memory: Memory
    recurred: frozenset[str] = frozenset()

    @property
    def frequency(self) -> int:
        return 1 + len(self.recurred)


class ArchivedMemory(Value):
    """One memory that is archived.

    :param used_at: as of this decision; a memory used since then stays.
    :param into: id of the memory that replaces it.
    :param made: the replacing memory, if it is new.
    """

    id: str
    used_at: datetime
    why: Archived
    into: str | None = None
    made: Memory | None = None


class ConsolidationPlan(Value):
    """The changes of one night, in order. After a partial run, planning again gives the same rest.

    :param live: the number of remaining memories.
    """

    changes: tuple[ArchivedMemory, ...]
    live: int

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of archived memories by reason, and of new patterns."""
        counted = Counter(each.why.value for each in self.changes if each.made is None)
        return dict(counted) | {"promoted": sum(each.made is not None for each in self.changes)}


class PatternFigures(NamedTuple):
    """What is known of a memory that is a pattern.

    :param outcome: ``failure``, ``success`` or ``approach``.
    :param frequency: how many runs taught it.
    :param success_rate: the share of applications that helped, from 0 to 1; None: there were none yet.
    """

    outcome: str
    frequency: int
    success_rate: float | None


def compute_figures(memory: Memory, uses: Mapping[Use, int]) -> PatternFigures | None:
    """The figures of a pattern; None if the memory is none.

    :param uses: how often each use occurred.
    """
    if PATTERN not in memory.tags:
        return None
    helped, did_not = uses.get(Use.applied, 0), uses.get(Use.dismissed, 0)
    return PatternFigures(
        outcome=next((tag for tag in memory.tags if tag in {"failure", "success"}), "approach"),
        frequency=1 + uses.get(Use.recurred, 0),
        success_rate=helped / (helped + did_not) if helped + did_not else None,
    )


def plan_consolidation(
    known: Sequence[LiveMemory],
    now: datetime,
    most: int,
    held: Collection[str] = (),
    name: Callable[[], str] = new_id,
) -> ConsolidationPlan:
    """Plans the changes to the live memories of one repository.

    :param most: the limit of live memories.
    :param held: ids of memories that are never merged, like pinned ones.
    :param name: makes ids of new memories.
    """
    night = _Consolidation(known, now, frozenset(held) | {each.memory.id for each in known if each.memory.pinned}, name)
    night.expire()
    while night.promote() + night.merge():
        pass
    night.evict(most)
    return ConsolidationPlan(changes=tuple(night.changes), live=len(night.live))


class _Consolidation:
    """The state of the planning."""

    def __init__(
        self, known: Sequence[LiveMemory], now: datetime, held: frozenset[str], name: Callable[[], str]
    ) -> None:
        self.live = {each.memory.id: each for each in known}
        self.changes: list[ArchivedMemory] = []
        self._now = now
        self._held = held
        self._name = name
        self._sayings: dict[str, Statement] = {}

    def expire(self) -> None:
        for each in [*self.live.values()]:
            why = find_archive_reason(each.memory, self._now)
            if why is not None:
                self._archive(each, why)

    def promote(self) -> int:
        """Turns recurring episodes into patterns; returns their number."""
        frequent = [
            each
            for each in self.live.values()
            if each.memory.kind is MemoryKind.episodic and each.frequency >= RECURS and each.memory.id not in self._held
        ]
        for each in frequent:
            made = _as_pattern(each.memory, self._name(), self._now)
            self._archive(each, Archived.merged, made.id, made)
            self.live[made.id] = LiveMemory(made, each.recurred)
        return len(frequent)

    def merge(self) -> int:
        """Archives memories that a better one repeats or contradicts; returns their number."""
        groups: defaultdict[tuple[str, str], list[LiveMemory]] = defaultdict(list)
        for each in self.live.values():
            groups[each.memory.scope, each.memory.kind].append(each)
        return sum(self._merge_within(group) for group in groups.values())

    def evict(self, most: int) -> None:
        """Archives the least certain first, then the oldest; never pinned ones."""
        beyond = max(0, len(self.live) - most)
        for memory in sort_least_first([each.memory for each in self.live.values()], self._now)[:beyond]:
            self._archive(self.live[memory.id], Archived.crowded)

    def _merge_within(self, group: Sequence[LiveMemory]) -> int:
        before = len(self.changes)
        index = _Index([self._to_saying(each) for each in group])
        better: list[LiveMemory] = []
        for each in sorted(group, key=self._rank):
            statement = self._to_saying(each)
            if each.memory.id not in self._held:
                near = [better[place] for place in index.near(statement)]
                found = next(((other, why) for other in near if (why := self._why_redundant(statement, other))), None)
                if found is not None:
                    self._yield_to(each, *found)
                    continue
            index.add(statement, len(better))
            better.append(each)
        return len(self.changes) - before

    def _why_redundant(self, said: Statement, other: LiveMemory) -> Archived | None:
        there = self._to_saying(other)
        if said.agrees_with(there):
            return Archived.merged
        return Archived.contradicted if said.contradicts(there) else None

    def _yield_to(self, each: LiveMemory, other: LiveMemory, why: Archived) -> None:
        if why is Archived.merged:
            current = self.live[other.memory.id]
            recurred = current.recurred | each.recurred | {each.memory.id}
            self.live[other.memory.id] = replace(current, recurred=recurred)
        self._archive(each, why, other.memory.id if why is Archived.merged else None)

    def _rank(self, each: LiveMemory) -> tuple[bool, float, bool, datetime, str]:
        """The best first: pinned, more certain, by a person, older."""
        memory = each.memory
        sure = compute_confidence(memory, self._now)
        return not memory.pinned, -sure, memory.origin == "model", memory.created_at, memory.id

    def _to_saying(self, each: LiveMemory) -> Statement:
        content = each.memory.content
        if content not in self._sayings:
            self._sayings[content] = Statement.of(content)
        return self._sayings[content]

    def _archive(self, each: LiveMemory, why: Archived, into: str | None = None, made: Memory | None = None) -> None:
        del self.live[each.memory.id]
        self.changes.append(
            ArchivedMemory(id=each.memory.id, used_at=each.memory.used_at, why=why, into=into, made=made)
        )


class _Index:
    """Finds candidates for similarity without comparing all pairs.

    Two texts that share so many words also share one of their rarest.
    """

    def __init__(self, sayings: Sequence[Statement]) -> None:
        self._spread = Counter(stem for said in sayings for stem in said.stems)
        self._places: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, said: Statement, place: int) -> None:
        for stem in self._rarest(said):
            self._places[stem].append(place)

    def near(self, said: Statement) -> Sequence[int]:
        """The indexes of candidates, in order."""
        return sorted({place for stem in self._rarest(said) for place in self._places.get(stem, ())})

    def _rarest(self, said: Statement) -> Iterator[str]:
        size = len(said.stems)
        count = size - math.ceil(SAME_THRESHOLD * size) + 1
        return iter(sorted(said.stems, key=lambda stem: (self._spread[stem], stem))[:count])


def _as_pattern(episode: Memory, memory_id: str, now: datetime) -> Memory:
    """The pattern of a recurring episode, with the same confidence: repetition adds none."""
    content = episode.content
    outcome = "failure" if _FAILS.search(content) else "success" if _WORKS.search(content) else "approach"
    return episode.model_copy(
        update={
            "id": memory_id,
            "kind": MemoryKind.procedural if _DOES.search(content) else MemoryKind.semantic,
            "tags": tuple(dict.fromkeys((*episode.tags, PATTERN, outcome))),
            "confidence": compute_confidence(episode, now),
            "source": f"what recurred: {episode.source}",
            "created_at": now,
            "used_at": episode.used_at if compute_confidence(episode, now) == episode.confidence else now,
        }
    )
