"""Opens GitHub with the token that belongs to an address."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bot.cli.pull_request.address import PullRequestAddress
from bot.cli.pull_request.advice import advise
from bot.cli.pull_request.token import find_token
from bot.clock import SystemClock
from bot.github.limits import InMemoryLimits
from bot.github.person import PersonalHost
from bot.github.settings import PersonalAccess
from bot.setting_sources import provider_secrets
from domain.text.redaction import PROCESS_REDACTOR


@asynccontextmanager
async def open_host(address: PullRequestAddress) -> AsyncGenerator[PersonalHost]:
    """GitHub with the token for an address; its errors have advice for who runs this command.

    :raises ConfigurationError: there is no token, or the address is not safe.
    """
    token = await find_token(address, os.environ)
    PROCESS_REDACTOR.learn(token.value)
    PROCESS_REDACTOR.learn(*provider_secrets())
    access = PersonalAccess(address.api_url, address.web_url, token.value)
    host = PersonalHost(access, SystemClock(), InMemoryLimits())
    try:
        with advise(address, token):
            yield host
    finally:
        await host.aclose()
