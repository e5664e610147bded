"""Pull requests and their reviews over REST."""

from __future__ import annotations

from typing import Any, cast

from simulator import branches, conversation, pull_json, pull_requests, reviews
from simulator.errors import Refusal, invalid, not_found
from simulator.http import Answer, Call, Route
from simulator.rest import issues
from simulator.state import PullRequest, Repository, Review, ReviewComment


def create_review(call: Call) -> Answer:
    pull = call.pull("pull_requests:write", by_readers=True)
    review = reviews.create_review(call.world, pull, call.actor, call.body)
    return Answer(200, pull_json.review(call.world, review))


def list_reviews(call: Call) -> Answer:
    """A pending review is seen by its author only."""
    pull = call.pull("pull_requests:read")
    found = [review for review in pull.reviews if review.state != "PENDING" or review.user is call.actor.account]
    return call.page(found, lambda review: pull_json.review(call.world, review))


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


_COMMENT = "/repos/{owner}/{repo}/pulls/comments/{comment}"


FILES_SHOWN = 3000
DIFF_FILES = 300
DIFF_LINES = 20_000
DIFF_BYTES = 1024 * 1024


def list_pulls(call: Call) -> Answer:
    repository = call.repository("pull_requests:read")
    state, base, head = call.query.get("state", "open"), call.query.get("base"), call.query.get("head")
    found = [
        pull
        for pull in reversed(repository.pulls())
        if state in ("all", pull.state)
        and base in (None, pull.base_ref)
        and head in (None, f"{pull.head_owner.login}:{pull.head_ref}")
    ]
    if call.query.get("direction") == "asc":
        found.reverse()
    return call.page(found, lambda pull: pull_json.brief_pull(call.world, pull))


def list_pulls_of_commit(call: Call) -> Answer:
    """Those by which a commit came into its branch, or whose head it is."""
    repository, sha = call.repository("pull_requests:read"), call.params["sha"]
    found = [
        pull for pull in reversed(repository.pulls()) if sha == pull.head_sha or pull_requests.has_brought(pull, sha)
    ]
    return call.page(found, lambda pull: pull_json.brief_pull(call.world, pull))


def show_pull(call: Call) -> Answer:
    pull = call.pull("pull_requests:read")
    if "diff" in call.accept:
        return _diff(pull)
    return Answer(200, pull_json.full_pull(call.world, pull, pull_requests.mergeable(pull)))


def _diff(pull: PullRequest) -> Answer:
    files = pull_json.pull_files(pull)
    text = "".join(file.text for file in files).encode()
    limits = (
        (len(files), DIFF_FILES, "files"),
        (text.count(b"\n"), DIFF_LINES, "lines"),
        (len(text), DIFF_BYTES, "bytes"),
    )
    for size, limit, what in limits:
        if size > limit:
            error = {"resource": "PullRequest", "field": "diff", "code": "too_large"}
            raise Refusal(406, f"Sorry, the diff exceeded the maximum number of {what} ({limit})", [error])
    return Answer(200, text, content_type="application/vnd.github.diff; charset=utf-8")


def list_files(call: Call) -> Answer:
    """Stops at 3,000 files without saying so."""
    pull = call.pull("pull_requests:read")
    files = pull_json.pull_files(pull)[:FILES_SHOWN]
    return call.page(files, lambda file: pull_json.file(call.world, pull.repository, pull.head_sha, file))


def list_commits(call: Call) -> Answer:
    pull = call.pull("pull_requests:read")
    found = pull.repository.git.commits_between(pull.base_tip, pull.head_sha)[:250]
    return call.page(found, lambda commit: pull_json.commit(call.world, pull.repository, commit))


