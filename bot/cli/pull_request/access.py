"""Reads the address of a pull request as a browser shows it, and opens GitHub with the token that belongs there."""

import asyncio
import os
import re
import shutil
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from bot.clock import SystemClock
from bot.setting_sources import provider_secrets
from domain.errors import (
    CodeAccessError,
    CommitGone,
    ConfigurationError,
    Forbidden,
    ForgeError,
    NotFound,
    RateLimited,
    Unauthorized,
    Unavailable,
)
from domain.github.pull_requests import PullRequest
from domain.runs.run import RepositoryRef
from domain.text.redaction import PROCESS_REDACTOR
from github.addresses import is_loopback
from github.client import Client
from github.host import PersonalHost
from github.settings import PersonalAccess
from workspace.git import TooLarge, Unrelated

_PATH = re.compile(r"/([A-Za-z0-9][A-Za-z0-9-]*)/([\w.-]+)/(pull|issues)/([1-9]\d{0,9})(?:/.*)?", re.ASCII)
_ADVICE = "Give its address, for example https://github.com/OWNER/NAME/pull/12."
_GITHUB = frozenset({"github.com", "www.github.com"})
_CLOUD = ".ghe.com"


@dataclass(frozen=True)
class PullRequestAddress:
    """A pull request and the GitHub that has it.

    :param host: with the port, if one is given.
    :param api_url: of the REST API.
    """

    host: str
    api_url: str
    web_url: str
    owner: str
    name: str
    number: int

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def url(self) -> str:
        return f"{self.web_url}/{self.full_name}/pull/{self.number}"

    @property
    def is_github(self) -> bool:
        """Whether it is GitHub's own, and not an Enterprise Server of somebody."""
        return self.host == "github.com" or self.host.endswith(_CLOUD)


def parse_address(given: str) -> PullRequestAddress:
    """The pull request that an address names; what follows its number does not matter.

    :raises ConfigurationError: it is not the address of a pull request.
    """
    parts = _split(given.strip())
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigurationError(f"{given!r} is not the address of a pull request.", _ADVICE)
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError("The address holds a user name or a password.", "Leave them out; tokens go elsewhere.")
    found = _PATH.fullmatch(parts.path)
    if found is None or found[2] in {".", ".."}:
        raise ConfigurationError(f"{given!r} is not the address of a pull request.", _ADVICE)
    if found[3] == "issues":
        raise ConfigurationError(f"{given!r} is the address of an issue, not of a pull request.", _ADVICE)
    host, api_url, web_url = _find_api(parts)
    if api_url.startswith("http:") and not is_loopback(parts.hostname):
        raise ConfigurationError(f"The token would be sent to {host} unencrypted.", "Write the address with https://.")
    return PullRequestAddress(host, api_url, web_url, found[1], found[2], int(found[4]))


def _split(given: str) -> SplitResult | None:
    try:
        parts = urlsplit(given if "://" in given else f"https://{given}")
        return parts if parts.port is None or parts.hostname else None
    except ValueError:
        return None


def _find_api(parts: SplitResult) -> tuple[str, str, str]:
    """The host, and the addresses of its API and its pages."""
    name = parts.hostname or ""
    if name in _GITHUB:
        return "github.com", "https://api.github.com", "https://github.com"
    if name.endswith(_CLOUD):
        return name, f"https://api.{name}", f"https://{name}"
    host = parts.netloc.lower()
    return host, f"{parts.scheme}://{host}/api/v3", f"{parts.scheme}://{host}"


_OF_GITHUB = ("GH_TOKEN", "GITHUB_TOKEN")
_OF_ENTERPRISE = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
_GH_SECONDS = 10.0
NEEDS = (
    "a fine-grained token needs this repository with Contents: read and Pull requests: read, or write to post; a "
    "classic one needs `repo`"
)
_PLAIN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True)
class FoundToken:
    """A token, and where it was found."""

    value: str = field(repr=False)
    origin: str


async def find_token(address: PullRequestAddress, environment: Mapping[str, str] = os.environ) -> FoundToken:
    """The token for the GitHub of an address: in the environment, else the one that `gh` keeps.

    GH_TOKEN and GITHUB_TOKEN are for github.com, for ghe.com, and in a job of GitHub Actions for the server that runs
    it: an address that somebody sends must not get them. https://cli.github.com/manual/gh_help_environment

    :raises ConfigurationError: there is none, or it is not a token.
    """
    names = _list_names(address, environment)
    for name in names:
        if value := environment.get(name, "").strip():
            return _check(FoundToken(value, name))
    if value := await _ask_gh(address.host, environment):
        return _check(FoundToken(value, "gh"))
    there = next((name for name in _OF_GITHUB if environment.get(name) and name not in names), None)
    what = f"There is no token for {address.host}."
    if there is not None:
        what = f"{there} is a token for github.com, so it is not sent to {address.host}."
    raise ConfigurationError(
        what, f"Set {names[-1]} in the environment, or run `gh auth login --hostname {address.host}`: {NEEDS}."
    )


