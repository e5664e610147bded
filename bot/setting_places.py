"""The settings that say where things are: programs, data, and further settings."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

from pydantic import field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bot.credentials import CredentialStore
from bot.setting_sources import PREFIX
from bot.tool_folders import check_folders, split_folders
from domain.errors import ConfigurationError

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
