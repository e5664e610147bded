"""Reads settings from files, says where things are, and explains a wrong setting without its value."""

import difflib
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from dotenv import dotenv_values
from dotenv.parser import parse_stream
from pydantic import field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bot.credentials import CredentialStore
from bot.tool_folders import check_folders, split_folders
from domain.errors import ConfigurationError

PREFIX = "FORGE_"
OF_APP = ("FORGE_APP_ID", "FORGE_PRIVATE_KEY", "FORGE_WEBHOOK_SECRET", "FORGE_CLIENT_ID", "FORGE_CLIENT_SECRET")
"""Settings that belong to one App on GitHub, and to no other."""
SECRETS_FOLDER = Path("/run/secrets")
"""Where Docker and others mount secrets; read if it is there and FORGE_SECRETS_DIR names no other folder."""
_MOST = 100_000  # bytes of a secret
_PREFIX = "FORGE_"
_TOKENS = (
    "COPILOT_GITHUB_TOKEN|GITHUB_COPILOT_API_TOKEN|HEROKU_INFERENCE_KEY|HF_TOKEN|SNOWFLAKE_TOKEN|VERCEL_OIDC_TOKEN"
)
_OF_PROVIDERS = re.compile(
    r"[A-Z0-9_]+_(API_KEY|BASE_URL|AUTH_TOKEN)|(AWS|AZURE_OPENAI|GOOGLE|OPENAI)_[A-Z0-9_]+"
    rf"|HEROKU_INFERENCE_URL|SNOWFLAKE_ACCOUNT|{_TOKENS}"
)
_PROVIDER_SECRET = re.compile(
    rf"[A-Z0-9_]+_(API_KEY|AUTH_TOKEN)|AWS_(SECRET_ACCESS_KEY|SESSION_TOKEN|BEARER_TOKEN_BEDROCK)|{_TOKENS}"
)


DOTENV = ".env"


class ToolFolders(BaseSettings):
    """The folders of programs for linters."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    sandbox_tools: Annotated[tuple[Path, ...], NoDecode] = ()

    @field_validator("sandbox_tools", mode="before")
    @classmethod
    def _folders(cls, value: Any) -> Any:
        return split_folders(value) if isinstance(value, str) else value

    @field_validator("sandbox_tools")
    @classmethod
    def _require_exists(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        return check_folders(value)


class Places(BaseSettings):
    """Where further settings are kept."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_file=DOTENV, extra="ignore", frozen=True)

    data_dir: Path = Path("forge-data")
    secrets_dir: Path | None = None
    credentials_key_path: Path | None = None

    @property
    def store(self) -> CredentialStore:
        """What the set-up page stores."""
        return CredentialStore(self.data_dir, self.credentials_key_path)

    def make_data_dir(self) -> None:
        """Create the folder for what Forge keeps beside the database, and check that it can be written.

        :raises ConfigurationError: if that does not work.
        """
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise _unusable_folder(self.data_dir, "cannot be created: there is a file in its place") from None
        except OSError as error:
            raise _unusable_folder(self.data_dir, f"cannot be created: {error.strerror}") from None
        try:
            with tempfile.TemporaryFile(dir=self.data_dir):
                pass
        except OSError as error:
            raise _unusable_folder(self.data_dir, f"cannot be written: {error.strerror}") from None


def _unusable_folder(folder: Path, why: str) -> ConfigurationError:
    return ConfigurationError(f"FORGE_DATA_DIR {folder} {why}.", "Name a folder that Forge may write to.")


def refuse_unknown(variables: Iterable[str], fields: Collection[str]) -> None:
    """Refuse a misspelt setting, which would silently have no effect.

    :param fields: the names that there are, without prefix.
    :raises ConfigurationError: one of the variables is not a setting.
    """
    known = sorted(PREFIX + name.upper() for name in fields)
    for name in sorted(variables):
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            nearest = difflib.get_close_matches(name.upper(), known, 1, cutoff=0.7)
            advice = f"Did you mean {nearest[0]}?" if nearest else "docs/operations.md lists them; unset this one."
            raise ConfigurationError(f"{name.upper()} is not a setting of Forge.", advice)


