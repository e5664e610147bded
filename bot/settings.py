"""The operator's settings, from the environment, ``.env``, files of secrets, or what the set-up page stored."""

import re
import socket
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    DotEnvSettingsSource,
    EnvSettingsSource,
    NoDecode,
    SettingsConfigDict,
)

from agents.llm.models import CALL_SECONDS, Models, ModelTier, Unusable
from bot.outbound import NOTHING, Allowance
from bot.setting_sources import (
    DOTENV,
    OF_APP,
    PREFIX,
    Places,
    ToolFolders,
    explain,
    feed_providers,
    is_of_provider,
    provider_secrets,
    read_dotenv,
    read_secrets,
    refuse_unknown,
)
from domain.errors import ConfigurationError
from domain.money import Ceilings, FixedPrice, to_micro
from domain.text.redaction import PROCESS_REDACTOR
from github.addresses import find_host_name, is_heard_on_loopback, is_loopback, is_named, spell_as_browser
from github.settings import GitHubSettings, rsa_key
from workspace.sandbox.probing import Wanted
from workspace.sandbox.registry_proxy import Address

_MODEL_NAMES = {"strong_model", "fast_model", "fallback_model", "embedding_model"}
_MODEL = r"^[a-z][a-z0-9-]*:\S+$"
_PLAIN = re.compile(r"[\x21-\x7e]+")
_SHORTEST_SECRET = 16  # characters; GitHub advises a random text of high entropy
_PRICE = re.compile(r"(\S+:[^\s=]+)=(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)")


class Installation(ToolFolders, Places):
    """The settings of a command that only reads the database: an auditor has neither the App's key nor its secret."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_file=DOTENV, extra="ignore", frozen=True)

    github_api_url: str = "https://api.github.com"
    github_web_url: str = "https://github.com"
    database_url: str = "sqlite:///forge.db"
    public_url: str = ""
    webhook_relay: str = ""
    host: str = "127.0.0.1"
    port: int = Field(default=3000, ge=0, le=65535)
    executor_id: str = ""
    sandbox_user: str = "nobody"
    sandbox: Wanted = "auto"
    sandbox_proxy: Annotated[Address | None, NoDecode] = None
    outbound_allow: Annotated[Allowance, NoDecode] = NOTHING
    deploy_access: Path | None = None
    notify_targets: Path | None = None
    dependency_cache: int = Field(default=5_000_000_000, ge=0)
    log_format: Literal["console", "json"] = "console"
    metrics: bool | None = None
    strong_model: str = Field(default="anthropic:claude-sonnet-5-5", pattern=_MODEL)
    fast_model: str = Field(default="anthropic:claude-haiku-5-5", pattern=_MODEL)
    fallback_model: str | None = Field(default=None, pattern=_MODEL)
    embedding_model: str | None = Field(default=None, pattern=_MODEL)
    model_prices: Annotated[dict[str, FixedPrice], NoDecode] = Field(default_factory=dict[str, FixedPrice])
    model_seconds: int = Field(default=CALL_SECONDS, ge=1, le=3600)
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
    welcome: bool = True

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

    @field_validator("public_url")
    @classmethod
    def _require_site(cls, value: str) -> str:
        place = urlsplit(value)
        if value and (place.scheme not in {"http", "https"} or not place.hostname):
            raise ValueError("it must be an address, such as https://forge.example.com")
        if place.username is not None or place.query or place.fragment:
            raise ValueError("it must be scheme and host only, such as https://forge.example.com")
        return spell_as_browser(value)

    @field_validator("webhook_relay")
    @classmethod
    def _require_private(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and not (
            _PLAIN.fullmatch(value)
            and parts.hostname
            and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname)))
        ):
            raise ValueError("it must be an https:// address, such as https://smee.io/CHANNEL")
        return value

    @property
    def models(self) -> Models:
        """The models by task. Their keys are read from the environment by the providers' SDKs."""
        names = {ModelTier.strong: self.strong_model, ModelTier.fast: self.fast_model}
        return Models(
            names,
            self.model_prices,
            embeds=self.embedding_model,
            fallback=self.fallback_model,
            are_named=bool(self.model_fields_set & _MODEL_NAMES),
            seconds=self.model_seconds,
        )

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
        return self.metrics if self.metrics is not None else self.is_on_loopback

    @property
    def is_on_loopback(self) -> bool:
        """Whether only programs on this machine reach this server."""
        return is_loopback(self.host)

    def is_own_host(self, host: str) -> bool:
        """Whether a request is for this server under a name of its own.

        Somebody else can point a name of theirs to this machine (DNS rebinding), and the browsers of people who are
        here would take its pages for theirs. They cannot own a number of this machine, or ``localhost``.

        :param host: the header of that name.
        """
        is_local = is_loopback(find_host_name(host)) and is_heard_on_loopback(self.host)
        return is_local or is_named(self.public_url, host)


