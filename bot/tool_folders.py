"""The folders of programs for linters, apart from other settings: a review on this machine needs only them."""

import os
from collections.abc import Sequence
from pathlib import Path

from domain.errors import ConfigurationError

_NAME = "FORGE_SANDBOX_TOOLS"


def load_tool_folders() -> tuple[Path, ...]:
    """The folders of FORGE_SANDBOX_TOOLS in the environment. `.env` may be of another: a review runs in its folder.

    :raises ConfigurationError: one line that names what is wrong.
    """
    text = next((value for name, value in os.environ.items() if name.upper() == _NAME), "")
    try:
        return check_folders(split_folders(text))
    except ValueError as error:
        raise ConfigurationError(f"{_NAME} is wrong: {error}.", "See the settings in docs/operations.md.") from None


def split_folders(text: str) -> tuple[Path, ...]:
    return tuple(Path(part) for part in text.split(":") if part)


def check_folders(folders: Sequence[Path]) -> tuple[Path, ...]:
    """:raises ValueError: one is not there."""
    for folder in folders:
        if not folder.is_absolute() or not folder.is_dir():
            raise ValueError(f"{folder} is not an absolute path of a folder; name folders, separated by colons")
    return tuple(folders)
