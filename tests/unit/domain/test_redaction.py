"""Secrets are taken out of texts, and what merely looks like one is left alone. Examples are put together here."""

import base64
import json
import random
import string
import time
import timeit
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.review.checks.secrets import scan
from domain.errors import CodeAccessError, from_json, to_json
from domain.review.findings import Category, Fix, Layer, RawFinding, Severity
from domain.text.credential_shapes import SHAPES
from domain.text.credential_table import PLACES as CREDENTIAL_PLACES
from domain.text.redaction import Redactor, redact, redact_finding, redact_outgoing
from tests.unit.checks.credentials import REAL

_RANDOM = random.Random(7)
LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"


def some(length: int, of: str = LETTERS) -> str:
    return "".join(_RANDOM.choice(of) for _ in range(length))


def encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


JWT = ".".join([encode('{"alg":"RS256","typ":"JWT"}'), encode('{"iss":4711}'), some(86)])
KEY_LINES = [some(64, LETTERS + "+/") for _ in range(6)] + [some(22) + "=="]
PEM = "\n".join(["-----BEGIN RSA " + "PRIVATE KEY-----", *KEY_LINES, "-----END RSA " + "PRIVATE KEY-----"])
TOKEN = "ghs" + "_" + some(36)
PASSWORD = "q9Zr4-Tk2w"

# kind, text before, secret, text after
CREDENTIALS = [
    ("GitHub token", "token ", TOKEN, " expired"),
    ("GitHub token", "short: ", "ghp" + "_" + some(12), "."),
    ("GitHub token", "long: ", "ghs" + "_" + some(20) + "_" + JWT, ""),
    ("GitHub token", "https://x-access-token:", TOKEN, "@github.com/o/r.git"),
    ("GitHub token", "repr 'a\\n", TOKEN, "'"),
    ("GitHub token", "?q=%3A", TOKEN, "&x"),
    ("GitHub token", "", "github" + "_pat_" + some(22) + "_" + some(59), ""),
    ("GitHub token", "", "v1." + some(40, HEX), ""),
    ("GitLab token", "", "glpat-" + some(20), ""),
    ("AWS access key", "id=", "AKIA" + some(16, UPPER), ""),
    ("AWS secret key", 'aws_secret_access_key = "', some(38) + "/+", '"'),
    ("Azure key", "AccountName=a;AccountKey=", some(86) + "==", ";EndpointSuffix=core"),
    ("Azure signature", "https://a.blob/x?sv=1&sig=", some(43) + "%3D", ""),
    ("Google key", "?key=", "AIza" + some(35), ""),
    ("Google secret", "", "GOCSPX-" + some(28), ""),
    ("Slack token", "", f"xoxb-{some(12, '0123456789')}-{some(12, '0123456789')}-{some(24)}", ""),
    ("Slack webhook", "https://hooks.slack.com/services/", f"T{some(8, UPPER)}/B{some(8, UPPER)}/{some(24)}", ""),
    ("Stripe key", "", "sk_live" + "_" + some(24), ""),
    ("Stripe key", "", "whsec" + "_" + some(32), ""),
    ("Anthropic key", "", "sk-ant-" + "api03-" + some(95), ""),
    ("OpenAI key", "", "sk-" + "proj-" + some(80), ""),
    ("web token", "jwt ", JWT, ""),
    ("npm token", "//registry.site.org/:_authToken=", "npm" + "_" + some(36), ""),
    ("SendGrid key", "", f"SG.{some(22)}.{some(43)}", ""),
    ("Telegram token", "bot ", f"{some(9, '123456789')}:AA{some(33)}", ""),
    ("Hugging Face token", "", "hf" + "_" + some(34, string.ascii_letters), ""),
    ("credentials", "Authorization: Bearer ", some(40), ""),
    ("credentials", "{'authorization': 'Basic ", encode("x-access-token:abc1"), "'}"),
    ("credentials", "(b'authorization', b'token ", some(40, HEX), "')"),
    ("credentials", "curl -H bearer ", some(32), ""),
    ("credentials", "https://", some(40, HEX), "@api.example.org/"),
    ("cookie", "Set-Cookie: ", f"session={some(40)}; HttpOnly", ""),
    ("password", "postgresql+psycopg://forge:", PASSWORD, "@db.internal/forge"),
    ("password", "redis://:", "p@ss!w0rd", "@cache:6379/0"),
    ("password", "host=db user=forge password=", "hunter", " dbname=x"),
    ("password", "Server=db;User Id=sa;Password=", "letmein", ";"),
    ("password", "jdbc:postgresql://db/x?user=a&password=", "hunter", "&ssl=true"),
    ("password", 'DB_PASSWORD = "', PASSWORD, '"'),
    ("password", "env:\n  PASS: ", PASSWORD, ""),
    ("password", "- PASS: ", PASSWORD, ""),
    ("password", "PASS=", PASSWORD, ""),
    ("password", "api_key: ", "8fJ2kLm9QwZx71", "\n"),
    ("password", '{"client_secret": "', some(20) + "1", '"}'),
    ("password", 'String password = "', "Tr0ub4dor&3x", '";'),
    ("password", "X01M81QNR3W3APHYKPMR79QWPWD: ", "8fJ2kLm9QwZx71", ""),
    ("private key", "key:\n", PEM, "\n"),
]

