"""The operator's settings, from the environment or ``.env``."""

import difflib
import os
import re
import socket
import tempfile
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from dotenv import dotenv_values
from dotenv.parser import parse_stream
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    NoDecode,
    SettingsConfigDict,
)

from agents.llm.models import Models, ModelTier
from bot.github.settings import GitHubSettings
from bot.outbound.allowance import NOTHING, Allowance
from domain.errors import ConfigurationError
from domain.money import Ceilings, FixedPrice, to_micro
from workspace.sandbox.probing import Wanted
from workspace.sandbox.registry_proxy import Address

_MODEL = r"^[a-z][a-z0-9-]*:\S+$"
_PREFIX = "FORGE_"
_DOTENV = ".env"
_SHORTEST_SECRET = 16  # characters; GitHub advises a random text of high entropy
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
_PRICE = re.compile(r"(\S+:[^\s=]+)=(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)")


class ToolFolders(BaseSettings):
    """The folders of programs for linters. `.env` is not read: in the folder of a review it may be of another."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, extra="ignore", frozen=True)

    sandbox_tools: Annotated[tuple[Path, ...], NoDecode] = ()

    @field_validator("sandbox_tools", mode="before")
    @classmethod
    def _folders(cls, value: Any) -> Any:
        return [part for part in value.split(":") if part] if isinstance(value, str) else value

    @field_validator("sandbox_tools")
    @classmethod
    def _require_exists(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        wrong = next((folder for folder in value if not folder.is_absolute() or not folder.is_dir()), None)
        if wrong is not None:
            raise ValueError(f"{wrong} is not an absolute path of a folder; name folders, separated by colons")
        return value


class Installation(ToolFolders):
    """The settings of a command that only reads the database: an auditor has neither the App's key nor its secret."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, env_file=_DOTENV, extra="ignore", frozen=True)

    github_api_url: str = "https://api.github.com"
    github_web_url: str = "https://github.com"
    database_url: str = "sqlite:///forge.db"
    data_dir: Path = Path("forge-data")
    public_url: str = ""
    host: str = "127.0.0.1"
    port: int = Field(default=3000, ge=0, le=65535)
    executor_id: str = ""
    sandbox_user: str = "nobody"
    sandbox: Wanted = "auto"
    sandbox_proxy: Annotated[Address | None, NoDecode] = None
    outbound_allow: Annotated[Allowance, NoDecode] = NOTHING
    deploy_access: Path | None = None
    dependency_cache: int = Field(default=5_000_000_000, ge=0)
    log_format: Literal["console", "json"] = "console"
    metrics: bool | None = None
    strong_model: str = Field(default="anthropic:claude-sonnet-5-5", pattern=_MODEL)
    fast_model: str = Field(default="anthropic:claude-haiku-5-5", pattern=_MODEL)
    fallback_model: str | None = Field(default=None, pattern=_MODEL)
    embedding_model: str | None = Field(default=None, pattern=_MODEL)
    model_prices: Annotated[dict[str, FixedPrice], NoDecode] = {}
    ceiling_phase: Decimal | None = Field(default=None, ge=0)
    ceiling_run: Decimal | None = Field(default=None, ge=0)
    ceiling_day: Decimal | None = Field(default=None, ge=0)
    ceiling_installation: Decimal | None = Field(default=None, ge=0)
    ceiling_calls: int | None = Field(default=None, ge=1)
    ceiling_minutes: int | None = Field(default=None, ge=1)
    ceiling_level: int | None = Field(default=None, ge=0, le=4)
    write_interval: float = Field(default=1.0, ge=0, le=60)
    queue_polling: float = Field(default=0.2, gt=0, le=10)
    concurrent_runs: int = Field(default=4, ge=1, le=64)
    tool_workers: int = Field(default=2, ge=1, le=32)
    reflection: bool = True

    @field_validator("sandbox_proxy", mode="before")
    @classmethod
    def _address(cls, value: Any) -> Any:
        return Address.parse(value) if isinstance(value, str) else value

    @field_validator("outbound_allow", mode="before")
    @classmethod
    def _allowance(cls, value: Any) -> Any:
        return Allowance.parse(value) if isinstance(value, str) else value

    @field_validator("model_prices", mode="before")
    @classmethod
    def _prices(cls, value: Any) -> Any:
        """``NAME=INPUT/OUTPUT``, comma-separated, in USD per million tokens."""
        if not isinstance(value, str):
            return value
        found = [_PRICE.fullmatch(part.strip()) for part in value.split(",") if part.strip()]
        if not all(found):
            raise ValueError("write NAME=INPUT/OUTPUT, e.g. openai:my-model=0.5/1.5, separated by commas")
        return {match[1]: FixedPrice(Decimal(match[2]), Decimal(match[3])) for match in found if match}

    @field_validator("github_api_url", "github_web_url", "public_url")
    @classmethod
    def _no_slash(cls, value: str) -> str:
        return value.rstrip("/")

    @property
    def models(self) -> Models:
        """The models by task. Their keys are read from the environment by the providers' SDKs."""
        names = {ModelTier.strong: self.strong_model, ModelTier.fast: self.fast_model}
        return Models(names, self.model_prices, embeds=self.embedding_model, fallback=self.fallback_model)

    @property
    def ceilings(self) -> Ceilings:
        """The limits that no repository can raise."""
        names = ("phase", "run", "day", "installation")
        set_ones = {name: getattr(self, f"ceiling_{name}") for name in names}
        money = {name: None if usd is None else to_micro(usd) for name, usd in set_ones.items()}
        return Ceilings(**money, calls=self.ceiling_calls, minutes=self.ceiling_minutes, level=self.ceiling_level)

    @property
    def slot(self) -> str:
        """The executor id: stable and unique per process slot."""
        return self.executor_id or f"{socket.gethostname()}:{self.port}"

    @property
    def serves_metrics(self) -> bool:
        """``/metrics`` is off by default when not bound to loopback."""
        return self.metrics if self.metrics is not None else self.host in {"127.0.0.1", "localhost", "::1"}

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


