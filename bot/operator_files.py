"""Reads the files that operators write: what deploy commands may reach and know, and the targets of notices.

``FORGE_DEPLOY_ACCESS`` and ``FORGE_NOTIFY_TARGETS`` name them; docs/deployments.md and docs/notices.md show what they
hold.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from domain.config import deploy
from domain.config.sections import EventPattern, OwnEventPattern, TargetName
from domain.deployments.deployment import DeployAccess, DeployAccesses
from domain.errors import ConfigurationError
from domain.notices import NoticeAccess, NoticeFormat, NoticeTarget, make_secret
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
    secrets: Annotated[dict[_Variable, str], Field(max_length=50)] = {}


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
_Pattern = Annotated[str, StringConstraints(pattern=r"^(\*|[\w.-]+/[\w.*-]+)$")]


class _TargetEntry(Value):
    model_config = ConfigDict(extra="forbid")

    url: deploy.Address
    format: NoticeFormat = NoticeFormat.json
    events: tuple[EventPattern | OwnEventPattern, ...] = Field(default=("*",), min_length=1, max_length=30)
    repositories: tuple[_Pattern, ...] = Field(default=("*",), min_length=1, max_length=200)


_TARGETS: TypeAdapter[dict[str, _TargetEntry]] = TypeAdapter(dict[TargetName, _TargetEntry])


def load_notice_access(path: Path | None, key: str) -> NoticeAccess:
    """The operator's targets, whose addresses are redacted from now on, and what all secrets are made of.

    :param path: of the file; None: there are none.
    :param key: the App's.
    :raises ConfigurationError: the file cannot be read or is wrong. No address is repeated.
    """
    if path is None:
        return NoticeAccess((), key.encode())
    try:
        entries = _TARGETS.validate_python(_NOTICES.parse(path))
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"][:2] if part != "[key]")
        raise _NOTICES.refuse(f"{where} in {path} is wrong: {first['msg'].removeprefix('Value error, ')}") from None
    PROCESS_REDACTOR.learn(*(entry.url for entry in entries.values()))
    targets = [
        NoticeTarget(name, name, secret=make_secret(key.encode(), name), **dict(entry))
        for name, entry in entries.items()
    ]
    return NoticeAccess(targets, key.encode())
