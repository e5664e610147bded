"""Reports and sources are read in confined workers, and what is wrong with them comes back in words."""

from collections.abc import AsyncIterator, Sequence
from functools import partial

import pytest

from agents.testing import coverage
from agents.testing.runners.reports import RepositoryPlace, parse
from agents.testing.test_selection import select_in_worker
from domain.errors import ToolError
from domain.review.review import RiskLevel
from domain.runs.testing import Coverage, TestCase
from tests.unit.testing.forging import BOMBS, cobertura, junit
from workspace.sandbox.worker_pool import WorkerPool


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool("agents.worker_jobs", size=1) as started:
        yield started


async def read_cases(document: bytes, pool: WorkerPool) -> tuple[TestCase, ...]:
    return await pool.call(partial(parse, "junit", document, RepositoryPlace("/w")), 30)


async def read_cobertura(document: bytes, paths: Sequence[str], pool: WorkerPool) -> Coverage:
    return await pool.call(partial(coverage.parse, document, "/w", paths), 30)


async def test_reports_are_read(pool: WorkerPool) -> None:
    (case,) = await read_cases(junit('<testcase name="t"/>'), pool)
    assert case.id == "a::t"
    document = cobertura('<class filename="a.py"><line number="1" hits="1"/></class>')
    covered = await read_cobertura(document, ["a.py"], pool)
    assert covered.lines == (1, 1)
    with pytest.raises(ToolError, match="declares a document type"):
        await read_cases(BOMBS["billion laughs"], pool)


async def test_the_largest_reports_fit_into_an_answer(pool: WorkerPool) -> None:
    failing = f'<failure message="{"é" * 300}">{"é" * 300}</failure>'
    document = junit("".join(f'<testcase name="{n}">{failing}</testcase>' for n in range(10_000)))
    assert len(await read_cases(document, pool)) == 10_000
    lines = "".join(f'<line number="{n}" hits="1"/>' for n in range(1, 200_000))
    classes = "".join(f'<class filename="{name}.py">{lines}</class>' for name in "ab")
    covered = await read_cobertura(cobertura(classes), [], pool)
    assert covered.lines[0] == 399_998


async def test_tests_are_chosen(pool: WorkerPool) -> None:
    sources = {"a.py": "", "test_a.py": "import a", "test_b.py": ""}
    chosen = await select_in_worker([*sources], sources, ["a.py"], RiskLevel.low, pool)
    assert chosen.tests == ("test_a.py",)


async def test_all_tests_are_run_where_choosing_takes_too_long(pool: WorkerPool) -> None:
    sources = {f"m{n}.py": "x = [1, 2, 3]\n" * 500 for n in range(500)}
    chosen = await select_in_worker([*sources], sources, ["m1.py"], RiskLevel.low, pool, seconds=0.05)
    assert chosen.runs_all
    assert "did not finish" in chosen.reason