AnySettings = TypeVar("AnySettings", bound=Installation)
WITHOUT_MODEL = "Reviews run linters and security checks only; nobody plans, implements or answers questions."
ADD_MODEL = (
    "That is a choice, not a mistake. To add one: `forge setup --store ANTHROPIC_API_KEY`, paste the key, Ctrl-D, and "
    "start Forge again."
)


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
            self.github_api_url,
            self.github_web_url,
            self.app_id,
            self.private_key_pem(),
            write_interval_s=self.write_interval,
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


def hide_own_secrets(settings: Settings) -> None:
    """Redact what a process that works knows: the App's key, too.

    :raises ConfigurationError: if there is no key or it cannot be read.
    """
    client = [settings.client_secret.get_secret_value()] if settings.client_secret else []
    PROCESS_REDACTOR.learn(settings.private_key_pem(), *client)
    hide_secrets_of_door(settings)


def hide_secrets_of_door(settings: DoorSettings) -> None:
    """Redact what a process that only takes webhooks knows."""
    PROCESS_REDACTOR.learn(
        *(secret.get_secret_value() for secret in settings.webhook_secret),
        *provider_secrets(),
        *_passwords(settings.database_url),
    )


def _passwords(url: str) -> Sequence[str]:
    """The password in an address, percent-encoded and decoded."""
    password = urlsplit(url).password
    return (password, unquote(password)) if password else ()


def is_without_model(settings: Installation) -> bool:
    """Whether Forge goes without a model because nobody named one, and those it would take have no key."""
    models = settings.models
    return not models.are_named and all(isinstance(models.find(tier), Unusable) for tier in ModelTier)


def load(kind: type[AnySettings]) -> AnySettings:
    """The settings of this process: of a command that only reads the database, of a door, or of the App.

    :raises ConfigurationError: one line that names the first wrong setting.
    """
    settings = _build(kind)
    if isinstance(settings, DoorSettings):
        _refuse_short(settings)
    return settings


def _refuse_short(settings: DoorSettings) -> None:
    if any(len(secret.get_secret_value()) < _SHORTEST_SECRET for secret in settings.webhook_secret):
        raise ConfigurationError(
            f"FORGE_WEBHOOK_SECRET is shorter than {_SHORTEST_SECRET} characters, so it could be guessed.",
            "Make one with `openssl rand -hex 32`, and set it in the App's settings on GitHub, too.",
        )


def lacks_app() -> bool:
    """Whether nothing names a GitHub App yet, in the environment or in any file, so that it can be set up.

    :raises ConfigurationError: one line that names the first wrong setting.
    """
    try:
        return not {*_read_named(), *_read_files(Settings)} & {*OF_APP, "FORGE_PRIVATE_KEY_PATH"}
    except ValidationError as error:
        raise explain(error.errors()[0]) from None


