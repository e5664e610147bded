"""Reads what the operator lets deploy commands reach and know, from the file that ``FORGE_DEPLOY_ACCESS`` names.

["acme/shop".staging]
address = "http://127.0.0.1:9999"
secrets = {TOKEN = "/run/secrets/shop-token"}
"""

import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from domain.deployments.deployment import DeployAccess, DeployAccesses
from domain.errors import ConfigurationError
from domain.value import Value
from workspace.sandbox.registry_proxy import Address

_ADVICE = "docs/deployments.md shows what the file holds."
_LARGEST = 64_000  # bytes of a secret
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


class _Entry(Value):
    model_config = ConfigDict(extra="forbid")

    address: str = ""
    secrets: dict[_Variable, str] = Field(default={}, max_length=50)


_FILE: TypeAdapter[dict[str, dict[str, _Entry]]] = TypeAdapter(dict[_Repository, dict[str, _Entry]])


def load_deploy_access(path: Path | None) -> DeployAccesses:
    """What each deploy command may reach and know; nothing without a file.

    :raises ConfigurationError: the file, or one that it names, cannot be read or is wrong.
    """
    if path is None:
        return {}
    content: dict[str, Any] = _parse(path)
    try:
        entries = _FILE.validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        why = first["msg"].removeprefix("Value error, ")
        raise ConfigurationError(f"FORGE_DEPLOY_ACCESS: {where} in {path} is wrong: {why}.", _ADVICE) from None
    return {
        (repository.lower(), environment): _build(repository, environment, entry)
        for repository, environments in entries.items()
        for environment, entry in environments.items()
    }


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise ConfigurationError(f"FORGE_DEPLOY_ACCESS: {path} cannot be read: {error.strerror}.", _ADVICE) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"FORGE_DEPLOY_ACCESS: {path} is not TOML: {error}.", _ADVICE) from None


def _build(repository: str, environment: str, entry: _Entry) -> DeployAccess:
    where = f"{repository}.{environment}"
    secrets = {name: _read_secret(where, name, Path(file)) for name, file in entry.secrets.items()}
    if not entry.address:
        return DeployAccess(secrets=secrets)
    try:
        address = Address.parse(entry.address)
    except ValueError:
        told = (
            f"FORGE_DEPLOY_ACCESS: {where}.address is wrong: write http://HOST:PORT; what the command says goes there"
        )
        raise ConfigurationError(f"{told} byte by byte, TLS as well.", _ADVICE) from None
    return DeployAccess(address.host, address.port, secrets)


def _read_secret(where: str, name: str, file: Path) -> str:
    try:
        content = file.read_bytes()
    except OSError as error:
        told = f"FORGE_DEPLOY_ACCESS: the file of {name} for {where} cannot be read: {error.strerror}."
        raise ConfigurationError(told, _ADVICE) from None
    if not content.strip() or len(content) > _LARGEST:
        told = f"FORGE_DEPLOY_ACCESS: the file of {name} for {where} is empty, or larger than {_LARGEST:,} bytes."
        raise ConfigurationError(told, _ADVICE)
    try:
        secret = content.decode().strip()
    except UnicodeDecodeError:
        secret = "\0"
    if "\0" in secret:
        told = f"FORGE_DEPLOY_ACCESS: the file of {name} for {where} is no text, so no variable can hold it."
        raise ConfigurationError(told, _ADVICE)
    return secret
