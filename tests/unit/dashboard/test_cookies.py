"""The cookies of the dashboard: what a browser keeps for us, and what it cannot change."""

from datetime import UTC, datetime, timedelta
from http.cookies import SimpleCookie

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from bot.dashboard.cookies import BegunSignIn, Cookies, digest, make_form_token, make_session_id

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
LOCAL = Cookies(is_secure=False, key=b"key")
PUBLIC = Cookies(is_secure=True, key=b"key")


def carry(cookies: Cookies, begun: BegunSignIn) -> str:
    """What a browser sends along after it began."""
    response = web.Response()
    cookies.keep_sign_in(response, begun)
    return "; ".join(f"{name}={each.value}" for name, each in response.cookies.items())


def read(cookies: Cookies, sent: str) -> BegunSignIn | None:
    return cookies.read_sign_in(make_mocked_request("GET", "/", headers={"Cookie": sent}))


def test_a_sign_in_is_kept_by_the_browser() -> None:
    begun = BegunSignIn.begin("/dashboard/o/r", NOON)
    assert read(LOCAL, carry(LOCAL, begun)) == begun
    assert begun.is_answered_by(begun.state, NOON + timedelta(minutes=9))
    assert not begun.is_answered_by(begun.state, NOON + timedelta(minutes=10))
    assert not begun.is_answered_by("", NOON)
    assert not begun.is_answered_by("é", NOON)


def test_what_a_browser_changed_does_not_count() -> None:
    sent = carry(LOCAL, BegunSignIn.begin("/dashboard", NOON))
    other = carry(Cookies(is_secure=False, key=b"other"), BegunSignIn.begin("/dashboard", NOON))
    for wrong in (other, sent[:-1] + ("0" if sent[-1] != "0" else "1"), "forge-sign-in=.", "forge-sign-in=é.é", ""):
        assert read(LOCAL, wrong) is None


def test_a_cookie_of_another_version_does_not_count() -> None:
    response = web.Response()
    LOCAL.keep_sign_in(response, BegunSignIn("s", "v", "/dashboard", 0))
    signed = LOCAL._sign("bm90IGpzb24")  # pyrefly: ignore[protected-access]
    assert read(LOCAL, f"forge-sign-in=bm90IGpzb24.{signed}") is None


def test_a_known_browser_is_known_by_what_we_gave_it() -> None:
    response = web.Response()
    LOCAL.keep_known(response)
    given = response.cookies["forge-known"].value
    begun = web.Response()
    LOCAL.keep_sign_in(begun, BegunSignIn.begin("/dashboard", NOON))

    def read_known(value: str, cookies: Cookies = LOCAL) -> str:
        return cookies.read_known(make_mocked_request("GET", "/", headers={"Cookie": f"forge-known={value}"}))

    assert read_known(given) == given.partition(".")[0] != ""
    assert not read_known(given, Cookies(is_secure=False, key=b"other"))
    for wrong in (f"x{given}", given[:-1], begun.cookies["forge-sign-in"].value, ".", "é.é", ""):
        assert not read_known(wrong)


@pytest.mark.parametrize("cookies", [LOCAL, PUBLIC])
def test_a_session_is_for_this_site_alone(cookies: Cookies) -> None:
    response = web.Response()
    cookies.keep_session(response, "id")
    [morsel] = response.cookies.values()
    kept = SimpleCookie(morsel.OutputString())
    [[name, found]] = kept.items()
    assert name == ("__Host-forge-session" if cookies.is_secure else "forge-session")
    assert (found["path"], found["samesite"], found["domain"]) == ("/", "Lax", "")
    assert found["httponly"]
    assert bool(found["secure"]) is cookies.is_secure


def test_each_session_has_an_id_and_a_token_of_its_own() -> None:
    first, second = make_session_id(), make_session_id()
    assert len({first, second, digest(first), make_form_token(first), make_form_token(second)}) == 5
    assert len(first) >= 43
