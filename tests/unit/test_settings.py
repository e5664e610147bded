"""Settings as operators get them wrong: one line names the setting and says what to do."""

import os
import re
from ipaddress import ip_network
from pathlib import Path

import pytest

from agents.llm.models import LanguageModel, ModelTier, Unusable
from bot.outbound import NOTHING, Allowance
from bot.setting_sources import provider_secrets
from bot.settings import Installation, Settings, load
from bot.tool_folders import load_tool_folders
from domain.errors import ConfigurationError


@pytest.fixture(autouse=True)
def complete(tmp_path: Path) -> None:
    """An environment that is complete, in a folder without .env."""
    os.chdir(tmp_path)
    for name in [name for name in os.environ if name.upper().startswith("FORGE_")]:
        del os.environ[name]
    os.environ["FORGE_APP_ID"] = "1"
    os.environ["FORGE_WEBHOOK_SECRET"] = "a-webhook-secret"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("FORGE_CEILING_RNU", "3", "FORGE_CEILING_RNU is not a setting of Forge. Did you mean FORGE_CEILING_RUN?"),
        ("forge_prot", "3", "FORGE_PROT is not a setting of Forge. Did you mean FORGE_PORT?"),
        ("FORGE_ZZZZZZ", "", "FORGE_ZZZZZZ is not a setting of Forge. docs/operations.md lists them"),
        ("FORGE_WEBHOOK_SECRET", "", "FORGE_WEBHOOK_SECRET is empty."),
        ("FORGE_WEBHOOK_SECRET", " , ", "FORGE_WEBHOOK_SECRET is empty."),
        ("FORGE_WEBHOOK_SECRET", "a", "FORGE_WEBHOOK_SECRET is shorter than 16 characters"),
        ("FORGE_WEBHOOK_SECRET", "a-webhook-secret,short", "FORGE_WEBHOOK_SECRET is shorter than 16 characters"),
        ("FORGE_APP_ID", "", "FORGE_APP_ID is empty."),
        ("FORGE_APP_ID", "mine", "FORGE_APP_ID is wrong: it must be a whole number."),
        ("FORGE_APP_ID", "0", "FORGE_APP_ID is wrong: it must be more than 0."),
        ("FORGE_PORT", "70000", "FORGE_PORT is wrong: it must be 65535 or less."),
        ("FORGE_CONCURRENT_RUNS", "0", "FORGE_CONCURRENT_RUNS is wrong: it must be 1 or more."),
        ("FORGE_WRITE_INTERVAL", "fast", "FORGE_WRITE_INTERVAL is wrong: it must be a number."),
        ("FORGE_CEILING_DAY", "nan", "FORGE_CEILING_DAY is wrong: it must be a number."),
        ("FORGE_DEPENDENCY_CACHE", "-1", "FORGE_DEPENDENCY_CACHE is wrong: it must be 0 or more."),
        ("FORGE_DEPENDENCY_CACHE", "5GB", "FORGE_DEPENDENCY_CACHE is wrong: it must be a whole number."),
        ("FORGE_METRICS", "maybe", "FORGE_METRICS is wrong: it must be true or false."),
        ("FORGE_LOG_FORMAT", "xml", "FORGE_LOG_FORMAT is wrong: it must be 'console' or 'json'."),
        ("FORGE_FAST_MODEL", "haiku", "FORGE_FAST_MODEL is wrong: it must be PROVIDER:MODEL, e.g."),
        (
            "FORGE_OUTBOUND_ALLOW",
            "10.2.0.1/16",
            "FORGE_OUTBOUND_ALLOW is wrong: entry 1 is not a network: it has bits",
        ),
        ("FORGE_OUTBOUND_ALLOW", "a.b,http://c", "FORGE_OUTBOUND_ALLOW is wrong: entry 2 is neither a host nor"),
        ("FORGE_PUBLIC_URL", "forge.example.com", "FORGE_PUBLIC_URL is wrong: it must be an address, such as https://"),
        ("FORGE_PUBLIC_URL", "https://", "FORGE_PUBLIC_URL is wrong: it must be an address, such as https://"),
        ("FORGE_PUBLIC_URL", "https://me@h.example", "FORGE_PUBLIC_URL is wrong: it must be scheme and host only"),
        ("FORGE_PUBLIC_URL", "https://h.example?a=b", "FORGE_PUBLIC_URL is wrong: it must be scheme and host only"),
        ("FORGE_WEBHOOK_RELAY", "https://smee.io/a b", "FORGE_WEBHOOK_RELAY is wrong: it must be an https:// address"),
        ("FORGE_WELCOME", "loud", "FORGE_WELCOME is wrong: it must be true or false."),
        ("FORGE_MODEL_PRICES", "cheap", "FORGE_MODEL_PRICES is wrong: write NAME=INPUT/OUTPUT, e.g."),
    ],
)
def test_a_mistake_is_told_in_our_words(name: str, value: str, told: str) -> None:
    os.environ[name] = value
    with pytest.raises(ConfigurationError, match=f"^{re.escape(told)}") as caught:
        load(Settings)
    assert "\n" not in str(caught.value)


