"""The operator's file of targets: what it holds, and what its mistakes are called."""

from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.operator_files import load_notify_targets
from domain.errors import ConfigurationError
from domain.notices import NoticeFormat, sign

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def write(folder: Path, text: str) -> Path:
    file = folder / "targets.toml"
    file.write_text(text)
    return file


def test_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("https://hooks.slack.com/services/T0/B0/x\n")
    (tmp_path / "key").write_text(f"{SECRET}\n")
    text = (
        f'[ops]\nurl_file = "{tmp_path}/url"\nformat = "slack"\nrepositories = ["acme/*", "*"]\nevents = ["forge.*"]\n'
        f'[pager]\nurl = "https://pager.example.com/in"\nsecret_file = "{tmp_path}/key"\nevents = ["*"]\n'
        'severity = "error"\n'
    )
    found = load_notify_targets(write(tmp_path, text))
    assert (found["ops"].url, found["ops"].format) == ("https://hooks.slack.com/services/T0/B0/x", NoticeFormat.slack)
    assert found["pager"].secret is not None
    assert "hooks.slack" not in repr(found["ops"])
    assert load_notify_targets(None) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[ops]\n", "ops needs one of url and url_file"),
        ('[ops]\nurl = "ftp://h/x"\n', "ops.url in .* is wrong: is no address that begins with http"),
        ('[ops]\nurl = "https://u:p@h/x"\n', "names an account"),
        ('[Ops]\nurl = "https://h/x"\n', "Ops in .* is wrong: it has to be a name of at most 50 small letters"),
        ('[ops]\nurl = "https://h/ö"\n', "ops.url in .* is wrong: it has to be an address of plain letters"),
        ('[ops]\nurl = "https://h/x"\nformat = "irc"\n', "ops.format in .* is wrong: it has to be json, slack, teams"),
        ('[ops]\nurl = "https://h/x"\nrepositories = ["acme"]\n', "ops.repositories in .* a list of at most 200"),
        ('[ops]\nurl = "https://h/x"\nrepositories = "acme/*"\n', "ops.repositories in .* a list of at most 200"),
        (
            '[ops]\nurl = "https://h/x"\nevents = ["gates.*"]\n',
            "ops.events in .* is wrong: .* a list of what docs/notices.md",
        ),
        ('[ops]\nurl = "https://h/x"\nurl_file = 1\nevents = ["*"]\n', "ops.url_file in .* it has to be text"),
        ('[ops]\nurl = "https://h/x"\nsecret = "hush"\nevents = ["*"]\n', "whsec_ and Base64 .* make one with"),
        ('[ops]\nurl = "https://h/x"\nsecret = "whsec_aGk="\nevents = ["*"]\n', "whsec_ and Base64 of 24 to 64 bytes"),
        ('[ops]\nurl_file = "/nowhere/url"\nevents = ["*"]\n', "the file of ops.url_file cannot be read: No such file"),
        ('[ops]\nurl = "https://h/x"\nsecrets = "a"\n', "there is no such key; there are format, url"),
        ("ops = 1\n", r"ops in .* is wrong: it has to be a table of its own, such as \[ops\]"),
        ('[ops]\nurl = "https://h/x"\n', "ops would get nothing; give it repositories"),
        ('[ops]\nurl = "https://h/x"\nrepositories = ["*"]\nseverity = "error"\n', "has a severity, .* but no events"),
        (f'[ops]\nurl = "https://h/x"\nformat = "teams"\nsecret = "{SECRET}"\n', "which teams does not check"),
        ("[ops\n", "is not TOML"),
    ],
)
def test_mistakes_are_named_and_addresses_are_not(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        load_notify_targets(write(tmp_path, text))
    assert "https://h" not in str(caught.value)
    assert str(caught.value).startswith("FORGE_NOTIFY_TARGETS: ")
    assert "docs/notices.md" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_notify_targets(tmp_path / "none.toml")


def test_the_example_that_libraries_of_the_specification_are_tested_with() -> None:
    at = datetime.fromtimestamp(1614265330, UTC)
    key = b64decode(SECRET.removeprefix("whsec_"))
    assert sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, b'{"test": 2432232314}') == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
