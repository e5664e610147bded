"""A wrong setting stops the start with one line that names it (T-X5)."""

import pytest

from domain.errors import ConfigurationError
from github.settings import GitHubSettings
from tests.unit.github.kit import PEM

WEB = "https://github.com"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://api.github.com", "https://api.github.com"),
        ("https://ghe.example.com/api/v3/", "https://ghe.example.com/api/v3"),
        ("http://127.0.0.1:4000/api/v3", "http://127.0.0.1:4000/api/v3"),
        ("http://[::1]:4000", "http://[::1]:4000"),
        ("http://localhost:4000", "http://localhost:4000"),
    ],
)
def test_addresses_that_are_accepted(given: str, kept: str) -> None:
    assert GitHubSettings(given, WEB, 1, PEM).api_url == kept


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.github.com",
        "ftp://api.github.com",
        "file:///etc/passwd",
        "http://ghe.example.com",
        "https://",
        "https://user:secret@api.github.com",
        "https://api.github.com?x=1",
        "https://api.github.com#x",
        "https://[",
    ],
)
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="FORGE_GITHUB_API_URL") as caught:
        GitHubSettings(url, WEB, 1, PEM)
    assert "secret" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="FORGE_GITHUB_WEB_URL"):
        GitHubSettings("https://api.github.com", url, 1, PEM)


@pytest.mark.parametrize("key", ["", "not a key", PEM[:200]])
def test_a_wrong_key_is_named_but_not_shown(key: str) -> None:
    with pytest.raises(ConfigurationError, match="FORGE_PRIVATE_KEY") as caught:
        GitHubSettings("https://api.github.com", WEB, 1, key)
    assert "BEGIN" not in str(caught.value)


def test_the_key_is_not_in_the_representation() -> None:
    assert "BEGIN" not in repr(GitHubSettings("https://api.github.com", WEB, 1, PEM))


def test_an_app_has_a_number() -> None:
    with pytest.raises(ConfigurationError, match="FORGE_APP_ID"):
        GitHubSettings("https://api.github.com", WEB, 0, PEM)
