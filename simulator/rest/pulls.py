"""Pull requests over REST: lists, details, files, commits, merging."""

from __future__ import annotations

from typing import Any, cast

from simulator import branches, conversation, pull_requests
from simulator.errors import Refusal, invalid
from simulator.http import Answer, Call, Route
from simulator.json import pulls as pull_json
from simulator.state import PullRequest, Repository

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
ROUTES = [
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
