"""A memory: its text as people see it, how its uses change its confidence, and which ones a question recalls."""

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from heapq import nlargest
from typing import Self, TypeVar

from pydantic import Field

from domain.runs.run import RepositoryRef
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from domain.value import Value, new_id, shorten_id

LONGEST = 1000  # characters of what a memory says
UNUSED = timedelta(days=90)
ARCHIVED_BELOW = 0.2
_WEEK = timedelta(weeks=1)
_DECAY = 0.05  # a week
_DIGITS = 4  # avoids rounding errors in sums of tenths


class MemoryKind(StrEnum):
    episodic = "episodic"  # an event
    semantic = "semantic"  # a fact
    procedural = "procedural"  # a procedure


class Origin(StrEnum):
    """The source of a memory."""

    model = "model"  # Forge's own reflection
    person = "person"
    production = "production"

    @property
    def confidence(self) -> float:
        """The initial confidence."""
        return _STARTS[self]


_STARTS = {Origin.model: 0.5, Origin.person: 0.7, Origin.production: 0.9}


class Use(StrEnum):
    """A use of a memory. Recall alone is none, so that a memory cannot keep itself alive."""

    applied = "applied"  # with success
    confirmed = "confirmed"  # by a person
    dismissed = "dismissed"  # by a person
    recurred = "recurred"  # another run taught the same; counts, but adds no confidence

    @property
    def change(self) -> float:
        """The change of the confidence."""
        return _CHANGES[self]


_CHANGES = {Use.applied: 0.1, Use.confirmed: 0.2, Use.dismissed: -0.2, Use.recurred: 0.0}


class Scope(StrEnum):
    """Where a memory applies."""

    repository = "repository"
    organisation = "organisation"  # every participating repository of the installation


class Archived(StrEnum):
    """Why a memory is archived; Forge never deletes one."""

    doubtful = "doubtful"  # below 0.2
    unused = "unused"  # for 90 days
    forgotten = "forgotten"  # by a person
    merged = "merged"  # into another with the same content
    contradicted = "contradicted"  # by one of higher confidence
    crowded = "crowded"  # beyond the limit
    proposed = "proposed"  # a model says so, and no person did yet: it was never told to anybody


class Memory(Value):
    """Something Forge learned.

    :param content: the lesson, in a sentence or two.
    :param context: when it matters.
    :param tags: rules, paths and words that also find it.
    :param confidence: from 0 to 1, as of ``used_at``; see :func:`confidence`.
    :param source: the event it came from, for people.
    :param pinned: a person wrote it: it does not decay.
    :param taught_by: the account that alone vouches for it; 0 if that is nobody, or several.
    :param used_at: its last use, or its creation.
    """

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
    taught_by: int = 0
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

    @property
    def on_one_line(self) -> Self:
        """The same with each text as it is kept."""
        return self.model_copy(update={"content": to_one_line(self.content), "context": to_one_line(self.context)})


MOST_CONTEXT = 200
"""Characters of the context."""
MOST_TAGS = 10
LONGEST_TAG = 60
_EMOJI = {0x200D: None, 0xFE0E: None, 0xFE0F: None}  # these only change how an emoji looks
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_HTML = re.compile(r"<(?:!--|[/?!]?[A-Za-z])")
_DEFINITION = re.compile(r"(?:^|\n)[ ]{0,3}\[[^\]\n]+\]:")


Key = TypeVar("Key", int, str)  # of a memory; the newer, the higher

MOST_TERMS = 16
CANDIDATES = 50  # of each ranking; the rest is ignored
READ = 20_000  # characters of a question
_K = 60  # as in the paper on reciprocal rank fusion
_HALF = timedelta(days=30)
_LONGEST = 40  # characters; longer words are hashes or secrets
_TELLING = 12  # characters from which length adds no weight
_OFTEN = 4

_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_HASH = re.compile(r"(?=.*[0-9])[0-9a-f]{7,}")
_COMMON = """
about after all also an and any are as at be because been before being between both but by can could did do does
done down each else even every few for from further get gets had has have having he her here his how if in into is
it its just like made make may might more most must my need new no nor not now of off old on once one only or other
our out over own same see set she should so some such than that the their them then there these they this those
through to too two under until up use used uses using very was we were what when where which while who why will
with without would yes you your
bool class const def else elif enum except export false final float func function import int interface let none
null package private protected public return self static str string struct throw true try type undefined var void
"""
_STOP = frozenset(_COMMON.split())


