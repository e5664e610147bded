"""The operator's file of what deploy commands may reach and know, and what is said of each mistake in it."""

from pathlib import Path

import pytest

from bot.operator_files import load_deploy_access
from domain.deployments.deployment import DeployAccess
from domain.errors import ConfigurationError

SHOP = '["Acme/Shop".staging]\n'


def load(folder: Path, text: str) -> dict[tuple[str, str], DeployAccess]:
    """What the file gives; in it, FOLDER stands for the folder."""
    file = folder / "access.toml"
    file.write_text(text.replace("FOLDER", str(folder)))
    return dict(load_deploy_access(file))


def explain(folder: Path, text: str) -> str:
    """The mistake that is found."""
    with pytest.raises(ConfigurationError) as found:
        load(folder, text)
    assert found.value.advice == "docs/deployments.md shows what the file holds."
    return found.value.message.replace(str(folder), "FOLDER")


def test_without_a_file_nothing_is_allowed() -> None:
    assert load_deploy_access(None) == {}


def test_addresses_and_secrets_are_read_for_each_environment(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("sesame\n")
    text = (
        f'{SHOP}address = "http://10.0.0.7:9999"\nsecrets = {{TOKEN = "FOLDER/token"}}\n'
        '["Acme/Shop"."eu/production"]\naddress = "http://[fd00::7]:80/"\n["acme/other".staging]\n'
    )
    assert load(tmp_path, text) == {
        ("acme/shop", "staging"): DeployAccess("10.0.0.7", 9999, {"TOKEN": "sesame"}),
        ("acme/shop", "eu/production"): DeployAccess("fd00::7", 80),
        ("acme/other", "staging"): DeployAccess(),
    }


def test_the_file_itself_is_missing_or_no_toml(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"gone\.toml cannot be read: No such file or directory\."):
        load_deploy_access(tmp_path / "gone.toml")
    assert explain(tmp_path, "[").startswith("FORGE_DEPLOY_ACCESS: FOLDER/access.toml is not TOML: ")
    (tmp_path / "latin.toml").write_bytes(b'x = "\xff"')
    with pytest.raises(ConfigurationError, match="is not TOML"):
        load_deploy_access(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        (f'{SHOP}adress = "x"', "Acme/Shop.staging.adress", "Extra inputs are not permitted"),
        ('"acme/shop" = 1', "acme/shop", "Input should be a valid dictionary"),
        (f"{SHOP}address = 1", "Acme/Shop.staging.address", "Input should be a valid string"),
        (
            "[acme.shop.staging]",
            "acme.[key]",
            'write the repository in quotes, as ["owner/name".environment]',
        ),
        (
            f'{SHOP}secrets = {{token = "x"}}',
            "Acme/Shop.staging.secrets.token.[key]",
            "String should match pattern '^[A-Z][A-Z0-9_]{0,99}$'",
        ),
        (
            f'{SHOP}secrets = {{PATH = "x"}}',
            "Acme/Shop.staging.secrets.PATH.[key]",
            "PATH is a variable that Forge sets itself; choose another name",
        ),
        (
            f'{SHOP}secrets = {{FORGE_TARGET = "x"}}',
            "Acme/Shop.staging.secrets.FORGE_TARGET.[key]",
            "FORGE_TARGET is a variable that Forge sets itself; choose another name",
        ),
    ],
)
def test_what_the_file_may_not_hold(tmp_path: Path, text: str, where: str, why: str) -> None:
    assert explain(tmp_path, text) == f"FORGE_DEPLOY_ACCESS: {where} in FOLDER/access.toml is wrong: {why}."


@pytest.mark.parametrize(
    "address",
    [
        "https://a:1",
        "http://a",
        "a:1",
        "http://a:1/path",
        "http://u:p@a:1",
        "http://a:0",
        "http://a:99999",
        "http://a b:1",
    ],
)
def test_an_address_has_one_form(tmp_path: Path, address: str) -> None:
    assert explain(tmp_path, f'{SHOP}address = "{address}"') == (
        "FORGE_DEPLOY_ACCESS: Acme/Shop.staging.address is wrong: write http://HOST:PORT; what the command says goes "
        "there byte by byte, TLS as well."
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "is empty, or larger than 64,000 bytes"),
        (b" \n", "is empty, or larger than 64,000 bytes"),
        (b"x" * 64_001, "is empty, or larger than 64,000 bytes"),
        (b"a\0b", "is no text, so no variable can hold it"),
        (b"\xff", "is no text"),
    ],
)
def test_a_secret_that_no_variable_can_hold(tmp_path: Path, content: bytes | None, why: str) -> None:
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    told = explain(tmp_path, f'{SHOP}secrets = {{TOKEN = "FOLDER/token"}}')
    subject = "the file of TOKEN for Acme/Shop.staging"
    assert told == f"FORGE_DEPLOY_ACCESS: {subject} {why}."
