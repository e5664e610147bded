"""Has reports and sources read in the warm workers, and validates the answers."""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from agents.testing.test_selection import Selection
from domain.errors import ToolError
from domain.review.review import RiskLevel
from workspace.sandbox.worker_pool import WorkerPool

_SECONDS = 30.0

Form = TypeVar("Form")


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


def _validate(adapter: TypeAdapter[Form], answer: JsonValue, what: str) -> Form:
    try:
        return adapter.validate_python(answer)
    except ValidationError:
        raise ToolError(f"What a worker read in {what} does not have the expected form.") from None
