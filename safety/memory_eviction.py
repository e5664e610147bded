"""Decides which memories give way where no more may live: the least certain first, then the oldest.

What people pinned stays. One comes for one: what a lowered maximum leaves too many is put in order at night.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from domain.memories.memory import Memory, compute_confidence

MOST_LIVE = 10_000
"""Memories that may live in a repository, whatever it configures."""


@dataclass(frozen=True)
class Eviction:
    """What becomes of new memories.

    :param kept: those for which there is room, in the order in which they were given.
    :param gone: the live ones that give way to them.
    """

    kept: Sequence[Memory] = field(default=())
    gone: Sequence[Memory] = field(default=())


def sort_least_first(memories: Sequence[Memory], now: datetime) -> list[Memory]:
    """The memories that may give way, in the order in which they do."""
    others = [each for each in memories if not each.pinned]
    return sorted(others, key=lambda each: (compute_confidence(each, now), each.created_at, each.id))


def plan_eviction(live: Sequence[Memory], new: Sequence[Memory], most: int, now: datetime) -> Eviction:
    """Which new memories are kept, and what gives way to them: nothing that is surer than a new one nobody pinned.

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
