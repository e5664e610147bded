"""Loads what a pull request is to do: its title and description, and what the issue asks that it closes."""

from agents.review.model.layer import Intent
from domain.errors import CodeHostError, RateLimited
from domain.github.pull_requests import PullRequest
from domain.ports import CodeHost
from domain.runs.run import RepositoryRef
from domain.text.description import list_closed_issues


async def load_intent(host: CodeHost, repository: RepositoryRef, pull_request: PullRequest) -> Intent:
    """The intent; without the issue where GitHub does not show one.

    :raises RateLimited: GitHub wants Forge to wait.
    """
    intent = Intent(title=pull_request.title)
    try:
        words = (await host.issue(repository, pull_request.number)).body
        intent = intent.model_copy(update={"said": words})
        for number in list_closed_issues(words)[:1]:
            issue = await host.issue(repository, number)
            if not issue.is_pull_request:
                return intent.model_copy(update={"issue": number, "asked": f"{issue.title}\n{issue.body}"})
    except RateLimited:
        raise
    except CodeHostError:  # the issue is gone, or may not be read
        pass
    return intent