def check_stored(name: str, value: str) -> None:
    """Check a setting before it is stored; an empty value removes it.

    :raises ConfigurationError: it is not a setting that can be stored, or its value is wrong.
    """
    if name in {"FORGE_DATA_DIR", "FORGE_SECRETS_DIR", "FORGE_CREDENTIALS_KEY_PATH"}:
        raise ConfigurationError(f"{name} cannot be stored.", "It says where the store is; set it in the environment.")
    if not is_of_provider(name):
        if not name.startswith(PREFIX):
            raise ConfigurationError(f"{name} is not a setting of Forge.", "docs/operations.md lists them.")
        refuse_unknown([name], Settings.model_fields)
    field = name.removeprefix(PREFIX).lower()
    if not value or field not in Settings.model_fields:
        return
    try:
        others: dict[str, Any] = {"app_id": 1, "webhook_secret": "x" * _SHORTEST_SECRET, field: value}
        _refuse_short(Settings(**others))
    except ValidationError as error:
        raise explain(error.errors()[0]) from None
    if field == "private_key":
        rsa_key(value)


def list_named() -> Mapping[str, str | None]:
    """The settings that the environment, ``.env`` and files of secrets name; they win over those that are stored.

    :raises ConfigurationError: one line that names the first wrong setting.
    """
    feed_providers(read_dotenv(Path(DOTENV)))
    return {**read_secrets(Places().secrets_dir), **_read_named()}


def load_environment() -> Installation:
    """The settings in the environment alone, for a command that runs in a folder of somebody else's.

    :raises ConfigurationError: one line that names the first wrong setting.
    """
    try:
        return Installation(_env_file=None)  # pydantic-settings takes it
    except ValidationError as error:
        raise explain(error.errors()[0]) from None


def _build(kind: type[AnySettings]) -> AnySettings:
    try:
        given: dict[str, Any] = {name.removeprefix(PREFIX).lower(): value for name, value in _read_files(kind).items()}
        return kind(**given)
    except ValidationError as error:
        raise explain(error.errors()[0]) from None


def _read_named() -> Mapping[str, str | None]:
    """The settings that the environment and ``.env`` name."""
    found = {**DotEnvSettingsSource(Settings).env_vars, **EnvSettingsSource(Settings).env_vars}
    return {name.upper(): value for name, value in found.items() if name.upper().startswith(PREFIX)}


def _read_files(kind: type[Installation]) -> Mapping[str, str]:
    """Forge's settings in files of secrets and in the store, as far as the environment and ``.env`` do not name them.

    The keys of providers, which they may hold, too, come into the environment.
    """
    feed_providers(read_dotenv(Path(DOTENV)))
    named = _read_named()
    refuse_unknown(named, Settings.model_fields)
    places = Places()
    files = read_secrets(places.secrets_dir)
    refuse_unknown(files, Settings.model_fields)
    stored = _select_stored(_load_store(places, is_needed=issubclass(kind, DoorSettings)), {**files, **named})
    feed_providers(files)
    feed_providers(stored)
    return {name: value for name, value in {**stored, **files}.items() if name.startswith(PREFIX) and name not in named}


def _load_store(places: Places, *, is_needed: bool) -> Mapping[str, str]:
    """What is stored. Who only reads the database may not be allowed to read it."""
    try:
        return places.store.load()
    except ConfigurationError:
        if is_needed:
            raise
        return {}


def _select_stored(stored: Mapping[str, str], named: Mapping[str, str | None]) -> Mapping[str, str]:
    """Leave out what belongs to another App than the one that is named, and the key if a file of it is named."""
    app = named.get("FORGE_APP_ID", stored.get("FORGE_APP_ID"))
    left_out = {"FORGE_PRIVATE_KEY"} if "FORGE_PRIVATE_KEY_PATH" in named else set[str]()
    left_out |= set() if app == stored.get("FORGE_APP_ID") else set(OF_APP)
    return {name: value for name, value in stored.items() if name not in left_out}
