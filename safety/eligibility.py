"""Decides on which pull requests, files and labels Forge acts, how often it may be asked, and where it says hello."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.commands import Repeat
from domain.config.configuration import Labels
from domain.config.sections import Forks, Paths, ReviewSettings
from domain.github.installations import MOST_ISSUES, RepositoryTraits
from domain.github.pull_requests import PullRequest
from domain.globs import matches, permits
from domain.runs.run import ReasonCode, RunState
from domain.verdicts import Reason

WINDOW = timedelta(hours=1)


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


def is_flood(count: int, *, chosen: bool) -> bool:
    """Whether issues would come where nobody asked for them.

    :param count: the repositories that were added at once.
    :param chosen: whether somebody chose them; otherwise the App has all of an account, and those made later, too.
    """
    return not chosen or count > MOST_ISSUES


def is_welcome_wanted(traits: RepositoryTraits, granted: Mapping[str, str]) -> bool:
    """Whether an issue in which Forge introduces itself can be opened in a repository, and belongs there.

    :param granted: the permissions of the installation, name → level.
    """
    can_open = traits.has_issues and not traits.is_archived and granted.get("issues") == "write"
    return can_open and traits.has_commits and not traits.is_fork


@dataclass(frozen=True)
class RunCounts:
    """The runs that pushes started in the last hour, up to and including this one, without refused ones."""

    on_pull_request: int
    by_sender: int
    in_repository: int


PER_PULL_REQUEST = 30
PER_STRANGER = 20
PER_REPOSITORY = 300
COMMENTS_PER_OUTSIDER = 10
COMMENTS_PER_REPOSITORY = 100  # by everyone; beyond that, Forge ignores outsiders
OUTSIDERS = frozenset({"none", "read"})  # on a public repository everybody has the role read
PER_MINUTE = 60
BURST = 30
_EACH = timedelta(minutes=1) / PER_MINUTE
_STOPPED = frozenset({ReasonCode.aborted, ReasonCode.guard})


def over_quota(begun: RunCounts, *, from_fork: bool) -> Reason | None:
    """Returns the reason to wait for a person; None if the run may continue.

    :param from_fork: the account may be unknown here, so it gets a smaller share.
    """
    counted = [
        (begun.on_pull_request, PER_PULL_REQUEST, "on this pull request"),
        (begun.by_sender if from_fork else 0, PER_STRANGER, "of what this account sent from forks"),
        (begun.in_repository, PER_REPOSITORY, "in this repository"),
    ]
    for count, limit, where in counted:
        if count > limit:
            text = f"{count} reviews within an hour {where}; {limit} are allowed"
            return Reason(code="quota", text=text, value=count, threshold=limit)
    return None


@dataclass(frozen=True)
class CommentCounts:
    """How many comments for Forge there were within the last hour, with commands or words, this one included."""

    by_account: int
    in_repository: int

    @property
    def is_flood(self) -> bool:
        """Whether there are so many that their author matters."""
        return self.by_account > COMMENTS_PER_OUTSIDER or self.in_repository > COMMENTS_PER_REPOSITORY


def over_comment_quota(commented: CommentCounts, role: str) -> Reason | None:
    """Returns the reason to ignore another comment; None if Forge obeys it. People with a role are never limited.

    :param role: the author's current role.
    """
    if role not in OUTSIDERS or not commented.is_flood:
        return None
    is_own = commented.by_account > COMMENTS_PER_OUTSIDER
    count, limit = (
        (commented.by_account, COMMENTS_PER_OUTSIDER) if is_own else (commented.in_repository, COMMENTS_PER_REPOSITORY)
    )
    where = "by this account" if is_own else "in this repository"
    text = f"{count} comments for Forge within an hour {where}; {limit} are allowed without a role here"
    return Reason(code="quota", text=text, value=count, threshold=limit)


@dataclass(frozen=True)
class ReportAllowance:
    """So many reports may be made at once.

    :param at: as of then, in UTC.
    """

    left: float
    at: datetime


@dataclass(frozen=True)
class ReportTurn:
    """Whether a report may be made.

    :param wait: time before asking again; zero: allowed, and ``allowance`` includes it.
    """

    wait: timedelta
    allowance: ReportAllowance


def take_report(allowance: ReportAllowance, now: datetime) -> ReportTurn:
    """Ask for one report.

    :param now: UTC. A clock that was set back adds nothing, and takes nothing away.
    """
    passed = max(timedelta(), now - allowance.at)
    left = min(float(BURST), allowance.left + passed / _EACH)
    at = max(now, allowance.at)
    if left < 1:
        return ReportTurn((1 - left) * _EACH, ReportAllowance(left, at))
    return ReportTurn(timedelta(), ReportAllowance(left - 1, at))


def is_due(repeat: Repeat, state: RunState, reason: ReasonCode) -> bool:
    """Whether a new run may start on a head whose last run is in this state.

    Forge does not repeat a verdict unasked. A head whose run ended without one is reviewed again; but
    only a person can restart a run that a person stopped or that exceeded a limit.
    """
    if repeat is Repeat.always:
        return True
    if repeat is Repeat.anew:
        return state.is_final or reason is ReasonCode.gate
    if repeat is Repeat.if_begun:
        return not state.is_final and reason is not ReasonCode.gate
    if not state.is_final:
        return repeat is Repeat.if_excluded  # it may have seen a draft that is now ready
    if state is RunState.completed:
        return reason is ReasonCode.excluded and repeat is not Repeat.never
    return repeat is not Repeat.never or reason not in _STOPPED
