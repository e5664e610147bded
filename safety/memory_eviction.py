"""Decides which memories to archive at the limit: the least certain first, then the oldest.

Pinned memories stay. Each new memory replaces one; the nightly tidying handles a lowered maximum.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from domain.memories.memory import Memory, compute_confidence

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
