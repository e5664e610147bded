"""Reviews, review comments and their threads: stored whole or not at all."""

from __future__ import annotations

from typing import Any, cast

from simulator import diff_positions, pull_json
from simulator.conversation import note_edit, refuse_if_locked
from simulator.diff_positions import CommentPosition, Misplaced
from simulator.errors import Refusal, check_body, invalid, malformed, not_found, unprocessable
from simulator.state import Json, PullRequest, Review, ReviewComment, ReviewState, Thread, World, timestamp
from simulator.webhooks import Actor, emit

PAGE = "/pulls/reviews#create-a-review-for-a-pull-request"
_STATES: dict[str, ReviewState] = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
}


def create_review(world: World, pull: PullRequest, by: Actor, body: Json) -> Review:
    """One review with all its comments. One misplaced comment refuses everything."""
    refuse_if_locked(pull, by)
    commit = _commit_of(pull, body.get("commit_id"), "PullRequestReview")
    event = body.get("event")
    _check_event(pull, by, event)
    text = check_body("PullRequestReview", body.get("body"), required=False)
    wanted = cast(list[Json], body.get("comments") or [])
    if event in ("COMMENT", "REQUEST_CHANGES") and not text.strip() and (not wanted or event == "REQUEST_CHANGES"):
        raise unprocessable("Review cannot be blank" if event == "COMMENT" else "Body can't be blank", page=PAGE)
    if event is None and any(r.state == "PENDING" and r.user is by.account for r in pull.reviews):
        raise unprocessable("User can only have one pending review per pull request", page=PAGE)
    places = [(_review_place(pull, item, commit), str(item.get("body"))) for item in wanted]
    review = _store_review(world, pull, by, text, event, commit)
    comments = [_store_comment(world, pull, by, review, place, body) for place, body in places]
    if event is not None:
        _announce_submission(world, review, by, comments)
    return review


def _check_event(pull: PullRequest, by: Actor, event: Any) -> None:
    if event is not None and event not in _STATES:
        raise malformed(f"{event} is not a member of {', '.join(_STATES)}.")
    own = {"APPROVE": "approve", "REQUEST_CHANGES": "request changes on"}
    if pull.user is by.account and event in own:
        raise unprocessable(f"Review Can not {own[event]} your own pull request", page=PAGE)


def _commit_of(pull: PullRequest, wanted: Any, resource: str) -> str:
    """The commit a review is made on: the head unless the request names another of the pull request."""
    if wanted is None:
        return pull.head_sha
    git = pull.repository.git
    merge_base = git.merge_base(pull.base_tip, pull.head_sha) or pull.base_tip
    part = {pull.head_sha, *(commit.sha for commit in git.commits_between(merge_base, pull.head_sha))}
    if wanted not in part:
        raise invalid(resource, "commit_id", "custom", "commit_id is not part of the pull request")
    return wanted


def _review_place(pull: PullRequest, wanted: Json, commit: str) -> CommentPosition:
    check_body("PullRequestReviewComment", wanted.get("body"))
    if "subject_type" in wanted:  # file comments exist at the comments endpoint only
        raise malformed('"subject_type" is not a permitted key.')
    if not wanted.get("path"):
        raise malformed('"path" wasn\'t supplied.')
    try:
        return diff_positions.find_place(pull, wanted, commit)
    except Misplaced as misplaced:
        what = {"path": "Path", "line": "Line", "start_line": "Start line"}[misplaced.field]
        raise unprocessable(f"{what} could not be resolved", page=PAGE) from None


def _store_review(world: World, pull: PullRequest, by: Actor, body: str, event: str | None, commit: str) -> Review:
    state = _STATES[event] if event else "PENDING"
    review = Review(world.next_id(), pull, by.account, body, state, commit, world.now() if event else None, by.app)
    pull.reviews.append(review)
    return review


def _store_comment(
    world: World,
    pull: PullRequest,
    by: Actor,
    review: Review,
    place: CommentPosition,
    body: str,
    thread: Thread | None = None,
) -> ReviewComment:
    now = world.now()
    owner = thread or Thread(world.next_id(), pull)
    comment = ReviewComment(
        id=world.next_id(),
        pull=pull,
        review=review,
        thread=owner,
        user=by.account,
        app=by.app,
        body=body,
        path=place.path,
        created_at=now,
        updated_at=now,
        commit_id=place.commit,
        original_commit_id=place.commit,
        diff_hunk=place.hunk,
        line=place.line,
        side=place.side,
        start_line=place.start_line,
        start_side=place.start_side,
        original_line=place.line,
        original_start_line=place.start_line,
        position=place.position,
        original_position=place.position,
        subject_type="line" if place.line is not None else "file",
    )
    owner.comments.append(comment)
    world.review_comments[comment.id] = comment
    if thread is None:
        pull.threads.append(owner)
    if place.commit != pull.head_sha:  # a review of an older commit meets what was pushed since
        diff_positions.move(comment, place.commit, pull.base_tip)
        owner.outdated = comment.position is None and comment.subject_type == "line"
    return comment


def add_comment(world: World, pull: PullRequest, by: Actor, body: Json) -> ReviewComment:
    """A comment of its own, which GitHub wraps into a review with an empty body."""
    if body.get("in_reply_to") is not None:
        return reply(world, pull, by, int(body["in_reply_to"]), body.get("body"))
    refuse_if_locked(pull, by)
    text = check_body("PullRequestReviewComment", body.get("body"))
    if not body.get("commit_id") or not body.get("path"):
        raise malformed(f'"{"path" if body.get("commit_id") else "commit_id"}" wasn\'t supplied.')
    commit = _commit_of(pull, body["commit_id"], "PullRequestReviewComment")
    try:
        place = diff_positions.find_place(pull, body, commit)
    except Misplaced as misplaced:
        field = f"pull_request_review_thread.{misplaced.field}"
        raise invalid("PullRequestReviewComment", field, "custom", f"{field} must be part of the diff") from None
    review = _store_review(world, pull, by, "", "COMMENT", commit)
    comment = _store_comment(world, pull, by, review, place, text)
    _announce_submission(world, review, by, [comment])
    return comment


