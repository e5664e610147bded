"""The coverage of a base is kept whole, for its repository and its key, and goes with the runs of the repository."""

from domain.runs.coverage import BaseCoverage
from domain.runs.testing import Coverage, FileCoverage
from memory.db.engine import Database
from memory.runs import checkpoints, runs
from tests.rows import NOON, run_row

BASE = BaseCoverage(
    commit="b" * 40,
    coverage=Coverage(files=(FileCoverage(path="a.py", covered=tuple(range(1, 5_000)), missed=(5_001,)),)),
    commands=("pytest",),
    seconds=1.5,
)


async def test_it_is_found_by_repository_and_key(database: Database) -> None:
    async with database.transaction() as session:
        session.add_all([run_row("first", 10), run_row("second", 10)])
    first, second = await runs.get(database, "first"), await runs.get(database, "second")
    assert first is not None
    assert second is not None
    assert await checkpoints.find_shared(database, 10, "key", BaseCoverage) is None
    await checkpoints.keep_shared(database, first, "key", BASE, NOON)
    await checkpoints.keep_shared(database, first, "key", BaseCoverage(commit="c" * 40), NOON)  # a repeated step
    assert await checkpoints.find_shared(database, 10, "key", BaseCoverage) == BASE
    assert await checkpoints.find_shared(database, 10, "other", BaseCoverage) is None
    assert await checkpoints.find_shared(database, 11, "key", BaseCoverage) is None
    newer = BASE.model_copy(update={"coverage": None})
    await checkpoints.keep_shared(database, second, "key", newer, NOON)
    assert await checkpoints.find_shared(database, 10, "key", BaseCoverage) == newer
    assert await checkpoints.load_baseline(database, first) is None
    await checkpoints.purge(database, [10])
    assert await checkpoints.find_shared(database, 10, "key", BaseCoverage) is None
