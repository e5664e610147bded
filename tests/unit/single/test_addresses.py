"""The address of a pull request, and which token may go there."""

import pytest

from bot.cli.pull_request.access import PullRequestAddress, find_token, parse_address
from domain.errors import ConfigurationError


@pytest.mark.parametrize(
    ("given", "host", "api_url"),
    [
        ("https://github.com/acme/shelf/pull/12", "github.com", "https://api.github.com"),
        ("github.com/acme/shelf/pull/12/files#diff-1", "github.com", "https://api.github.com"),
        ("https://www.github.com/acme/shelf/pull/12?w=1", "github.com", "https://api.github.com"),
        ("https://acme.ghe.com/acme/shelf/pull/12", "acme.ghe.com", "https://api.acme.ghe.com"),
        ("https://git.example.com/acme/shelf/pull/12", "git.example.com", "https://git.example.com/api/v3"),
        ("http://127.0.0.1:81/acme/shelf/pull/12", "127.0.0.1:81", "http://127.0.0.1:81/api/v3"),
    ],
)
def test_addresses(given: str, host: str, api_url: str) -> None:
    found = parse_address(given)
    assert (found.host, found.api_url, found.full_name, found.number) == (host, api_url, "acme/shelf", 12)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("", "is not the address of a pull request"),
        ("12", "is not the address of a pull request"),
        ("acme/shelf#12", "is not the address of a pull request"),
        ("https://github.com/acme/shelf", "is not the address of a pull request"),
        ("https://github.com/acme/../pull/12", "is not the address of a pull request"),
        ("https://github.com/acme/shelf/pull/0", "is not the address of a pull request"),
        ("https://github.com/acme/shelf/pull/12345678901", "is not the address of a pull request"),
        ("https://github.com:port/acme/shelf/pull/12", "is not the address of a pull request"),
        ("https://[::1/acme/shelf/pull/12", "is not the address of a pull request"),
        ("ftp://github.com/acme/shelf/pull/12", "is not the address of a pull request"),
        ("file:///acme/shelf/pull/12", "is not the address of a pull request"),
        ("https://github.com/acme/shelf/issues/12", "is the address of an issue"),
        (
            "http://git.example.com/acme/shelf/pull/12",
            "would be sent to git.example.com unencrypted. Write .* https://",
        ),
        ("https://me:hunter2@github.com/acme/shelf/pull/12", "holds a user name or a password"),
    ],
)
def test_no_addresses(given: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as raised:
        parse_address(given)
    assert "hunter2" not in str(raised.value)


GITHUB = "https://github.com/acme/shelf/pull/1"
OWN = "https://git.example.com/acme/shelf/pull/1"
JOB = {"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://git.example.com", "GITHUB_TOKEN": "job"}


@pytest.mark.parametrize(
    ("url", "environment", "token"),
    [
        (GITHUB, {"GH_TOKEN": "one", "GITHUB_TOKEN": "two"}, "one"),
        (GITHUB, {"GITHUB_TOKEN": " two\n"}, "two"),
        (GITHUB, {"GH_TOKEN": "", "GITHUB_TOKEN": "two"}, "two"),
        (OWN, {"GITHUB_TOKEN": "two", "GH_ENTERPRISE_TOKEN": "three"}, "three"),
        (OWN, JOB, "job"),
    ],
)
async def test_the_token_of_a_host(url: str, environment: dict[str, str], token: str) -> None:
    assert (await find_token(parse_address(url), {"PATH": "", **environment})).value == token


@pytest.mark.parametrize(
    ("url", "environment", "why"),
    [
        (GITHUB, {}, "There is no token for github.com"),
        (GITHUB, {"GH_ENTERPRISE_TOKEN": "three"}, "There is no token for github.com"),
        (OWN, {"GH_TOKEN": "one"}, "so it is not sent to git.example.com"),
        ("https://github.com.example.org/a/b/pull/1", {"GH_TOKEN": "one"}, "it is not sent to github.com.example.org"),
        ("https://evilghe.com/a/b/pull/1", {"GH_TOKEN": "one"}, "it is not sent to evilghe.com"),
        ("https://other.example.com/a/b/pull/1", JOB, "it is not sent to other.example.com"),
        (OWN, {**JOB, "GITHUB_ACTIONS": ""}, "it is not sent to git.example.com"),
        (GITHUB, {"GH_TOKEN": "two words"}, "The token in GH_TOKEN has characters that no token has"),
    ],
)
async def test_no_token_for_a_host(url: str, environment: dict[str, str], why: str) -> None:
    address: PullRequestAddress = parse_address(url)
    with pytest.raises(ConfigurationError, match=why) as raised:
        await find_token(address, {"PATH": "", **environment})
    assert "two words" not in str(raised.value)
