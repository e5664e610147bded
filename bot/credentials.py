"""Keeps the credentials that the set-up page got, encrypted in the data folder, under the names of their settings."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from domain.errors import ConfigurationError

FILE = "credentials"
KEY_FILE = "credentials.key"
_MOST = 1_000_000  # bytes; the real ones are far smaller
_KEY_FORM = "32 bytes in base64, as `openssl rand -base64 32` prints them"


@dataclass(frozen=True)
class CredentialStore:
    """Settings in an encrypted file. Who has a copy of the file without the key learns nothing; who has both, all.

    :param folder: FORGE_DATA_DIR.
    :param key_path: FORGE_CREDENTIALS_KEY_PATH, one key a line: the first encrypts, each decrypts. None: a file of
        Forge's own in the folder, made when it is first needed.
    """

    folder: Path
    key_path: Path | None = None

    @property
    def file(self) -> Path:
        """Where the credentials are."""
        return self.folder / FILE

    @property
    def key_file(self) -> Path:
        """Where the key is."""
        return self.key_path or self.folder / KEY_FILE

    def load(self) -> dict[str, str]:
        """The settings that are kept: name → value; none if there is no file.

        :raises ConfigurationError: the file or its key cannot be read, or they do not belong together.
        """
        try:
            content = _read(self.file)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise _unreadable(self.file, error) from None
        try:
            kept = json.loads(MultiFernet(self._load_keys()).decrypt(content))
        except (InvalidToken, ValueError):
            raise ConfigurationError(
                f"{self.file} cannot be decrypted with the key in {self.key_file}.",
                "Put back the key it was encrypted with (FORGE_CREDENTIALS_KEY_PATH), or remove the file and run "
                "`forge setup` again.",
            ) from None
        return {str(name): str(value) for name, value in kept.items()}

    def save(self, values: Mapping[str, str]) -> None:
        """Keep these settings beside those that are there; an empty value removes one.

        :raises ConfigurationError: something cannot be read or written.
        """
        merged = {name: value for name, value in {**self.load(), **values}.items() if value}
        self._prepare_key()
        self._write(merged)

    def rotate_key(self) -> None:
        """Encrypt anew with the first key of the key file; where that is Forge's own, with a new one.

        :raises ConfigurationError: something cannot be read or written, or there is no new key.
        """
        kept = self.load()
        if self.key_path is None:
            self._prepare_key()
            old = self.key_file.read_text()
            new = Fernet.generate_key().decode()
            _replace(self.key_file, f"{new}\n{old}".encode())  # from here on both decrypt, wherever this stops
            self._write(kept)
            _replace(self.key_file, f"{new}\n".encode())
        elif len(self._load_keys()) > 1:
            self._write(kept)
        else:
            raise ConfigurationError(
                f"{self.key_path} holds one key only, so there is no new one.",
                "Put the new key on a first line above the old one, and run this again; then remove the old line.",
            )

    def _write(self, values: Mapping[str, str]) -> None:
        text = json.dumps(dict(sorted(values.items()))).encode()
        _replace(self.file, MultiFernet(self._load_keys()).encrypt(text))

    def _prepare_key(self) -> None:
        """Make Forge's own key, if none is there."""
        if self.key_path is not None or self.key_file.exists():
            return
        if self.file.exists():  # a new key could not decrypt it
            raise _unreadable(self.key_file, FileNotFoundError(2, "No such file or directory"))
        _replace(self.key_file, Fernet.generate_key() + b"\n")

    def _load_keys(self) -> Sequence[Fernet]:
        try:
            lines = _read(self.key_file).decode("ascii").split()
        except OSError as error:
            raise _unreadable(self.key_file, error) from None
        except UnicodeDecodeError:
            lines = ["?"]
        try:
            keys: list[Fernet] = [Fernet(line.replace("+", "-").replace("/", "_")) for line in lines]
        except ValueError:
            keys = []
        if not keys:
            raise ConfigurationError(f"{self.key_file} does not hold a key in each line.", f"A key is {_KEY_FORM}.")
        return keys


def _read(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(_MOST)


def _replace(file: Path, content: bytes) -> None:
    """Write a file that only this account may read; whoever reads meanwhile gets the old or the new one, whole.

    :raises ConfigurationError: it cannot be written.
    """
    try:
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")  # of mode 0600
        try:
            with os.fdopen(descriptor, "wb") as written:
                written.write(content)
                written.flush()
                os.fsync(written.fileno())
            Path(name).replace(file)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise ConfigurationError(
            f"{file} cannot be written: {error.strerror}.", "Let Forge write to FORGE_DATA_DIR, and make room there."
        ) from None


def _unreadable(file: Path, error: OSError) -> ConfigurationError:
    is_key = file.name != FILE
    advice = (
        "Put back the key of the kept credentials (FORGE_CREDENTIALS_KEY_PATH names its file), or remove the file "
        f"{FILE} in FORGE_DATA_DIR and run `forge setup` again."
        if is_key
        else "Let the account that Forge runs as read it."
    )
    return ConfigurationError(f"{file} cannot be read: {error.strerror}.", advice)
