"""Credentials are found, and what merely looks like one is left alone. Examples are put together at run time."""

import pytest

from agents.review.checks.secrets import scan
from domain.text.credential_shapes import SERVICE_TOKENS
from domain.text.redaction import redact
from tests.unit.checks.credentials import BEGIN, HEX, JWT, REAL, UPPER, draw
from tests.unit.checks.service_tokens import TOKENS

HARMLESS = [
    ("settings.py", 'PASSWORD = "changeme"'),
    ("settings.py", 'PASSWORD = os.environ["DB_PASSWORD"]'),
    ("settings.py", 'password = os.getenv("DB_PASSWORD", "")'),
    ("settings.py", 'API_KEY = "<token>"'),
    ("settings.py", 'API_KEY = "your-api-key-123"'),
    ("config.yml", "password: ${DB_PASSWORD}"),
    ("config.yml", "password: {{ .Values.password }}"),
    ("config.yml", "password: !vault x9f8e7d6c5"),
    ("k8s.yaml", "secretName: web-tls-2024"),
    ("k8s.yaml", "  existingSecret: db-credentials-v2"),
    ("config.yml", "secret: projects/p1/secrets/db/versions/3"),
    (".env", "PASSWORD=$OTHER_PASSWORD1"),
    (".env.example", "CLIENT_SECRET=8fJ2kLm9QwZx71"),
    ("app.py", 'password_hash = "5f4dcc3b5aa765d61d8327deb882cf99"'),
    ("app.py", 'secret_name = "prod-db-4x9z"'),
    ("app.py", 'password_field = "user_password_2"'),
    ("app.py", "if password == confirm_password1: pass"),
    ("app.py", 'parser.add_argument("--password", help="the password2use")'),
    ("app.py", "def login(self, password: str = Form(...)): ..."),
    ("app.py", 'key = "123e4567-e89b-12d3-a456-426614174000"'),
    ("app.py", 'api_key = "123e4567-e89b-12d3-a456-426614174000"'),
    ("poetry.lock", f'hash = "sha256:{draw(64, HEX)}"'),
    ("package-lock.json", f'"integrity": "sha512-{draw(86)}=="'),
    ("go.sum", f"github.com/a/b v1.0.0 h1:{draw(43)}="),
    ("a.html", f'<img src="data:image/png;base64,{draw(4000)}AKIA{draw(16, UPPER)}{draw(900)}">'),
    ("tests/test_x.py", 'password = "q9Zr4-Tk2w"'),
    ("tests/test_x.py", f'token = "{JWT}"'),
    ("docs/setup.md", 'password = "q9Zr4-Tk2w"'),
    ("app.py", 'AWS = "AKIAIOSFODNN7' + 'EXAMPLE"'),
    ("app.py", '"ghp_' + "x" * 36 + '"'),
    ("app.py", f'if "{BEGIN}" in text:'),
    ("docker-compose.yml", "DATABASE_URL: postgres://app:app12345@db:5432/app"),
    ("a.py", '"https://user:password@site.org"'),
    (".env", "DATABASE_URL=postgres://billing:Spring2024@db.acme.example/billing"),
    ("compose.yaml", "      URL: amqp://billing:billing-pw-1@queue:5672/billing"),
    (".env", "DATABASE_URL=postgres://billing:${DB_PASSWORD}@db.site.io/billing"),
    (".env", "DATABASE_URL=postgres://billing:<Zk3qvT9xLw2p>@db.site.io/billing"),
    (".env", "DATABASE_URL=postgres://billing:********@db.site.io/billing"),
    ("README.md", "postgres://billing:Zk3qvT9xLw2p@db.site.io/billing"),
    ("a.js", "const url = `http://:${port}@${host}`"),
    ("a.py", 'f"https://{user}:{password}@site.org"'),
    ("a.py", '"postgres://me:l0calOnly9@localhost/x"'),
    ("a.py", f'sid = "AC{draw(32, HEX)}"'),
    ("style.css", ".password-input-3x { color: #a1b2c3 }"),
    ("a.js", "import { secret } from './lib/secrets2.js'"),
    ("a.tf", "password = var.db_password1"),
    ("a.ts", "passwordRules: 'min8chars1upper'"),
    ("a.ts", "secretName: 'web-Tls-2024x'"),
    ("a.py", 'apiKeyId = "8fJ2kLm9QwZx71"'),
    ("a.py", 'passwordfield = "user-Pw-2x9"'),
    ("a.py", "PASSWORD_MIN = 12"),
    ("a.py", "def ghs_count(): return laughs_at_ghp_counting_every_thing_there_is_to_count()"),
    ("a.css", ".sk-folding-cube-with-a-very-long-css-class-name-and-more-of-it { color: red }"),
    ("a.html", f'<img src="data:image/png;base64,{draw(400)}+AKIA/{draw(900)}">'),
    ("a.js", f"var re_{draw(8)}=pat.{draw(20)},key-{draw(12, HEX)};"),
    ("Dockerfile", f"FROM python@sha256:{draw(64, HEX)}"),
    ("a.py", 'CACHE = "re_compiled_expressions_of_every_module_of_it"'),
    ("a.scss", "@include key-frames-of-the-spinner-2x { color: red }"),
]


