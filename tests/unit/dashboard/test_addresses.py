"""Under which address the dashboard is reached, and where people come back to."""

import pytest
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.dashboard.sign_in import choose_target, explain_setup, find_own_origin
from bot.dashboard.visit import build_address, build_github_address
from bot.settings import Settings
from domain.runs.run import RepositoryRef

SHOP = RepositoryRef(installation_id=1, id=2, owner="octo-org", name="shop")


def settings(**more: object) -> Settings:
    values = {"app_id": 1, "webhook_secret": ("s",), "client_id": "Iv1.a", "client_secret": SecretStr("b"), **more}
    return Settings.model_validate(values)


@pytest.mark.parametrize("wanted", ["/dashboard", "/dashboard/o/r", "/dashboard/o/r/runs?state=failed&before=01K"])
def test_own_pages_are_come_back_to(wanted: str) -> None:
    assert choose_target(wanted) == wanted


@pytest.mark.parametrize(
    "wanted",
    [
        "",
        "/",
        "/webhook",
        "/dashboards",
        "dashboard",
        "//dashboard",
        "https://evil.example/dashboard",
        "/dashboard/\\evil.example",
        "/dashboard/%5cevil",
        "/dashboard//evil",
        "/dashboard/%2f%2fevil",
        "/dashboard/../webhook",
        "/dashboard/%2e%2e/webhook",
        "/dashboard/a\r\nSet-Cookie: a=b",
        "/dashboard/a#b",
        "/dashboard/é",
        "/dashboard/" + "a" * 2000,
    ],
)
def test_nothing_else_is(wanted: str) -> None:
    assert choose_target(wanted) == "/dashboard"


def test_no_part_of_an_address_leads_elsewhere() -> None:
    """Browsers take dots out before they ask, also those that are spelt otherwise."""
    assert build_address("..", ".", "a/b", "a?b#c", 7) == "/dashboard/%2E%2E/%2E/a%2Fb/a%3Fb%23c/7"
    assert build_address(to="/dashboard/a?b=c&d", none=None, empty="") == "/dashboard?to=%2Fdashboard%2Fa%3Fb%3Dc%26d"


@pytest.mark.parametrize(
    ("public", "host", "origin"),
    [
        ("", "127.0.0.1:3000", "http://127.0.0.1:3000"),
        ("", "localhost:3000", "http://localhost:3000"),
        ("", "[::1]:3000", "http://[::1]:3000"),
        ("", "forge.example.com", None),
        ("", "127.0.0.1.example.com", None),
        ("", "localhost:80:evil.example", None),
        ("", "[::1", None),
        ("https://forge.example.com", "127.0.0.1:3000", "https://forge.example.com"),
        ("https://Forge.Example.com:443/", "forge.example.com", "https://forge.example.com"),  # as a browser's Origin
        ("http://127.0.0.1:80", "127.0.0.1", "http://127.0.0.1"),
        ("https://forge.example.com:8443", "forge.example.com:8443", "https://forge.example.com:8443"),
        ("HTTPS://example.com/Forge", "example.com", "https://example.com/Forge"),
    ],
)
def test_the_own_origin_is_set_or_that_of_this_machine(public: str, host: str, origin: str | None) -> None:
    request = make_mocked_request("GET", "/", headers={"Host": host})
    assert find_own_origin(settings(public_url=public), request) == origin


@pytest.mark.parametrize(
    ("public", "listens", "host", "is_own"),
    [
        ("https://forge.example.com", "127.0.0.1", "forge.example.com", True),
        ("https://forge.example.com", "127.0.0.1", "FORGE.example.com:443", True),
        ("https://forge.example.com:443", "127.0.0.1", "forge.example.com", True),
        ("https://forge.example.com", "127.0.0.1", "forge.example.com:80", False),
        ("https://forge.example.com", "127.0.0.1", "evil.example", False),
        ("https://forge.example.com", "127.0.0.1", "forge.example.com.evil.example", False),
        ("https://forge.example.com", "127.0.0.1", "10.0.0.7:3000", False),
        ("https://forge.example.com", "127.0.0.1", "localhost:3000", True),
        ("https://forge.example.com", "0.0.0.0", "127.0.0.1:3000", True),
        ("https://forge.example.com", "::", "[::1]:3000", True),
        ("https://forge.example.com", "10.0.0.7", "127.0.0.1:3000", False),
        ("", "127.0.0.1", "127.0.0.1:3000", True),
        ("", "127.0.0.1", "evil.example:3000", False),
        ("", "127.0.0.1", "a@127.0.0.1", False),
        ("", "127.0.0.1", "localhost:80:evil.example", False),
        ("", "127.0.0.1", "127.0.0.1/x", False),
        ("", "127.0.0.1", "[::1", False),
        ("", "127.0.0.1", "", False),
        ("", "forge.internal", "localhost", False),
    ],
)
def test_only_names_of_its_own_are_answered(public: str, listens: str, host: str, is_own: bool) -> None:
    assert settings(public_url=public, host=listens).is_own_host(host) is is_own


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, ""),
        ({"public_url": "https://forge.example.com"}, ""),
        ({"client_id": ""}, "FORGE_CLIENT_ID and FORGE_CLIENT_SECRET are not set"),
        ({"client_secret": None}, "FORGE_CLIENT_ID and FORGE_CLIENT_SECRET are not set"),
        ({"public_url": "http://forge.example.com"}, "is not https"),
        ({"public_url": "https://example.com/forge"}, "has a path"),
    ],
)
def test_what_is_missing_is_said(more: dict[str, object], told: str) -> None:
    request = make_mocked_request("GET", "/", headers={"Host": "127.0.0.1:3000"})
    explained = explain_setup(settings(**more), request)
    assert told in explained
    assert bool(told) == bool(explained)


def test_another_machine_needs_an_address() -> None:
    request = make_mocked_request("GET", "/", headers={"Host": "forge.example.com"})
    assert "FORGE_PUBLIC_URL is not set" in explain_setup(settings(), request)


@given(st.text(max_size=30))
def test_no_part_leads_elsewhere(part: str) -> None:
    for address in (build_address("o", part, "x"), build_github_address("https://github.com", SHOP, part, "x")):
        parts = address.removeprefix("https://github.com").split("/")
        assert len(parts) == 5
        assert not {".", ".."} & set(parts)
        assert "\\" not in address
        assert "?" not in address


def test_an_address_leaves_out_what_nobody_asked_for() -> None:
    assert build_address("o", "r", "runs", state=None, after="", number=7) == "/dashboard/o/r/runs?number=7"
