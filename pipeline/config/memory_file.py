"""Imports ``.github/forge-memory.md`` from the default branch, and checks the version of a pull request."""

from datetime import datetime
from functools import reduce

from domain.config.values import Mistake
from domain.errors import Behind, NotFound
from domain.github.checks import Annotation
from domain.review.review import Conclusion
from domain.runs.run import RepositoryRef
from domain.text.memory_file import PATH, ParsedFile, parse
from memory.learned import memory_file
from memory.learned.memory_file import FileState
from messages import memory_file as texts
from pipeline.config import loading
from pipeline.config.check import ConfigCheck, annotate
from pipeline.context import Services


async def import_memory_file(
    services: Services, repository: RepositoryRef, cause: str, pushed: str | None = None
) -> str:
    """Import the file from the default branch, if it has no mistakes; the outcome.

    May be repeated. If another import finished meanwhile, the file is read again.

    :param cause: trace for the events.
    :param pushed: a commit that was pushed to the default branch, perhaps not the newest.
    :raises Behind: GitHub does not show ``pushed`` yet.
    :raises CodeHostError: GitHub cannot be asked. A missing answer never counts as a missing file.
    """
    while True:
        before = await memory_file.load_state(services.database, repository) or FileState()
        commit, content = await _read(services, repository)
        if pushed is not None and commit != pushed:
            raise Behind("GitHub does not show yet what was pushed to the default branch.", "Forge looks again.")
        outcome = await _keep(services, repository, content, commit, before, cause, services.clock.now())
        if outcome is not None:
            return outcome


async def find_problem(services: Services, repository: RepositoryRef, cause: str) -> str | None:
    """What is wrong with the file, for people; it is imported first if it never was.

    :raises CodeHostError: as for :func:`import_memory_file`.
    """
    taken = await memory_file.load_state(services.database, repository)
    if taken is None:
        await import_memory_file(services, repository, cause)
        taken = await memory_file.load_state(services.database, repository)
    return taken.problem or None if taken is not None else None


async def check(services: Services, repository: RepositoryRef, at_head: bytes | None) -> ConfigCheck:
    """Whether a version of the file is valid, and what it would change.

    :param at_head: None if the pull request removes the file.
    """
    parsed = ParsedFile() if at_head is None else parse(at_head)
    if parsed.mistakes:
        annotations = tuple(map(_build_annotation, parsed.mistakes))
        return ConfigCheck(Conclusion.failure, texts.render_broken(parsed.mistakes), annotations)
    said = await memory_file.list_memories(services.database, repository.id)
    before, after = {memory_file.entry_key(each) for each in said}, {each.key for each in parsed.entries}
    added = [each for each in parsed.entries if each.key not in before]
    gone = [each.content for each in said if memory_file.entry_key(each) not in after]
    return ConfigCheck(Conclusion.success, texts.render_valid(parsed.entries, added, gone, removed=at_head is None))


def merge_checks(found: list[ConfigCheck]) -> ConfigCheck:
    """The check of one file, or of several."""
    return reduce(_merge, found)


def _merge(one: ConfigCheck, other: ConfigCheck) -> ConfigCheck:
    conclusion = one.conclusion if one.conclusion is not Conclusion.success else other.conclusion
    return ConfigCheck(conclusion, texts.combine_checks(one.text, other.text), one.annotations + other.annotations)


async def _read(services: Services, repository: RepositoryRef) -> tuple[str, bytes | None]:
    """The newest commit of the default branch, and the file there."""
    try:
        commit = (await services.host.default_branch(repository)).head_sha
    except NotFound:  # it has no commit yet, or is gone; the next request shows which
        return "", await services.host.file_content(repository, PATH)
    return commit, await services.host.file_content(repository, PATH, commit)


async def _keep(
    services: Services,
    repository: RepositoryRef,
    content: bytes | None,
    commit: str,
    before: FileState,
    cause: str,
    now: datetime,
) -> str | None:
    parsed = ParsedFile() if content is None else parse(content)
    if parsed.mistakes:
        why = texts.not_taken(parsed.mistakes, before.commit if before.keys else None)
        is_noted = await memory_file.mark_broken(services.database, repository, why, before.revision)
        return why if is_noted else None
    database = services.database
    most = (await loading.load_stored(database, repository, services.ceilings.of_configuration)).memory.max
    entries, revision = parsed.entries, before.revision
    changed = await memory_file.import_entries(database, repository, entries, commit, revision, cause, now, most)
    if changed is None:
        return None
    return texts.describe_outcome(len(changed.added), len(changed.archived), changed.kept, changed.left_out)


def _build_annotation(mistake: Mistake) -> Annotation:
    return annotate(PATH, mistake.line, "failure", *texts.render_annotation(mistake))