def _list_names(address: PullRequestAddress, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that may hold the token, the first that is set counts."""
    if address.is_github:
        return _OF_GITHUB
    own = urlsplit(environment.get("GITHUB_SERVER_URL", "")).netloc.lower()
    in_job = environment.get("GITHUB_ACTIONS") == "true" and own == address.host
    return (*_OF_GITHUB, *_OF_ENTERPRISE) if in_job else _OF_ENTERPRISE


def _check(found: FoundToken) -> FoundToken:
    if _PLAIN.fullmatch(found.value):
        return found
    raise ConfigurationError(
        f"The token in {found.origin} has characters that no token has.", "Copy it again, without quotes or line ends."
    )


async def _ask_gh(host: str, environment: Mapping[str, str]) -> str:
    """The token that GitHub's own command line keeps; empty if there is none, or no such program."""
    program = shutil.which("gh", path=environment.get("PATH"))
    if program is None or not Path(program).is_absolute():
        return ""
    with suppress(OSError, TimeoutError):
        process = await asyncio.create_subprocess_exec(
            *(program, "auth", "token", "--hostname", host),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**environment, "GH_PROMPT_DISABLED": "1"},
        )
        try:
            async with asyncio.timeout(_GH_SECONDS):
                told, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return told.decode(errors="replace").strip() if process.returncode == 0 else ""
    return ""


@contextmanager
def advise(address: PullRequestAddress, token: FoundToken) -> Generator[None]:
    """Gives errors of GitHub and of git the advice for who runs this command.

    :raises CodeHostError: as it was, with other words.
    :raises CodeAccessError: as it was, with other words.
    """
    try:
        yield
    except Unauthorized:
        raise Unauthorized(
            f"{address.host} does not accept the token in {token.origin}: it is wrong, expired or was revoked.",
            "Make a new one in its settings under Developer settings, or run `gh auth login`.",
        ) from None
    except NotFound as error:
        raise NotFound(error.message, f"Check the address and that the token may see it: {NEEDS}.") from None
    except Forbidden as error:
        if is_locked(error):
            raise
        raise Forbidden(error.message, f"Check what the token in {token.origin} may do: {NEEDS}.") from None
    except RateLimited as error:
        raise RateLimited(f"{error.message} Run it again after {error.until:%H:%M} UTC.", error.until) from None
    except Unavailable as error:
        again = "Try again later; what was posted already is not posted twice."
        raise Unavailable(error.message, error.advice or again) from None
    except (CommitGone, TooLarge, Unrelated):
        raise
    except CodeAccessError as error:
        message = error.message.replace(", or the App lost access to it", "")
        raise CodeAccessError(message, _CODE.format(token.origin, NEEDS)) from None


_CODE = "Check that the token in {} may read the code, and the connection: {}."


def is_locked(error: Forbidden) -> bool:
    """Whether people may not comment there, whatever the token."""
    return "locked" in error.message.lower()


def explain_missing(address: PullRequestAddress, *, is_issue: bool) -> NotFound:
    """Why there is no pull request of this number in a repository that is there."""
    if is_issue:
        return NotFound(f"#{address.number} of {address.full_name} is an issue, not a pull request.")
    return NotFound(f"{address.full_name} has no pull request #{address.number}.")


def explain_repository(address: PullRequestAddress) -> NotFound:
    """Why there is no such repository; GitHub does not tell a private one from none."""
    return NotFound(
        f"{address.host} has no repository {address.full_name} that this token may see: it does not exist, or it is "
        "private."
    )


@asynccontextmanager
async def open_host(address: PullRequestAddress) -> AsyncGenerator[PersonalHost]:
    """GitHub with the token for an address; its errors have advice for who runs this command.

    :raises ConfigurationError: there is no token, or the address is not safe.
    """
    token = await find_token(address, os.environ)
    PROCESS_REDACTOR.learn(token.value)
    PROCESS_REDACTOR.learn(*provider_secrets())
    access = PersonalAccess(address.api_url, address.web_url, token.value)
    host = PersonalHost(Client(access, SystemClock(), database=None))
    try:
        with advise(address, token):
            yield host
    finally:
        await host.aclose()


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
