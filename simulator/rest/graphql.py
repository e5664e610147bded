"""GraphQL, as far as REST has no word for it: review threads, hiding comments, drafts, merge queues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from simulator import access, branches, conversation, pull_requests, reviews
from simulator.errors import Refusal
from simulator.graphql_query import Field, Operation, QueryError, read_operation
from simulator.http import Answer, Call, Route
from simulator.state import (
    Account,
    Edit,
    Issue,
    IssueComment,
    Json,
    PullRequest,
    Repository,
    Review,
    ReviewComment,
    Thread,
    timestamp,
)

Value = Any
Resolver = Callable[[Field], Value]
CLASSIFIERS = ("SPAM", "ABUSE", "OFF_TOPIC", "OUTDATED", "DUPLICATE", "RESOLVED", "LOW_QUALITY")


REACTIONS = {
    "THUMBS_UP": "+1",
    "THUMBS_DOWN": "-1",
    "LAUGH": "laugh",
    "CONFUSED": "confused",
    "HEART": "heart",
    "HOORAY": "hooray",
    "ROCKET": "rocket",
    "EYES": "eyes",
}


class Node:
    """An object of the graph: its type's name and what each field answers."""

    def __init__(self, type_name: str, fields: dict[str, Value | Resolver]) -> None:
        self.type_name = type_name
        self.fields = fields

    def select(self, fields: Sequence[Field]) -> Json:
        return {item.alias: self._answer(item) for item in fields if item.of_type in {"", self.type_name}}

    def _answer(self, asked: Field) -> Any:
        if asked.name == "__typename":
            return self.type_name
        if asked.name not in self.fields:
            raise QueryError(f"Field '{asked.name}' doesn't exist on type '{self.type_name}'")
        value = self.fields[asked.name]
        answer: Value = value(asked) if callable(value) else value
        return _render_value(answer, asked)


def _render_value(value: Value, asked: Field) -> Any:
    if isinstance(value, Node):
        if not asked.fields:
            raise QueryError(f"Field must have selections (field '{asked.name}' returns {value.type_name})")
        return value.select(asked.fields)
    if isinstance(value, list):
        return [_render_value(item, asked) for item in cast(list[Value], value)]
    return value


def _connection(asked: Field, type_name: str, items: Sequence[Any], node: Callable[[Any], Node]) -> Node:
    """A page of nodes; GitHub insists on `first` or `last`, at most 100."""
    first, last = asked.arguments.get("first"), asked.arguments.get("last")
    if first is None and last is None:
        raise QueryError(
            f"You must provide a `first` or `last` value to properly paginate the `{asked.name}` connection."
        )
    size = int(first if first is not None else last or 0)
    if size > 100:
        raise QueryError(f"Requesting {size} records on the connection exceeds the `first` limit of 100 records.")
    after = asked.arguments.get("after")
    start = int(str(after).removeprefix("cursor:")) if after else 0
    start = max(0, len(items) - size) if first is None else start
    end = min(len(items), start + size)
    page = {"hasNextPage": end < len(items), "endCursor": f"cursor:{end}" if items else None}
    page |= {"hasPreviousPage": start > 0, "startCursor": f"cursor:{start}" if items else None}
    nodes = [node(item) for item in items[start:end]]
    return Node(type_name, {"nodes": nodes, "pageInfo": Node("PageInfo", dict(page)), "totalCount": len(items)})


def _int(number: int) -> int | None:
    """An id as GraphQL's Int, which has 32 bits."""
    return number if number < 2**31 else None


def _actor(account: Account) -> Node:
    """GraphQL names a bot without the suffix that REST gives it."""
    kind = account.type
    return Node(kind, {"login": account.login.removesuffix("[bot]"), "id": f"U_{account.id}", "databaseId": account.id})


def _viewer(account: Account) -> Node:
    """Whose token it is: a user in GraphQL's eyes, also an App's bot, and that one with its suffix."""
    return Node("User", {"login": account.login, "id": f"U_{account.id}", "databaseId": account.id})


def _edits(edits: Sequence[Edit]) -> Resolver:
    """Who changed a text, the last first."""

    def edit(made: Edit) -> Node:
        at = timestamp(made.at)
        fields: dict[str, Value] = {"editor": _actor(made.by), "editedAt": at, "createdAt": at, "id": f"UCE_{made.id}"}
        return Node("UserContentEdit", fields)

    return lambda asked: _connection(asked, "UserContentEditConnection", edits[::-1], edit)


