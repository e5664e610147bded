"""What an implementer hands in when it is through with a task, whether that fits together, and what is to be mended."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from domain.runs.plan import Place, Words

MOST_TESTS = 50


class Worked(BaseModel):
    """What became of one task; what changed is not said here, it is in the draft. See :func:`mistakes`.

    :param summary: what is different now, for whoever reads the pull request.
    :param not_done: what is missing and why; empty if the task is done.
    :param tests_added: paths of files in which tests were made or extended.
    """

    model_config = ConfigDict(frozen=True)

    summary: Words
    is_done: bool
    not_done: Annotated[str, StringConstraints(strip_whitespace=True, max_length=1_000)] = ""
    tests_added: tuple[Place, ...] = Field(default=(), max_length=MOST_TESTS)


class RequiredFix(BaseModel):
    """Something that a review or a test says is wrong with what was done.

    :param path: empty if it is about no file.
    :param rule: of the finding, or the name of the test.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    line: int | None = None
    rule: str
    message: str


def find_mistakes(worked: Worked) -> str | None:
    """What does not fit together, in words the implementer can act on; None if everything does."""
    if worked.is_done and worked.not_done:
        return "is_done is true, and not_done says that something is missing: only one of them can be right."
    if not worked.is_done and not worked.not_done:
        return "is_done is false, and not_done does not say what is missing and why."
    return None
