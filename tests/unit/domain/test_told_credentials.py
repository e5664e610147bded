"""One table tells where a credential stands: redaction masks what stands there, a review reports it if it is drawn."""

import base64
from pathlib import Path

import pytest

from agents.review.checks.secrets import scan
from domain.text.redaction import redact

# What it is, P for any word and T for a token; whether it is masked and reported; path|text, where @@ is the value.
TOLD = [
    (line[:3], *line[4:].split("|", 1))
    for line in Path(__file__).with_name("told_credentials.txt").read_text("utf-8").splitlines()
]
WORD, DRAWN, TOKEN = "tangerine", "Wq7kPz2vLx9d", "Wq7kPz2vLx9dTb5nRm3c"


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _fill(text: str, value: str) -> str:
    text = text.replace("\\n", "\n").replace("\\t", "\t").replace("@@", value, 1)
    return text.replace("@PAIR@", _encode(f"alice:{value}")).replace("@B64@", _encode(value))


def _report(path: str, text: str) -> bool:
    return bool(scan(path, list(enumerate(text.split("\n"), 1)), []))


def test_a_credential_is_masked_where_its_place_tells_it() -> None:
    for what, _, text in TOLD:
        value = TOKEN if what[0] == "T" else WORD
        masked = redact(_fill(text, value))
        kept = [form for form in (value, _encode(value), _encode(f"alice:{value}")) if form in masked]
        assert bool(kept) == (what[1] != "m"), text
        assert redact(masked) == masked


def test_a_review_reports_there_what_nobody_made_up() -> None:
    for what, path, text in TOLD:
        assert _report(path, _fill(text, TOKEN if what[0] == "T" else DRAWN)) == (what[2] == "r"), (path, text)
        assert "@@" not in text or "://" in text or not _report(path, _fill(text, WORD)), (path, text)


STANDS_FOR_ONE = ["<your-token>", "${DB_PASSWORD}", "changeme", "{{ vault_password }}", "********", "YOUR_PASSWORD"]


@pytest.mark.parametrize("value", STANDS_FOR_ONE)
def test_what_stands_for_a_credential_is_let_be(value: str) -> None:
    texts = [_fill(text, value) for _, _, text in TOLD if "@@" in text and "://" not in text and "htpasswd" not in text]
    assert [text for text in texts if redact(text) != text] == []
    assert not any(_report(path, _fill(text, value)) for _, path, text in TOLD if "@@" in text)


@pytest.mark.parametrize(
    "text",
    [
        "password: required",
        "token = get_token()",
        "PASSWORD_MIN_LENGTH = 8",
        "tests/test_login.py::test_password PASSED",
        "password = os.environ['DB_PASSWORD']",
        "DB_PASSWORD=\n\nUSE_CACHE=false",
        "fields = ['password', 'blocked', 'remember_token']",
        '_SIGNED = ("authorization", "x-amz-content-sha256", "x-amz-date")',
        'if (state.prevToken == "variable-3") return token("string-2");',
        '"profile_oauth_client_secret": "\\u5bc6\\u94a5\\u4e2a\\u4eba",',
        '"RabbitMQ Password": "RabbitMQ-passord",',
        'public const string OPTION_PASSWORD = "send-xmpp-password";',
        "EntityFramework, Version=6.0.0.0, PublicKeyToken=b77a5c561934e089",
        'const id = isPasscode ? "passcode" : "recovery_code";',
        'userSettingsPassword = "user/settings/password"',
        "auth: Привет",
    ],
)
def test_what_only_speaks_of_credentials_is_let_be(text: str) -> None:
    assert redact(text) == text
    assert not _report("app.conf", text)


def test_letters_that_no_encoding_has_end_no_redaction() -> None:
    assert redact("auth: Авторизация, Basic Авторизация") == "auth: Авторизация, Basic Авторизация"


def test_a_password_in_code_is_none_without_quotes() -> None:
    line = f"password = {DRAWN}"
    assert _report("app.ini", line)
    assert not _report("app.py", line)
