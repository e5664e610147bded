"""What the operator lets deploy commands reach and know: what the file says, and where each mistake is told."""

import os
from pathlib import Path

import pytest

from bot.operator_files import load_deploy_access
from domain.deployments.deployment import DeployAccess
from domain.errors import ConfigurationError


def _write(folder: Path, text: str) -> Path:
    file = folder / "access.toml"
    file.write_text(text)
    return file


def test_without_a_file_nothing_is_reached_and_nothing_known() -> None:
    assert load_deploy_access(None) == {}


def test_each_environment_of_each_repository_has_its_own(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("s3cret\n")
    file = _write(
        tmp_path,
        f"""
["Acme/Shop".staging]
address = "http://10.2.0.7:8443"
secrets = {{TOKEN = "{secret}"}}

["Acme/Shop".production]
secrets = {{TOKEN = "{secret}"}}

["acme/tools"."eu/staging"]
address = "http://deploy.internal:80"
""",
    )
    assert load_deploy_access(file) == {
        ("acme/shop", "staging"): DeployAccess("10.2.0.7", 8443, {"TOKEN": "s3cret"}),
        ("acme/shop", "production"): DeployAccess(secrets={"TOKEN": "s3cret"}),
        ("acme/tools", "eu/staging"): DeployAccess("deploy.internal", 80),
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[", "is not TOML"),
        ('["a/b".staging]\nadress = "http://h:1"', "a/b.staging.adress"),
        ('["a/b".staging]\naddress = "https://h:1"', "a/b.staging.address is wrong"),
        ('["a/b".staging]\naddress = "http://h"', "a/b.staging.address is wrong"),
        ('["a/b".staging]\naddress = "http://h:1/path"', "a/b.staging.address is wrong"),
        ('["a/b".staging]\nsecrets = {token = "f"}', "a/b.staging.secrets.token"),
        ('["a/b".staging]\nsecrets = {TOKEN = "missing"}', "the file of TOKEN for a/b.staging cannot be read"),
        ('["a/b".staging]\nsecrets = {TOKEN = "empty"}', "the file of TOKEN for a/b.staging is empty"),
        ('["a/b".staging]\nsecrets = {TOKEN = "huge"}', "or larger than 64,000 bytes"),
    ],
)
def test_a_mistake_is_told_at_its_place(text: str, told: str, tmp_path: Path) -> None:
    os.chdir(tmp_path)
    Path("empty").write_text(" \n")
    Path("huge").write_text("x" * 64_001)
    with pytest.raises(ConfigurationError) as raised:
        load_deploy_access(_write(tmp_path, text))
    assert told in str(raised.value)
    assert "FORGE_DEPLOY_ACCESS" in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_deploy_access(tmp_path / "nothing")
