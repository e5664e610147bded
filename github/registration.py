"""Registers an App by GitHub's manifest flow: the manifest, where it is posted, and what a code is exchanged for.

https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2
from pydantic import Field, SecretStr, ValidationError
from ruamel.yaml import YAML

from domain.errors import ConfigurationError, ForgeError
from domain.value import Value
from github.addresses import load_trusted
from github.settings import rsa_key

GITHUB = "https://github.com"
LONGEST_NAME = 34  # characters of an App's name
_FILE = Path(__file__).parents[1] / "app.yml"  # in a checkout and in the wheel alike
_CODE = re.compile(r"[A-Za-z0-9_-]{10,200}")
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_SECONDS = 20.0


@cache
def load_manifest() -> Mapping[str, Any]:
    """What ``app.yml`` says of the App: its permissions, its events, and addresses of an example."""
    return YAML(typ="safe").load(_FILE.read_text(encoding="utf-8"))


def load_permissions() -> dict[str, str]:
    """The permissions (name → level) that the App's manifest asks for."""
    return dict(load_manifest()["default_permissions"])


def build_manifest(name: str, hook: str, public_url: str, redirect: str) -> Mapping[str, Any]:
    """The manifest of an App with addresses of its own.

    :param hook: where GitHub sends webhooks.
    :param public_url: where people reach Forge.
    :param redirect: where GitHub sends the browser with a code.
    """
    return {
        **load_manifest(),
        "name": name,
        "url": public_url,
        "hook_attributes": {"url": hook, "active": True},
        "redirect_url": redirect,
        "callback_urls": [f"{public_url}/dashboard/signed-in"],
        "setup_url": public_url,
    }


def build_address(web_url: str, organization: str, state: str) -> str:
    """Where a browser posts the manifest.

    :param organization: that will own the App; empty: the person does.
    """
    owner = f"/organizations/{quote(organization, safe='')}" if organization else ""
    return f"{web_url}{owner}/settings/apps/new?{urlencode({'state': state})}"


def find_api_url(web_url: str) -> str:
    """The address of the API that belongs to an address of the web site.

    https://docs.github.com/rest/quickstart: github.com; GHE.com has a host of its own; Enterprise Server has a path.
    """
    place = urlsplit(web_url)
    if web_url == GITHUB:
        return "https://api.github.com"
    if (place.hostname or "").endswith(".ghe.com"):
        return f"{place.scheme}://api.{place.netloc}"
    return f"{web_url}/api/v3"


class _Owner(Value):
    login: str


class RegisteredApp(Value):
    """An App as GitHub tells of it once, with its secrets."""

    id: int = Field(gt=0)
    name: str
    html_url: str
    owner: _Owner
    client_id: str = Field(min_length=1)
    client_secret: SecretStr = Field(min_length=1)
    webhook_secret: SecretStr = Field(min_length=16)
    pem: SecretStr = Field(min_length=1)


@dataclass(frozen=True)
class NotRegistered:
    """Why there are no credentials.

    :param can_retry: whether the same code may still be exchanged.
    """

    reason: str
    advice: str
    can_retry: bool = False


_BEGIN_AGAIN = "Begin again. If GitHub already lists the new App in its settings, delete it there first."


async def exchange_code(api_url: str, code: str) -> RegisteredApp | NotRegistered:
    """Exchange the code of a redirect for the App and its credentials; a code counts once, within an hour."""
    if not _CODE.fullmatch(code):
        return NotRegistered("The code in the address is not one that GitHub gives.", _BEGIN_AGAIN)
    headers = {"Accept": "application/vnd.github+json", "User-Agent": "Forge"}
    try:
        async with httpx2.AsyncClient(verify=load_trusted(), timeout=_SECONDS, headers=headers) as client:
            answer = await client.post(f"{api_url}/app-manifests/{code}/conversions")
    except httpx2.HTTPError as error:
        return NotRegistered(
            f"GitHub did not answer at {api_url} ({type(error).__name__}).",
            "Check that this machine reaches that address, then try again; the code is good for an hour.",
            can_retry=True,
        )
    if answer.status_code in {429, 500, 502, 503, 504}:
        reason = f"GitHub answered with {answer.status_code} at {api_url}."
        return NotRegistered(reason, "Try again in a minute; the code is good for an hour.", can_retry=True)
    if answer.status_code != 201:
        reason = f"GitHub does not accept the code ({answer.status_code}): it was used already, or is over an hour old."
        return NotRegistered(reason, _BEGIN_AGAIN)
    return _parse(answer.content)


def _parse(content: bytes) -> RegisteredApp | NotRegistered:
    try:
        app = RegisteredApp.model_validate_json(content)
        rsa_key(app.pem.get_secret_value())
    except ValidationError as error:
        fields = ", ".join(sorted({str(each["loc"][0]) if each["loc"] else "all" for each in error.errors()}))
        return NotRegistered(f"GitHub's answer is not as documented: {fields}.", _BEGIN_AGAIN)
    except ConfigurationError:
        return NotRegistered("The key in GitHub's answer is not an RSA key.", _BEGIN_AGAIN)
    return app


class WrongAddress(ForgeError):
    """What somebody typed is not the address of a server."""


def parse_origin(text: str) -> str:
    """An address that is a scheme and a host, perhaps with a port, without a slash at its end.

    :raises WrongAddress: it is not.
    """
    text = text.strip().rstrip("/")
    try:
        place = urlsplit(text)
        _ = place.port
    except ValueError:
        raise WrongAddress("This is not an address.", "Write it like https://forge.example.com.") from None
    if place.scheme not in {"http", "https"} or not _HOST.fullmatch(place.hostname or ""):
        raise WrongAddress("This is not an address of a server.", "Write it like https://forge.example.com.")
    if place.path or place.query or place.fragment or place.username is not None:
        raise WrongAddress("This has more than scheme, host and port.", "Write it like https://forge.example.com.")
    return f"{place.scheme}://{place.netloc.lower()}"