def explain(mistake: ErrorDetails) -> ConfigurationError:
    """Explain a mistake to the operator, without the value, which may be a secret."""
    name = PREFIX + "_".join(str(part) for part in mistake["loc"][:1]).upper()
    if mistake["type"] == "missing":
        advice = "Set it in the environment or in .env" + (", or run `forge setup`." if name in OF_APP else ".")
        return ConfigurationError(f"{name} is not set.", advice)
    if mistake["type"] == "too_short" or mistake["input"] == "":
        return ConfigurationError(f"{name} is empty.", "Give it a value in the environment or in .env.")
    limits = mistake.get("ctx", {})
    match mistake["type"]:
        case "int_parsing" | "int_from_float":
            what = "it must be a whole number"
        case "float_parsing" | "decimal_parsing" | "finite_number":
            what = "it must be a number"
        case "bool_parsing":
            what = "it must be true or false"
        case "literal_error" | "enum":
            what = f"it must be {limits['expected']}"
        case "greater_than":
            what = f"it must be more than {limits['gt']:g}"
        case "greater_than_equal":
            what = f"it must be {limits['ge']:g} or more"
        case "less_than_equal":
            what = f"it must be {limits['le']:g} or less"
        case "string_pattern_mismatch":
            what = "it must be PROVIDER:MODEL, e.g. anthropic:claude-haiku-5-5"
        case _:
            what = str(limits.get("error", mistake["msg"])).removeprefix("Value error, ")
    return ConfigurationError(f"{name} is wrong: {what}.", "See the settings in docs/operations.md.")


def read_dotenv(file: Path) -> Mapping[str, str | None]:
    """The settings in ``.env``.

    :raises ConfigurationError: if it cannot be read, or a line of it is not NAME=VALUE.
    """
    if not file.exists():
        return {}
    try:
        with file.open(encoding="utf-8") as lines:
            bindings = list(parse_stream(lines))
    except (OSError, UnicodeDecodeError) as error:
        why = "it is a folder" if file.is_dir() else getattr(error, "strerror", None) or "it is not a text file"
        advice = "Give it lines of NAME=VALUE, or remove it."
        raise ConfigurationError(f"{file} cannot be read: {why}.", advice) from None
    wrong = next((each for each in bindings if each.error or (each.key and each.value is None)), None)
    if wrong is not None:
        raise ConfigurationError(
            f"{file} line {wrong.original.line} is not NAME=VALUE.", "Correct it, or begin it with “#” to leave it out."
        )
    return dotenv_values(file)


def read_secrets(folder: Path | None) -> Mapping[str, str]:
    """The settings in files of a folder, each named like its setting in lower or upper case: name → content.

    Other files are left alone, and so are folders: Kubernetes mounts its own beside them.

    :param folder: FORGE_SECRETS_DIR; None: the usual one, if it is there.
    :raises ConfigurationError: the folder, or the file of a setting, cannot be read.
    """
    if folder is None and not os.access(SECRETS_FOLDER, os.R_OK | os.X_OK):
        return {}
    try:
        files = sorted(each for each in (folder or SECRETS_FOLDER).iterdir() if _is_setting(each))
    except OSError as error:
        raise ConfigurationError(
            f"FORGE_SECRETS_DIR {folder} cannot be read: {error.strerror}.",
            "Name a folder with one file for each secret, or unset it.",
        ) from None
    return {each.name.upper(): _read_secret(each) for each in files}


def _is_setting(file: Path) -> bool:
    name = file.name.upper()
    return (name.startswith(_PREFIX) or is_of_provider(name)) and file.is_file()


def _read_secret(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            return opened.read(_MOST).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not a text file"
        raise ConfigurationError(
            f"The secret {file} cannot be read: {why}.", "Let the account that Forge runs as read it."
        ) from None


def feed_providers(values: Mapping[str, str | None]) -> None:
    """Put the providers' keys and addresses into the environment, where their SDKs look; what is there wins."""
    for name, value in values.items():
        if value and is_of_provider(name):
            os.environ.setdefault(name, value)


def is_of_provider(name: str) -> bool:
    """Whether a provider's SDK reads this variable."""
    return _OF_PROVIDERS.fullmatch(name) is not None


def provider_secrets() -> tuple[str, ...]:
    """The providers' keys in the environment."""
    return tuple(value for name, value in os.environ.items() if _PROVIDER_SECRET.fullmatch(name))
