"""Which pushes may change what people want remembered; all others are ignored without asking GitHub."""

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.commands import FollowForcedPush, Ignored, ReadMemoryFile
from domain.github.commits import Push, Pusher
from domain.text.memory_file import PATH
from handlers import find_pushes, translate
from handlers.repository import MOST_COMMITS
from tests.unit.handlers.payloads import ANN

OTHER: dict[str, Any] = {"added": ["a.py"], "removed": [], "modified": [f"docs/{PATH}"]}
UNTOLD: dict[str, Any] = {"id": "1"}


def _push(ref: str = "refs/heads/main", **more: Any) -> Any:
    owner = {"id": 1, "login": "acme", "type": "Organization"}
    repository = {"id": 99, "name": "app", "owner": owner, "default_branch": "main"}
    payload = {"ref": ref, "commits": [OTHER], "repository": repository, "installation": {"id": 7}, "sender": ANN}
    return translate("push", {**payload, **more}, 1)


@pytest.mark.parametrize("how", ["added", "removed", "modified"])
def test_a_commit_that_names_the_file(how: str) -> None:
    command = _push(commits=[OTHER, {how: [PATH]}])
    assert isinstance(command, ReadMemoryFile)
    assert (command.repository.full_name, command.repository.installation_id) == ("acme/app", 7)


@pytest.mark.parametrize("more", [{"commits": [OTHER] * MOST_COMMITS}, {"commits": [UNTOLD]}])
def test_a_push_that_does_not_name_all_it_changed(more: dict[str, Any]) -> None:
    assert isinstance(_push(**more), ReadMemoryFile)


@pytest.mark.parametrize(("ref", "is_default"), [("refs/heads/main", True), ("refs/heads/side/b", False)])
def test_a_rewritten_branch(ref: str, is_default: bool) -> None:
    command = _push(ref, forced=True)
    assert isinstance(command, FollowForcedPush)
    assert (command.branch, command.is_default) == (ref.removeprefix("refs/heads/"), is_default)
    assert _push("refs/tags/v1", forced=True) == Ignored(reason="not_the_default_branch")


def test_pushes_that_ask_nothing() -> None:
    assert _push() == Ignored(reason="nothing_to_read")
    named = [{"added": [PATH]}]
    for ref in ("refs/heads/side", "refs/tags/main", "main"):
        assert _push(ref, commits=named) == Ignored(reason="not_the_default_branch")
    assert _push(commits=named, deleted=True) == Ignored(reason="not_the_default_branch")


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
