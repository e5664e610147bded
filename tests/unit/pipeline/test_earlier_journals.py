"""Answers of steps that an earlier version journaled are still read."""

from typing import Any

import pytest

from domain.config.configuration import Configuration
from domain.github.pull_requests import PullRequest
from pipeline.feedback.replies.intake import ReplyTarget
from pipeline.publishing.reviews import PostedReview
from pipeline.verdicts.settings import NotReviewed, NotReviewedKind, RunSettings

PULL_REQUEST = PullRequest(
    number=1,
    title="Add a test",
    is_open=True,
    changed_files=1,
    is_draft=False,
    author_login="alice",
    author_id=1,
    author_is_bot=False,
    author_association="MEMBER",
    head_sha="a" * 40,
    head_ref="topic",
    head_repository_id=1,
    base_sha="b" * 40,
    base_ref="main",
)


def dump_settings(**fields: Any) -> dict[str, Any]:
    """The answer of an earlier version to the step that reads the configuration."""
    stored = RunSettings(configuration=Configuration(), problem=None, pull_request=PULL_REQUEST).model_dump(mode="json")
    del stored["not_reviewed"]
    return {**stored, "excluded": None, "is_unready": False, "paused_by": None, "over_quota": None, **fields}


@pytest.mark.parametrize(
    ("fields", "kind", "why"),
    [
        ({"excluded": "By a bot."}, NotReviewedKind.excluded, "By a bot."),
        ({"excluded": "A draft.", "is_unready": True}, NotReviewedKind.draft, "A draft."),
        ({"over_quota": "Too much.", "excluded": "By a bot."}, NotReviewedKind.over_quota, "Too much."),
        ({"paused_by": "bob", "over_quota": "Too much."}, NotReviewedKind.paused, "bob"),
    ],
)
def test_settings_with_a_field_for_each_reason(fields: dict[str, Any], kind: NotReviewedKind, why: str) -> None:
    assert RunSettings.model_validate(dump_settings(**fields)).not_reviewed == NotReviewed(kind=kind, why=why)


def test_settings_of_a_reviewed_pull_request() -> None:
    assert RunSettings.model_validate(dump_settings()).not_reviewed is None


def test_settings_of_now() -> None:
    why = NotReviewed(kind=NotReviewedKind.paused, why="bob")
    settings = RunSettings(configuration=Configuration(), problem=None, pull_request=PULL_REQUEST, not_reviewed=why)
    assert RunSettings.model_validate(settings.model_dump(mode="json")) == settings


@pytest.mark.parametrize("why", [None, "GitHub refused."])
def test_a_posted_review_that_is_only_a_reason(why: str | None) -> None:
    assert PostedReview.model_validate(why) == PostedReview(unposted=why)


def test_a_posted_review_of_now() -> None:
    posted = PostedReview(review_id=3, comments=2)
    assert PostedReview.model_validate(posted.model_dump(mode="json")) == posted


def test_the_target_of_a_reply_that_is_a_text() -> None:
    assert ReplyTarget.model_validate("run 01ABC") == ReplyTarget(run_id="01ABC")
    assert ReplyTarget.model_validate("a gap") == ReplyTarget(outcome="a gap")
    assert ReplyTarget.model_validate({"run_id": "01ABC"}).run_id == "01ABC"
