"""What GitHub's published description says may be null is read, in events one at a time, in answers all at once.

So is an answer without anything that may be left out. A person who deleted the account leaves null, and so do a
deleted fork, an App that is gone and a text nobody wrote.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, cast

import pytest

from domain.commands import AnyCommand, Ignored
from handlers import translate
from tests.contract.stage import Stage
from tests.unit.handlers.examples import APP_ID, EXAMPLES
from tests.world.optional import load_nullable, load_optional

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
    "failing checks": lambda stage: stage.host.failures(stage.repository, stage.head),
    "a check of Forge's own": lambda stage: stage.host.find_check_run(stage.repository, stage.head, "marker"),
    "required checks": lambda stage: stage.host.required_checks(stage.repository, "main"),
    "roles": lambda stage: stage.host.accounts_with(stage.repository, "write"),
    "role": lambda stage: stage.host.permission(stage.repository, "ann", stage.ann.account.id),
    "traits": lambda stage: stage.host.traits(stage.repository),
    "default branch": lambda stage: stage.host.default_branch(stage.repository),
    "protected branches": lambda stage: stage.host.list_protected_branches(stage.repository),
    "pull request of a branch": lambda stage: stage.host.find_pull_request(stage.repository, "topic"),
    "pull requests of a commit": lambda stage: stage.host.find_merged_pull(stage.repository, stage.head),
    "issues of Forge's own": lambda stage: stage.host.find_own_issue(stage.repository, "marker", stage.clock.now()),
    "workflow runs": lambda stage: stage.host.workflow_runs(stage.repository, stage.head),
    "a file": lambda stage: stage.host.file_content(stage.repository, "a.py"),
    "a folder that is no file": lambda stage: stage.host.file_content(stage.repository, "none.py"),
    "deployments": lambda stage: stage.host.find_deployment(stage.repository, stage.head, "staging", "key"),
    "the App's address": lambda stage: stage.host.hook(),
    "deliveries": lambda stage: stage.host.deliveries.attempts(None),
    "installations": lambda stage: stage.host.list_installations(),
    "installation": lambda stage: stage.host.installation_permissions(stage.installation.id),
    "state of an installation": lambda stage: stage.host.installation_state(stage.installation.id),
    "repositories": lambda stage: stage.host.repository_ids(stage.installation.id),
    "permissions of the App": lambda stage: stage.host.examine_app({"checks": "write"}),
    "threads": lambda stage: stage.host.review_threads(stage.repository, 1),
}


@pytest.mark.parametrize("missing", ["null", "left out"])
async def test_an_answer_is_read_where_all_that_may_be_missing_is(stage: Stage, missing: str) -> None:
    sim, shelf = stage.sim, stage.shelf
    sim.report_check(shelf, stage.head, "build", "success")
    sim.report_status(shelf, stage.head, "ci/old", "pending")
    issue = await stage.ann.open_issue(shelf, "Slow", labels=["bug"])
    await stage.ann.comment(issue, "Since Monday")
    await stage.ann.comment(stage.pull, "Since Tuesday")
    await stage.ann.comment_on_line(stage.pull, "a.py", 3, "Why?")
    ran = sim.run_workflow(shelf, stage.head, "CI", {"test": (None, "")})
    sim.advance_workflow(ran, {"test": ("failure", "1 failed")})
    left = load_nullable() if missing == "null" else load_optional(frozenset({"body"}))  # by which Forge knows its own
    sim.leave_out({"answers": left["answers"], "events": {}})
    for what, read in READS.items():
        try:
            await read(stage)
        except Exception as error:
            error.add_note(f"This was the reading of: {what}")
            raise