def _renames(issue: Issue, connection: str) -> Resolver:
    def rename(made: Edit) -> Node:
        return Node("RenamedTitleEvent", {"actor": _actor(made.by), "createdAt": timestamp(made.at)})

    def timeline(asked: Field) -> Node:
        if asked.arguments.get("itemTypes") != ["RENAMED_TITLE_EVENT"]:
            raise QueryError("Of the timeline only changes of the title are served")
        return _connection(asked, connection, issue.renames, rename)

    return timeline


def _issue(issue: Issue) -> Node:
    fields: dict[str, Value] = {"id": f"I_{issue.id}", "number": issue.number, "title": issue.title}
    renames = _renames(issue, "IssueTimelineItemsConnection")
    return Node("Issue", {**fields, "userContentEdits": _edits(issue.edits), "timelineItems": renames})


def _issue_comment(comment: IssueComment) -> Node:
    return Node("IssueComment", {"id": f"IC_{comment.id}", "userContentEdits": _edits(comment.edits)})


def _review(review: Review) -> Node:
    return Node("PullRequestReview", {"id": f"PRR_{review.id}", "userContentEdits": _edits(review.edits)})


def _comment(comment: ReviewComment) -> Node:
    return Node(
        "PullRequestReviewComment",
        {
            "id": f"PRRC_{comment.id}",
            "databaseId": _int(comment.id),
            "fullDatabaseId": str(comment.id),
            "author": _actor(comment.user),
            "body": comment.body,
            "path": comment.path,
            "line": comment.line,
            "originalLine": comment.original_line,
            "outdated": comment.thread.outdated,
            "isMinimized": comment.minimized is not None,
            "minimizedReason": comment.minimized,
            "createdAt": timestamp(comment.created_at),
            "updatedAt": timestamp(comment.updated_at),
            "userContentEdits": _edits(comment.edits),
        },
    )


def _thread(thread: Thread) -> Node:
    first = thread.comments[0]
    return Node(
        "PullRequestReviewThread",
        {
            "id": thread.node_id,
            "isResolved": thread.resolved,
            "isOutdated": thread.outdated,
            "isCollapsed": thread.resolved or thread.outdated,
            "path": first.path,
            "line": first.line,
            "startLine": first.start_line,
            "originalLine": first.original_line,
            "diffSide": first.side,
            "subjectType": first.subject_type.upper(),
            "resolvedBy": _actor(thread.resolved_by) if thread.resolved_by else None,
            "comments": lambda asked: _connection(
                asked, "PullRequestReviewCommentConnection", thread.comments, _comment
            ),
        },
    )


def _pull(pull: PullRequest) -> Node:
    return Node(
        "PullRequest",
        {
            "id": f"PR_{pull.id}",
            "databaseId": _int(pull.id),
            "fullDatabaseId": str(pull.id),
            "number": pull.number,
            "title": pull.title,
            "isDraft": pull.draft,
            "isMergeQueueEnabled": branches.is_enabled(pull),
            "isInMergeQueue": pull.queued_head is not None,
            "state": "MERGED" if pull.merged_at else pull.state.upper(),
            "headRefOid": pull.head_sha,
            "baseRefOid": pull.base_sha,
            "author": _actor(pull.user),
            "timelineItems": _renames(pull, "PullRequestTimelineItemsConnection"),
            "reviewThreads": lambda asked: _connection(
                asked, "PullRequestReviewThreadConnection", pull.threads, _thread
            ),
        },
    )


def _repository(call: Call, asked: Field) -> Node | None:
    name = f"{asked.arguments.get('owner')}/{asked.arguments.get('name')}"
    repository = access.find_visible(call.world, call.caller, name, ("pull_requests:read",))

    def pull(inner: Field) -> Node:
        found = repository.issues.get(int(inner.arguments.get("number") or 0))
        if not isinstance(found, PullRequest):
            number = inner.arguments.get("number")
            raise Refusal(404, f"Could not resolve to a PullRequest with the number of {number}.")
        return _pull(found)

    fields: dict[str, Value | Resolver] = {
        "id": f"R_{repository.id}",
        "databaseId": repository.id,
        "nameWithOwner": repository.full_name,
        "pullRequest": pull,
    }
    return Node("Repository", fields)


def _node(call: Call, asked: Field) -> Node:
    identifier = str(asked.arguments.get("id"))
    if identifier.startswith("PRRT_"):
        thread = reviews.thread_by_node(call.world, identifier)
        _need(call, thread.pull.repository, "pull_requests:read")
        return _thread(thread)
    pull = _pull_by_node(call, identifier)
    _need(call, pull.repository, "pull_requests:read")
    return _pull(pull)