def test_finds() -> None:
    for kind, path, line in REAL:
        assert kind in {hit.kind for hit in scan(path, [(7, line)], [])}, line


def test_a_token_of_a_service() -> None:
    for kind, token in TOKENS:
        line = f"value = '{token}'"
        assert [hit.kind for hit in scan("app.py", [(1, line)], [])] == [kind]
        assert token not in redact(line), kind
        assert scan("app.py", [(1, line.replace(token, token[:20]))], []) == [], kind  # cut off
        example = token[:8] + "x" * (len(token) - 8)
        assert scan("app.py", [(1, line.replace(token, example))], []) == [], kind


def test_a_token_with_four_of_a_letter_by_chance_is_no_example() -> None:
    token = "ghp_" + draw(16) + "xXXx" + draw(16)
    assert [hit.kind for hit in scan("key.txt", [(1, token)], [])] == ["github-token"]


def test_no_service_is_without_a_sample() -> None:
    assert {token.rule for token in SERVICE_TOKENS} <= {kind for kind, _ in TOKENS}


SEED = "KV5KFKRC6NZQUYML"
"""As a machine draws it for one-time passwords: Base32 of bytes that are no text."""


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", 'totp_secret = "@"'),
        ("a.js", "const twoFactorSecret = '@'"),
        ("a.rb", "otp_seed: '@',"),
        (".env", "MFA_SEED=@"),
        ("a.yml", "mfa_seed: @"),
        ("a.yml", "uri: otpauth://totp/Forge:alice@site.io?secret=@&issuer=Forge"),
    ],
)
def test_a_seed_of_one_time_passwords(path: str, text: str) -> None:
    line = text.replace("@s", "%40s").replace("@", SEED)
    assert [hit.kind for hit in scan(path, [(1, line)], [])] == ["keyword"]
    assert SEED not in redact(line)
    for harmless in ("JBSWY3DPEHPK3PXP", "GEZDGNBVGY3TQOJQ", "TWO_FACTOR_SEED2", "WITHCONSTANTNAME"):
        assert scan(path, [(1, line.replace(SEED, harmless))], []) == [], harmless


def test_leaves_alone() -> None:
    assert [(path, line) for path, line in HARMLESS if scan(path, [(7, line)], [])] == []


def test_private_key_only_with_key_material() -> None:
    body = [(n, draw(64)) for n in range(2, 8)]
    assert [hit.kind for hit in scan("id_rsa", [(1, BEGIN), *body], [])] == ["private-key"]
    assert scan("id_rsa", [(1, BEGIN), (2, "...")], []) == []


def test_one_line_private_key() -> None:
    line = f'KEY = "{BEGIN}\\n{draw(64)}\\n"'
    assert [hit.kind for hit in scan("a.py", [(1, line)], [])] == ["private-key"]


def test_what_only_moved_within_the_file_is_not_new() -> None:
    line = f'TOKEN = "ghp_{draw(36)}"'
    assert scan("a.py", [(9, "    " + line)], []) != []
    assert scan("a.py", [(9, "    " + line)], [line]) == []


def test_a_token_is_not_reported_twice_because_of_its_variable() -> None:
    hits = scan("a.py", [(3, f'api_key = "ghp_{draw(36)}"')], [])
    assert [hit.kind for hit in hits] == ["github-token"]


def test_finds_a_token_far_out_in_a_very_long_line() -> None:
    line = "x" * 4980 + f' "ghp_{draw(36)}" ' + "y" * 100_000
    assert [hit.kind for hit in scan("a.js", [(1, line)], [])] == ["github-token"]


@pytest.mark.parametrize(
    "line",
    [
        f"key: cache-key-{draw(32, HEX)}",
        f"idem-key-{draw(32, HEX)}",
        f"/static/fav-ico-{draw(32, HEX)}.png",
        f"gap-pul-{draw(40, HEX)}",
        "vcr_cassette_for_login_page_with_two_factor_authentication_x",
        "phx_live_view_components_button_primary_large_rounded_x",
        "pscale_pw_this_is_the_name_of_a_long_variable_x",
    ],
)
def test_names_that_begin_like_tokens_are_none(line: str) -> None:
    assert scan("a.py", [(1, line)], []) == []
    assert redact(line) == line


