"""Knows what comes after the set-up: where Forge says that it runs, and where on GitHub people install the App."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.github.registration import RegisteredApp

AFTERWARDS = "/?set-up=done"
"""Forge's own page that the last page of the set-up leads to."""
_PAGE, _OWNER = "SETUP_APP_PAGE", "SETUP_APP_OWNER"  # under which the App's page on GitHub and its owner are stored


@dataclass(frozen=True)
class InstallPage:
    """Where people install the App.

    :param address: empty if that is not known.
    :param owner: the login of the App's owner; may be empty.
    """

    address: str = ""
    owner: str = ""


def describe_app(app: RegisteredApp) -> Mapping[str, str]:
    """What is stored of a new App to find its page again."""
    return {_PAGE: app.html_url, _OWNER: app.owner.login}


def find_install_page(kept: Mapping[str, str], web_url: str) -> InstallPage:
    """The page of an App that was registered here; not one that GitHub's answer had on another site.

    :param kept: what is stored.
    :param web_url: of GitHub.
    """
    page = kept.get(_PAGE, "")
    is_there = bool(web_url) and page.startswith(f"{web_url}/")
    return InstallPage(f"{page}/installations/new" if is_there else "", kept.get(_OWNER, ""))
