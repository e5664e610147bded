"""People who signed in through an App: where it is installed for them, what they see there, the end of their token."""

from __future__ import annotations

import hmac

from simulator import access
from simulator.errors import Refusal, not_found
from simulator.http import Answer, Call, Route
from simulator.json import repositories as repository_json
from simulator.state import Account, Installation, Repository


def _person(call: Call) -> Account:
    token = call.caller.token
    if token is None or token.user is None or token.app is None:
        raise Refusal(
            403,
            "You must authenticate with an access token authorized to a GitHub App in order to list installations",
        )
    return token.user


def _list_given(call: Call, installation: Installation, person: Account) -> list[Repository]:
    """What they were given access to; what they may only read because it is public is not listed."""
    covered = [each for each in installation.repositories.values() if installation.covers(each)]
    return [each for each in covered if person in each.collaborators(call.world) and each.allows(person, "read")]


def list_installations(call: Call) -> Answer:
    person = _person(call)
    found = [each for each in call.world.installations.values() if _list_given(call, each, person)]
    return call.page(found, lambda item: repository_json.installation(call.world, item), "installations")


def list_repositories(call: Call) -> Answer:
    person = _person(call)
    installation = call.world.installations.get(call.number("id"))
    given = [] if installation is None else _list_given(call, installation, person)
    if installation is None or not given:
        raise not_found()
    if installation.suspended_at is not None:
        raise Refusal(403, "This installation has been suspended")
    return call.page(
        given,
        lambda item: {
            **repository_json.repository(call.world, item),
            "permissions": repository_json.role_booleans(item, person),
        },
        "repositories",
    )


def delete_token(call: Call) -> Answer:
    """The App itself ends a token, with its client id and secret as name and password."""
    app, header = call.world.app, call.headers.get("Authorization", "")
    given = access.basic_password(header.partition(" ")[2]) if header.lower().startswith("basic ") else ""
    if call.params["client"] != app.client_id or not hmac.compare_digest(given, app.client_secret):
        raise not_found()
    token = call.world.tokens.get(str(call.body.get("access_token")))
    if token is None or token.app is not app:
        raise not_found()
    del call.world.tokens[token.value]
    return Answer(204)


ROUTES = [
    Route("GET", "/user/installations", list_installations),
    Route("GET", "/user/installations/{id}/repositories", list_repositories),
    Route("DELETE", "/applications/{client}/token", delete_token, anonymous=True),
]