def _nodes(call: Call, asked: Field) -> list[Node]:
    return [_text(call, str(identifier)) for identifier in cast(list[Any], asked.arguments.get("ids") or [])]


def _text(call: Call, identifier: str) -> Node:
    """An issue or a pull request, or a comment of any kind."""
    issues = [issue for home in call.world.repositories.values() for issue in home.issues.values()]
    issue = next((each for each in issues if f"I_{each.id}" == identifier and not isinstance(each, PullRequest)), None)
    if issue is not None:
        _need(call, issue.repository, "issues:read")
        return _issue(issue)
    if identifier.startswith("PR_"):
        pull = _pull_by_node(call, identifier)
        _need(call, pull.repository, "pull_requests:read")
        return _pull(pull)
    found = _subject(call, identifier)
    if isinstance(found, Review):
        _need(call, found.pull.repository, "pull_requests:read")
        return _review(found)
    if isinstance(found, IssueComment):
        _need(call, found.repository, "issues:read")
        return _issue_comment(found)
    _need(call, found.repository, "pull_requests:read")
    return _comment(found)


def _need(call: Call, repository: Repository, *needs: str) -> None:
    for needed in needs:
        access.find_visible(call.world, call.caller, repository.full_name, (needed,))


def _set_resolved(call: Call, values: Json, resolved: bool) -> Node:
    thread = reviews.thread_by_node(call.world, str(values.get("threadId")))
    # An App needs the permission for contents as well, which its documentation does not say.
    _need(call, thread.pull.repository, "pull_requests:write", "contents:write")
    reviews.set_resolved(call.world, thread, call.actor, resolved)
    return Node("ResolveReviewThreadPayload", {"thread": _thread(thread), "clientMutationId": None})


def _minimize(call: Call, values: Json) -> Node:
    subject, reason = _subject(call, str(values.get("subjectId"))), str(values.get("classifier"))
    if reason not in CLASSIFIERS:
        raise QueryError(
            f"Argument 'classifier' on InputObject 'MinimizeCommentInput' has an invalid value ({reason})."
        )
    _need_subject(call, subject)
    subject.minimized = reason.lower().replace("_", "-")
    shown = Node("IssueComment", {"isMinimized": True, "minimizedReason": subject.minimized})
    return Node("MinimizeCommentPayload", {"minimizedComment": shown, "clientMutationId": None})


def _unminimize(call: Call, values: Json) -> Node:
    subject = _subject(call, str(values.get("subjectId")))
    _need_subject(call, subject)
    subject.minimized = None
    shown = Node("IssueComment", {"isMinimized": False, "minimizedReason": None})
    return Node("UnminimizeCommentPayload", {"unminimizedComment": shown, "clientMutationId": None})


def _react(call: Call, values: Json) -> Node:
    subject, content = _subject(call, str(values.get("subjectId"))), REACTIONS.get(str(values.get("content")))
    if content is None:
        raise QueryError("Argument 'content' on InputObject 'AddReactionInput' has an invalid value.")
    _need_subject(call, subject)
    conversation.react(call.world, subject, call.actor, content)
    reaction = Node("Reaction", {"content": values["content"]})
    return Node("AddReactionPayload", {"reaction": reaction, "clientMutationId": None})


def _subject(call: Call, node_id: str) -> IssueComment | ReviewComment | Review:
    kind, _, number = node_id.partition("_")
    known: dict[str, dict[int, Any]] = {"IC": dict(call.world.comments), "PRRC": dict(call.world.review_comments)}
    if kind == "PRR":
        known["PRR"] = {review.id: review for pull in call.world.all_pulls() for review in pull.reviews}
    found = known.get(kind, {}).get(int(number) if number.isdigit() else 0)
    if found is None:
        raise _node_not_found(node_id)
    return found


def _need_subject(call: Call, subject: IssueComment | ReviewComment | Review) -> None:
    if isinstance(subject, IssueComment):
        _need(call, subject.repository, "issues:write")
    else:
        _need(call, subject.pull.repository, "pull_requests:write")


def _node_not_found(node_id: str) -> Refusal:
    return Refusal(404, f"Could not resolve to a node with the global id of '{node_id}'.")


def _pull_by_node(call: Call, node_id: str) -> PullRequest:
    found = next((pull for pull in call.world.all_pulls() if f"PR_{pull.id}" == node_id), None)
    if found is None:
        raise _node_not_found(node_id)
    return found


