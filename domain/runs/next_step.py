"""Decides the next step of an issue's run with its pull request, as a small pure state machine.

review ── approved ──→ testing ── passed ──→ ready
  ↑ └─ changes asked for ─┐ └─ failed ─┐
  └───────── fix ←────────┴────────────┘   at most 3 times for reviews and 2 for tests; then people are asked
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from domain.runs.patches import RequiredFix
from domain.runs.recovery import HiddenFailure, list_hidden
from domain.runs.run import Phase
from domain.value import Value

MAX_SEND_BACKS: Mapping[Phase, int] = {Phase.review: 3, Phase.testing: 2}
"""How often a phase sends the work back."""


class ReviewState(StrEnum):
    """The result of the review of the proposed head."""

    pending = "pending"
    approved = "approved"  # or left out by the configuration
    changes = "changes"
    person = "person"  # it waits for a person
    broken = "broken"  # it ended without a verdict: stopped, refused, failed


class VerificationState(StrEnum):
    """The result of the tests of the proposed head."""

    pending = "pending"
    passed = "passed"
    failed = "failed"
    unfixable = "unfixable"  # they failed, and no fix is known
    missing = "missing"  # the repository has none
    unable = "unable"  # they could not be run


class HeadOwner(StrEnum):
    """The owner of the head of the pull request."""

    run = "run"
    earlier = "earlier"  # an earlier commit of the run: GitHub lags behind
    others = "others"


class PullRequestState(Value):
    """The state of the pull request.

    :param to_fix: the problems found by the review, or else by the tests.
    :param failing: how many tests failed; None if they did not run.
    :param coverage_delta: how the coverage changed, in percentage points; None if it was not compared.
    :param blames_environment: whether all of them failed for what the place where they ran lacks.
    :param is_flaky: whether a test failed and passed on the same code.
    """

    is_open: bool
    is_merged: bool = False
    head: HeadOwner = HeadOwner.run
    reviewed: ReviewState = ReviewState.pending
    tested: VerificationState = VerificationState.pending
    to_fix: tuple[RequiredFix, ...] = ()
    failing: int | None = None
    coverage_delta: float | None = None
    blames_environment: bool = False
    is_flaky: bool = False

    @property
    def is_hiding(self) -> bool:
        """Whether a failure is hidden instead of mended."""
        return bool(list_hidden(self.to_fix))


class SendBack(Value):
    """A return of the work for fixing.

    :param phase: the phase that sent it back.
    :param head: its commit.
    :param is_flaky: whether a test failed and passed on the same code.
    :param is_spent: whether no other fix may begin without a person.
    :param is_of_agent: whether an agent made what is to be fixed, and not the author of a pull request.
    """

    phase: Phase
    head: str
    to_fix: tuple[RequiredFix, ...]
    is_flaky: bool = False
    is_spent: bool = False
    is_of_agent: bool = True

    @property
    def trouble(self) -> tuple[HiddenFailure, ...]:
        """The failures that an agent hid instead of mending them."""
        return list_hidden(self.to_fix) if self.is_of_agent else ()


class NextStep(StrEnum):
    """What is next."""

    wait = "wait"  # for the review, or for a person there
    test = "test"
    fix = "fix"
    help = "help"  # a person decides whether to try once more
    ready = "ready"
    untested = "untested"  # ends as a draft: its tests could not run
    given_up = "given_up"  # ends as a draft with open problems
    merged = "merged"
    closed = "closed"
    taken = "taken"  # a person pushed to the branch


def next_step(now: PullRequestState, head: str, send_backs: Sequence[SendBack]) -> tuple[NextStep, Phase]:
    """Decides the next step, and its phase.

    :param head: the run's last commit.
    :param send_backs: all so far.
    """
    if not now.is_open:
        return (NextStep.merged if now.is_merged else NextStep.closed), Phase.review
    if now.head is HeadOwner.others:
        return NextStep.taken, Phase.review
    if now.head is HeadOwner.earlier:
        return NextStep.wait, Phase.review
    if now.reviewed is ReviewState.changes:
        return _send_back(Phase.review, head, send_backs), Phase.review
    if now.reviewed is not ReviewState.approved:
        return NextStep.wait, Phase.review
    if now.tested is VerificationState.failed:
        return _send_back(Phase.testing, head, send_backs), Phase.testing
    return _AFTER_TESTS[now.tested], Phase.testing


def would_repeat(now: PullRequestState, head: str, send_backs: Sequence[SendBack]) -> bool:
    """Whether another fix would only repeat one: the last changed nothing, or an earlier one was about the same.

    The same are findings of the same rules in the same files; words and lines differ between two looks.

    :param head: the run's last commit.
    """
    asked = {(each.path, each.rule) for each in now.to_fix}
    known = [{(each.path, each.rule) for each in sent_back.to_fix} for sent_back in send_backs]
    return (bool(send_backs) and send_backs[-1].head == head) or (bool(asked) and asked in known)


def _send_back(phase: Phase, head: str, send_backs: Sequence[SendBack]) -> NextStep:
    """Sends the work back, unless the attempts are used up or the last one changed nothing."""
    spent = sum(sent_back.phase is phase for sent_back in send_backs) >= MAX_SEND_BACKS[phase]
    in_vain = bool(send_backs) and send_backs[-1].head == head
    return NextStep.help if spent or in_vain else NextStep.fix


_AFTER_TESTS = {
    VerificationState.pending: NextStep.test,
    VerificationState.passed: NextStep.ready,
    VerificationState.missing: NextStep.untested,
    VerificationState.unfixable: NextStep.help,
    VerificationState.unable: NextStep.untested,
}
