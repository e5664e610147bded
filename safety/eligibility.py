"""Decides which pull requests, files and labels Forge acts on, by the repository's configuration."""

from collections.abc import Iterable

from domain.config.configuration import Labels
from domain.config.review import Forks, Paths, ReviewSettings
from domain.github.pull_requests import PullRequest
from domain.globs import matches, permits
from domain.verdicts import Reason

NEWCOMERS = frozenset({"FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "NONE"})
"""GitHub's ``author_association`` of people without a merged contribution here."""

_BOT = "[bot]"


def find_exclusion(
    pull_request: PullRequest,
    settings: ReviewSettings,
    repository_id: int | None = None,
    *,
    asked: bool = False,
) -> Reason | None:
    """Returns the reason not to review this pull request; None if Forge reviews it.

    :param repository_id: of the base repository, to recognise forks.
    :param asked: a person with permission asked for this review, which overrides all exclusions.
    """
    if asked:
        return None
    if not settings.on_pull_request:
        return Reason(
            code="excluded.off", text="Reviews are switched off here (`review.on_pull_request` in `.github/forge.yml`)."
        )
    if pull_request.is_draft and not settings.drafts:
        return Reason(
            code="excluded.draft",
            text="This is a draft. Forge reviews it once it is ready, or now on `/forge review`; drafts as any "
            "other with `review.drafts: true`.",
        )
    if pull_request.author_is_bot and not is_listed(pull_request.author_login, settings.bots):
        return Reason(
            code="excluded.bot",
            text="A bot opened this, and `review.bots` in `.github/forge.yml` does not name it.",
        )
    if settings.forks is Forks.ignore and _is_fork(pull_request, repository_id):
        return Reason(code="excluded.fork", text="Forge reviews forks here only if someone asks with `/forge review`.")
    return None


def needs_ok(pull_request: PullRequest, settings: ReviewSettings, repository_id: int) -> Reason | None:
    """Returns the reason why this head needs a person's ok before a model, test or push; None if it needs none."""
    if not _is_fork(pull_request, repository_id):
        return None
    if settings.forks is not Forks.first_time_needs_ok:
        return Reason(code="ok.fork", text="It comes from a fork, and here each head of a fork needs an ok.")
    if pull_request.author_association in NEWCOMERS:
        return Reason(code="ok.first_time", text="It comes from a fork of someone who is new here.")
    return None


def nothing_left(paths: Iterable[str], settings: ReviewSettings) -> Reason | None:
    """Returns the reason why no file is left to review; None if one is left, or if the change had no files.

    :param paths: of all changed files.
    """
    changed = list(paths)
    if not changed or any(is_included(path, settings.paths) for path in changed):
        return None
    return Reason(code="excluded.paths", text="`review.paths` in `.github/forge.yml` excludes every file it changes.")


def is_included(path: str, paths: Paths) -> bool:
    """Whether the path filters include a file."""
    return matches(path, paths.include) and not permits(path, paths.exclude)


def asks_for_run(label: str, labels: Labels) -> bool:
    """Whether this label asks for a run; GitHub's labels ignore case."""
    return labels.run is not None and label.casefold() == labels.run.casefold()


def _is_fork(pull_request: PullRequest, repository_id: int | None) -> bool:
    return repository_id is not None and pull_request.is_from_fork(repository_id)


def is_listed(login: str, bots: Iterable[str]) -> bool:
    """Matches bots with or without ``[bot]``, a suffix that no person can have."""
    name = login.casefold().removesuffix(_BOT)
    return any(bot.casefold().removesuffix(_BOT) == name for bot in bots)
