"""Finds the pull request of an address, or says why there is none to review."""

from bot.cli.pull_request.address import PullRequestAddress
from bot.cli.pull_request.advice import explain_missing, explain_repository
from bot.github.person import PersonalHost
from domain.errors import Forbidden, ForgeError, NotFound
from domain.github.pull_requests import PullRequest
from domain.runs.run import RepositoryRef


async def find_pull_request(host: PersonalHost, address: PullRequestAddress) -> tuple[RepositoryRef, PullRequest]:
    """An open pull request and its repository.

    :raises NotFound: there is none of this number, or the repository is not visible.
    :raises ForgeError: it is closed or merged.
    """
    try:
        repository = await host.find_repository(address.owner, address.name)
    except NotFound:
        raise explain_repository(address) from None
    try:
        pull = await host.pull_request(repository, address.number)
    except NotFound:
        raise explain_missing(address, is_issue=await _is_issue(host, repository, address.number)) from None
    if not pull.is_open:
        raise ForgeError(
            f"{repository.full_name}#{pull.number} is {'merged' if pull.is_merged else 'closed'} already, so there is "
            "nothing to decide.",
            "To review its change all the same, check it out and run `forge review --base BASE`.",
        )
    return repository, pull


async def _is_issue(host: PersonalHost, repository: RepositoryRef, number: int) -> bool:
    try:
        return await host.is_issue(repository, number)
    except Forbidden:  # a token for pull requests alone
        return False
