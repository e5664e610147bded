"""Loads the code that a model looked up and names as the proof of its findings."""

from collections.abc import Sequence

from agents.llm.ask import ModelAnswer
from agents.review.model.look_ups import list_evidence, show_evidence
from agents.review.model.related import RelatedCode
from domain.config.review import ReviewSettings
from domain.globs import matches
from domain.review.changes import Change
from domain.text.redaction import redact_outgoing
from workspace.objects import Objects


async def load_evidence(
    code: Objects, head_sha: str, answers: Sequence[ModelAnswer], change: Change, review: ReviewSettings
) -> tuple[RelatedCode, ...]:
    """The lines around each place, as the second look is shown them.

    :raises CodeAccessError: they cannot be read.
    """
    found = [place for place in list_evidence(answers) if not matches(place[1], review.never_send)]
    contents = await code.read(head_sha, sorted({path for _, path, _ in found})) if found else {}
    return show_evidence(found, contents, change.paths, redact_outgoing)