def create_pull(call: Call) -> Answer:
    repository = call.repository("pull_requests:write")
    title, head, base = (call.body.get(key) for key in ("title", "head", "base"))
    for key, value in (("title", title), ("head", head), ("base", base)):
        if not value:
            raise invalid("PullRequest", key, "missing_field")
    owner, colon, branch = str(head).partition(":")
    pull = pull_requests.open_pull(
        call.world,
        repository,
        call.actor,
        head_repository=_head_repository(call, repository, owner) if colon else repository,
        head=branch if colon else str(head),
        base=str(base),
        title=str(title),
        body=call.body.get("body"),
        draft=bool(call.body.get("draft")),
    )
    return Answer(201, pull_json.full_pull(call.world, pull))


def _head_repository(call: Call, repository: Repository, owner: str) -> Repository:
    if owner.lower() == repository.owner.login.lower():
        return repository
    for other in call.world.repositories.values():
        if other.parent is repository and other.owner.login.lower() == owner.lower() and not other.deleted:
            return other
    raise invalid("PullRequest", "head", "invalid")


def edit_pull(call: Call) -> Answer:
    pull = call.pull("pull_requests:write")
    body = call.body
    if body.get("base") is not None and body["base"] != pull.base_ref:
        pull_requests.edit_base(call.world, pull, call.actor, str(body["base"]))
    conversation.edit_issue(call.world, pull, call.actor, body.get("title"), body.get("body"))
    if body.get("state") == "closed":
        pull_requests.close(call.world, pull, call.actor)
    elif body.get("state") == "open":
        pull_requests.reopen(call.world, pull, call.actor)
    return Answer(200, pull_json.full_pull(call.world, pull))


def merge_pull(call: Call) -> Answer:
    call.repository("contents:write")
    pull = call.pull("pull_requests:write", "contents:write")
    body = call.body
    message = "\n\n".join(part for part in (body.get("commit_title"), body.get("commit_message")) if part) or None
    method = str(body.get("merge_method", "merge"))
    sha = branches.merge_pull(call.world, pull, call.actor, method, body.get("sha"), message)
    return Answer(200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


def is_merged(call: Call) -> Answer:
    if call.pull("pull_requests:read").merged_at is None:
        raise Refusal(404, "Not Found")
    return Answer(204)


def request_reviewers(call: Call) -> Answer:
    pull = call.pull("pull_requests:write")
    for login in cast(list[Any], call.body.get("reviewers") or []):
        account = call.world.accounts.get(str(login).lower())
        if account is None or not pull.repository.allows(account, "read") or account is pull.user:
            message = "Reviews may only be requested from collaborators."
            raise Refusal(422, message)
        if account not in pull.reviewers:
            pull.reviewers.append(account)
    return Answer(201, pull_json.brief_pull(call.world, pull))


_PULL = "/repos/{owner}/{repo}/pulls/{number}"


def _review(call: Call, *needs: str, by_readers: bool = False) -> Review:
    reviews = call.pull(*needs, by_readers=by_readers).reviews
    found = next((review for review in reviews if review.id == call.number("id")), None)
    if found is None:
        raise not_found()
    return found


def _comment(call: Call, needs: str) -> ReviewComment:
    repository = call.repository(needs)
    found = call.world.review_comments.get(call.number("comment"))
    if found is None or found.repository is not repository:
        raise not_found()
    if needs.endswith(":write") and call.method in ("PATCH", "DELETE") and found.user is not call.actor.account:
        raise Refusal(403, "Resource not accessible by integration")
    return found


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
    Route("GET", "/repos/{owner}/{repo}/pulls", list_pulls),
    Route("GET", "/repos/{owner}/{repo}/commits/{sha}/pulls", list_pulls_of_commit),
    Route("POST", "/repos/{owner}/{repo}/pulls", create_pull),
    Route("GET", _PULL, show_pull),
    Route("PATCH", _PULL, edit_pull),
    Route("GET", f"{_PULL}/files", list_files),
    Route("GET", f"{_PULL}/commits", list_commits),
    Route("GET", f"{_PULL}/merge", is_merged),
    Route("PUT", f"{_PULL}/merge", merge_pull),
    Route("POST", f"{_PULL}/requested_reviewers", request_reviewers),
]
