"""Nothing in the pipeline but publishing writes to GitHub."""

import ast

import pytest

from tests.structure import ROOT

WRITES = {
    "host": {
        "add_label",
        "approve",
        "create_check_run",
        "create_comment",
        "create_issue",
        "create_reply",
        "create_review",
        "dismiss_approval",
        "edit_comment",
        "edit_review",
        "edit_review_comment",
        "fold_comment",
        "mark_ready",
        "merge",
        "open_pull_request",
        "react",
        "resolve_thread",
        "unresolve_thread",
        "update_check_run",
        "update_pull_request",
    },
    "mirror": {"push"},
}
"""Of the code host and of a mirror, the methods that write to GitHub."""


def find_writes(text: str) -> set[str]:
    return {
        f"{owner}.{node.attr}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name | ast.Attribute)
        and (owner := node.value.id if isinstance(node.value, ast.Name) else node.value.attr) in WRITES
        and node.attr in WRITES[owner]
    }


def test_only_publishing_writes() -> None:
    outside = {
        path.relative_to(ROOT).as_posix(): found
        for path in (ROOT / "pipeline").rglob("*.py")
        if "publishing" not in path.parts and (found := find_writes(path.read_text(encoding="utf-8")))
    }
    assert outside == {}


def test_publishing_makes_every_write() -> None:
    files = (ROOT / "pipeline" / "publishing").glob("*.py")
    found = set[str]().union(*(find_writes(path.read_text(encoding="utf-8")) for path in files))
    assert found == {f"{owner}.{method}" for owner, methods in WRITES.items() for method in methods}


@pytest.mark.parametrize("text", ["await self._services.host.react(a)", "await host.merge(a)", "mirror.push(sha)"])
def test_a_write_is_found(text: str) -> None:
    assert find_writes(f"async def f():\n    {text}\n")


def test_a_read_is_none() -> None:
    assert not find_writes("services.host.pull_request(a)\nmirror.head_of(b)\n")
