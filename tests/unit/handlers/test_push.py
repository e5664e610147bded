"""Which pushes have something reviewed again, and who brought each commit; all others are ignored."""

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.commands import FollowForcedPush, Ignored
from domain.github.commits import Push, Pusher
from handlers import find_pushes, translate
from tests.unit.handlers.payloads import ANN


def _push(ref: str = "refs/heads/main", **more: Any) -> Any:
    owner = {"id": 1, "login": "acme", "type": "Organization"}
    repository = {"id": 99, "name": "app", "owner": owner, "default_branch": "main"}
    payload: dict[str, Any] = {
        "ref": ref,
        "commits": [],
        "repository": repository,
        "installation": {"id": 7},
        "sender": ANN,
    }
    return translate("push", {**payload, **more}, 1)


@pytest.mark.parametrize("branch", ["main", "side/b"])
def test_a_rewritten_branch(branch: str) -> None:
    command = _push(f"refs/heads/{branch}", forced=True)
    assert isinstance(command, FollowForcedPush)
    assert (command.repository.full_name, command.repository.installation_id) == ("acme/app", 7)
    assert command.branch == branch


def test_pushes_that_ask_nothing() -> None:
    ignored = Ignored(reason="nothing_rewritten")
    assert [_push(), _push("refs/tags/v1", forced=True), _push(forced=True, deleted=True)] == [ignored] * 3


NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
OLD, NEW, NAMING = "a" * 40, "b" * 40, "c" * 40


def _found(event: str, payload: dict[str, Any]) -> list[Push]:
    repository, found = find_pushes(event, {"repository": {"id": 99}, "sender": ANN, **payload}, NOON)
    assert repository == (99 if found else 0)
    return list(found)


def test_a_tag_tells_who_brought_its_commit() -> None:
    """One with words of its own is an object that names the commit; where it was before, nothing was overwritten."""
    tag = {"ref": "refs/tags/v1", "before": OLD}
    expected = [Push(NEW, "", ANN["id"], Pusher.person, NOON)]
    assert _found("push", {**tag, "after": NEW}) == expected
    assert _found("push", {**tag, "after": NAMING, "head_commit": {"id": NEW}}) == expected
    assert not _found("push", {**tag, "after": "0" * 40})


def test_what_a_fork_proposes_is_of_its_owner_and_of_who_opened_it() -> None:
    def open_from(repository: int, owner: int, action: str = "opened") -> list[int]:
        head = {"sha": NEW, "repo": {"id": repository}, "user": {"id": owner}}
        found = _found("pull_request", {"action": action, "pull_request": {"number": 1, "head": head}})
        assert all(push.after == NEW and not push.before for push in found)
        return [push.by_id for push in found]

    assert open_from(100, 6) == [ANN["id"], 6]
    assert open_from(100, ANN["id"]) == [ANN["id"]]
    assert open_from(99, 6) == open_from(100, 6, "edited") == []