@pytest.mark.parametrize("beginning", ["gsk_", "r8_"])
def test_a_token_that_is_longer_than_it_should_be_is_masked_and_not_reported(beginning: str) -> None:
    line = beginning + draw(70)
    assert scan("a.py", [(1, line)], []) == []
    assert line not in redact(f"use {line} here")


END = BEGIN.replace("BEGIN", "END")
QUOTED = "    '{}\\n' +"


@pytest.mark.parametrize("form", ["{}", "  {}", QUOTED, '    "{}",'])
@pytest.mark.parametrize("below", [1, 2, 4])
def test_a_key_exchanged_below_its_header(form: str, below: int) -> None:
    body = [(10 + below + n, form.format(draw(64))) for n in range(6)]
    header = [(10, form.format(BEGIN))]
    assert [(hit.kind, hit.line) for hit in scan("id_rsa", body, [draw(64)], header)] == [("private-key", 10 + below)]
    assert scan("id_rsa", body, []) == []
    assert scan("id_rsa", body, [text.strip() for _, text in body], header) == []


@pytest.mark.parametrize(
    "line", [f'DIGEST = "{draw(64, HEX)}"', f"    url = base + '/{draw(50)}'", "short", "A" * 64, END]
)
def test_other_lines_below_a_header_that_was_there(line: str) -> None:
    assert scan("keys.py", [(12, line)], [], [(11, f'if "{BEGIN}" in text:')]) == []


def test_a_new_key_whose_first_line_every_key_of_its_kind_has() -> None:
    same, new, old = draw(70), draw(70), draw(70)
    moved = [(1, BEGIN), (2, same), (3, new)]
    assert [(hit.kind, hit.line) for hit in scan("id", moved, [BEGIN, same, old])] == [("private-key", 1)]
    on_one_line = [(1, f'KEY = "{BEGIN}\\n{same}\\n{new}"')]
    assert scan("a.py", on_one_line, [f'KEY = "{BEGIN}\\n{same}\\n{old}"']) != []
    assert scan("a.py", on_one_line, [f'KEY = b"{BEGIN}\\n{same}\\n{new}"']) == []


_PASSWORD = "Xk29fjQw" + "81zz"


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("requirements.txt", f"--index-url https://deploy:{_PASSWORD}@pypi.corp-internal.net/simple"),
        ("deploy/constraints.txt", f"--extra-index-url https://deploy:{_PASSWORD}@pypi.corp-internal.net/simple"),
        ("README.md", f"pip install --index-url https://deploy:{_PASSWORD}@pypi.corp-internal.net/simple shop"),
        ("docs/setup.rst", f"   https://deploy:{_PASSWORD}@pypi.corp-internal.net/simple"),
        ("app.py", f'url = "https://deploy:%40{_PASSWORD}@pypi.corp-internal.net/simple"'),
        (".env", f"DB_PASSWORD=%{_PASSWORD}"),
        (".netrc", f"machine pypi.corp-internal.net login deploy password {_PASSWORD}"),
        ("build/_netrc", f"  password {_PASSWORD}"),
        ("settings.xml", f"      <password>{_PASSWORD}</password>"),
        ("ci/maven.XML", f"<passphrase> {_PASSWORD} </passphrase>"),
    ],
)
def test_a_password_where_its_file_says_that_it_is_one(path: str, line: str) -> None:
    assert [hit.line for hit in scan(path, [(3, line)], [])] == [3]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("requirements.txt", "--index-url https://pypi.corp-internal.net/simple"),
        ("requirements.txt", "--index-url https://${USER}:${PASSWORD}@pypi.corp-internal.net/simple"),
        ("README.md", "pip install --index-url https://deploy:Spring2024@pypi.corp-internal.net/simple shop"),
        ("README.md", f"pip install --index-url https://deploy:{_PASSWORD}@pypi.example.com/simple shop"),
        (".env", "DB_PASSWORD=%DB_PASS_7x%"),
        (".env", "DB_PASSWORD=%(db_pass_7x)s"),
        ("tests/requirements.txt", f"--index-url https://deploy:{_PASSWORD}@pypi.corp-internal.net/simple"),
        (".netrc", "machine pypi.corp-internal.net login deploy password $PASSWORD"),
        ("notes.cfg", f"the password {_PASSWORD.lower()} is old"),
        ("settings.xml", "<password>${env.DEPLOY_PASSWORD_2}</password>"),
        ("settings.xml", "<password>{COQLCE6DU6GtcS5P=}</password>"),
        ("src/test/resources/settings.xml", f"<password>{_PASSWORD}</password>"),
    ],
)
def test_what_stands_for_a_password_or_explains_one(path: str, line: str) -> None:
    assert scan(path, [(3, line)], []) == []
