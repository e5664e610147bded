"""Answers of steps that an earlier version journaled are still read."""

import pytest

from pipeline.feedback.replies.intake import ReplyTarget
from pipeline.publishing.reviews import PostedReview


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