HARMLESS = [
    "commit 6a65187c0ffee5ba1bf5f3c2a7f0e9d8c7b6a594 fixes it",
    "a1b2c3d",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "run 01J9ZQ4T7M8K5N3P2R6S1V0WXY",
    '"integrity": "sha512-' + some(86) + '=="',
    'hash = "sha256:' + some(64, HEX) + '"',
    "github.com/pkg/errors v0.9.1 h1:" + some(43) + "=",
    f"<img src='data:image/png;base64,{some(400, LETTERS + '+/')}=='>",
    "<!-- forge:review:01J9ZQ4T7M8K5N3P2R6S1V0WXY:" + some(24, HEX) + " -->",
    "<!-- forge:merge:01M81QNR3W3APHYKPMR79QWPWD:" + some(40, HEX) + " -->",
    '{"01M81QNR3W3APHYKPMR7SECRET": "9d1f-42!"}',
    "-----BEGIN CERTIFICATE-----\n" + "\n".join(KEY_LINES) + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n" + "\n".join(KEY_LINES) + "\n-----END PUBLIC KEY-----",
    'if line.startswith("-----BEGIN RSA ' + 'PRIVATE KEY-----"): raise ValueError("no private key here")',
    "ghs_count_of_things and laughs_at_the_next_one",
    "password = os.environ['DB_PASSWORD']",
    "password=password, user=user, token=token1",
    "connect(host=host, user=user, password=settings.db.password)",
    "def login(self, password: str = Form(...), token: Token | None = None) -> None:",
    "private_key: Ed25519PrivateKey | Ed448PrivateKey",
    'PASSWORD = "changeme"',
    'secret_name = "prod-db-4x9z"',
    'API_KEY = "${API_KEY_2}"',
    "password: {{ .Values.password1 }}",
    "token: ${{ secrets.TOKEN_2 }}",
    "secretName: web-tls-2024",
    "secret: projects/p1/secrets/db/versions/3",
    'headers = {"Authorization": f"Bearer {token2}"}',
    'headers["Authorization"] = "Bearer " + self._access_token_1',
    "Authorization: Bearer ${GITHUB_TOKEN_1}",
    "basic authentication-and-authorisation is bearer of news",
    "postgresql://user:password@localhost/db and https://{user}:{password1}@host/",
    "http://localhost:3000/@fs/app and https://registry:443/@scope/pkg",
    "git@github.com:octo-org/shop.git and alice@example.com",
    "class sk-folding-cube-with-a-very-long-css-class-name",
    "task-sk-estimate: pypi-agent hf_hub AIza",
    "Bump urllib3 from 2.2.1 to 2.2.2",
    "cookie: str = request.cookies['session']",
    'Token: "#dcdccc"',
    "Use the --password option, or --password to be asked; ask by -p",
    "The default password for users is theirs; set a password with passwd alice",
    "'Password' => 'Mot de passe',",
    '"password": "must be longer than that",',
    "interface User {\n  username: string\n  password: string\n  hasPassword: boolean\n}",
    "username = request\npassword = words",
    "auth: required, auth=digest; basic authentication, Basic Authorization",
    "127.0.0.1:5432:5432 and a.py:12:3:error:unused",
    "PASS: test_user_can_login_with_password\nPASS: tests/login_flow_with_retries.sh\nXPASS: gcc.dg/pr12345-2.c",
    "2026-11-29T03:00:00Z PASS: tests/a-2.test\nPass: TC0012-abc",
    "docker run -p 8080:80 app; sort -u a:b; mkdir -p build",
]