class DoorSettings(Installation):
    """The settings of a process that only takes webhooks: it has the App's secret, but not its key."""

    app_id: int = Field(gt=0)
    webhook_secret: Annotated[tuple[SecretStr, ...], NoDecode] = Field(min_length=1)

    @field_validator("webhook_secret", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


class Settings(DoorSettings):
    """Everything an operator can set. Secrets are never printed."""

    private_key: SecretStr | None = None
    private_key_path: Path | None = None
    client_id: str = ""
    client_secret: SecretStr | None = None

    @property
    def github(self) -> GitHubSettings:
        """GitHub's addresses, and the App's identity there.

        :raises ConfigurationError: if an address is not safe, or the key is missing or cannot be read.
        """
        return GitHubSettings(
            self.github_api_url, self.github_web_url, self.app_id, self.private_key_pem(), self.write_interval
        )

    def private_key_pem(self) -> str:
        """The App's private key.

        :raises ConfigurationError: if there is none or it cannot be read.
        """
        if self.private_key is not None:
            return self.private_key.get_secret_value().replace("\\n", "\n")
        if self.private_key_path is None:
            raise ConfigurationError(
                "FORGE_PRIVATE_KEY is missing.",
                "Set it to the App's private key (PEM), or FORGE_PRIVATE_KEY_PATH to a file that holds it.",
            )
        try:
            return self.private_key_path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not a text file"
            raise ConfigurationError(
                f"FORGE_PRIVATE_KEY_PATH {self.private_key_path} cannot be read: {why}.",
                "Name a file that holds the App's private key (PEM).",
            ) from None


def _unusable_folder(folder: Path, why: str) -> ConfigurationError:
    return ConfigurationError(f"FORGE_DATA_DIR {folder} {why}.", "Name a folder that Forge may write to.")


AnySettings = TypeVar("AnySettings", bound=Installation)
AnyDoorSettings = TypeVar("AnyDoorSettings", bound=DoorSettings)


def load() -> Settings:
    """The settings of this process.

    :raises ConfigurationError: one line that names the first wrong setting.
    """
    return _require_long_secrets(_build(Settings))


def load_door() -> DoorSettings:
    """The settings of a process that only takes webhooks.

    :raises ConfigurationError: one line that names the first wrong setting.
    """
    return _require_long_secrets(_build(DoorSettings))


def _require_long_secrets(settings: AnyDoorSettings) -> AnyDoorSettings:
    if any(len(secret.get_secret_value()) < _SHORTEST_SECRET for secret in settings.webhook_secret):
        raise ConfigurationError(
            f"FORGE_WEBHOOK_SECRET is shorter than {_SHORTEST_SECRET} characters, so it could be guessed.",
            "Make one with `openssl rand -hex 32`, and set it in the App's settings on GitHub, too.",
        )
    return settings


def load_installation() -> Installation:
    """The settings of a command that only reads the database.

    :raises ConfigurationError: one line that names the first wrong setting.
    """
    return _build(Installation)


def load_tool_folders() -> tuple[Path, ...]:
    """The folders of FORGE_SANDBOX_TOOLS in the environment.

    :raises ConfigurationError: one line that names what is wrong.
    """
    try:
        return ToolFolders().sandbox_tools
    except ValidationError as error:
        raise _explain(error.errors()[0]) from None


def _build(kind: type[AnySettings]) -> AnySettings:
    try:
        _feed_providers(_read_dotenv(Path(_DOTENV)))
        _refuse_unknown({**EnvSettingsSource(Settings).env_vars, **DotEnvSettingsSource(Settings).env_vars})
        return kind()
    except ValidationError as error:
        raise _explain(error.errors()[0]) from None


def _read_dotenv(file: Path) -> Mapping[str, str | None]:
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


def _feed_providers(values: Mapping[str, str | None]) -> None:
    """Put the providers' keys and addresses into the environment, where their SDKs look; what is there wins."""
    for name, value in values.items():
        if value and _OF_PROVIDERS.fullmatch(name):
            os.environ.setdefault(name, value)


def provider_secrets() -> tuple[str, ...]:
    """The providers' keys in the environment."""
    return tuple(value for name, value in os.environ.items() if _PROVIDER_SECRET.fullmatch(name))


def _refuse_unknown(variables: Mapping[str, str | None]) -> None:
    """A misspelt setting would silently have no effect."""
    known = sorted(_PREFIX + name.upper() for name in Settings.model_fields)
    for name in sorted(variables):
        if name.upper().startswith(_PREFIX) and name.upper() not in known:
            nearest = difflib.get_close_matches(name.upper(), known, 1, cutoff=0.7)
            advice = f"Did you mean {nearest[0]}?" if nearest else "docs/operations.md lists them; unset this one."
            raise ConfigurationError(f"{name.upper()} is not a setting of Forge.", advice)


def _explain(mistake: ErrorDetails) -> ConfigurationError:
    """Explain a mistake to the operator, without the value, which may be a secret."""
    name = _PREFIX + "_".join(str(part) for part in mistake["loc"][:1]).upper()
    if mistake["type"] == "missing":
        return ConfigurationError(f"{name} is not set.", "Set it in the environment or in .env.")
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
        case "literal_error":
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
