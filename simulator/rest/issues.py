"""Issues and their comments, labels and reactions over REST, and the reactions to other comments."""

from __future__ import annotations

from typing import Any, cast

from simulator import conversation, pull_requests, repository_json
from simulator.errors import Refusal, not_found
from simulator.http import Answer, Call, Route
from simulator.state import Issue, IssueComment, Json, PullRequest, ReviewComment, timestamp


def list_issues(call: Call) -> Answer:
    """Pull requests are issues too."""
    repository = call.repository("issues:read")
    state, labels = call.query.get("state", "open"), call.query.get("labels")
    wanted = {name.strip().lower() for name in labels.split(",")} if labels else set[str]()
    creator, since = call.query.get("creator"), call.query.get("since")
    found = [
        issue
        for issue in reversed(repository.issues.values())
        if state in ("all", issue.state)
        and wanted <= {label.name.lower() for label in issue.labels}
        and creator in (None, issue.user.login)
        and (since is None or (timestamp(issue.updated_at) or "") >= since)
    ]
    if call.query.get("direction") == "asc":
        found.reverse()
    return call.page(found, lambda issue: repository_json.issue(call.world, issue))


def show_issue(call: Call) -> Answer:
    return Answer(200, repository_json.issue(call.world, call.issue("issues:read")))


def create_issue(call: Call) -> Answer:
    repository = call.repository("issues:write")
    if not repository.has_issues:
        raise Refusal(410, "Issues has been disabled in this repository.")
    body = call.body
    issue = conversation.open_issue(call.world, repository, call.actor, str(body.get("title") or ""), body.get("body"))
    for name in cast(list[Any], body.get("labels") or []):
        conversation.add_label(call.world, issue, call.actor, str(name))
    return Answer(201, repository_json.issue(call.world, issue))


def edit_issue(call: Call) -> Answer:
    issue = call.issue("issues:write")
    body = call.body
    conversation.edit_issue(call.world, issue, call.actor, body.get("title"), body.get("body"))
    if body.get("state") in ("open", "closed"):
        if not isinstance(issue, PullRequest):
            conversation.set_issue_state(call.world, issue, call.actor, body["state"])
        elif body["state"] == "closed":
            pull_requests.close(call.world, issue, call.actor)
        else:
            pull_requests.reopen(call.world, issue, call.actor)
    return Answer(200, repository_json.issue(call.world, issue))


def list_comments(call: Call) -> Answer:
    found, since = call.issue("issues:read").comments, call.query.get("since")
    recent = [comment for comment in found if since is None or (timestamp(comment.updated_at) or "") >= since]
    return call.page(recent, lambda comment: repository_json.issue_comment(call.world, comment))


def create_comment(call: Call) -> Answer:
    issue = call.issue("issues:write")
    comment = conversation.add_comment(call.world, issue, call.actor, call.body.get("body"))
    return Answer(201, repository_json.issue_comment(call.world, comment))


def _comment(call: Call, level: str) -> IssueComment:
    repository = call.repository("metadata:read")
    found = call.world.comments.get(call.number("comment"))
    needs = [f"issues:{level}"]
    if found is not None and isinstance(found.issue, PullRequest):
        needs.append(f"pull_requests:{level}")
    call.repository(*needs)
    if found is None or found.repository is not repository:
        raise not_found()
    return found


def show_comment(call: Call) -> Answer:
    return Answer(200, repository_json.issue_comment(call.world, _comment(call, "read")))


def edit_comment(call: Call) -> Answer:
    comment = _comment(call, "write")
    if call.caller.kind == "user" and comment.user is not call.actor.account:
        raise Refusal(403, "You may not edit someone else's comment.")
    conversation.edit_comment(call.world, comment, call.actor, call.body.get("body"))
    return Answer(200, repository_json.issue_comment(call.world, comment))


def delete_comment(call: Call) -> Answer:
    conversation.delete_comment(call.world, _comment(call, "write"), call.actor)
    return Answer(204)


def list_comment_reactions(call: Call) -> Answer:
    return show(call, _comment(call, "read"))


def react_to_comment(call: Call) -> Answer:
    return add(call, _comment(call, "write"))


def delete_comment_reaction(call: Call) -> Answer:
    return delete(call, _comment(call, "write"))


def list_issue_reactions(call: Call) -> Answer:
    return show(call, call.issue("issues:read"))


def react_to_issue(call: Call) -> Answer:
    return add(call, call.issue("issues:write"))


def _labels(call: Call, level: str) -> Answer:
    issue = call.issue(f"issues:{level}")
    return Answer(200, [repository_json.label(call.world, issue.repository, label) for label in issue.labels])


def list_labels(call: Call) -> Answer:
    return _labels(call, "read")


def add_labels(call: Call) -> Answer:
    issue = call.issue("issues:write")
    for item in cast(list[Any], call.body.get("labels") or []):
        name = cast(Json, item).get("name") if isinstance(item, dict) else item
        conversation.add_label(call.world, issue, call.actor, str(name))
    return _labels(call, "write")


def remove_label(call: Call) -> Answer:
    conversation.remove_label(call.world, call.issue("issues:write"), call.actor, call.params["name"])
    return _labels(call, "write")


_ISSUE = "/repos/{owner}/{repo}/issues/{number}"
_COMMENT = "/repos/{owner}/{repo}/issues/comments/{comment}"
ROUTES = [
    Route("GET", "/repos/{owner}/{repo}/issues", list_issues),
    Route("POST", "/repos/{owner}/{repo}/issues", create_issue),
    Route("GET", _ISSUE, show_issue),
    Route("PATCH", _ISSUE, edit_issue),
    Route("GET", f"{_ISSUE}/comments", list_comments),
    Route("POST", f"{_ISSUE}/comments", create_comment),
    Route("GET", f"{_ISSUE}/reactions", list_issue_reactions),
    Route("POST", f"{_ISSUE}/reactions", react_to_issue),
    Route("GET", f"{_ISSUE}/labels", list_labels),
    Route("POST", f"{_ISSUE}/labels", add_labels),
    Route("DELETE", f"{_ISSUE}/labels/{{name}}", remove_label),
    Route("GET", _COMMENT, show_comment),
    Route("PATCH", _COMMENT, edit_comment),
    Route("DELETE", _COMMENT, delete_comment),
    Route("GET", f"{_COMMENT}/reactions", list_comment_reactions),
    Route("POST", f"{_COMMENT}/reactions", react_to_comment),
    Route("DELETE", f"{_COMMENT}/reactions/{{id}}", delete_comment_reaction),
]


def show(call: Call, subject: Issue | IssueComment | ReviewComment) -> Answer:
    """Those of one kind, or all."""
    wanted = [item for item in subject.reactions if call.query.get("content") in (None, item.content)]
    return call.page(wanted, lambda item: repository_json.reaction(call.world, item))


def add(call: Call, subject: Issue | IssueComment | ReviewComment) -> Answer:
    """A reaction counts once for each account."""
    given, new = conversation.react(call.world, subject, call.actor, str(call.body.get("content")))
    return Answer(201 if new else 200, repository_json.reaction(call.world, given))


def delete(call: Call, subject: Issue | IssueComment | ReviewComment) -> Answer:
    found = next((item for item in subject.reactions if item.id == call.number("id")), None)
    if found is None:
        raise not_found()
    subject.reactions.remove(found)
    return Answer(204)
