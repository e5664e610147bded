"""Reads the conventions of the repository for those who plan and carry out an issue."""

from collections.abc import Collection

from agents.prompts.conventions.choice import choose
from agents.prompts.conventions.reading import read_conventions
from domain.config.configuration import Configuration
from domain.review.conventions import Conventions
from domain.text.redaction import redact_outgoing
from pipeline.run_context import RunContext


async def load_conventions(
    context: RunContext, configuration: Configuration, paths: Collection[str], at: str | None = None
) -> Conventions:
    """Those for some files, as the default branch had them when the run was admitted; the same each time.

    :param paths: the files; none: only what is about the whole repository.
    :param at: the commit of the default branch, where that is not the base of the run.
    """
    mirror, review = await context.fetch_mirror(), configuration.review
    if at is not None:
        await mirror.fetch_default()  # which holds it
    written = await read_conventions(mirror, at or context.run.base_sha, paths, review, redact_outgoing)
    return choose(written, paths)
