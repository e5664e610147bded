"""Ranks the memories of a scope by their words and tags.

The text search of the database finds which memories hold which words; the ranking is the same on both databases
(:mod:`domain.memories.ranking`).
"""

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import JSON, BigInteger, Connection, String, column, select, table, text

from domain.memories import ranking
from domain.runs.run import RepositoryRef

_TAG = 200  # characters of a tag that count, as in migration 0009
# One row for each word: a row for each hit, or testing each hit for every word, would take longer. PostgreSQL turns
# words into lexemes and leaves out words such as "the", so that no memory holds these.
_IN_SQLITE = text("""
    SELECT (SELECT json_group_array(rowid) FROM memory_words WHERE memory_words MATCH asked.value) AS numbers
    FROM json_each(:asked) AS asked ORDER BY asked.key
""").columns(numbers=JSON)
_IN_POSTGRESQL = text("""
    SELECT (
        SELECT json_agg(number) FROM memory_words WHERE words @@ one AND words @@ CAST(:scope AS tsquery)
    ) AS numbers
    FROM (
        SELECT 1 AS part, place, plainto_tsquery('english', word) AS one
        FROM unnest(CAST(:words AS text[])) WITH ORDINALITY AS asked(word, place)
        UNION ALL
        SELECT 2, place, CAST(mark AS tsquery)
        FROM unnest(CAST(:marks AS text[])) WITH ORDINALITY AS asked(mark, place)
    ) AS asked ORDER BY part, place
""").columns(numbers=JSON)


def rank_by_text(
    connection: Connection, repository: RepositoryRef, words: Sequence[str], tags: Sequence[str], *, organisation: bool
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """The ranks of live memories, by their ids: for the words they hold, and for the tags.

    :param words: only lower-case letters and digits.
    :param tags: any text.
    :param organisation: whether the repository takes part in what its organisation learned.
    """
    if not (words or tags):
        return {}, {}
    scope = [f"r{repository.id}"]
    if organisation:
        scope.append(f"i{repository.installation_id}")
    marks = [f"t{tag[:_TAG].encode(errors='replace').hex().upper()}0" for tag in tags]
    holders = _holders(connection, scope, words, marks)
    rankings = ranking.rank_by_words(holders[: len(words)]), ranking.rank_by_words(holders[len(words) :])
    ids = _ids(connection, {number for each in rankings for number in each})
    by_words, by_tags = (
        {ids[number]: place for number, place in each.items() if number in ids} for each in rankings
    )  # without memories that were archived or changed since the statement before
    return by_words, by_tags


def _holders(
    connection: Connection, scope: Sequence[str], words: Sequence[str], marks: Sequence[str]
) -> Sequence[Sequence[int]]:
    """For each word, and then for each mark, the numbers of the scope's memories that hold it."""
    if connection.dialect.name == "sqlite":
        query, seen = _IN_SQLITE, f"marks : ({' OR '.join(scope)})"
        each = [*(f'words : "{word}"' for word in words), *(f"marks : {mark}" for mark in marks)]
        values: Mapping[str, object] = {"asked": json.dumps([f"{seen} AND {one}" for one in each])}
    else:
        query, seen = _IN_POSTGRESQL, " | ".join(f"'@{mark}'" for mark in scope)
        values = {"scope": seen, "words": list(words), "marks": [f"'@{mark}'" for mark in marks]}
    return [numbers or () for numbers in connection.scalars(query, values)]


def _ids(connection: Connection, numbers: set[int]) -> Mapping[int, str]:
    known = table(
        "memory_words_ids" if connection.dialect.name == "sqlite" else "memory_words",
        column("number", BigInteger),
        column("memory_id", String),
    )
    return {row.number: row.memory_id for row in connection.execute(select(known).where(known.c.number.in_(numbers)))}
