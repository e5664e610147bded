"""Apps, their installations and their people over REST."""

from __future__ import annotations

import hmac
from datetime import timedelta
from typing import cast

from simulator import access, repository_json
from simulator.errors import Refusal, not_found, unprocessable
from simulator.http import Answer, Call, Route
from simulator.state import Account, Installation, Json, Repository, timestamp

_LEVELS = ("none", "read", "write", "admin")


def show_app(call: Call) -> Answer:
    count = {"installations_count": len(call.world.installations)}
    return Answer(200, repository_json.app(call.world, call.world.app) | count)


def list_installations(call: Call) -> Answer:
    found = list(call.world.installations.values())
    return call.page(found, lambda item: repository_json.installation(call.world, item))


def _installation(call: Call) -> Installation:
    found = call.world.installations.get(call.number("id"))
    if found is None:
        raise not_found()
    return found


def show_installation(call: Call) -> Answer:
    return Answer(200, repository_json.installation(call.world, _installation(call)))


def create_token(call: Call) -> Answer:
    installation = _installation(call)
    if installation.suspended_at is not None:
        raise Refusal(403, "This installation has been suspended")
    permissions = _narrow_permissions(installation, cast(Json, call.body.get("permissions") or {}))
    chosen = _select_repositories(installation, call.body)
    token = call.world.new_token("ghs_", timedelta(hours=1))
    token.installation, token.permissions = installation, permissions
    token.repository_ids = None if chosen is None else {repository.id for repository in chosen}
    body: Json = {
        "token": token.value,
        "expires_at": timestamp(token.expires_at),
        "permissions": permissions,
        "repository_selection": "selected",
    }
    if chosen is not None:
        body["repositories"] = [repository_json.repository(call.world, repository) for repository in chosen]
    return Answer(201, body)


def _narrow_permissions(installation: Installation, wanted: Json) -> dict[str, str]:
    for name, level in wanted.items():
        held = installation.permissions.get(name, "none")
        if level not in _LEVELS or _LEVELS.index(level) > _LEVELS.index(held):
            raise Refusal(422, "The permissions requested are not granted to this installation.")
    return dict(wanted) or dict(installation.permissions)


def _select_repositories(installation: Installation, body: Json) -> list[Repository] | None:
    names, ids = body.get("repositories"), body.get("repository_ids")
    if names is None and ids is None:
        return None
    covered = installation.repositories.values()
    chosen = [item for item in covered if item.name in (names or []) or item.id in (ids or [])]
    if len(chosen) < len(set(names or [])) + len(set(ids or [])):
        raise unprocessable(
            "There is at least one repository that does not exist or is not accessible to the parent installation."
        )
    return chosen


def revoke_token(call: Call) -> Answer:
    if call.caller.token is not None:
        del call.world.tokens[call.caller.token.value]
    return Answer(204)


def list_repositories(call: Call) -> Answer:
    token = call.caller.token
    covered = list(token.installation.repositories.values()) if token and token.installation else []
    reached = [repository for repository in covered if call.caller.reaches(repository)]
    return call.page(reached, lambda item: repository_json.repository(call.world, item), "repositories")


def repository_installation(call: Call) -> Answer:
    repository = call.world.repository(f"{call.params['owner']}/{call.params['repo']}")
    found = call.world.installation_of(repository) if repository else None
    if found is None:
        raise not_found()
    return Answer(200, repository_json.installation(call.world, found))


def account_installation(call: Call) -> Answer:
    found = call.world.installations.values()
    match = next((item for item in found if item.account.login.lower() == call.params["login"].lower()), None)
    if match is None:
        raise not_found()
    return Answer(200, repository_json.installation(call.world, match))


def list_deliveries(call: Call) -> Answer:
    sent = [delivery for delivery in reversed(call.hooks.deliveries) if delivery.delivered_at is not None]
    status = call.query.get("status")
    if status in ("success", "failure"):
        sent = [delivery for delivery in sent if (delivery.status == "OK") == (status == "success")]
    return call.cursor_page(sent, lambda delivery: delivery.brief(), lambda delivery: delivery.id)


def show_delivery(call: Call) -> Answer:
    found = next((item for item in call.hooks.deliveries if item.id == call.number("id")), None)
    if found is None:
        raise not_found()
    return Answer(200, found.full())


def redeliver(call: Call) -> Answer:
    found = next((item for item in call.hooks.deliveries if item.id == call.number("id")), None)
    if found is None:
        raise not_found()
    call.hooks.redeliver(found)
    return Answer(202, {})


def show_hook_config(call: Call) -> Answer:
    content = "form" if call.hooks.as_form else "json"
    return Answer(200, {"content_type": content, "insecure_ssl": "0", "secret": "********", "url": call.hooks.url})


def convert_manifest(call: Call) -> Answer:
    """The code counts once and for an hour; the answer is the only time the secrets are told."""
    manifest = call.world.manifests.pop(call.params["code"], None)
    if manifest is None or call.world.now() - manifest.registered_at > timedelta(hours=1):
        raise not_found()
    app = call.world.app
    secrets = {
        "client_id": app.client_id,
        "client_secret": app.client_secret,
        "webhook_secret": call.hooks.secret,
        "pem": app.private_key_pem,
    }
    return Answer(201, repository_json.app(call.world, app) | secrets)


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


def list_own_installations(call: Call) -> Answer:
    person = _person(call)
    found = [each for each in call.world.installations.values() if _list_given(call, each, person)]
    return call.page(found, lambda item: repository_json.installation(call.world, item), "installations")


def list_own_repositories(call: Call) -> Answer:
    person = _person(call)
    installation = call.world.installations.get(call.number("id"))
    if installation is None or not (given := _list_given(call, installation, person)):
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
    Route("GET", "/app", show_app, jwt=True),
    Route("GET", "/app/installations", list_installations, jwt=True),
    Route("GET", "/app/installations/{id}", show_installation, jwt=True),
    Route("POST", "/app/installations/{id}/access_tokens", create_token, jwt=True),
    Route("GET", "/app/hook/config", show_hook_config, jwt=True),
    Route("GET", "/app/hook/deliveries", list_deliveries, jwt=True),
    Route("GET", "/app/hook/deliveries/{id}", show_delivery, jwt=True),
    Route("POST", "/app/hook/deliveries/{id}/attempts", redeliver, jwt=True),
    Route("POST", "/app-manifests/{code}/conversions", convert_manifest, anonymous=True),
    Route("GET", "/repos/{owner}/{repo}/installation", repository_installation, jwt=True),
    Route("GET", "/orgs/{login}/installation", account_installation, jwt=True),
    Route("GET", "/users/{login}/installation", account_installation, jwt=True),
    Route("GET", "/installation/repositories", list_repositories),
    Route("DELETE", "/installation/token", revoke_token),
    Route("GET", "/user/installations", list_own_installations),
    Route("GET", "/user/installations/{id}/repositories", list_own_repositories),
    Route("DELETE", "/applications/{client}/token", delete_token, anonymous=True),
]
