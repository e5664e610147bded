"""What a recall takes among 1,000, 10,000 and 100,000 memories, against the bare text search of the database."""

import random
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert, text
from ulid import ULID

from domain.runs.run import Phase, RepositoryRef
from memory.db.engine import Connection, Database, sync_engine
from memory.db.tables.repositories import MemoryRow
from memory.learned import vectors
from memory.learned.recall import RecallQuery, note, recall
from tests.databases import Backend, create_database, drop_database

ROUNDS, WORDS, ASKED, NOW = 40, 5_000, 16, datetime.now(UTC)
SHORT, LONG = 256, 1536  # numbers of vectors; text-embedding-3-small makes as many as the second
BIG, SMALL = 10_000, 2_000  # memories of a repository: the most that may live, and what one may have after a year
LAYOUTS = {1_000: [1_000], BIG: [BIG], 100_000: [BIG, *[SMALL] * 45]}
Question = Callable[[RepositoryRef, Sequence[str]], Awaitable[object]]


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
@pytest.mark.parametrize("memories", LAYOUTS)
async def test_recall(memories: int, backend: Backend, tmp_path: Path) -> None:
    """Asked with as many words as a recall takes, of which each is in about a twentieth of the memories at most."""
    url = create_database(backend, tmp_path)
    database, chance = Database(url), random.Random(4)
    vocabulary = Vocabulary(chance)
    await _fill(database, vocabulary, LAYOUTS[memories])
    repositories = {size: number for number, size in enumerate(LAYOUTS[memories])}
    await _embed(database, chance, range(len(LAYOUTS[memories])), SHORT)
    await _embed(database, chance, repositories.values(), LONG)
    _settle(url)
    runs = iter(range(1_000_000))

    async def bare(repository: RepositoryRef, words: Sequence[str]) -> None:
        await database.run_in_transaction(lambda connection: _bare(connection, words, repository.id))

    async def search_unscoped(_: RepositoryRef, words: Sequence[str]) -> None:
        await database.run_in_transaction(lambda connection: _bare(connection, words, None))

    async def search_scoped(repository: RepositoryRef, words: Sequence[str]) -> None:
        assert await recall(database, RecallQuery(repository, " ".join(words), (f"src/{words[0]}.py",)), NOW)

    async def search_shared(repository: RepositoryRef, words: Sequence[str]) -> None:
        assert await recall(database, RecallQuery(repository, " ".join(words), organisation=True), NOW)

    async def recall_and_note(repository: RepositoryRef, words: Sequence[str]) -> None:
        found = await recall(database, RecallQuery(repository, " ".join(words)), NOW)
        await note(database, f"run {next(runs)}", Phase.review, "review", found, NOW)

    def by_meaning(numbers: int, *, organisation: bool) -> Question:
        async def search_vectors(repository: RepositoryRef, words: Sequence[str]) -> None:
            about = RecallQuery(repository, " ".join(words), organisation=organisation)
            assert await recall(database, about, NOW, meaning(chance, numbers))

        return search_vectors

    questions = {
        "bare text search in the repository, ranked": bare,
        "bare text search in the whole database": search_unscoped,
        "recall": search_scoped,
        "recall, with what the organisation shares": search_shared,
        "recall, and noted": recall_and_note,
        f"recall, with vectors of {SHORT}": by_meaning(SHORT, organisation=False),
        f"recall, with vectors of {LONG}": by_meaning(LONG, organisation=False),
        f"recall, with vectors of {SHORT}, shared, too": by_meaning(SHORT, organisation=True),
    }
    for size, number in repositories.items():
        repository = RepositoryRef(installation_id=1, id=number, owner="octo-org", name="shop")
        times = await _in_turn([*questions.values()], repository, vocabulary)
        print(f"\n\nRecall on {backend}, {memories:,} memories, {size:,} of the repository, median of {ROUNDS} (p95)")
        for name, seconds in zip(questions, times, strict=True):
            _print(name, seconds, times[0])
    await database.close()
    drop_database(url)


def meaning(chance: random.Random, numbers: int) -> vectors.Vector:
    return vectors.Vector(f"bench of {numbers}", [chance.gauss() for _ in range(numbers)])


