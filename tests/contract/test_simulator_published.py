"""What the simulator answers around issues, proposals, approvals and merges has the shape that GitHub publishes."""

from typing import Any

import httpx2
import pytest

from tests.contract.published import find_differences
from tests.contract.stage import Stage

REPO = "/repos/acme/shelf"
PUBLISHED = "/repos/{owner}/{repo}"


async def _answer(stage: Stage, method: str, path: str, body: object = None) -> httpx2.Response:
    headers = {"Authorization": f"token {stage.sim.token(stage.installation)}"}
    async with httpx2.AsyncClient(base_url=stage.sim.api_url, headers=headers) as github:
        return await github.request(method, REPO + path, json=body)


async def _prepare(stage: Stage) -> None:
    """Something of every kind that is shown."""
    sim, shelf = stage.sim, stage.shelf
    sim.protect(shelf, "main", {"ci/old": None, "build": None})
    sim.protect(shelf, "main", {"lint": 15368, "test": None}, approvals=1, methods=["squash"], ruleset=True)
    sim.report_check(shelf, stage.head, "build", "success")
    sim.report_check(shelf, stage.head, "slow", None)
    sim.report_status(shelf, stage.head, "ci/old", "pending")
    await stage.ann.label(stage.pull, "bug")
    issue = await stage.ann.open_issue(shelf, "Slow", labels=["bug"])
    await stage.ann.comment(issue, "Since Monday")
    await stage.ann.close(issue)
    remark = await stage.ann.comment_on_line(stage.pull, "a.py", 3, "Why?")
    await stage.ann.react(remark, "-1")
    await stage.host.approve(stage.repository, 1, stage.head, "Fine")


READS = [
    ("", ""),
    ("/issues/1", "/issues/{issue_number}"),
    ("/issues/2", "/issues/{issue_number}"),
    ("/issues/2/comments", "/issues/{issue_number}/comments"),
    ("/collaborators", "/collaborators"),
    ("/pulls/1", "/pulls/{pull_number}"),
    ("/pulls/1/reviews", "/pulls/{pull_number}/reviews"),
    ("/pulls/1/comments", "/pulls/{pull_number}/comments"),
    ("/branches/main", "/branches/{branch}"),
    ("/branches/topic", "/branches/{branch}"),
    ("/branches/gone", "/branches/{branch}"),
    ("/rules/branches/main", "/rules/branches/{branch}"),
    ("/commits/topic/check-runs", "/commits/{ref}/check-runs"),
    ("/commits/topic/status", "/commits/{ref}/status"),
]


@pytest.mark.parametrize(("path", "published"), READS)
async def test_what_is_read_is_as_published(stage: Stage, path: str, published: str) -> None:
    await _prepare(stage)
    answer = await _answer(stage, "GET", path)
    assert answer.json()
    assert find_differences(f"GET {PUBLISHED}{published} {answer.status_code}", answer.json()) == []


async def test_reactions_are_as_published(stage: Stage) -> None:
    remark = await stage.ann.comment_on_line(stage.pull, "a.py", 3, "Why?")
    await stage.ann.react(remark, "-1")
    answer = await _answer(stage, "GET", f"/pulls/comments/{remark.id}/reactions")
    assert [each["content"] for each in answer.json()] == ["-1"]
    assert find_differences(f"GET {PUBLISHED}/pulls/comments/{{comment_id}}/reactions 200", answer.json()) == []


async def test_what_is_written_is_answered_as_published(stage: Stage) -> None:
    await stage.ann.push(stage.shelf, "fix", {"b.py": "x\n"}, base="main")
    proposal = {"title": "Fix", "head": "fix", "base": "main", "body": "Closes #1", "draft": True}
    review = {"commit_id": stage.head, "event": "APPROVE", "body": "Fine"}
    writes: list[tuple[str, str, str, Any]] = [
        ("POST", "/issues/1/labels", "/issues/{issue_number}/labels", {"labels": ["bug", "new"]}),
        ("POST", f"/statuses/{stage.head}", "/statuses/{sha}", {"state": "success", "context": "ci/old"}),
        ("POST", "/pulls/1/reviews", "/pulls/{pull_number}/reviews", review),
        ("POST", "/pulls", "/pulls", proposal),
        ("POST", "/pulls", "/pulls", proposal),
        ("PATCH", "/pulls/2", "/pulls/{pull_number}", {"title": "Fix it", "body": ""}),
        ("PUT", "/pulls/1/merge", "/pulls/{pull_number}/merge", {"sha": "0" * 40}),
        ("PUT", "/pulls/1/merge", "/pulls/{pull_number}/merge", {"sha": stage.head, "merge_method": "rebase"}),
        ("PUT", "/pulls/1/merge", "/pulls/{pull_number}/merge", {"sha": stage.head}),
    ]
    statuses: list[int] = []
    for method, path, published, body in writes:
        answer = await _answer(stage, method, path, body)
        statuses.append(answer.status_code)
        assert find_differences(f"{method} {PUBLISHED}{published} {answer.status_code}", answer.json()) == []
    assert statuses == [200, 201, 200, 201, 422, 200, 409, 405, 200]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ([{"id": 1, "name": "x"}], "missing"),
        ([{"id": "1"}], "str instead of integer"),
        ({}, "dict instead of array"),
    ],
)
def test_a_difference_is_seen(body: object, told: str) -> None:
    assert told in " ".join(find_differences(f"POST {PUBLISHED}/issues/{{issue_number}}/labels 200", body))
