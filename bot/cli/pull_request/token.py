"""Finds the token for a GitHub where its own command line looks for it, and sends none to another host."""

import asyncio
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from bot.cli.pull_request.address import PullRequestAddress
from domain.errors import ConfigurationError

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
