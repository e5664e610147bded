"""What GitHub's published description says may be null is read, in events one at a time, in answers all at once.

A person who deleted the account leaves null, and so do a deleted fork, an App that is gone and a text nobody wrote.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, cast

import pytest

from domain.commands import AnyCommand, Ignored
from handlers import translate
from tests.contract.stage import Stage
from tests.unit.handlers.examples import APP_ID, EXAMPLES
from tests.world.optional import load_nullable

Path = tuple[str, ...]
EVENTS = sorted(set(EXAMPLES) & set(load_nullable()["events"]))
WITHOUT_MEANING: Mapping[str, str] = {
    "check_run.app": "incomplete_payload",  # it is not known whose it is
    "check_suite.app.id": "incomplete_payload",
    "comment.user": "sent_by_an_app",  # whose account is gone, commands nothing
    "review.user": "sent_by_an_app",
    "review.submitted_at": "incomplete_payload",  # of a review that was not submitted
}


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_means_the_same_where_a_field_is_null(event: str) -> None:
    whole = _translate(event, EXAMPLES[event])
    for path in _list_paths(load_nullable()["events"][event]):
        emptied = _empty(EXAMPLES[event], path)
        if emptied is not None:
            assert _translate(event, emptied) == WITHOUT_MEANING.get(".".join(path), whole), path


def _translate(event: str, payload: Mapping[str, Any]) -> str:
    meant: AnyCommand | Ignored = translate(event.split()[0], payload, APP_ID)
    return meant.reason if isinstance(meant, Ignored) else meant.kind


def _list_paths(nullable: Mapping[str, Any], above: Path = ()) -> Iterator[Path]:
    for name, within in nullable.items():
        if isinstance(within, dict):
            yield from _list_paths(cast(Mapping[str, Any], within), (*above, name))
        else:
            yield (*above, name)


def _empty(body: Any, path: Path) -> Any:
    """The body with null there; None if it has nothing there."""
    name, *rest = path
    if name == "[]" and isinstance(body, list):
        items = [_empty(each, tuple(rest)) for each in cast(list[Any], body)]
        return items if items and None not in items else None
    known = cast(dict[str, Any], body) if isinstance(body, dict) else {}
    if known.get(name) is None:
        return None
    within = _empty(known[name], tuple(rest)) if rest else None
    return None if rest and within is None else {**known, name: within}


READS: Mapping[str, Callable[[Stage], Awaitable[object]]] = {
    "pull request": lambda stage: stage.host.pull_request(stage.repository, 1),
    "pull requests of a head": lambda stage: stage.host.open_pull_requests(stage.repository, stage.head),
    "commits": lambda stage: stage.host.pull_commits(stage.repository, 1),
    "pushes": lambda stage: stage.host.pushes_to(stage.repository, "topic"),
    "reviews": lambda stage: stage.host.approvals(stage.repository, 1),
    "objections": lambda stage: stage.host.objections(stage.repository, 1),
    "requested changes": lambda stage: stage.host.change_requests(stage.repository, 1, stage.head),
    "a comment of Forge's own": lambda stage: stage.host.find_comment(stage.repository, 1, "marker"),
    "own remarks": lambda stage: stage.host.own_remarks(stage.repository, 1, with_reviews=True),
    "remarks of a thread": lambda stage: stage.host.thread_remarks(stage.repository, 1, 1),
    "thumbs": lambda stage: stage.host.thumbs(stage.repository, 1, [1]),
    "issue": lambda stage: stage.host.issue(stage.repository, 2),
    "comments of an issue": lambda stage: stage.host.issue_comments(stage.repository, 2),
    "checks": lambda stage: stage.host.check_results(stage.repository, stage.head),
    "a check of Forge's own": lambda stage: stage.host.find_check_run(stage.repository, stage.head, "marker"),
    "required checks": lambda stage: stage.host.required_checks(stage.repository, "main"),
    "roles": lambda stage: stage.host.accounts_with(stage.repository, "write"),
    "role": lambda stage: stage.host.permission(stage.repository, "ann", stage.ann.account.id),
    "traits": lambda stage: stage.host.traits(stage.repository),
}


@pytest.mark.parametrize("what", READS)
async def test_an_answer_is_read_where_all_that_may_be_null_is_null(stage: Stage, what: str) -> None:
    sim, shelf = stage.sim, stage.shelf
    sim.report_check(shelf, stage.head, "build", "success")
    sim.report_status(shelf, stage.head, "ci/old", "pending")
    issue = await stage.ann.open_issue(shelf, "Slow", labels=["bug"])
    await stage.ann.comment(issue, "Since Monday")
    await stage.ann.comment(stage.pull, "Since Tuesday")
    await stage.ann.comment_on_line(stage.pull, "a.py", 3, "Why?")
    sim.leave_out({"answers": load_nullable()["answers"], "events": {}})
    await READS[what](stage)
