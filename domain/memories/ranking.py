"""Ranks memories for recall: search terms, and the order of results."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import nlargest
from typing import TypeVar

from domain.memories.memory import Memory, compute_confidence, find_archive_reason

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
            parts = _PART.findall(word) if word.isascii() else ()
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
