"""The operator's file of targets: what it holds, and what its mistakes are called."""

from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.operator_files import load_notice_access
from domain.errors import ConfigurationError
from domain.notices import NoticeFormat, sign

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def write(folder: Path, text: str) -> Path:
    file = folder / "targets.toml"
    file.write_text(text)
    return file


def test_what_it_holds(tmp_path: Path) -> None:
    text = (
        '[ops]\nurl = "https://hooks.slack.com/services/T0/B0/x"\nformat = "slack"\n'
        'repositories = ["acme/*", "*"]\nevents = ["forge.*"]\n[pager]\nurl = "https://pager.example.com/in"\n'
    )
    ops, pager = load_notice_access(write(tmp_path, text), "key").targets
    assert (ops.url, ops.format) == ("https://hooks.slack.com/services/T0/B0/x", NoticeFormat.slack)
    assert (pager.events, pager.repositories) == (("*",), ("*",))
    assert pager.secret != ops.secret
    assert "hooks.slack" not in repr(ops)
    assert not load_notice_access(None, "key").targets


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[ops]\n", "ops.url in .* is wrong: Field required"),
        ('[ops]\nurl = "ftp://h/x"\n', "ops.url in .* is wrong: is no address that begins with http"),
        ('[ops]\nurl = "https://u:p@h/x"\n', "names an account"),
        ('[Ops]\nurl = "https://h/x"\n', "Ops in .* is wrong: String should match pattern"),
        ('[ops]\nurl = "https://h/ö"\n', "ops.url in .* is wrong: String should match pattern"),
        ('[ops]\nurl = "https://h/x"\nformat = "irc"\n', "ops.format in .* is wrong: .* 'json', 'slack' or 'teams'"),
        ('[ops]\nurl = "https://h/x"\nrepositories = ["acme"]\n', "ops.repositories in .* should match pattern"),
        ('[ops]\nurl = "https://h/x"\nrepositories = "acme/*"\n', "ops.repositories in .* should be a valid tuple"),
        ('[ops]\nurl = "https://h/x"\nevents = ["gates.*"]\n', "ops.events in .* 'gate.opened'"),
        ('[ops]\nurl = "https://h/x"\nevents = []\n', "ops.events in .* at least 1 item"),
        ('[ops]\nurl = "https://h/x"\nsecrets = "a"\n', "ops.secrets in .* Extra inputs are not permitted"),
        ("ops = 1\n", "ops in .* is wrong: "),
        ("[ops\n", "is not TOML"),
    ],
)
def test_mistakes_are_named_and_addresses_are_not(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        load_notice_access(write(tmp_path, text), "key")
    assert "https://h" not in str(caught.value)
    assert str(caught.value).startswith("FORGE_NOTIFY_TARGETS: ")
    assert "docs/notices.md" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_notice_access(tmp_path / "none.toml", "key")


def test_the_example_that_libraries_of_the_specification_are_tested_with() -> None:
    at = datetime.fromtimestamp(1614265330, UTC)
    key = b64decode(SECRET.removeprefix("whsec_"))
    assert sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, b'{"test": 2432232314}') == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
