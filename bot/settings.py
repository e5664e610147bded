"""The operator's settings, from the environment or ``.env`` (CONTRACT, Settings)."""

import socket
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from domain.errors import ConfigurationError


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
    sandbox: Literal["auto", "bwrap", "landlock", "none"] = "auto"
    log_format: Literal["console", "json"] = "console"
    metrics: bool | None = None
    write_interval: float = Field(default=1.0, ge=0, le=60)
    queue_polling: float = Field(default=0.2, gt=0, le=10)
    concurrent_runs: int = Field(default=4, ge=1, le=64)

    @field_validator("webhook_secret", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("github_api_url", "github_web_url")
    @classmethod
    def _no_slash(cls, value: str) -> str:
        return value.rstrip("/")

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