def reply(world: World, pull: PullRequest, by: Actor, parent_id: int, body: object) -> ReviewComment:
    parent = world.review_comments.get(parent_id)
    if parent is None or parent.pull is not pull:
        raise not_found()
    refuse_if_locked(pull, by)
    text = check_body("PullRequestReviewComment", body)
    first = parent.thread.comments[0]
    review = _store_review(world, pull, by, "", "COMMENT", pull.head_sha)
    place = CommentPosition(
        first.path,
        first.commit_id,
        first.line,
        first.side,
        first.start_line,
        first.start_side,
        first.position,
        first.diff_hunk,
    )
    comment = _store_comment(world, pull, by, review, place, text, parent.thread)
    comment.in_reply_to, comment.subject_type = first.id, first.subject_type
    comment.original_line, comment.original_start_line = first.original_line, first.original_start_line
    comment.original_position, comment.original_commit_id = first.original_position, first.original_commit_id
    comment.commit_id, comment.line, comment.position = first.commit_id, first.line, first.position
    _announce_submission(world, review, by, [comment])
    return comment


def submit(world: World, review: Review, by: Actor, event: str, body: str | None) -> None:
    _check_event(review.pull, by, event)
    if review.state != "PENDING":
        raise unprocessable("Can not submit a review that is not pending")
    review.body = check_body("PullRequestReview", body, required=False) or review.body
    review.state, review.submitted_at = _STATES[event], world.now()
    comments = [comment for comment in review.pull.review_comments() if comment.review is review]
    _announce_submission(world, review, by, comments)


def delete_pending(world: World, review: Review) -> None:
    if review.state != "PENDING":
        raise unprocessable("Can not delete a non-pending pull request review")
    for comment in [comment for comment in review.pull.review_comments() if comment.review is review]:
        _remove(world, comment)
    review.pull.reviews.remove(review)


def edit_review(world: World, review: Review, by: Actor, body: object) -> None:
    before, review.body = review.body, check_body("PullRequestReview", body)
    note_edit(world, review, by)
    _announce_review(world, "edited", review, by, changes={"body": {"from": before}})


def dismiss(world: World, review: Review, by: Actor, message: object) -> None:
    if not isinstance(message, str) or not message:
        raise malformed('"message" wasn\'t supplied.')
    if review.state not in ("APPROVED", "CHANGES_REQUESTED"):
        raise unprocessable("Can not dismiss a commented pull request review")
    review.state = "DISMISSED"
    _announce_review(world, "dismissed", review, by)


def edit_comment(world: World, comment: ReviewComment, by: Actor, body: object) -> None:
    text, before = check_body("PullRequestReviewComment", body), comment.body
    comment.body, comment.updated_at = text, world.now()
    note_edit(world, comment, by)
    _announce_comment(world, "edited", comment, by, changes={"body": {"from": before}})


def delete_comment(world: World, comment: ReviewComment, by: Actor) -> None:
    _remove(world, comment)
    _announce_comment(world, "deleted", comment, by)


def _remove(world: World, comment: ReviewComment) -> None:
    comment.thread.comments.remove(comment)
    del world.review_comments[comment.id]
    if not comment.thread.comments:
        comment.pull.threads.remove(comment.thread)


def set_resolved(world: World, thread: Thread, by: Actor, resolved: bool) -> None:
    if thread.resolved == resolved:
        return
    thread.resolved_by = by.account if resolved else None
    pull = thread.pull
    shapes: Json = {"pull_request": pull_json.brief_pull(world, pull), "thread": pull_json.thread(world, thread)}
    shapes["updated_at"] = timestamp(world.now())
    action = "resolved" if resolved else "unresolved"
    emit(world, "pull_request_review_thread", action, pull.repository, by.account, **shapes)


def thread_by_node(world: World, node_id: str) -> Thread:
    threads = (thread for pull in world.all_pulls() for thread in pull.threads)
    found = next((thread for thread in threads if thread.node_id == node_id), None)
    if found is None:
        raise Refusal(404, f"Could not resolve to a node with the global id of '{node_id}'.")
    return found


def _announce_submission(world: World, review: Review, by: Actor, comments: list[ReviewComment]) -> None:
    review.pull.updated_at = world.now()
    _announce_review(world, "submitted", review, by)
    for comment in comments:
        _announce_comment(world, "created", comment, by)


def _announce_review(world: World, action: str, review: Review, by: Actor, **fields: object) -> None:
    pull = review.pull
    # Webhooks spell the state in lower case, unlike the REST API.
    shape = {**pull_json.review(world, review), "state": review.state.lower()}
    brief = pull_json.brief_pull(world, pull)
    emit(world, "pull_request_review", action, pull.repository, by.account, review=shape, pull_request=brief, **fields)


def _announce_comment(world: World, action: str, comment: ReviewComment, by: Actor, **fields: object) -> None:
    shape, brief = pull_json.review_comment(world, comment), pull_json.brief_pull(world, comment.pull)
    owner = comment.pull.repository
    emit(world, "pull_request_review_comment", action, owner, by.account, comment=shape, pull_request=brief, **fields)
