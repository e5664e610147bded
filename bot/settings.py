"""The operator's settings, from the environment or ``.env`` (CONTRACT, Settings)."""

import re
import socket
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from agents.models import Models, Task
from domain.errors import ConfigurationError
from domain.money import Ceilings, Fixed, micro
from workspace.probing import Wanted

_MODEL = r"^[a-z][a-z0-9-]*:\S+$"
_PRICE = re.compile(r"(\S+:[^\s=]+)=(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)")


class Settings(BaseSettings):
    """Everything an operator can set. Secrets are never printed."""

    model_config = SettingsConfigDict(env_prefix="FORGE_", env_file=".env", extra="ignore", frozen=True)

    github_api_url: str = "https://api.github.com"
    github_web_url: str = "https://github.com"
    app_id: int = Field(gt=0)
    private_key: SecretStr | None = None
    private_key_path: Path | None = None
    webhook_secret: Annotated[tuple[SecretStr, ...], NoDecode] = Field(min_length=1)
    database_url: str = "sqlite:///forge.db"
    data_dir: Path = Path("forge-data")
    host: str = "127.0.0.1"
    port: int = Field(default=3000, ge=0, le=65535)
    executor_id: str = ""
    sandbox_user: str = "nobody"
    sandbox: Wanted = "auto"
    log_format: Literal["console", "json"] = "console"
    metrics: bool | None = None
    strong_model: str = Field(default="anthropic:claude-sonnet-4-5", pattern=_MODEL)
    fast_model: str = Field(default="anthropic:claude-haiku-4-5", pattern=_MODEL)
    model_prices: Annotated[dict[str, Fixed], NoDecode] = {}
    ceiling_phase: Decimal | None = Field(default=None, ge=0)
    ceiling_run: Decimal | None = Field(default=None, ge=0)
    ceiling_day: Decimal | None = Field(default=None, ge=0)
    ceiling_installation: Decimal | None = Field(default=None, ge=0)
    write_interval: float = Field(default=1.0, ge=0, le=60)
    queue_polling: float = Field(default=0.2, gt=0, le=10)
    concurrent_runs: int = Field(default=4, ge=1, le=64)

    @field_validator("webhook_secret", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("model_prices", mode="before")
    @classmethod
    def _prices(cls, value: Any) -> Any:
        """``NAME=INPUT/OUTPUT``, comma-separated, in USD per million tokens."""
        if not isinstance(value, str):
            return value
        found = [_PRICE.fullmatch(part.strip()) for part in value.split(",") if part.strip()]
        if not all(found):
            raise ValueError("write NAME=INPUT/OUTPUT, e.g. openai:my-model=0.5/1.5, several with commas")
        return {match[1]: Fixed(Decimal(match[2]), Decimal(match[3])) for match in found if match}

    @field_validator("github_api_url", "github_web_url")
    @classmethod
    def _no_slash(cls, value: str) -> str:
        return value.rstrip("/")

    @property
    def models(self) -> Models:
        """The models by task. Their keys are read from the environment by the providers' SDKs."""
        return Models({Task.strong: self.strong_model, Task.fast: self.fast_model}, self.model_prices)

    @property
    def ceilings(self) -> Ceilings:
        """The limits of money that no repository can raise."""
        names = ("phase", "run", "day", "installation")
        set_ones = {name: getattr(self, f"ceiling_{name}") for name in names}
        return Ceilings(**{name: None if usd is None else micro(usd) for name, usd in set_ones.items()})

    @property
    def slot(self) -> str:
        """The executor id: stable and unique per process slot."""
        return self.executor_id or f"{socket.gethostname()}:{self.port}"

    @property
    def serves_metrics(self) -> bool:
        """CONTRACT: ``/metrics`` is off by default when not bound to loopback."""
        return self.metrics if self.metrics is not None else self.host in {"127.0.0.1", "localhost", "::1"}

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


def load() -> Settings:
    """The settings of this process.

    :raises ConfigurationError: one line that names the first wrong setting.
    """
    try:
        return Settings()  # pyright: ignore[reportCallIssue]  # filled from the environment
    except ValidationError as error:
        first = error.errors()[0]
        name = "FORGE_" + "_".join(str(part) for part in first["loc"][:1]).upper()
        if first["type"] == "missing":
            raise ConfigurationError(f"{name} is not set.", "Set it in the environment or in .env.") from None
        raise ConfigurationError(f"{name} is wrong: {first['msg']}.", "See the settings in README.md.") from None
