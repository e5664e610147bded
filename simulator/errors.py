"""The answers by which GitHub refuses a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.state import Json

DOCUMENTATION = "https://docs.github.com/rest"
BODY_LIMIT = 65_536
TITLE_LIMIT = 256


class Refusal(Exception):
    """A request GitHub refuses: status, `message`, `errors` and headers of its answer."""

    def __init__(
        self,
        status: int,
        message: str,
        errors: Sequence[Any] | None = None,
        headers: Mapping[str, str] | None = None,
        page: str = "",
    ) -> None:
        super().__init__(f"{status} {message} {errors or ''}")
        self.status = status
        self.headers = dict(headers or {})
        self.body: Json = {"message": message}
        if errors is not None:
            self.body["errors"] = list(errors)
        self.body |= {"documentation_url": DOCUMENTATION + page, "status": str(status)}


def not_found() -> Refusal:
    return Refusal(404, "Not Found")


def no_access(kind: str = "integration", needed: str = "") -> Refusal:
    """The token lacks a permission such as `checks:write`; `kind` is GitHub's word for it."""
    headers = {"X-Accepted-GitHub-Permissions": needed.replace(":", "=")} if needed else None
    return Refusal(403, f"Resource not accessible by {kind}", headers=headers)


def invalid(resource: str, field: str, code: str, message: str | None = None) -> Refusal:
    """422 Validation Failed with one structured error."""
    error = {"resource": resource, "field": field, "code": code}
    return Refusal(422, "Validation Failed", [error | ({"message": message} if message else {})])


def unprocessable(*errors: str, page: str = "") -> Refusal:
    """422 Unprocessable Entity with plain sentences."""
    return Refusal(422, "Unprocessable Entity", errors, page=page)


def malformed(reason: str) -> Refusal:
    """422 of the request's schema."""
    return Refusal(422, f"Invalid request.\n\n{reason}")


def check_body(resource: str, body: object, required: bool = True) -> str:
    """The text of a comment or review within GitHub's limit."""
    text = body if isinstance(body, str) else ""
    if required and not text.strip():
        raise invalid(resource, "body", "missing_field" if body is None else "custom", "body cannot be blank")
    if len(text) > BODY_LIMIT:
        raise invalid(resource, "body", "custom", f"body is too long (maximum is {BODY_LIMIT} characters)")
    return text


def check_title(resource: str, title: str) -> None:
    """Refuse the title of an issue or pull request that is empty or beyond GitHub's limit."""
    if not title.strip():
        raise invalid(resource, "title", "missing_field")
    if len(title) > TITLE_LIMIT:
        raise invalid(resource, "title", "custom", f"title is too long (maximum is {TITLE_LIMIT} characters)")
