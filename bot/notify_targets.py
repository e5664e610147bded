"""Reads the targets of notices that the operator defines, from the file that ``FORGE_NOTIFY_TARGETS`` names.

[ops]
format = "slack"
url_file = "/run/secrets/ops-slack"
repositories = ["acme/*"]
events = ["gate.*", "forge.*"]
"""

import tomllib
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from domain.config.deploy import Address
from domain.config.sections import EventPattern, TargetName
from domain.errors import ConfigurationError
from domain.notices import NoticeAccess, NoticeFormat, NoticeSeverity, NoticeTarget, show_secret
from domain.text.redaction import PROCESS_REDACTOR
from domain.value import Value

_ADVICE = "docs/notices.md shows what the file holds."
_LARGEST = 4_000  # bytes of an address or a secret
_SECRET_BYTES = range(24, 65)  # what Standard Webhooks asks for

_Pattern = Annotated[str, StringConstraints(pattern=r"^(\*|[\w.-]+/[\w.*-]+)$")]
_OwnEvent = Annotated[str, StringConstraints(pattern=r"^forge\.(\*|halted|resumed)$")]


class _Entry(Value):
    model_config = ConfigDict(extra="forbid")

    format: NoticeFormat = NoticeFormat.json
    url: Address | None = None
    url_file: Path | None = None
    secret: str = ""
    secret_file: Path | None = None
    repositories: tuple[_Pattern, ...] = Field(default=(), max_length=200)
    events: tuple[EventPattern | _OwnEvent, ...] = Field(default=(), max_length=50)
    severity: NoticeSeverity = NoticeSeverity.info


_WANTED = {
    "": 'a table of its own, such as [ops] and below it url = "https://…"',
    "[key]": "a name of at most 50 small letters, digits, - and _, not - or _ first",
    "format": ", ".join(NoticeFormat),
    "url": "an address of plain letters that begins with https://",
    "repositories": 'a list of at most 200, such as ["acme/*", "octo/shop"]; "*" for all',
    "events": 'a list of what docs/notices.md names, such as ["gate.*", "run.failed"]; "*" for all',
    "severity": ", ".join(NoticeSeverity),
}
"""Key → what its value has to be."""

_FILE: TypeAdapter[dict[str, _Entry]] = TypeAdapter(dict[TargetName, _Entry])
_URL: TypeAdapter[str] = TypeAdapter(Address)


def load_notice_access(path: Path | None, key: str) -> NoticeAccess:
    """The operator's targets, whose addresses and secrets are redacted from now on, and what other secrets are made of.

    :param key: the App's.
    :raises ConfigurationError: the file is wrong.
    """
    targets = load_notify_targets(path)
    for each in targets.values():
        secret = each.secret or b""
        PROCESS_REDACTOR.learn(each.url, show_secret(secret), b64encode(secret).decode())
    return NoticeAccess(targets, key.encode())


def load_notify_targets(path: Path | None) -> dict[str, NoticeTarget]:
    """The targets by name; none without a file.

    :raises ConfigurationError: the file, or one that it names, cannot be read or is wrong. No address is repeated.
    """
    if path is None:
        return {}
    try:
        entries = _FILE.validate_python(_parse(path))
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"][:2] if part != "[key]")
        raise _wrong(f"{where} in {path} is wrong: {_explain(first)}") from None
    return {name: _build(name, entry) for name, entry in entries.items()}


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise _wrong(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _wrong(f"{path} is not text") from None
    except tomllib.TOMLDecodeError as error:
        raise _wrong(f"{path} is not TOML: {error}") from None


def _explain(mistake: ErrorDetails) -> str:
    """What a value has to be, without the value."""
    if mistake["type"] == "value_error":
        return mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "extra_forbidden":
        return f"there is no such key; there are {', '.join(_Entry.model_fields)}"
    field = str(mistake["loc"][1]) if len(mistake["loc"]) > 1 else ""
    return f"it has to be {_WANTED.get(field, 'text')}"


def _build(name: str, entry: _Entry) -> NoticeTarget:
    if (entry.url is None) == (entry.url_file is None):
        raise _wrong(f"{name} needs one of url and url_file")
    if entry.secret and entry.secret_file is not None:
        raise _wrong(f"{name} has both secret and secret_file; keep one")
    _refuse_idle(name, entry)
    url = entry.url or ""
    if entry.url_file is not None:
        try:
            url = _URL.validate_python(_read(name, "url_file", entry.url_file))
        except ValidationError:
            raise _wrong(f"the file of {name}.url_file holds no address that begins with https://") from None
    secret = _read(name, "secret_file", entry.secret_file) if entry.secret_file is not None else entry.secret
    return NoticeTarget(
        name=name,
        url=url,
        format=entry.format,
        secret=_decode(name, secret) if secret else None,
        repositories=entry.repositories,
        events=entry.events,
        severity=entry.severity,
    )


def _refuse_idle(name: str, entry: _Entry) -> None:
    """Refuse what would have no effect.

    :raises ConfigurationError: something would not.
    """
    if entry.format.is_chat and (entry.secret or entry.secret_file is not None):
        raise _wrong(f"{name} has a secret, which {entry.format} does not check; leave it out")
    if not entry.repositories and not entry.events:
        raise _wrong(f"{name} would get nothing; give it repositories, which may name it, or events, which it gets")
    if "severity" in entry.model_fields_set and not entry.events:
        raise _wrong(f"{name} has a severity, which counts for its events, but no events; add them or leave it out")


def _read(name: str, key: str, file: Path) -> str:
    try:
        content = file.read_bytes()
        text = content.decode().strip()
    except OSError as error:
        raise _wrong(f"the file of {name}.{key} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _wrong(f"the file of {name}.{key} is not text") from None
    if not text or len(content) > _LARGEST:
        raise _wrong(f"the file of {name}.{key} is empty, or larger than {_LARGEST:,} bytes")
    return text


def _decode(name: str, text: str) -> bytes:
    """The bytes of a secret, which begins with ``whsec_`` and goes on in Base64."""
    try:
        secret = b64decode(text.removeprefix("whsec_"), validate=True)
    except NotBase64:
        secret = b""
    if not text.startswith("whsec_") or len(secret) not in _SECRET_BYTES:
        how = 'make one with `echo "whsec_$(openssl rand -base64 32)"`'
        raise _wrong(f"the secret of {name} is not whsec_ and Base64 of 24 to 64 bytes; {how}")
    return secret


def _wrong(what: str) -> ConfigurationError:
    return ConfigurationError(f"FORGE_NOTIFY_TARGETS: {what}.", _ADVICE)
