"""Webhook payloads of comments, as small as Forge's view of them allows."""

from typing import Any

ANN: dict[str, Any] = {"id": 5, "login": "ann", "type": "User"}
BOB: dict[str, Any] = {"id": 6, "login": "bob", "type": "User"}
FORGE: dict[str, Any] = {"id": 500, "login": "forge[bot]", "type": "Bot"}
APP_ID = 42
HEAD = "a" * 40
AT = "2026-03-01T12:00:00Z"


def _event(action: str, sender: dict[str, Any], **more: object) -> dict[str, Any]:
    repository = {"id": 99, "name": "app", "owner": {"id": 1, "login": "acme", "type": "Organization"}}
    return {"action": action, "repository": repository, "installation": {"id": 7}, "sender": sender, **more}


def _build_comment(body: str | None, by: dict[str, Any] | None, **more: object) -> dict[str, Any]:
    return {"id": 11, "node_id": "N_11", "body": body, "user": by, "created_at": AT, "submitted_at": AT, **more}


def _pull() -> dict[str, Any]:
    return {"number": 3, "head": {"sha": HEAD}, "user": BOB}


def issue_comment(
    body: str, action: str = "created", sender: dict[str, Any] = ANN, pull: bool = True, **more: Any
) -> dict[str, Any]:
    """:param more: replaces parts of the comment."""
    issue: dict[str, Any] = {"number": 3, "user": BOB, **({"pull_request": {"url": "x"}} if pull else {})}
    return _event(action, sender, issue=issue, comment={**_build_comment(body, sender), **more})


def review_comment(
    body: str, action: str = "created", sender: dict[str, Any] = ANN, reply_to: int | None = None, **more: Any
) -> dict[str, Any]:
    reply = {} if reply_to is None else {"in_reply_to_id": reply_to}
    comment = {**_build_comment(body, sender), "path": "app.py", "line": 3, **reply, **more}
    return _event(action, sender, pull_request=_pull(), comment=comment)


def review(body: str | None, action: str = "submitted", sender: dict[str, Any] = ANN, **more: Any) -> dict[str, Any]:
    return _event(action, sender, pull_request=_pull(), review={**_build_comment(body, sender), **more})


def thread(action: str, sender: dict[str, Any] = ANN, root: dict[str, Any] | None = FORGE) -> dict[str, Any]:
    comments = [{"id": 21, "user": root}, {"id": 22, "user": ANN, "in_reply_to_id": 21}]
    return _event(action, sender, pull_request=_pull(), thread={"node_id": "PRRT_1", "comments": comments})