def test_what_may_be_read_besides_the_internet() -> None:
    assert load(Settings).outbound_allow == NOTHING
    os.environ["FORGE_OUTBOUND_ALLOW"] = "metrics.internal, 10.2.0.0/16"
    assert load(Settings).outbound_allow == Allowance(frozenset({"metrics.internal"}), (ip_network("10.2.0.0/16"),))


def test_a_missing_one_is_named() -> None:
    del os.environ["FORGE_APP_ID"]
    with pytest.raises(ConfigurationError, match=r"^FORGE_APP_ID is not set"):
        load(Settings)


def test_a_misspelt_one_in_the_file_is_named_and_others_names_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("FORGE_PORT=4000\nANTHROPIC_API_KEY=x\n")
    assert load(Settings).port == 4000
    file.write_text("FORGE_PROT=4000\n")
    with pytest.raises(ConfigurationError, match="Did you mean FORGE_PORT"):
        load(Settings)
    file.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ConfigurationError, match=r"^\.env cannot be read: it is not a text file"):
        load(Settings)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("# mine\nFORGE_PORT=4000\nnonsense here\n", ".env line 3 is not NAME=VALUE."),
        ("FORGE_PORT\n", ".env line 1 is not NAME=VALUE."),
        ("FORGE_PORT='40\n", ".env line 1 is not NAME=VALUE."),
    ],
)
def test_a_broken_line_of_the_file_is_named(
    content: str, told: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".env").write_text(content)
    with pytest.raises(ConfigurationError, match=f"^{re.escape(told)}"):
        load(Settings)
    assert caplog.records == []


def test_a_folder_in_place_of_the_file_is_said(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    with pytest.raises(ConfigurationError, match=r"^\.env cannot be read: it is a folder\."):
        load(Settings)


def test_the_file_gives_the_providers_their_keys(tmp_path: Path) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "AWS_SECRET_ACCESS_KEY", "UNRELATED"):
        os.environ.pop(name, None)
    os.environ["OPENAI_API_KEY"] = "of-the-environment"
    assert isinstance(load(Settings).models.choose(ModelTier.fast), Unusable)
    (tmp_path / ".env").write_text(
        "ANTHROPIC_API_KEY=of-the-file-1\nOPENAI_API_KEY=of-the-file-2\nexport OPENROUTER_API_KEY='of-the-file-3'\n"
        "AWS_SECRET_ACCESS_KEY=of-the-file-4\nUNRELATED=of-the-file-5\n"
    )
    assert isinstance(load(Settings).models.choose(ModelTier.fast), LanguageModel)
    assert {"of-the-file-1", "of-the-environment", "of-the-file-3", "of-the-file-4"} <= set(provider_secrets())
    assert {"of-the-file-2", "of-the-file-5"} & {*os.environ.values()} == set()


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "HEROKU_INFERENCE_KEY",
        "SNOWFLAKE_TOKEN",
        "COPILOT_GITHUB_TOKEN",
        "GITHUB_COPILOT_API_TOKEN",
        "VERCEL_OIDC_TOKEN",
    ],
)
def test_a_key_under_another_name_is_read_and_hidden(name: str, tmp_path: Path) -> None:
    os.environ.pop(name, None)
    (tmp_path / ".env").write_text(f"{name}=of-the-file\n")
    load(Settings)
    assert os.environ[name] == "of-the-file"
    assert "of-the-file" in provider_secrets()


def test_a_command_that_looks_needs_neither_app_nor_secret() -> None:
    del os.environ["FORGE_WEBHOOK_SECRET"]
    os.environ["FORGE_APP_ID"] = "mine"
    os.environ["FORGE_DATABASE_URL"] = "sqlite:///there.db"
    assert load(Installation).database_url == "sqlite:///there.db"
    os.environ["FORGE_PROT"] = "1"
    with pytest.raises(ConfigurationError, match="Did you mean FORGE_PORT"):
        load(Installation)


def test_the_folders_of_programs_for_a_local_review(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FORGE_SANDBOX_TOOLS=/usr\n")  # of another program, in the folder of a review
    del os.environ["FORGE_APP_ID"]
    assert load_tool_folders() == ()
    os.environ["FORGE_SANDBOX_TOOLS"] = f"{tmp_path}:/usr"
    assert load_tool_folders() == (tmp_path, Path("/usr"))
    os.environ["FORGE_SANDBOX_TOOLS"] = "lint"
    with pytest.raises(ConfigurationError, match=r"^FORGE_SANDBOX_TOOLS is wrong: lint is not an absolute path of a"):
        load_tool_folders()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, why in (("file", "there is a file"), ("file/below", "there is a file"), ("/proc/nope", "be created")):
        os.environ["FORGE_DATA_DIR"] = path
        with pytest.raises(ConfigurationError, match=f"^FORGE_DATA_DIR {path} .*{why}"):
            load(Settings).make_data_dir()


def test_the_folder_is_made(tmp_path: Path) -> None:
    os.environ["FORGE_DATA_DIR"] = str(tmp_path / "a" / "b")
    load(Settings).make_data_dir()
    load(Settings).make_data_dir()
    assert list((tmp_path / "a" / "b").iterdir()) == []
