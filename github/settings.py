"""The settings of the GitHub client, of the App's and of a person's. A wrong value is named in one line."""

import functools
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx2
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from domain.errors import ConfigurationError
from github.addresses import Resolve, is_loopback, resolve_host

_ADDRESSES = (
    "Leave FORGE_GITHUB_API_URL and FORGE_GITHUB_WEB_URL unset for github.com; for an Enterprise Server set "
    "https://HOST/api/v3 and https://HOST."
)


@dataclass(frozen=True)
class GitHubAddresses:
    """Where a GitHub is, and how it is talked to.

    :param api_url: ``https://api.github.com``, or ``https://HOST/api/v3`` on Enterprise Server.
    :param web_url: ``https://github.com``, or ``https://HOST``.
    :param write_interval_s: seconds between two writes of one installation once a burst is used up; 0: no pauses.
    :param resolve: finds the numeric addresses of a host that GitHub points to.
    :param connections: opens and keeps the connections; None: over the network.
    :raises ConfigurationError: an address is not safe.
    """

    api_url: str
    web_url: str
    write_interval_s: float = field(default=1.0, kw_only=True)
    resolve: Resolve = field(default=resolve_host, kw_only=True)
    connections: httpx2.AsyncBaseTransport | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "api_url", _parse_address("FORGE_GITHUB_API_URL", self.api_url))
        object.__setattr__(self, "web_url", _parse_address("FORGE_GITHUB_WEB_URL", self.web_url))
        if self.write_interval_s < 0:
            raise ConfigurationError("The interval between writes to GitHub cannot be negative.")


@dataclass(frozen=True)
class GitHubSettings(GitHubAddresses):
    """GitHub's addresses, and the App's identity there.

    :param app_id: number of the App.
    :param private_key: the App's RSA key in PEM.
    :raises ConfigurationError: an address is not safe, or the key is not an RSA key.
    """

    app_id: int
    private_key: str = field(repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.app_id <= 0:
            raise ConfigurationError(
                "FORGE_APP_ID is not the number of a GitHub App.", "The App's settings on GitHub show it as App ID."
            )
        rsa_key(self.private_key)


@dataclass(frozen=True)
class PersonalAccess(GitHubAddresses):
    """GitHub's addresses, and a token that is not the App's: of a person, or of a job of GitHub Actions."""

    token: str = field(repr=False)


def _parse_address(name: str, value: str) -> str:
    """``value`` without a final slash, if tokens may be sent there: https, or http on this machine."""
    try:
        url = httpx2.URL(urlsplit(value.rstrip("/")).geturl())  # urlsplit refuses half an IPv6 address
    except (httpx2.InvalidURL, ValueError):
        raise ConfigurationError(f"{name} is not an address.", _ADDRESSES) from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigurationError(f"{name} must be an https:// address.", _ADDRESSES)
    if url.userinfo or url.query or url.fragment:
        raise ConfigurationError(f"{name} must not contain a user name, a query or a fragment.", _ADDRESSES)
    if url.scheme == "http" and not is_loopback(url.host):
        raise ConfigurationError(f"{name} must be https, or tokens would be sent unencrypted.", _ADDRESSES)
    return str(url).rstrip("/")


@functools.cache
def rsa_key(pem: str) -> RSAPrivateKey:
    """The App's key, read once in a process, because reading and checking it takes longer than signing.

    :raises ConfigurationError: it is not an RSA key.
    """
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, RSAPrivateKey):
        raise ConfigurationError(
            "FORGE_PRIVATE_KEY is not an RSA private key in PEM, as GitHub hands it out.",
            "Generate one in the App's settings on GitHub; FORGE_PRIVATE_KEY_PATH may name the file instead.",
        )
    return key