WORD = "letmein"
PAIR = "YWxpY2U6bGV0bWVpbg"  # alice:letmein
TOLD_BY_THEIR_PLACE = [
    *["curl -u alice:{} https://a.io", "curl -sSfu 'alice:{}' https://a.io", "curl --user=alice:{} a.io"],
    *['curl -s \\\n  --user "alice:{}" a.io', "curl -ualice:{} a.io", "http -a alice:{} a.io"],
    *["mysql -u root -p{} shop", "mysqldump -p'{}' shop", "mariadb -h db -p{}", "sshpass -p {} ssh a.io"],
    *["docker login -u alice -p {} a.io", "podman login -p{} a.io", "helm registry login a.io -u a -p {}"],
    *["redis-cli -a {} ping", "mongodump -u a -p {}", "ldapsearch -D cn=a -w {}", "smbclient //a/b -U alice%{}"],
    *["wget --user=alice --password={} a.io", "svn co --username a --password '{}' a", "java -Ddb.password={} -jar a"],
    *["keytool -storepass {}", "gpg --passphrase {}", "openssl pkcs12 -passin pass:{}", "htpasswd -nb alice {}"],
    *["PGPASSWORD={} psql", "export MYSQL_PWD='{}'", "docker run -e MYSQL_ROOT_PASSWORD={} db", "ENV DB_PASS {}"],
    *["DB_PASS: {}", "db_password={}", "spring.datasource.password: {}", 'password = "{}"', "password: {}"],
    *["[pypi]\nusername = alice\npassword = {}", 'login(user="alice", password="{}")', '"password": "{}",'],
    *["db.internal:5432:shop:alice:{}", "*:*:*:alice:{}", "machine a.io login alice password {}"],
    *["machine a.io\n  login alice\n  password {}", "//npm.a.io/:_password={}", "_authToken = {}"],
    *["DefaultEndpointsProtocol=https;AccountName=a;AccountKey={}12345;", "jdbc:oracle:thin:alice/{}@db:1521/x"],
    *['{{"u": "https:\\/\\/alice:{}@a.io"}}', "?next=https%3A%2F%2Falice%3A{}%40a.io", "<password>{}</password>"],
    *['<property name="password" value="{}"/>', "- name: DB_PASSWORD\n  value: {}", "CREATE USER a IDENTIFIED BY '{}'"],
]
IN_BASE64 = [
    *["Authorization: Basic {}", "authorization:basic   {}==", "'Authorization' => \"Basic {}\"", 'Basic "{}=="'],
    *['{{"auths": {{"a.io": {{"auth": "{}=="}}}}}}', "//npm.a.io/:_auth={}==", "auth: {}"],
]
MADE_UP = [
    *["$TOKEN", "${{DB_PASSWORD}}", "<password>", "xxxx", "changeme", "{{ password }}", "%PASSWORD%", "YOUR_PASSWORD"],
    *["your-password-here", "my_secret_password", "********", "...", "password", "settings.db.password", "/run/pw"],
]


def test_any_word_is_a_password_where_only_one_can_stand() -> None:
    for text in TOLD_BY_THEIR_PLACE:
        clean = redact(text.format(WORD))
        assert WORD not in clean
        assert clean.count("\n") == text.count("\n")
        assert redact(clean) == clean


def test_a_user_with_a_password_is_found_in_base64() -> None:
    assert [text for text in IN_BASE64 if PAIR in redact(text.format(PAIR))] == []


def test_what_is_made_up_for_an_example_stays() -> None:
    texts = [text.format(value) for value in MADE_UP for text in TOLD_BY_THEIR_PLACE if "12345" not in text]
    assert [redact(text) for text in texts] == texts


@pytest.mark.parametrize(("kind", "before", "secret", "after"), CREDENTIALS)
def test_a_credential_is_replaced_by_its_kind(kind: str, before: str, secret: str, after: str) -> None:
    text = before + secret + after
    clean = redact(text)
    assert secret not in clean
    assert clean.replace("\n", "") == f"{before}[redacted: {kind}]{after}".replace("\n", "")
    assert clean.count("\n") == text.count("\n")
    assert redact(clean) == clean


