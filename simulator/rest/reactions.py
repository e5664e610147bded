"""Reactions to issues and comments over REST."""

from __future__ import annotations

from simulator import conversation
from simulator.errors import not_found
from simulator.http import Answer, Call
from simulator.json import repositories as repository_json
from simulator.state import Issue, IssueComment, ReviewComment


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
