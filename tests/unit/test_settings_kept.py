"""Settings in files of secrets and in the store: which of them count, and who wins."""

import io
import os
from functools import partial
from pathlib import Path

import pytest

from bot.cli.main import cli
from bot.credentials import CredentialStore
from bot.setting_sources import provider_secrets
from bot.settings import Installation, Settings, check_stored, lacks_app, load
from domain.errors import ConfigurationError
from simulator.server import generate_key

_STORED = {
    "FORGE_APP_ID": "7",
    "FORGE_PRIVATE_KEY": "stored-key",
    "FORGE_WEBHOOK_SECRET": "a-stored-secret-1",
    "FORGE_CLIENT_ID": "Iv1",
    "FORGE_PUBLIC_URL": "https://forge.example.com",
    "SETUP_NAME": "Forge",
}


@pytest.fixture(autouse=True)
def empty(tmp_path: Path) -> None:
    """A folder and an environment without settings."""
    os.chdir(tmp_path)
    for name in [name for name in os.environ if name.upper().startswith(("FORGE_", "ANTHROPIC_"))]:
        del os.environ[name]
    (tmp_path / "secrets").mkdir()
    os.environ["FORGE_SECRETS_DIR"] = "secrets"


def keep(**more: str) -> None:
    """Store an App, as the set-up page does."""
    Path("forge-data").mkdir(exist_ok=True)
    CredentialStore(Path("forge-data")).save({**_STORED, **more})


def test_the_stored_ones_are_enough() -> None:
    assert lacks_app()
    keep(ANTHROPIC_API_KEY="sk-kept")
    assert not lacks_app()
    settings = load(Settings)
    assert (settings.app_id, settings.client_id, settings.public_url) == (7, "Iv1", "https://forge.example.com")
    assert settings.private_key_pem() == "stored-key"
    assert [each.get_secret_value() for each in settings.webhook_secret] == ["a-stored-secret-1"]
    assert "sk-kept" in provider_secrets()


def test_environment_then_file_then_store() -> None:
    keep(FORGE_PORT="1001")
    assert load(Settings).port == 1001
    Path("secrets/forge_port").write_text("1002\n")
    assert load(Settings).port == 1002
    Path(".env").write_text("FORGE_PORT=1003\n")
    assert load(Settings).port == 1003
    os.environ["FORGE_PORT"] = "1004"
    assert load(Settings).port == 1004


def test_secrets_of_another_app_do_not_count() -> None:
    keep()
    os.environ["FORGE_APP_ID"] = "8"
    with pytest.raises(ConfigurationError, match=r"^FORGE_WEBHOOK_SECRET is not set"):
        load(Settings)
    os.environ["FORGE_APP_ID"] = "7"
    Path("key.pem").write_text("key of a file")
    os.environ["FORGE_PRIVATE_KEY_PATH"] = "key.pem"
    assert load(Settings).private_key_pem() == "key of a file"


def test_files_of_secrets(tmp_path: Path) -> None:
    for name, value in {
        "forge_app_id": "9\n",
        "FORGE_PRIVATE_KEY": "line 1\nline 2\n",
        "forge_webhook_secret": "a-mounted-secret",
        "anthropic_api_key": "sk-mounted",
        "postgres_password": "of another",
    }.items():
        (tmp_path / "secrets" / name).write_text(value)
    (tmp_path / "secrets" / "kubernetes.io").mkdir()
    assert not lacks_app()
    settings = load(Settings)
    assert (settings.app_id, settings.private_key_pem()) == (9, "line 1\nline 2")
    assert os.environ["ANTHROPIC_API_KEY"] == "sk-mounted"
    assert "of another" not in os.environ.values()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("forge_prot", b"1", "FORGE_PROT is not a setting of Forge. Did you mean FORGE_PORT?"),
        ("forge_port", b"x", "FORGE_PORT is wrong: it must be a whole number."),
        (
            "forge_client_secret",
            b"\xff",
            "The secret secrets/forge_client_secret cannot be read: it is not",
        ),
    ],
)
def test_a_file_that_is_wrong(name: str, content: bytes, told: str) -> None:
    keep()
    Path("secrets", name).write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        load(Settings)
    assert str(caught.value).startswith(told)


