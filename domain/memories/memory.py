"""What Forge learned: a memory, and how its confidence follows from what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from domain.ids import new_id, shorten_id
from domain.runs.run import RepositoryRef

LONGEST = 1000  # characters of what a memory says
UNUSED = timedelta(days=90)
ARCHIVED_BELOW = 0.2
_WEEK = timedelta(weeks=1)
_DECAY = 0.05  # a week
_DIGITS = 4  # so that sums of tenths are what they seem


class MemoryKind(StrEnum):
    """What sort of thing is remembered."""

    episodic = "episodic"  # what happened once
    semantic = "semantic"  # what holds here
    procedural = "procedural"  # what to do when


class Origin(StrEnum):
    """Who taught it."""

    model = "model"  # Forge's own reflection
    person = "person"
    edits = "edits"  # a person approved with edits
    production = "production"

    @property
    def confidence(self) -> float:
        """What a memory starts with."""
        return _STARTS[self]


_STARTS = {Origin.model: 0.5, Origin.person: 0.7, Origin.edits: 0.8, Origin.production: 0.9}


class Use(StrEnum):
    """What became of a memory. That it was recalled is none: a memory must not keep itself alive."""

    applied = "applied"  # with success
    confirmed = "confirmed"  # by a person
    dismissed = "dismissed"  # by a person
    recurred = "recurred"  # another run taught the same: how often counts, but no model confirms itself

    @property
    def change(self) -> float:
        """Of the confidence."""
        return _CHANGES[self]


_CHANGES = {Use.applied: 0.1, Use.confirmed: 0.2, Use.dismissed: -0.2, Use.recurred: 0.0}


class Scope(StrEnum):
    """Where a memory holds."""

    repository = "repository"
    organisation = "organisation"  # every repository of the installation that takes part


class Archived(StrEnum):
    """Why a memory counts no more. It is never deleted."""

    doubtful = "doubtful"  # below 0.2
    unused = "unused"  # for 90 days
    forgotten = "forgotten"  # by a person
    merged = "merged"  # into another that says the same
    contradicted = "contradicted"  # by one of higher confidence
    crowded = "crowded"  # beyond the most that may live


class Memory(BaseModel):
    """Something Forge learned.

    :param content: what was learned, in a sentence or two.
    :param context: when it matters.
    :param tags: rules, paths and words under which it is found, too.
    :param confidence: from 0 to 1, as of ``used_at``; see :func:`confidence`.
    :param source: the event it came from, for people.
    :param pinned: a person said it in so many words: it does not decay.
    :param used_at: when something last became of it; when it was made, if nothing did.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    installation_id: int
    repository_id: int
    scope: Scope = Scope.repository
    kind: MemoryKind
    content: str
    context: str = ""
    tags: tuple[str, ...] = ()
    confidence: float = Field(ge=0, le=1)
    origin: Origin
    source: str
    pinned: bool = False
    created_at: datetime
    used_at: datetime
    archived_at: datetime | None = None
    archived_why: Archived | None = None

    @property
    def short_id(self) -> str:
        """``M-`` and six characters."""
        return shorten_id("M", self.id)

    @property
    def is_live(self) -> bool:
        return self.archived_at is None


@dataclass(frozen=True)
class MemoryUse:
    """What became of a memory once. ``at`` in UTC."""

    at: datetime
    use: Use


def create_memory(
    repository: RepositoryRef,
    origin: Origin,
    kind: MemoryKind,
    content: str,
    source: str,
    now: datetime,
    *,
    context: str = "",
    tags: Sequence[str] = (),
    scope: Scope = Scope.repository,
    pinned: bool = False,
) -> Memory:
    """A new memory, as sure as whoever taught it makes it."""
    return Memory(
        id=new_id(),
        installation_id=repository.installation_id,
        repository_id=repository.id,
        scope=scope,
        kind=kind,
        content=content,
        context=context,
        tags=tuple(tags),
        confidence=origin.confidence,
        origin=origin,
        source=source,
        pinned=pinned,
        created_at=now,
        used_at=now,
    )


def compute_confidence(memory: Memory, now: datetime) -> float:
    """How sure a memory is now: what it was, less a twentieth for each whole week in which nothing became of it."""
    if memory.pinned:
        return memory.confidence
    weeks = max(timedelta(), now - memory.used_at) // _WEEK  # a clock that was set back takes nothing away
    return _clamp(memory.confidence - _DECAY * weeks)


def apply_use(memory: Memory, use: Use, now: datetime) -> Memory:
    """The memory after something became of it; what says nothing of its worth leaves it as it is."""
    if not use.change:
        return memory
    sure = _clamp(compute_confidence(memory, now) + use.change)
    return memory.model_copy(update={"confidence": sure, "used_at": max(memory.used_at, now)})


def revert_use(memory: Memory, use: Use, now: datetime) -> Memory:
    """The memory once a use turns out to have been none."""
    sure = _clamp(compute_confidence(memory, now) - use.change)
    return memory.model_copy(update={"confidence": sure, "used_at": max(memory.used_at, now)})


def replay_uses(memory: Memory, history: Sequence[MemoryUse]) -> Memory:
    """A memory as it was made, after all that became of it.

    :param history: in order.
    """
    for each in history:
        memory = apply_use(memory, each.use, each.at)
    return memory


def find_archive_reason(memory: Memory, now: datetime) -> Archived | None:
    """Why a memory is to be archived; None if it stays. One that is pinned goes only when people doubt it."""
    if compute_confidence(memory, now) < ARCHIVED_BELOW:
        return Archived.doubtful
    if not memory.pinned and now - memory.used_at >= UNUSED:
        return Archived.unused
    return None


def is_same_text(one: str, other: str) -> bool:
    """Whether two texts say the same to the letter, but for case, white space and the last stop."""
    return _normalize(one) == _normalize(other)


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")


def _clamp(value: float) -> float:
    return round(min(1.0, max(0.0, value)), _DIGITS)
