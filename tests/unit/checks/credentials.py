"""Lines that hold a credential, put together at run time, and what to put others together with."""

import base64
import random
import re
import string

_RANDOM = random.Random(20)
LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"


def draw(length: int, of: str = LETTERS) -> str:
    """So many characters by chance, the same ones in every process, and never four in a row that mark an example."""
    while True:
        drawn = "".join(_RANDOM.choice(of) for _ in range(length))
        if not re.search("xxxx|XXXX|0000", drawn):
            return drawn


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


JWT = ".".join([_encode('{"alg":"HS256","typ":"JWT"}'), _encode('{"sub":"u8812","role":"writer"}'), draw(43)])
BEGIN = "-----BEGIN RSA " + "PRIVATE KEY-----"
REAL = [
    ("aws-access-key", "app.py", f'key = "AKIA{draw(16, UPPER)}"'),
    ("aws-secret-key", "app.py", f'aws_secret_key = "{draw(40)}"'),
    ("azure-storage-key", "app.py", f"AccountKey={draw(86)}=="),
    ("github-token", "app.py", f'TOKEN = "ghp_{draw(36)}"'),
    ("github-token", "ci.yml", f"token: github_pat_{draw(22)}_{draw(59)}"),
    ("gitlab-token", "x.txt", f"glpat-{draw(20)}"),
    ("slack-token", "a.js", f"const t = 'xoxb-{draw(12, '0123456789')}-{draw(12, '0123456789')}-{draw(24)}'"),
    ("slack-token", "a.js", f"https://hooks.slack.com/services/T{draw(8, UPPER)}/B{draw(8, UPPER)}/{draw(24)}"),
    (
        "slack-token",
        "a.js",
        f"xoxc-{draw(12, '123456789')}-{draw(12, '123456789')}-{draw(12, '123456789')}-{draw(64, HEX)}",
    ),
    ("stripe-key", "a.rb", f"Stripe.api_key = 'sk_live_{draw(24)}'"),
    ("stripe-key", "a.rb", f"Stripe.api_key = 'sk_live_{draw(99)}'"),
    ("jwt", "a.ts", f"const session = `{JWT}`"),
    ("npm-token", ".npmrc", f"//registry.site.org/:_authToken=npm_{draw(36)}"),
    ("openai-key", "a.py", f'k = "sk-{draw(20)}T3BlbkFJ{draw(20)}"'),
    ("anthropic-key", "a.py", f'k = "sk-ant-api03-{draw(95)}"'),
    ("pypi-token", ".pypirc", f"password = pypi-AgEIcHlwaS5vcmc{draw(80)}"),
    ("sendgrid-key", "a.py", f'"SG.{draw(22)}.{draw(43)}"'),
    ("twilio-key", "a.py", f'"SK{draw(32, HEX)}"'),
    ("telegram-token", "a.py", f'"{draw(9, "123456789")}:AA{draw(33)}"'),
    ("hugging-face-token", "a.py", f'"hf_{draw(34, string.ascii_letters)}"'),
    ("basic-auth", "a.py", f'url = "https://deploy:{draw(12)}@db.prod.site.io/x"'),
    ("basic-auth", ".env", "DATABASE_URL=postgres://billing:Zk3q" + "vT9xLw2p@db.acme.example/billing"),
    ("basic-auth", "compose.yaml", "      URL: amqp://billing:Zk3q" + "vT9xLw2p@queue:5672/billing"),
    ("basic-auth", "app/settings.py", 'CACHE = "redis://:Zk3q' + 'vT9xLw2p@cache.site.io:6379/0"'),
    ("basic-auth", "package-lock.json", f'"resolved": "https://ci:{draw(16)}@npm.corp.io/x.tgz"'),
    ("keyword", "app/settings.py", 'DB_PASSWORD = "q9Zr4-Tk2w"'),
    ("keyword", "config/prod.yml", "  api_key: 8fJ2kLm9QwZx71"),
    ("keyword", ".env", "CLIENT_SECRET=8fJ2kLm9QwZx71"),
    ("github-token", "a.py", f'TOKEN = "ghp_{draw(36)}"  # pragma: allowlist secret'),
    ("keyword", "app.py", 'DB_PASSWORD = "q9Zr4-Tk2w"  # pragma: whitelist secret'),
    ("stripe-key", "a.go", f'key := "sk_live_{draw(24)}" // gitleaks:allow'),
    ("keyword", "Main.java", 'String password = "Tr0ub4dor&3x";'),
    ("keyword", "app.py", 'password_stage = "q9Zr4-Tk2w"'),
    ("keyword", "app.py", 'password_admin = "q9Zr4-Tk2w"'),
    ("keyword", "app.py", 'PASSWORD_MIN = "q9Zr4-Tk2w"'),
    ("keyword", "app.py", 'api_key_android = "8fJ2kLm9QwZx71"'),
    ("keyword", "app.py", 'secret_paid = "8fJ2kLm9QwZx71"'),
    ("keyword", "app.py", 'secret_key_storage = "8fJ2kLm9QwZx71"'),
    ("keyword", "app.py", 'secret_name, password = "web", ""; password = "q9Zr4-Tk2w"'),
    ("keyword", "app.py", 'if password_prod == "q9Zr4-Tk2w":'),
    ("github-token", "ci.sh", f"git clone https://ghp_{draw(36)}@github.com/octo-org/shop"),
    ("github-token", "ci.sh", f"curl https://api.site.io/v1/ghp_{draw(36)}/x"),
    ("github-token", "ci.sh", f"KEY_ghp_{draw(36)}"),
    ("github-token", "app.py", f"'ghp_{draw(36)}_old'"),
    ("github-token", "app.py", f'print("a\\nghp_{draw(36)}")'),
    ("telegram-token", "app.py", f"https://api.telegram.org/bot{draw(9, '123456789')}:AA{draw(33)}/getMe"),
    ("openai-key", "app.py", f'k = "sk-proj-{draw(58)}T3BlbkFJ{draw(58)}"'),
    ("aws-access-key", "app.py", f"s3://AKIA{draw(16, UPPER)}:{draw(40)}@bucket/x"),
    ("gitlab-token", "x.txt", f"GR1348941{draw(20)}"),
    ("npm-token", ".npmrc", "//registry.site.org/:_authToken=7d3c1f0a-52b9-4e6d-8a47-c1e95b2f6d38"),
]
"""(kind, path, line) of credentials that must be found."""