def test_a_folder_of_secrets_that_is_missing() -> None:
    os.environ["FORGE_SECRETS_DIR"] = "nowhere"
    with pytest.raises(ConfigurationError, match=r"^FORGE_SECRETS_DIR nowhere cannot be read: No such file"):
        load(Settings)


def test_who_only_reads_the_database_needs_no_key() -> None:
    keep()
    Path("forge-data/credentials.key").unlink()
    assert load(Installation).public_url == ""
    for work in (partial(load, Settings), lacks_app):
        with pytest.raises(ConfigurationError, match=r"credentials\.key cannot be read"):
            work()


@pytest.mark.parametrize(
    "address", ["http://smee.io/abc", "smee.io/abc", "ftp://smee.io/abc", "https://", "http://127.0.0.1.evil.example/"]
)
def test_a_relay_that_is_none(address: str) -> None:
    os.environ["FORGE_WEBHOOK_RELAY"] = address
    with pytest.raises(ConfigurationError, match=r"^FORGE_WEBHOOK_RELAY is wrong: it must be an https:// address"):
        load(Installation)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("FORGE_PROT", "1", "FORGE_PROT is not a setting of Forge. Did you mean FORGE_PORT?"),
        ("HOME", "/", "HOME is not a setting of Forge."),
        ("FORGE_DATA_DIR", "/", "FORGE_DATA_DIR cannot be stored."),
        ("FORGE_PORT", "x", "FORGE_PORT is wrong: it must be a whole number."),
        ("FORGE_WEBHOOK_SECRET", "a-long-enough-secret,b", "FORGE_WEBHOOK_SECRET is shorter than 16 characters"),
        ("FORGE_PRIVATE_KEY", "no key", "FORGE_PRIVATE_KEY is not an RSA private key in PEM"),
    ],
)
def test_what_cannot_be_stored(name: str, value: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_stored(name, value)
    assert str(caught.value).startswith(told)


def _run(monkeypatch: pytest.MonkeyPatch, typed: str, *arguments: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    cli(["setup", *arguments], standalone_mode=False)


def test_an_app_s_secrets_are_replaced_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep()
    _run(monkeypatch, "the-new-secret-of-it,a-stored-secret-1\n", "--store", "FORGE_WEBHOOK_SECRET")
    _run(monkeypatch, generate_key()[0], "--store", "FORGE_PRIVATE_KEY")
    _run(monkeypatch, "sk-new", "--store", "OPENAI_API_KEY")
    _run(monkeypatch, "", "--store", "FORGE_PUBLIC_URL")
    _run(monkeypatch, "", "--rotate-key")
    settings = load(Settings)
    assert len(settings.webhook_secret) == 2
    assert settings.private_key_pem() == generate_key()[0].strip()
    assert (settings.public_url, os.environ["OPENAI_API_KEY"]) == ("", "sk-new")
    told = capsys.readouterr().out
    assert "FORGE_PUBLIC_URL is stored no longer." in told
    assert "are encrypted with the first key in" in told
    assert "secret-of-it" not in told


def test_what_is_set_elsewhere_wins_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    os.environ["FORGE_PORT"] = "1001"
    _run(monkeypatch, "1002", "--store", "FORGE_PORT")
    assert "but it is also set outside the store, and that wins" in capsys.readouterr().out


def test_how_it_is_done_by_hand(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _run(monkeypatch, "", "--manual")
    told = capsys.readouterr().out
    for name in ("FORGE_APP_ID", "FORGE_PRIVATE_KEY_PATH", "FORGE_WEBHOOK_SECRET", "app.yml", "forge doctor"):
        assert name in told
