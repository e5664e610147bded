"""Loads the conventions of the repository that a head is held against."""

from agents.prompts.conventions.choice import NOTHING_WRITTEN, WrittenConventions
from agents.prompts.conventions.reading import read_conventions
from agents.review.effort import EFFORTS
from domain.config.review import ReviewSettings
from domain.errors import CodeAccessError
from domain.review.changes import Change
from domain.runs.run import Run
from domain.text.redaction import redact_outgoing
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.verdicts.settings import RunSettings
from workspace.objects import Objects


async def load_conventions(services: Services, run: Run, settings: RunSettings, change: Change) -> WrittenConventions:
    """What the default branch holds, whatever the pull request is for: what it changes there counts once merged.

    :param change: what a model is asked about.
    """
    review, pull_request = settings.configuration.review, settings.pull_request
    if not EFFORTS[review.effort].holds_conventions or not review.instructions:
        return NOTHING_WRITTEN
    mirror = await fetch_mirror(services, run)
    is_default = pull_request.base_ref == pull_request.default_branch
    try:
        commit = run.base_sha if is_default else await mirror.fetch_default()
    except CodeAccessError as error:
        return _explain(error)
    return await read_at(mirror, commit, change, review)


async def read_at(code: Objects, commit: str | None, change: Change, review: ReviewSettings) -> WrittenConventions:
    """What a commit holds; where it cannot be read, why: no review fails for that.

    :param commit: None if there is none.
    :param change: what a model is asked about.
    """
    if commit is None or not EFFORTS[review.effort].holds_conventions:
        return NOTHING_WRITTEN
    try:
        return await read_conventions(code, commit, [file.path for file in change.files], review, redact_outgoing)
    except CodeAccessError as error:
        return _explain(error)


def _explain(error: CodeAccessError) -> WrittenConventions:
    return WrittenConventions(problem=f"The repository's conventions could not be read: {error}")
