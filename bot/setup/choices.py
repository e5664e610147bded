"""What people choose on the set-up page, what is wrong with it, and where they install the App afterwards."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from github.addresses import is_loopback
from github.registration import GITHUB, LONGEST_NAME, RegisteredApp, WrongAddress, find_api_url, parse_origin

AFTERWARDS = "/?set-up=done"
"""Forge's own page that the last page of the set-up leads to."""
_PAGE, _OWNER = "SETUP_APP_PAGE", "SETUP_APP_OWNER"  # under which the App's page on GitHub and its owner are stored


_LOGIN = re.compile(r"[A-Za-z0-9](?:[-_]?[A-Za-z0-9]){0,38}")
_ADDRESS = re.compile(r"[\x21-\x7e]+")
_NEW_CHANNEL = "Open https://smee.io/new and copy the address that the browser shows then."
STORED = {
    "name": "SETUP_NAME",
    "organization": "SETUP_ORGANIZATION",
    "web_url": "FORGE_GITHUB_WEB_URL",
    "public_url": "FORGE_PUBLIC_URL",
    "relay": "FORGE_WEBHOOK_RELAY",
}
"""Under which names choices are stored, so that a set-up that was interrupted goes on with them."""


@dataclass(frozen=True)
class Choices:
    """What people chose.

    :param organization: that will own the App; empty: the person's own account.
    :param web_url: of GitHub.
    :param public_url: where people, and without a relay GitHub, reach this server.
    :param relay: an address that passes webhooks on; empty: GitHub reaches this server itself.
    """

    name: str
    organization: str
    web_url: str
    public_url: str
    relay: str

    @property
    def hook(self) -> str:
        """Where GitHub sends webhooks."""
        return self.relay or f"{self.public_url}/webhook"

    @classmethod
    def load(cls, kept: Mapping[str, str], suggestion: str) -> "Choices":
        """Choices of before, or what is suggested.

        :param kept: names of settings → values.
        """
        name = kept.get("SETUP_NAME") or suggestion
        found = {field: kept.get(setting, "") for field, setting in STORED.items()}
        return cls(**{**found, "name": name, "web_url": found["web_url"] or GITHUB})

    def as_settings(self, named: Mapping[str, str | None]) -> Mapping[str, str]:
        """What is stored of them: everything that is not set elsewhere. Empty values are removed from the store.

        :param named: the settings that the environment, ``.env`` and files of secrets name.
        """
        chosen = {setting: str(getattr(self, field)) for field, setting in STORED.items()}
        chosen["FORGE_GITHUB_API_URL"] = find_api_url(self.web_url)
        return {name: value for name, value in chosen.items() if name not in named}


def parse_choices(form: Mapping[str, str], own: str) -> tuple[Choices, Mapping[str, str]]:
    """The choices in a form, and mistakes: field → what is wrong and what to do.

    :param own: the address under which the browser reached this page; people's, where GitHub uses a relay.
    """
    wrong: dict[str, str] = {}

    def read_address(field: str) -> str:
        try:
            return parse_origin(form.get(field, ""))
        except WrongAddress as error:
            wrong[field] = str(error)
            return form.get(field, "")

    name, organization = form.get("name", "").strip(), form.get("organization", "").strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        wrong["name"] = f"GitHub takes 1 to {LONGEST_NAME} characters, all of them visible. Choose another name."
    if organization and not _LOGIN.fullmatch(organization):
        wrong["organization"] = "This is not a login. Copy it from the address of the organisation on GitHub."
    web_url = read_address("web_url")
    host = urlsplit(web_url).hostname or "" if "web_url" not in wrong else ""
    if host and web_url.startswith("http:") and not is_loopback(host):
        wrong["web_url"] = "Credentials would be sent unencrypted. Write https:// instead."
    relay = form.get("relay", "").strip() if form.get("reach") == "relay" else ""
    if form.get("reach") == "relay":
        public_url = own
        wrong |= _check_relay(relay)
    else:
        public_url = read_address("public_url")
        if "public_url" not in wrong and is_loopback(urlsplit(public_url).hostname or "") and not is_loopback(host):
            wrong["public_url"] = "GitHub cannot reach this machine under that address. Use a relay, below."
    return Choices(name, organization, web_url, public_url, relay), wrong


def _check_relay(relay: str) -> Mapping[str, str]:
    try:
        place = urlsplit(relay)
    except ValueError:
        place = urlsplit("")
    if not place.hostname or place.scheme not in {"http", "https"} or not _ADDRESS.fullmatch(relay):
        return {"relay": f"This is not an address. {_NEW_CHANNEL}"}
    if place.hostname == "smee.io" and place.path.strip("/") in {"", "new"}:
        return {"relay": f"This is the address at which channels are made, not that of a channel. {_NEW_CHANNEL}"}
    if place.scheme == "http" and not is_loopback(place.hostname):
        return {"relay": "Webhooks would be sent unencrypted. Write https:// instead."}
    return {}


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