def _set_draft(call: Call, values: Json, draft: bool) -> Node:
    pull = _pull_by_node(call, str(values.get("pullRequestId")))
    # As with threads: https://github.com/cli/cli/issues/8910
    _need(call, pull.repository, "pull_requests:write", "contents:write")
    pull_requests.set_draft(call.world, pull, call.actor, draft)
    return Node("Payload", {"pullRequest": _pull(pull), "clientMutationId": None})


def _enqueue(call: Call, values: Json) -> Node:
    pull = _pull_by_node(call, str(values.get("pullRequestId")))
    _need(call, pull.repository, "pull_requests:write", "contents:write", "merge_queues:write")
    branches.enqueue(call.world, pull, call.actor, values.get("expectedHeadOid"))
    entry = Node("MergeQueueEntry", {"id": f"MQE_{pull.id}", "position": 1, "state": "AWAITING_CHECKS"})
    return Node("EnqueuePullRequestPayload", {"mergeQueueEntry": entry, "clientMutationId": None})


def _update_pull(call: Call, values: Json) -> Node:
    pull = _pull_by_node(call, str(values.get("pullRequestId")))
    _need(call, pull.repository, "pull_requests:write")
    conversation.edit_issue(call.world, pull, call.actor, values.get("title"), values.get("body"))
    return Node("Payload", {"pullRequest": _pull(pull), "clientMutationId": None})


def _update_comment(call: Call, values: Json) -> Node:
    found = _subject(call, str(values.get("id")))
    if not isinstance(found, IssueComment):
        raise _node_not_found(str(values.get("id")))
    _need(call, found.repository, "issues:write")
    conversation.edit_comment(call.world, found, call.actor, values.get("body"))
    return Node("UpdateIssueCommentPayload", {"clientMutationId": None})


_ERRORS = {403: "FORBIDDEN", 404: "NOT_FOUND"}
_MUTATIONS: dict[str, Callable[[Call, Json], Node]] = {
    "resolveReviewThread": lambda call, values: _set_resolved(call, values, True),
    "unresolveReviewThread": lambda call, values: _set_resolved(call, values, False),
    "minimizeComment": _minimize,
    "unminimizeComment": _unminimize,
    "addReaction": _react,
    "enqueuePullRequest": _enqueue,
    "updatePullRequest": _update_pull,
    "updateIssueComment": _update_comment,
    "convertPullRequestToDraft": lambda call, values: _set_draft(call, values, True),
    "markPullRequestReadyForReview": lambda call, values: _set_draft(call, values, False),
}


def _root(call: Call, operation: Operation) -> Node:
    if operation.kind == "mutation":
        fields: dict[str, Value | Resolver] = {
            name: lambda asked, run=run: run(call, cast(Json, asked.arguments.get("input") or {}))
            for name, run in _MUTATIONS.items()
        }
        return Node("Mutation", fields)
    viewer = _viewer(call.actor.account)
    return Node(
        "Query",
        {
            "repository": lambda asked: _repository(call, asked),
            "node": lambda asked: _node(call, asked),
            "nodes": lambda asked: _nodes(call, asked),
            "viewer": viewer,
        },
    )


def answer(call: Call) -> Answer:
    """Errors come with status 200, as GraphQL has it."""
    query, variables = str(call.body.get("query") or ""), cast(Json, call.body.get("variables") or {})
    schema = call.world.graphql_schema
    refused = schema.find_mistakes(query, variables) if schema is not None else ()
    if refused:
        return Answer(200, {"errors": [{"message": message} for message in refused]})
    try:
        answered = _execute(call, read_operation(query, variables))
    except QueryError as error:
        return Answer(200, {"errors": [{"message": str(error)}]})
    if schema is not None:
        data = cast(Json, cast(Json, answered.body).get("data") or {})
        call.world.unpublished += schema.find_differences(query, variables, data)
    return answered


def _execute(call: Call, operation: Operation) -> Answer:
    root = _root(call, operation)
    data: Json = {}
    errors: list[Json] = []
    for asked in operation.fields:
        try:
            data |= root.select([asked])
        except QueryError as error:
            return Answer(200, {"errors": [{"message": str(error), "path": [operation.kind, asked.alias]}]})
        except Refusal as refusal:
            data[asked.alias] = None
            kind = _ERRORS.get(refusal.status, "UNPROCESSABLE")
            errors.append({"type": kind, "path": [asked.alias], "message": refusal.body["message"]})
    return Answer(200, {"data": data, "errors": errors} if errors else {"data": data})


ROUTES = [Route("POST", "/graphql", answer)]
