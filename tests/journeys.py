"""The files that a reader opens to follow five journeys through the code, and by which word they come to each.

The word stands in both files. What is read beside a journey (the journal, the queues, the publisher, values, texts; how
a run is admitted, how a change is planned and made) is not counted: that is called and answers, and the story goes on
where it was called. What queues a run names the class that does its work.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Step(NamedTuple):
    """The next file that is opened.

    :param path: from the root of the repository.
    :param word: in the file before that leads here, and is found here.
    """

    path: str
    word: str


_DOOR = (Step("bot/webhook.py", "receive"), Step("handlers/__init__.py", "translate"))
_DISPATCH = "pipeline/deliveries/dispatch.py"

JOURNEYS: Mapping[str, Sequence[Step]] = {
    "an opened pull request to its posted review": (
        *_DOOR,
        Step("handlers/pull_request.py", "handle"),
        Step(_DISPATCH, "ReviewPullRequest"),
        Step("pipeline/deliveries/starts.py", "handle_review"),
        Step("pipeline/review/workflow.py", "ReviewRun"),
        Step("pipeline/review/verdict.py", "ReviewVerdict"),
        Step("pipeline/publishing/reviews.py", "post_review"),
    ),
    "`/forge approve` to a decided gate": (
        *_DOOR,
        Step("handlers/comments.py", "handle_issue_comment"),
        Step(_DISPATCH, "ExecuteComment"),
        Step("pipeline/deliveries/commands/executor.py", "CommandExecutor"),
        Step("pipeline/deliveries/commands/gates.py", "answer_gate"),
        Step("pipeline/gates/decide.py", "decide_gate"),
        Step("safety/authorization.py", "authorise"),
    ),
    "a labelled issue to its pull request": (
        *_DOOR,
        Step("handlers/pull_request.py", "handle_issue"),
        Step(_DISPATCH, "LabelledIssue"),
        Step("pipeline/deliveries/starts.py", "handle_label"),
        Step("pipeline/issue/workflow.py", "IssueRun"),
        Step("pipeline/issue/cycle.py", "Cycle"),
        Step("pipeline/issue/pull_request.py", "PullRequestPublisher"),
    ),
    "a merge to its deployment": (
        *_DOOR,
        Step("handlers/pull_request.py", "handle"),
        Step(_DISPATCH, "EndPullRequest"),
        Step("pipeline/deliveries/cancellation.py", "end_pull_request"),
        Step("pipeline/deployment/workflow.py", "DeploymentRun"),
        Step("pipeline/deployment/rollout.py", "Rollout"),
        Step("pipeline/deployment/service.py", "DeployTransport"),
    ),
    "a dismissal to what it teaches": (
        *_DOOR,
        Step("handlers/comments.py", "handle_review_comment"),
        Step(_DISPATCH, "ExecuteComment"),
        Step("pipeline/deliveries/commands/executor.py", "CommandExecutor"),
        Step("pipeline/deliveries/commands/feedback.py", "dismiss"),
        Step("pipeline/verdicts/dismissal.py", "dismissal"),
        Step("memory/learned/feedback.py", "feedback"),
    ),
}


def find_broken_steps(root: Path) -> list[str]:
    """Steps whose word is missing in one of the two files, or whose file is gone.

    :param root: of the repository.
    """
    broken: list[str] = []
    for name, steps in JOURNEYS.items():
        before = ""
        for step in steps:
            path = root / step.path
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            if step.word not in text or (before and step.word not in before):
                broken.append(f"{name}: {step.path} by {step.word}")
            before = text
    return broken