def test_what_only_looks_like_one_is_left_alone() -> None:
    assert [redact(text) for text in HARMLESS] == HARMLESS


def test_everything_a_review_reports_is_masked() -> None:
    """Also what a review only guesses: the finding is raised, its value never repeated."""
    for kind, path, line in REAL:
        assert kind in [hit.kind for hit in scan(path, [(1, line)], [])]
        assert redact(line) != line
        assert scan(path, [(1, redact(line))], []) == []


NAMES = [
    *["password", "password_prod", "password2", "PASSWORD_STAGE", "dbPassword"],
    *["db_pass", "db_pass_2", "passwd", "pwd", "my_pwd_x"],
    *["client_secret", "secret_value", "secretValue", "api_key", "api_key_android"],
    *["apikey2", "auth_key", "service_key", "account_key", "private_key"],
    *["priv_key_a", "client_key", "secret_key_storage", "db_key", "user.password"],
    *["database_pass", "key_pass_1", "config.secret"],
]
FORMS = [
    "{} = '{}'",
    '{} = "{}"',
    '{}="{}"',
    '{}: "{}",',
    '"{}": "{}"',
    "'{}' => '{}'",
    '{}[] = "{}";',
    '{}[25] = @"{}";',
    '{} := "{}"',
    '{} == "{}"',
    'if ("{1}" == {0}) {{',
    "{} !== '{}'",
    '{} "{}";',
    '{}("{}");',
    '{}.assign("{}", 17);',
    "{}: {}",
    "{}={}",
    "export {}={}",
    "{}            = '{}'",
    "{} = `{}`",
]
PLACES = [
    "app.py",
    "a.js",
    "a.go",
    "a.java",
    "a.c",
    "a.cpp",
    "a.cs",
    "a.yml",
    "a.ini",
    ".env",
    "a.toml",
    "a.rb",
    "a.php",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_guess_of_a_review_is_masked(name: str) -> None:
    """Whatever a review takes for a credential by its name never reaches a prompt or the database."""
    lines = [(form.format(name, value), value) for form in FORMS for value in (PASSWORD, "Tr0ub4dor&3x", "aB3$x,y;z9")]
    for path in PLACES:
        hits = scan(path, list(enumerate([line for line, _ in lines], 1)), [])
        kept = [line for hit in hits for line, value in [lines[hit.line - 1]] if value in redact(line)]
        assert kept == [], path


def test_a_review_guesses_in_every_language() -> None:
    lines = [form.format(name, PASSWORD) for form in FORMS for name in NAMES]
    assert all(scan(path, list(enumerate(lines, 1)), []) for path in PLACES)


@pytest.mark.parametrize("folder", ["domain", "pipeline", "bot", "github", "safety", "memory"])
def test_ordinary_code_is_left_alone(folder: str) -> None:
    root = Path(__file__).parents[3]
    for file in sorted((root / folder).rglob("*.py")):
        text = file.read_text()
        changed = [
            line for line, clean in zip(text.split("\n"), redact(text).split("\n"), strict=True) if line != clean
        ]
        assert changed == [], file.name


# --- private keys ------------------------------------------------------------------------------------------


def test_a_key_is_found_however_it_is_quoted() -> None:
    for text in (
        PEM,
        PEM.replace("\n", "\\n"),
        PEM.replace("\n", "\r\n"),
        json.dumps({"private_key": PEM}),
        "\n".join(f"+{line}" for line in PEM.split("\n")),
        "\n".join(f"> {line}" for line in PEM.split("\n")),
        " ".join(PEM.split("\n")),
        PEM[:200],  # cut off
    ):
        clean = redact(f"before\n{text}\nand after it")
        assert "[redacted: private key]" in clean
        assert not any(line[:20] in clean for line in KEY_LINES)
        assert clean.startswith("before\n")
        assert clean.endswith("and after it")
        assert clean.count("\n") == text.count("\n") + 2


# --- known values ------------------------------------------------------------------------------------------

KNOWN = "a-webhook secret/with+signs"


@pytest.mark.parametrize(
    "form",
    [
        KNOWN,
        quote(KNOWN, safe=""),
        KNOWN.encode().hex(),
        KNOWN.encode().hex(":"),
        "".join(f"\\x{byte:02x}" for byte in KNOWN.encode()),
        base64.b64encode(KNOWN.encode()).decode(),
        base64.b64encode(b"x-access-token:" + KNOWN.encode()).decode(),
        base64.b64encode(b"ab" + KNOWN.encode() + b"cd").decode(),
        base64.urlsafe_b64encode(b"?" + KNOWN.encode() + b"?").decode(),
        KNOWN[:9] + "\n" + KNOWN[9:],
        " ".join(KNOWN),
        KNOWN.upper(),
        KNOWN[::-1],
        "".join(f"\\u{ord(each):04X}" for each in KNOWN),
        "".join(f"%{ord(each):02X}" for each in KNOWN),
        "".join(f"\\x{ord(each):02x}" for each in KNOWN),
        "".join(f"\\{ord(each):03o}" for each in KNOWN),
        "".join(f"\\u{{{ord(each):x}}}" for each in KNOWN),
        "".join(f"%u{ord(each):04x}" for each in KNOWN),
        "".join(f"&#{ord(each)};" for each in KNOWN),
        "".join(f"&#x{ord(each):X};" for each in KNOWN),
        ", ".join(f"0x{ord(each):02x}" for each in KNOWN),
        "".join(f"\\x{ord(each):02x}" if at % 2 else each for at, each in enumerate(KNOWN)),
        KNOWN.encode().hex("-"),
        KNOWN.encode().hex(":").upper(),
        "-".join(KNOWN),
        base64.b64encode(KNOWN.encode()).decode()[:20] + "\n" + base64.b64encode(KNOWN.encode()).decode()[20:],
    ],
)
def test_a_known_value_is_found_in_other_forms(form: str) -> None:
    clean = redact(f"before {form} after", [KNOWN])
    assert "[redacted: known secret]" in clean
    assert KNOWN[3:12] not in "".join(clean.split())
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert clean.count("\n") == form.count("\n")


def test_a_known_key_is_found_line_by_line() -> None:
    redactor = Redactor([PEM])
    for line in KEY_LINES:
        assert redactor(f"line: {line}") == "line: [redacted: known secret]"


def test_a_known_value_with_quotes_is_found_in_json() -> None:
    value = 'pass"word\\1\tx'
    assert redact(json.dumps({"a": value}), [value]) == '{"a": "[redacted: known secret]"}'


def test_a_known_value_beyond_ascii_is_found_spelled() -> None:
    assert redact(f"a {quote('pässwörter')} b", ["pässwörter"]) == "a [redacted: known secret] b"


def test_short_values_would_mangle_words() -> None:
    assert redact("the postage is paid", ["post", "", " "]) == "the postage is paid"


def test_the_latest_minted_tokens_are_remembered() -> None:
    redactor = Redactor()
    values = [f"{number:04}-opaque-value" for number in range(300)]
    for value in values:
        redactor.learn_temporary(value)
    assert values[-1] not in redactor(values[-1])
    assert redactor(values[0]) == values[0]


def test_every_text_of_a_value_is_redacted() -> None:
    value = Redactor([KNOWN]).redact_values({"a": [KNOWN, 1, None, {KNOWN: True}]})
    assert json.dumps(value).count("[redacted: known secret]") == 2
    assert KNOWN not in json.dumps(value)


@given(st.text(max_size=300), st.lists(st.text(min_size=8, max_size=20), max_size=3))
def test_twice_is_once(text: str, known: list[str]) -> None:
    harmless = [value for value in known if value not in "[redacted: known secret]"]
    redactor = Redactor(harmless)
    clean = redactor(f"{text}{''.join(harmless)}{text}")
    assert redactor(clean) == clean


# --- where it is composed in -------------------------------------------------------------------------------


def test_an_error_never_carries_a_credential() -> None:
    url = f"https://x-access-token:{TOKEN}@github.com/o/r"
    error = CodeAccessError(f"git fetch failed (fatal: {url})", f"Look at {url}.")
    kept = to_json(error)
    assert TOKEN not in f"{error} {error!r} {kept} {from_json(kept)}"
    assert error.message == "git fetch failed (fatal: https://x-access-token:[redacted: GitHub token]@github.com/o/r)"


def _finding(message: str, fix: str) -> RawFinding:
    return RawFinding(
        rule="ruff/UP031",
        category=Category.style,
        severity=Severity.info,
        confidence=0.9,
        path="app.py",
        line=1,
        message=message,
        fix=Fix(start_line=1, end_line=1, replacement=fix),
        layer=Layer.static,
    )


def test_a_finding_neither_quotes_nor_suggests_a_secret() -> None:
    line = f'TOKEN = "{TOKEN}"'
    kept = redact_finding(_finding(f"Use {line} instead", line))
    assert (kept.message, kept.fix) == ('Use TOKEN = "[redacted: GitHub token]" instead', None)
    assert redact_finding(_finding("Use x", "x = 1")) == _finding("Use x", "x = 1")


# --- time --------------------------------------------------------------------------------------------------

_BEGIN = "-----BEGIN RSA " + "PRIVATE KEY-----"
HARD = [
    *dict.fromkeys(hint for shape in (*SHAPES, *CREDENTIAL_PLACES) for hint in shape.hints),
    *["curl -u a", "machine a login a ", "password='", "PASSWORD=", "[a]\n", "auth=a"],
    *"aA0-_=/:@ \n",
    *["a@", "://a:", "://", "eyJ-", "eyJaaaaaaaa-", "eyJaaaaaaaaa.", "password=", 'password="', "password = a1", "a-"],
    *["password=a&", "token: ", "aA1-", "sk-A1-", "sk-a", "xoxb-1", "authorization: ", "cookie: a=", "ghs_", "a."],
    *["authorization: basic ", "ghs_aaaaaaaaaa.", "SG.aaaaaaaaaaaaaaaa.", "MMMM", "aws_secret", "\\n", "%3A", "-----"],
    *[_BEGIN, _BEGIN + "\n", _BEGIN + "A" * 40, "-----BEGIN ", "-" * 64, "A" * 64 + "\n"],
]


def _measure_growth(work: Callable[[str], object], piece: str, length: int) -> float:
    """How many times as long ten times the text takes: 10 where time grows with length, 100 with its square.

    :param length: characters of the shorter text.
    """
    times: list[float] = []
    for size in (length, 10 * length):
        timer = timeit.Timer(partial(work, piece * (size // len(piece) + 1)), timer=time.process_time)
        times.append(min(timer.repeat(number=1, repeat=3)))
    return times[1] / max(times[0], 0.001)


def test_time_grows_with_the_length() -> None:
    """Only what takes long at all is measured twice: the square of 50,000 signs takes seconds."""
    slow = [piece for piece in HARD if timeit.timeit(partial(redact, piece * (50_000 // len(piece))), number=1) > 0.1]
    assert [piece for piece in slow if _measure_growth(redact, piece, 5_000) >= 40] == []


@pytest.mark.deep
@settings(max_examples=50)
@given(st.lists(st.sampled_from(HARD), min_size=1, max_size=6))
def test_time_grows_with_the_length_of_a_mixture(pieces: list[str]) -> None:
    assert _measure_growth(redact_outgoing, "".join(pieces), 20_000) < 40


# --- long texts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("between", ["\n", " ", "x"])
def test_a_secret_is_found_wherever_a_long_text_is_cut(between: str) -> None:
    """It is looked through in pieces, of 32,768 characters and a little."""
    token, line = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", 'password =\n  "gT5#kk2!xQ9z"'
    for place in range(31_000, 34_000, 37):
        text = "word ".ljust(place, between[-1]) + f" {token} {line}" + " and more words" * 400
        redacted = redact(text)
        assert token not in redacted
        assert "gT5#" not in redacted
        assert redacted.count("\n") == text.count("\n")


def test_a_long_text_without_secrets_stays() -> None:
    text = "".join(f"{number}: an ordinary line about keys, tokens = {number} and secrets\n" for number in range(9_000))
    assert redact(text) == text


@pytest.mark.parametrize(
    "told", ["key=", "password", "api_key", "my_secret", "auth key = ", '"password" ', '"api_key", ', '"password1";\n']
)
def test_names_without_values_take_no_time(told: str) -> None:
    text = told * (500_000 // len(told))
    began = time.process_time()
    assert redact(text) == text
    assert time.process_time() - began < 1.5
