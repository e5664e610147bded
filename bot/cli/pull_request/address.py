"""Reads the address of a pull request, as a browser shows it."""

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from bot.addresses import is_loopback
from domain.errors import ConfigurationError

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
