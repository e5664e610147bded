"""Has reports and sources read in the warm workers, and validates the answers."""

import base64
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from agents.testing.junit import MOST_BYTES
from agents.testing.test_selection import Selection
from domain.errors import ToolError
from domain.review.review import RiskLevel
from domain.runs.testing import Coverage
from workspace.sandbox.worker_pool import WorkerPool

_SECONDS = 30.0

Form = TypeVar("Form")


async def read_cobertura(
    document: bytes, root: str, paths: Collection[str], pool: WorkerPool, seconds: float = _SECONDS
) -> Coverage:
    """The coverage of a Cobertura report.

    :param root: absolute path of the folder that the tests ran in, as they saw it.
    :param paths: the files of the repository; others are left out.
    :raises ToolError: it cannot be read, with the reason.
    """
    known: list[JsonValue] = [*paths]
    request: JsonValue = {"document": _encode(document, "The coverage report"), "root": root, "paths": known}
    answer = _unwrap(await pool.call("cobertura", request, seconds))
    return _validate(TypeAdapter(Coverage), answer, "the coverage report")


async def select_tests(
    paths: Collection[str],
    sources: Mapping[str, str],
    changed: Sequence[str],
    level: RiskLevel,
    pool: WorkerPool,
    seconds: float = _SECONDS,
) -> Selection:
    """The tests to run (see :func:`agents.testing.test_selection.select`); all if the selection fails."""
    request: JsonValue = {
        "paths": [*paths],
        "sources": dict(sources),
        "changed": [*changed],
        "level": level.value,
    }
    try:
        answer = await pool.call("selection", request, seconds)
        chosen = _validate(TypeAdapter(Selection), answer, "the sources")
    except ToolError as error:
        return Selection(runs_all=True, reason=f"All tests: which of them the change concerns is unknown. {error}")
    known = set(paths)
    return chosen.model_copy(update={"tests": tuple(test for test in chosen.tests if test in known)})


def _encode(document: bytes, what: str) -> str:
    if len(document) > MOST_BYTES:
        raise ToolError(f"{what} has {len(document):,} bytes; more than {MOST_BYTES:,} are not read.")
    return base64.b64encode(document).decode()


def _unwrap(answer: JsonValue) -> JsonValue:
    if isinstance(answer, dict) and "problem" in answer:
        raise ToolError(str(answer["problem"])[:500])
    return answer.get("read") if isinstance(answer, dict) else None


def _validate(adapter: TypeAdapter[Form], answer: JsonValue, what: str) -> Form:
    try:
        return adapter.validate_python(answer)
    except ValidationError:
        raise ToolError(f"What a worker read in {what} does not have the expected form.") from None
