"""Turns GitHub's refusals into the errors of ``domain.errors``, with messages for people and without secrets.

2xx, 304           no error
3xx not followed   NotFound       the repository was renamed or transferred
401                Unauthorized
403                Forbidden      (rate limits are found before, see ``limits``)
404 410            NotFound
408 5xx            Unavailable    (and an unexpected 304)
other 4xx          Unprocessable
"""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import cast

from domain.errors import CodeHostError, Forbidden, NotFound, Unauthorized, Unavailable, Unprocessable
from domain.text.escaping import cut_text
from github.transport import Answer

MAX_QUOTED = 500  # characters of GitHub's own words

_SECRET = re.compile(
    r"\bgh[a-z]_\w+|\bgithub_pat_\w+|\bv1\.[0-9a-f]{16,}|\beyJ[\w-]+(?:\.[\w-]*)*|(?i:bearer|basic)\s+\S+"
)
_PERMISSIONS = (
    "x-accepted-github-permissions"  # https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api
)
_PERMISSION = re.compile(r"\b([a-z_]{1,40})=(read|write|admin)\b")
_INVISIBLE = re.compile(r"[\s\x00-\x1f\x7f]+")


def to_error(answer: Answer, purpose: str) -> CodeHostError:
    """The error for an answer that is neither a success nor a limit.

    :param purpose: completes "Could not …".
    """
    kind, advice = _kind(answer.status, error_message(answer), _list_permissions(answer))
    return kind(f"Could not {purpose}: GitHub answered {answer.status} ({error_message(answer)}).", advice)


def bad_answer(purpose: str, detail: str) -> Unavailable:
    """The error for a success with content that GitHub does not document."""
    return Unavailable(f"Could not {purpose}: GitHub answered something unexpected ({detail}).")


def error_message(answer: Answer) -> str:
    """GitHub's error message in one line without secrets, or the name of the status."""
    body = _json_object(answer.body)
    parts = [_text(body.get("message")), *_details(body.get("errors"))]
    said = ": ".join(part for part in parts if part)
    return quote(said) or _phrase(answer.status)


def error_codes(answer: Answer) -> set[str]:
    """The error codes that GitHub gives in a 422."""
    errors = _json_object(answer.body).get("errors")
    items = cast("list[object]", errors) if isinstance(errors, list) else []
    return {_text(cast("dict[str, object]", item).get("code")) for item in items if isinstance(item, dict)}


def quote(text: str) -> str:
    """Foreign text made safe for our messages: one line of limited length, without secrets."""
    line = _SECRET.sub("[secret]", _INVISIBLE.sub(" ", text)).strip()
    return cut_text(line, MAX_QUOTED)


def _list_permissions(answer: Answer) -> str:
    """The permissions that the request needs, as GitHub says in a header: “checks: write”."""
    told = next((text for name, text in answer.headers.items() if name.lower() == _PERMISSIONS), "")
    found = dict.fromkeys(_PERMISSION.findall(told[:MAX_QUOTED]))
    return ", ".join(f"“{name}: {level}”" for name, level in found)


def _kind(status: int, said: str, needed: str) -> tuple[type[CodeHostError], str]:
    if status == 403 and "suspended" in said.lower():
        return Forbidden, "The installation is suspended; its owner can resume it in GitHub's settings."
    if status == 403 and "locked" in said.lower():
        return Forbidden, "Somebody with write access can unlock the conversation."
    if status in {404, 410}:
        return NotFound, "It was deleted or renamed, or the App has no access to it."
    if status == 401:
        return Unauthorized, "Check FORGE_APP_ID, FORGE_PRIVATE_KEY and the clock of this machine."
    if status == 403 and needed and "not accessible" in said.lower():
        return Forbidden, (
            f"The App needs {needed} here: grant it in the App's settings on GitHub. Then whoever owns the "
            "installation accepts it there."
        )
    if status in {403, 451}:
        return Forbidden, "Check the App's permissions and whether the owner accepted them."
    if status in {304, 408} or status >= 500:
        return Unavailable, ""
    if 300 <= status < 400:
        return NotFound, "The repository was renamed or transferred: the next event carries its new address."
    return Unprocessable, ""


def _details(errors: object) -> list[str]:
    """GitHub's ``errors`` of a 422: a string, or a list of strings or of objects."""
    if not isinstance(errors, list):
        return [_text(errors)]
    return ["; ".join(_detail(error) for error in cast("list[object]", errors))]


def _detail(error: object) -> str:
    if not isinstance(error, dict):
        return _text(error)
    fields = cast("dict[str, object]", error)
    place = ".".join(_text(fields.get(key)) for key in ("resource", "field") if fields.get(key))
    said = " ".join(part for part in (place, _text(fields.get("message") or fields.get("code"))) if part)
    return ", ".join(part for part in (said, *_unmet(fields.get("contexts"))) if part)


def _unmet(contexts: object) -> list[str]:
    """The checks for which GitHub refuses a deployment; it lists those that succeeded, too."""
    listed = cast("list[object]", contexts) if isinstance(contexts, list) else []
    states = [cast("dict[str, object]", one) for one in listed if isinstance(one, dict)]
    return [
        f"{_text(one.get('context'))} is {_text(one.get('state'))}" for one in states if one.get("state") != "success"
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _json_object(body: bytes) -> Mapping[str, object]:
    try:
        data: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", data) if isinstance(data, dict) else {}


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no reason given"