@dataclass(frozen=True)
class RecalledMemory:
    """A found memory and its score, comparable only within one recall."""

    memory: Memory
    score: float


def extract_terms(text: str) -> tuple[str, ...]:
    """Extracts search terms, the most specific first: long and repeated words.

    Splits identifiers and paths; skips stop words and hashes.

    :param text: any text; only the first :data:`READ` characters count.
    :return: distinct, lower case, only letters and digits.
    """
    found: Counter[str] = Counter()
    for word in _WORD.findall(text[:READ]):
        if len(word) <= _LONGEST and not _HASH.fullmatch(word):
            parts: Sequence[str] = _PART.findall(word) if word.isascii() else ()
            found.update({part.lower() for part in (word, *parts)})
    telling = sorted(filter(_is_telling, found))
    telling.sort(key=lambda word: min(len(word), _TELLING) + min(found[word], _OFTEN), reverse=True)
    return tuple(telling[:MOST_TERMS])


def _is_telling(word: str) -> bool:
    is_short = word.isascii() and len(word) < 2  # one character is a word in other scripts
    return not is_short and word not in _STOP


def rank_by_words(holders: Sequence[Collection[Key]]) -> Mapping[Key, int]:
    """Ranks memories by the query words they contain; rare words count more.

    Rarity is counted among these memories alone, so that other repositories have no influence. Memories with
    the same words are scored once, since most contain one or two.

    :param holders: for each word, the keys of the memories that contain it, each once.
    :return: place by key, from 1; ties share a place.
    """
    held: defaultdict[Key, int] = defaultdict(int)
    for place, keys in enumerate(holders):
        for key in keys:
            held[key] |= 1 << place
    alike: dict[int, list[Key]] = defaultdict(list)
    for key, bits in held.items():
        alike[bits].append(key)
    weights = {1 << place: math.log1p(len(held) / len(keys)) for place, keys in enumerate(holders) if keys}
    levels: dict[float, list[Key]] = defaultdict(list)
    for bits, keys in alike.items():
        levels[round(sum(weight for bit, weight in weights.items() if bits & bit), 6)] += keys
    return _assign_places(levels)


def rank_by_worth(worth: Mapping[Key, float]) -> Mapping[Key, int]:
    """The places of the best :data:`CANDIDATES`, from 1; the newest win ties."""
    levels: dict[float, list[Key]] = defaultdict(list)
    for each, value in worth.items():
        levels[value].append(each)
    return _assign_places(levels)


def _assign_places(levels: Mapping[float, list[Key]]) -> Mapping[Key, int]:
    """The places of the best.

    :param levels: keys by worth.
    """
    found: dict[Key, int] = {}
    for value in sorted(levels, reverse=True):
        room = CANDIDATES - len(found)
        if room <= 0:
            break
        found.update(dict.fromkeys(sorted(levels[value], reverse=True)[:room], len(found) + 1))
    return found


def fuse_rankings(rankings: Iterable[Mapping[str, int]]) -> Mapping[str, float]:
    """One score for several places: reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).

    :param rankings: places by id.
    :return: the best :data:`CANDIDATES`.
    """
    scores: dict[str, float] = defaultdict(float)
    for ranking in rankings:
        for each, place in ranking.items():
            scores[each] += 1 / (_K + place)
    return dict(nlargest(CANDIDATES, scores.items(), key=lambda item: (item[1], item[0])))


def select_best(found: Iterable[RecalledMemory], now: datetime, limit: int) -> Sequence[RecalledMemory]:
    """Selects the best memories that are still valid."""
    live = (each for each in found if find_archive_reason(each.memory, now) is None)
    weighed = [RecalledMemory(each.memory, each.score * compute_weight(each.memory, now)) for each in live]
    return sorted(weighed, key=lambda each: (each.score, each.memory.id), reverse=True)[: max(0, limit)]


