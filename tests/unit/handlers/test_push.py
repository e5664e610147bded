"""Which pushes may change what people want remembered; all others are ignored without asking GitHub."""

from typing import Any

import pytest

from domain.commands import FollowForcedPush, Ignored, ReadMemoryFile
from domain.memories.memory_file import PATH
from handlers import translate
from handlers.push import MOST_COMMITS
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
