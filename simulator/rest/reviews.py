"""Reviews and review comments over REST."""

from __future__ import annotations

from simulator import reviews
from simulator.errors import Refusal, not_found
from simulator.http import Answer, Call, Route
from simulator.json import pulls as pull_json
from simulator.rest import issues
from simulator.state import Review, ReviewComment


def create_review(call: Call) -> Answer:
    pull = call.pull("pull_requests:write", by_readers=True)
    review = reviews.create_review(call.world, pull, call.actor, call.body)
    return Answer(200, pull_json.review(call.world, review))


def list_reviews(call: Call) -> Answer:
    """A pending review is seen by its author only."""
    pull = call.pull("pull_requests:read")
    found = [review for review in pull.reviews if review.state != "PENDING" or review.user is call.actor.account]
    return call.page(found, lambda review: pull_json.review(call.world, review))


def _review(call: Call, *needs: str, by_readers: bool = False) -> Review:
    reviews = call.pull(*needs, by_readers=by_readers).reviews
    found = next((review for review in reviews if review.id == call.number("id")), None)
    if found is None:
        raise not_found()
    return found


def show_review(call: Call) -> Answer:
    return Answer(200, pull_json.review(call.world, _review(call, "pull_requests:read")))


def edit_review(call: Call) -> Answer:
    review = _review(call, "pull_requests:write", by_readers=True)
    if review.user is not call.actor.account:
        raise Refusal(403, "You may not edit someone else's review.")
    reviews.edit_review(call.world, review, call.actor, call.body.get("body"))
    return Answer(200, pull_json.review(call.world, review))


def submit_review(call: Call) -> Answer:
    review = _review(call, "pull_requests:write")
    reviews.submit(call.world, review, call.actor, str(call.body.get("event")), call.body.get("body"))
    return Answer(200, pull_json.review(call.world, review))


def delete_review(call: Call) -> Answer:
    review = _review(call, "pull_requests:write")
    shape = pull_json.review(call.world, review)
    reviews.delete_pending(call.world, review)
    return Answer(200, shape)


def dismiss_review(call: Call) -> Answer:
    review = _review(call, "pull_requests:write")
    reviews.dismiss(call.world, review, call.actor, call.body.get("message"))
    return Answer(200, pull_json.review(call.world, review))


def list_comments_of_review(call: Call) -> Answer:
    review = _review(call, "pull_requests:read")
    found = [comment for comment in review.pull.review_comments() if comment.review is review]
    return call.page(found, lambda comment: pull_json.review_comment(call.world, comment))


def list_comments(call: Call) -> Answer:
    found = call.pull("pull_requests:read").review_comments()
    submitted = [comment for comment in found if comment.review.state != "PENDING"]
    return call.page(submitted, lambda comment: pull_json.review_comment(call.world, comment))


def create_comment(call: Call) -> Answer:
    pull = call.pull("pull_requests:write", by_readers=True)
    comment = reviews.add_comment(call.world, pull, call.actor, call.body)
    return Answer(201, pull_json.review_comment(call.world, comment))


def reply(call: Call) -> Answer:
    pull = call.pull("pull_requests:write", by_readers=True)
    comment = reviews.reply(call.world, pull, call.actor, call.number("comment"), call.body.get("body"))
    return Answer(201, pull_json.review_comment(call.world, comment))


def _comment(call: Call, needs: str) -> ReviewComment:
    repository = call.repository(needs)
    found = call.world.review_comments.get(call.number("comment"))
    if found is None or found.repository is not repository:
        raise not_found()
    if needs.endswith(":write") and call.method in ("PATCH", "DELETE") and found.user is not call.actor.account:
        raise Refusal(403, "Resource not accessible by integration")
    return found


def show_comment(call: Call) -> Answer:
    return Answer(200, pull_json.review_comment(call.world, _comment(call, "pull_requests:read")))


def edit_comment(call: Call) -> Answer:
    comment = _comment(call, "pull_requests:write")
    reviews.edit_comment(call.world, comment, call.actor, call.body.get("body"))
    return Answer(200, pull_json.review_comment(call.world, comment))


def delete_comment(call: Call) -> Answer:
    reviews.delete_comment(call.world, _comment(call, "pull_requests:write"), call.actor)
    return Answer(204)


def list_reactions(call: Call) -> Answer:
    return issues.show(call, _comment(call, "pull_requests:read"))


def add_reaction(call: Call) -> Answer:
    return issues.add(call, _comment(call, "pull_requests:write"))


_PULL = "/repos/{owner}/{repo}/pulls/{number}"
_COMMENT = "/repos/{owner}/{repo}/pulls/comments/{comment}"
ROUTES = [
    Route("POST", f"{_PULL}/reviews", create_review),
    Route("GET", f"{_PULL}/reviews", list_reviews),
    Route("GET", f"{_PULL}/reviews/{{id}}", show_review),
    Route("PUT", f"{_PULL}/reviews/{{id}}", edit_review),
    Route("DELETE", f"{_PULL}/reviews/{{id}}", delete_review),
    Route("POST", f"{_PULL}/reviews/{{id}}/events", submit_review),
    Route("PUT", f"{_PULL}/reviews/{{id}}/dismissals", dismiss_review),
    Route("GET", f"{_PULL}/reviews/{{id}}/comments", list_comments_of_review),
    Route("GET", f"{_PULL}/comments", list_comments),
    Route("POST", f"{_PULL}/comments", create_comment),
    Route("POST", f"{_PULL}/comments/{{comment}}/replies", reply),
    Route("GET", _COMMENT, show_comment),
    Route("PATCH", _COMMENT, edit_comment),
    Route("DELETE", _COMMENT, delete_comment),
    Route("GET", f"{_COMMENT}/reactions", list_reactions),
    Route("POST", f"{_COMMENT}/reactions", add_reaction),
]
