"""What is left out, what needs an ok, and what a label asks for."""

import pytest

from domain.config.configuration import Configuration, Labels
from domain.config.sections import Forks, Paths, ReviewSettings
from domain.github.pull_requests import PullRequest
from safety.eligibility import asks_for_run, find_exclusion, is_included, needs_ok, nothing_left

HERE, FORK = 1, 2
_PULL = PullRequest(
    number=1,
    title="A change",
    is_open=True,
    is_draft=False,
    head_sha="a" * 40,
    head_ref="feature",
    head_repository_id=HERE,
    base_sha="b" * 40,
    base_ref="main",
    author_id=5,
    author_login="ann",
    author_is_bot=False,
    author_association="MEMBER",
)


def _pull(**changes: object) -> PullRequest:
    return _PULL.model_copy(update=changes)


def _code(pull: PullRequest, **settings: object) -> str | None:
    reason = find_exclusion(pull, ReviewSettings.model_validate(settings), HERE)
    return None if reason is None else reason.code


def test_an_ordinary_pull_request_is_reviewed() -> None:
    assert _code(_pull()) is None
    assert _code(_pull(head_repository_id=FORK)) is None
    assert _code(_pull(head_repository_id=None)) is None


def test_drafts() -> None:
    assert _code(_pull(is_draft=True)) == "excluded.draft"
    assert _code(_pull(is_draft=True), drafts=True) is None


def test_switched_off() -> None:
    assert _code(_pull(), on_pull_request=False) == "excluded.off"


@pytest.mark.parametrize(
    ("login", "is_bot", "bots", "code"),
    [
        ("dependabot[bot]", True, ("dependabot",), None),
        ("Dependabot[bot]", True, ("dependabot[bot]",), None),
        ("renovate[bot]", True, ("dependabot",), "excluded.bot"),
        ("dependabot-x[bot]", True, ("dependabot",), "excluded.bot"),
        ("dependabot[bot]", True, (), "excluded.bot"),
        ("renovate", False, (), None),  # a person
    ],
)
def test_bots(login: str, is_bot: bool, bots: tuple[str, ...], code: str | None) -> None:
    assert _code(_pull(author_login=login, author_is_bot=is_bot), bots=bots) == code


def test_forks_that_are_ignored() -> None:
    for head in (FORK, None):
        assert _code(_pull(head_repository_id=head), forks="ignore") == "excluded.fork"
    assert _code(_pull(), forks="ignore") is None


def test_what_a_person_asks_for_is_reviewed() -> None:
    settings = ReviewSettings(on_pull_request=False, bots=(), forks=Forks.ignore)
    pull = _pull(is_draft=True, author_is_bot=True, head_repository_id=FORK)
    assert find_exclusion(pull, settings, HERE) is not None
    assert find_exclusion(pull, settings, HERE, asked=True) is None


@pytest.mark.parametrize(
    ("forks", "association", "head", "code"),
    [
        ("first_time_needs_ok", "NONE", FORK, "ok.first_time"),
        ("first_time_needs_ok", "FIRST_TIMER", FORK, "ok.first_time"),
        ("first_time_needs_ok", "FIRST_TIME_CONTRIBUTOR", None, "ok.first_time"),
        ("first_time_needs_ok", "CONTRIBUTOR", FORK, None),
        ("needs_ok", "CONTRIBUTOR", FORK, "ok.fork"),
        ("ignore", "MEMBER", FORK, "ok.fork"),
        ("needs_ok", "NONE", HERE, None),
    ],
)
def test_whose_heads_need_an_ok(forks: str, association: str, head: int | None, code: str | None) -> None:
    settings = ReviewSettings.model_validate({"forks": forks})
    reason = needs_ok(_pull(author_association=association, head_repository_id=head), settings, HERE)
    assert (None if reason is None else reason.code) == code


def test_path_filters_that_leave_nothing() -> None:
    settings = ReviewSettings(paths=Paths(include=("src/**",), exclude=("**/*.lock",)))
    left_out = nothing_left(["docs/a.md", "src/x.lock"], settings)
    assert left_out is not None
    assert left_out.code == "excluded.paths"
    assert nothing_left(["docs/a.md", "src/a.py"], settings) is None
    assert nothing_left([], settings) is None


def test_labels_are_compared_as_github_does() -> None:
    assert asks_for_run("Forge", Configuration().labels)
    assert not asks_for_run("forge-it", Configuration().labels)
    assert asks_for_run("go", Labels(run="Go"))


def test_a_folder_named_in_brackets_leaves_out_no_other() -> None:
    paths = Paths(exclude=("app/[id]/**",))
    assert not is_included("app/[id]/page.tsx", paths)
    assert is_included("app/i/page.tsx", paths)