def compute_weight(memory: Memory, now: datetime) -> float:
    """The factor of confidence and recency: at least 0.4, so that a good match still counts.

    Recency comes from uses, not from recall, so that recall does not reinforce itself.
    """
    age = max(timedelta(), now - memory.used_at) / _HALF
    return (1 + compute_confidence(memory, now)) / 2 * (4 + 0.5**age) / 5


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
    taught_by: int = 0,
) -> Memory:
    """Creates a memory with the initial confidence of its origin."""
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
        taught_by=taught_by,
        created_at=now,
        used_at=now,
    )


def compute_confidence(memory: Memory, now: datetime) -> float:
    """The current confidence: it loses 0.05 for each whole week without use."""
    if memory.pinned:
        return memory.confidence
    weeks = max(timedelta(), now - memory.used_at) // _WEEK  # a clock that was set back must not subtract time
    return _clamp(memory.confidence - _DECAY * weeks)


def apply_use(memory: Memory, use: Use, now: datetime) -> Memory:
    """Applies a use; some uses do not change the confidence."""
    if not use.change:
        return memory
    sure = _clamp(compute_confidence(memory, now) + use.change)
    return memory.model_copy(update={"confidence": sure, "used_at": max(memory.used_at, now)})


def revert_use(memory: Memory, use: Use, now: datetime) -> Memory:
    """Takes back what a use changed of the confidence."""
    sure = _clamp(compute_confidence(memory, now) - use.change)
    return memory.model_copy(update={"confidence": sure, "used_at": max(memory.used_at, now)})


def find_archive_reason(memory: Memory, now: datetime) -> Archived | None:
    """Returns why to archive a memory; None if it stays. Pinned memories go only if people doubt them."""
    if compute_confidence(memory, now) < ARCHIVED_BELOW:
        return Archived.doubtful
    if not memory.pinned and now - memory.used_at >= UNUSED:
        return Archived.unused
    return None


def is_same_text(one: str, other: str) -> bool:
    """Whether two texts are equal, ignoring case, white space and the final stop."""
    return _normalize(one) == _normalize(other)


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")


def _clamp(value: float) -> float:
    return round(min(1.0, max(0.0, value)), _DIGITS)


def to_one_line(text: str) -> str:
    """A text in one line, as it is kept."""
    return " ".join(text.translate(_EMOJI).split())


def split_tags(typed: str) -> tuple[str, ...]:
    """The tags; people separate them by commas."""
    return tuple(dict.fromkeys(tag for tag in map(to_one_line, typed.split(",")) if tag))


def make_content_key(content: str, context: str) -> str:
    """A key of the content that ignores spacing and case."""
    text = f"{to_one_line(content)}\n{to_one_line(context)}"
    return hashlib.sha256(text.casefold().encode()).hexdigest()[:32]


def find_mistakes(content: str, context: str, tags: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Lists mistakes as (part, mistake, allowed)."""
    if not to_one_line(content):
        yield "text", "is empty", f"1 to {LONGEST:,} characters"
    for name, text, most in (("text", content, LONGEST), ("context", context, MOST_CONTEXT)):
        if len(to_one_line(text)) > most:
            yield name, f"has {len(to_one_line(text)):,} characters", f"at most {most:,}"
        yield from ((name, *each) for each in _find_hidden(text))
    if len(tags) > MOST_TAGS:
        yield "tags", f"are {len(tags)}", f"at most {MOST_TAGS}"
    for tag in tags:
        if not 0 < len(to_one_line(tag)) <= LONGEST_TAG or "," in tag:
            yield "tag", "is empty or too long", f"1 to {LONGEST_TAG} characters each, without a comma"
        yield from (("tag", *each) for each in _find_hidden(tag))


def _is_html(text: str) -> bool:
    """Whether there is HTML outside of inline code."""
    return _HTML.search(_CODE.sub("", text)) is not None


def _find_hidden(text: str) -> Iterator[tuple[str, str]]:
    """Finds text that GitHub or a terminal would not show as stored, and text that must not be stored."""
    bare = text.translate(_EMOJI)
    if strip_invisible(bare) != bare:
        yield "holds invisible or control characters", ""
    if _is_html(bare):
        yield "holds HTML, which hides things", "`<` before a letter only in backticks"
    if _DEFINITION.search(bare):
        yield "holds a link definition, which nobody sees", ""
    if redact_outgoing(bare) != bare:
        yield "holds what looks like a credential", "nothing secret; take it out and revoke it"