class Vocabulary:
    """Words as a language has them: few are in every sentence, most are rare."""

    def __init__(self, chance: random.Random) -> None:
        letters = "abcdefghijklmnopqrstuvwxyz"
        self._chance = chance
        self._words = ["".join(chance.choices(letters, k=chance.randint(4, 10))) for _ in range(WORDS)]
        self._weights = [1 / (rank + 20) for rank in range(WORDS)]

    def some(self, count: int) -> Sequence[str]:
        return self._chance.choices(self._words, self._weights, k=count)

    def distinct(self, count: int) -> Sequence[str]:
        return list(dict.fromkeys(self.some(4 * count)))[:count]


def _bare(connection: Connection, words: Sequence[str], repository_id: int | None) -> object:
    """The ten that the database itself ranks highest."""
    if connection.dialect.name == "sqlite":
        asked = "words : (" + " OR ".join(words) + ")"
        match = asked if repository_id is None else f"marks : r{repository_id} AND {asked}"
        query = "SELECT rowid, rank FROM memory_words WHERE memory_words MATCH :match ORDER BY rank LIMIT 10"
        return connection.execute(text(query), {"match": match}).all()
    lexemes = " | ".join(words)
    scope = "" if repository_id is None else f"CAST('''@r{repository_id}''' AS tsquery) && "
    query = (
        "SELECT memory_id, ts_rank(words, to_tsquery('english', :words)) FROM memory_words"
        f" WHERE words @@ ({scope}to_tsquery('english', :words)) ORDER BY 2 DESC LIMIT 10"
    )
    return connection.execute(text(query), {"words": lexemes}).all()


async def _fill(database: Database, vocabulary: Vocabulary, sizes: Sequence[int]) -> None:
    rows = [_row(vocabulary, repository, number) for repository, size in enumerate(sizes) for number in range(size)]
    for start in range(0, len(rows), 5_000):
        async with database.transaction() as session:
            await session.execute(insert(MemoryRow), rows[start : start + 5_000])


def _settle(url: str) -> None:
    """What PostgreSQL would begin by itself while it is measured; SQLite is told as much of its tables."""
    engine = sync_engine(url)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE" if engine.dialect.name == "sqlite" else "VACUUM ANALYZE")
    engine.dispose()


async def _embed(database: Database, chance: random.Random, repositories: Iterable[int], numbers: int) -> None:
    """Vectors for all of some repositories; a few different ones do."""
    some = [meaning(chance, numbers) for _ in range(100)]
    for repository_id in repositories:
        while made := await vectors.list_missing(database, repository_id, some[0].model, 2_000):
            await vectors.keep(database, made, [some[number % len(some)] for number in range(len(made))])


def _row(vocabulary: Vocabulary, repository_id: int, number: int) -> dict[str, object]:
    made = NOW - timedelta(days=number % 60)
    return {
        "id": str(ULID()),
        "installation_id": 1,
        "repository_id": repository_id,
        "scope": "organisation" if number % 100 == 0 else "repository",
        "kind": "semantic",
        "content": " ".join(vocabulary.some(25)),
        "context": " ".join(vocabulary.some(5)),
        "tags": [f"src/{word}.py" for word in vocabulary.some(2)],
        "confidence": 0.7,
        "origin": "person",
        "source": "a benchmark",
        "created_at": made,
        "pinned": False,
        "last_accessed": made,
        "access_count": 0,
        "used_at": made,
    }


async def _in_turn(
    measured: Sequence[Question], repository: RepositoryRef, vocabulary: Vocabulary
) -> Sequence[Sequence[float]]:
    """The seconds of each, sorted, taken in turn with the same words."""
    times: list[list[float]] = [[] for _ in measured]
    for _ in range(ROUNDS):
        words = vocabulary.distinct(ASKED)
        for call, taken in zip(measured, times, strict=True):
            started = time.perf_counter()
            await call(repository, words)
            taken.append(time.perf_counter() - started)
    return [sorted(taken) for taken in times]


def _print(name: str, seconds: Sequence[float], baseline: Sequence[float]) -> None:
    median, late = statistics.median(seconds), seconds[int(len(seconds) * 0.95)]
    ratio = median / statistics.median(baseline)
    print(f"{name:45} {median * 1000:7.2f} ms ({late * 1000:7.2f})   {ratio:6.2f}")
