"""What the set-up page stores: encrypted, private, and lost with its key."""

import subprocess
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from bot.credentials import CredentialStore
from domain.errors import ConfigurationError


@pytest.fixture
def store(tmp_path: Path) -> CredentialStore:
    return CredentialStore(tmp_path)


def test_what_is_kept_is_there_again_and_not_to_be_read(store: CredentialStore) -> None:
    assert store.load() == {}
    store.save({"FORGE_APP_ID": "7", "FORGE_CLIENT_SECRET": "hush-hush"})
    store.save({"FORGE_APP_ID": "8"})
    assert store.load() == {"FORGE_APP_ID": "8", "FORGE_CLIENT_SECRET": "hush-hush"}
    assert b"hush" not in store.file.read_bytes()
    assert [each.stat().st_mode & 0o777 for each in (store.file, store.key_file)] == [0o600, 0o600]
    assert {each.name for each in store.folder.iterdir()} == {"credentials", "credentials.key"}
    store.save({"FORGE_CLIENT_SECRET": ""})
    assert store.load() == {"FORGE_APP_ID": "8"}


def test_a_key_of_openssl_s_in_another_place(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(subprocess.run(["openssl", "rand", "-base64", "32"], check=True, capture_output=True).stdout)
    store = CredentialStore(tmp_path / "data", key)
    store.folder.mkdir()
    store.save({"A": "b"})
    assert store.load() == {"A": "b"}
    assert [each.name for each in store.folder.iterdir()] == ["credentials"]


def test_without_its_key_it_is_lost_and_says_so(store: CredentialStore) -> None:
    store.save({"A": "b"})
    store.key_file.unlink()
    for work in (store.load, lambda: store.save({"C": "d"}), store.rotate_key):
        with pytest.raises(ConfigurationError, match=r"credentials.key cannot be read: No such file.*FORGE_CRED"):
            work()
    store.key_file.write_bytes(Fernet.generate_key())
    with pytest.raises(ConfigurationError, match=r"cannot be decrypted with the key in .*`forge setup` again"):
        store.load()


@pytest.mark.parametrize(
    "content",
    [b"", b"short\n", b"\xff\xfe", Fernet.generate_key() + b"\nshort"],
    ids=["empty", "short", "binary", "a second line"],
)
def test_a_file_that_is_no_key(content: bytes, store: CredentialStore) -> None:
    store.save({"A": "b"})
    store.key_file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"does not hold a key in each line. A key is 32 bytes in base64"):
        store.load()


def test_a_file_that_was_changed(store: CredentialStore) -> None:
    store.save({"A": "b"})
    content = bytearray(store.file.read_bytes())
    content[40] ^= 1
    store.file.write_bytes(content)
    with pytest.raises(ConfigurationError, match="cannot be decrypted"):
        store.load()


def test_forge_s_own_key_is_replaced(store: CredentialStore) -> None:
    store.save({"A": "b"})
    old_key, old_file = store.key_file.read_bytes(), store.file.read_bytes()
    store.rotate_key()
    assert store.load() == {"A": "b"}
    assert store.key_file.read_bytes() != old_key
    store.file.write_bytes(old_file)
    with pytest.raises(ConfigurationError, match="cannot be decrypted"):
        store.load()


def test_a_mounted_key_is_replaced_by_a_new_first_line(tmp_path: Path) -> None:
    key, old, new = tmp_path / "key", Fernet.generate_key(), Fernet.generate_key()
    key.write_bytes(old)
    store = CredentialStore(tmp_path, key)
    store.save({"A": "b"})
    with pytest.raises(ConfigurationError, match="holds one key only"):
        store.rotate_key()
    key.write_bytes(new + b"\n" + old)
    assert store.load() == {"A": "b"}
    store.rotate_key()
    key.write_bytes(new)
    assert store.load() == {"A": "b"}


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written: No such file"):
        CredentialStore(tmp_path / "missing").save({"A": "b"})
