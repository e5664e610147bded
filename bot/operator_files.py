"""Reads the files that operators write: what deploy commands may reach and know, and the targets of notices.

``FORGE_DEPLOY_ACCESS`` and ``FORGE_NOTIFY_TARGETS`` name them; docs/deployments.md and docs/notices.md show what they
hold.
"""

import tomllib
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from domain.config import deploy
from domain.config.sections import EventPattern, TargetName
from domain.deployments.deployment import DeployAccess, DeployAccesses
from domain.errors import ConfigurationError
from domain.notices import NoticeAccess, NoticeFormat, NoticeSeverity, NoticeTarget, show_secret
from domain.text.redaction import PROCESS_REDACTOR
from domain.value import Value
from workspace.sandbox.registry_proxy import Address


class _OperatorFile(NamedTuple):
    """A file of TOML that a setting names.

    :param largest: bytes of a file that it names in its turn.
    """

    setting: str
    page: str
    largest: int

    def refuse(self, what: str) -> ConfigurationError:
        return ConfigurationError(f"{self.setting}: {what}.", f"{self.page} shows what the file holds.")

    def parse(self, path: Path) -> dict[str, Any]:
        """:raises ConfigurationError: it cannot be read, or is not TOML."""
        try:
            return tomllib.loads(path.read_text())
        except OSError as error:
            raise self.refuse(f"{path} cannot be read: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise self.refuse(f"{path} is not TOML: {error}") from None

    def read_named(self, what: str, file: Path) -> str:
        """The text of a file that it names.

        :param what: completes "the file of …".
        :raises ConfigurationError: it cannot be read, or is empty, too large or no text.
        """
        try:
            content = file.read_bytes()
            text = content.decode().strip()
        except OSError as error:
            raise self.refuse(f"the file of {what} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise self.refuse(f"the file of {what} is no text") from None
        if not text or len(content) > self.largest:
            raise self.refuse(f"the file of {what} is empty, or larger than {self.largest:,} bytes")
        return text


# --- deploy access ---------------------------------------------------------------------------------------------------

_ACCESS = _OperatorFile("FORGE_DEPLOY_ACCESS", "docs/deployments.md", 64_000)
_TAKEN = frozenset({"CI", "HOME", "PATH", "TMPDIR"})  # what every command gets; and what begins with FORGE_


def _check_variable(name: str) -> str:
    if name in _TAKEN or name.startswith("FORGE_"):
        raise ValueError(f"{name} is a variable that Forge sets itself; choose another name")
    return name


def _check_repository(name: str) -> str:
    if name.count("/") != 1:
        raise ValueError('write the repository in quotes, as ["owner/name".environment]')
    return name


_Repository = Annotated[str, AfterValidator(_check_repository)]
_Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,99}$"), AfterValidator(_check_variable)]


class _AccessEntry(Value):
    model_config = ConfigDict(extra="forbid")

    address: str = ""
    secrets: dict[_Variable, str] = Field(default={}, max_length=50)


_ACCESSES: TypeAdapter[dict[str, dict[str, _AccessEntry]]] = TypeAdapter(dict[_Repository, dict[str, _AccessEntry]])


def load_deploy_access(path: Path | None) -> DeployAccesses:
    """What each deploy command may reach and know; nothing without a file.

    :raises ConfigurationError: the file, or one that it names, cannot be read or is wrong.
    """
    if path is None:
        return {}
    try:
        entries = _ACCESSES.validate_python(_ACCESS.parse(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        why = first["msg"].removeprefix("Value error, ")
        raise _ACCESS.refuse(f"{where} in {path} is wrong: {why}") from None
    return {
        (repository.lower(), environment): _build_access(f"{repository}.{environment}", entry)
        for repository, environments in entries.items()
        for environment, entry in environments.items()
    }


def _build_access(where: str, entry: _AccessEntry) -> DeployAccess:
    secrets: dict[str, str] = {}
    for name, file in entry.secrets.items():
        secrets[name] = _ACCESS.read_named(f"{name} for {where}", Path(file))
        if "\0" in secrets[name]:
            raise _ACCESS.refuse(f"the file of {name} for {where} is no text, so no variable can hold it")
    if not entry.address:
        return DeployAccess(secrets=secrets)
    try:
        address = Address.parse(entry.address)
    except ValueError:
        told = f"{where}.address is wrong: write http://HOST:PORT; what the command says goes there"
        raise _ACCESS.refuse(f"{told} byte by byte, TLS as well") from None
    return DeployAccess(address.host, address.port, secrets)


# --- targets of notices ----------------------------------------------------------------------------------------------

_NOTICES = _OperatorFile("FORGE_NOTIFY_TARGETS", "docs/notices.md", 4_000)
_SECRET_BYTES = range(24, 65)  # what Standard Webhooks asks for

_Pattern = Annotated[str, StringConstraints(pattern=r"^(\*|[\w.-]+/[\w.*-]+)$")]
_OwnEvent = Annotated[str, StringConstraints(pattern=r"^forge\.(\*|halted|resumed)$")]


class _TargetEntry(Value):
    model_config = ConfigDict(extra="forbid")

    format: NoticeFormat = NoticeFormat.json
    url: deploy.Address | None = None
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

_TARGETS: TypeAdapter[dict[str, _TargetEntry]] = TypeAdapter(dict[TargetName, _TargetEntry])
_URL: TypeAdapter[str] = TypeAdapter(deploy.Address)


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
        entries = _TARGETS.validate_python(_NOTICES.parse(path))
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"][:2] if part != "[key]")
        raise _NOTICES.refuse(f"{where} in {path} is wrong: {_explain(first)}") from None
    return {name: _build_target(name, entry) for name, entry in entries.items()}


def _explain(mistake: ErrorDetails) -> str:
    """What a value has to be, without the value."""
    if mistake["type"] == "value_error":
        return mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "extra_forbidden":
        return f"there is no such key; there are {', '.join(_TargetEntry.model_fields)}"
    field = str(mistake["loc"][1]) if len(mistake["loc"]) > 1 else ""
    return f"it has to be {_WANTED.get(field, 'text')}"


def _build_target(name: str, entry: _TargetEntry) -> NoticeTarget:
    if (entry.url is None) == (entry.url_file is None):
        raise _NOTICES.refuse(f"{name} needs one of url and url_file")
    if entry.secret and entry.secret_file is not None:
        raise _NOTICES.refuse(f"{name} has both secret and secret_file; keep one")
    _refuse_idle(name, entry)
    url = entry.url or ""
    if entry.url_file is not None:
        try:
            url = _URL.validate_python(_NOTICES.read_named(f"{name}.url_file", entry.url_file))
        except ValidationError:
            raise _NOTICES.refuse(f"the file of {name}.url_file holds no address that begins with https://") from None
    secret = (
        _NOTICES.read_named(f"{name}.secret_file", entry.secret_file) if entry.secret_file is not None else entry.secret
    )
    return NoticeTarget(
        name=name,
        url=url,
        format=entry.format,
        secret=_decode(name, secret) if secret else None,
        repositories=entry.repositories,
        events=entry.events,
        severity=entry.severity,
    )


def _refuse_idle(name: str, entry: _TargetEntry) -> None:
    """Refuse what would have no effect.

    :raises ConfigurationError: something would not.
    """
    if entry.format.is_chat and (entry.secret or entry.secret_file is not None):
        raise _NOTICES.refuse(f"{name} has a secret, which {entry.format} does not check; leave it out")
    if not entry.repositories and not entry.events:
        raise _NOTICES.refuse(
            f"{name} would get nothing; give it repositories, which may name it, or events, which it gets"
        )
    if "severity" in entry.model_fields_set and not entry.events:
        raise _NOTICES.refuse(
            f"{name} has a severity, which counts for its events, but no events; add them or leave it out"
        )


def _decode(name: str, text: str) -> bytes:
    """The bytes of a secret, which begins with ``whsec_`` and goes on in Base64."""
    try:
        secret = b64decode(text.removeprefix("whsec_"), validate=True)
    except NotBase64:
        secret = b""
    if not text.startswith("whsec_") or len(secret) not in _SECRET_BYTES:
        how = 'make one with `echo "whsec_$(openssl rand -base64 32)"`'
        raise _NOTICES.refuse(f"the secret of {name} is not whsec_ and Base64 of 24 to 64 bytes; {how}")
    return secret
