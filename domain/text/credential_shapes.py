"""The shapes of well-known credentials, for reviews and redaction.

One table serves both. Redaction masks more than a review (``agents/review/checks/secrets``)
reports: a masked example costs nothing, an unmasked key costs its owner a revocation.

Lengths are those of Betterleaks' rules and of the services' documentation. What a page may publish is left out: ids,
keys for browsers, and keys for tests.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from domain.text.credential_values import is_opaque


class ServiceToken(NamedTuple):
    """The tokens of one service.

    :param kind: their name for people.
    :param hints: lower-case beginnings, separated by spaces: one is in every token.
    :param expression: the whole of a token; no part of a name stands before it, nothing alphanumeric behind it.
    """

    kind: str
    hints: str
    expression: str

    @property
    def may_look_like_a_name(self) -> bool:
        """Whether words with hyphens or underscores between them could have its form."""
        return r"\w" in self.expression

    @property
    def rule(self) -> str:
        """Last part of the rule's id."""
        return re.sub(r"[^a-z0-9]+", "-", self.kind.lower())


SERVICE_TOKENS = tuple(
    ServiceToken(kind, **row)
    for kind, row in tomllib.loads(Path(__file__).with_name("service_tokens.toml").read_text(encoding="utf-8")).items()
)

# A credential does not start inside a word, but right after an escape (\n, %3A, \u0022) it does.
_ESCAPED = r"(?<=\\[abfnrtv0])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})"
_START = rf"(?:(?<![A-Za-z0-9])|{_ESCAPED})"
# The same for expressions that may fail only at the end of a long run: one attempt per run.
_RUN = rf"(?:(?<![\w-])|{_ESCAPED})"
_END = r"(?![A-Za-z0-9])"


_LONG_PART = re.compile(r"[a-z0-9]{16,}")


def _always(value: str) -> bool:
    return bool(value)


def _is_model_key(value: str) -> bool:
    """CSS class names also start with sk-, but have neither digits nor capitals in a long part."""
    return any(c.isdigit() for c in value) and any(c.isupper() for c in value)


def _is_no_name(value: str) -> bool:
    """Names of variables also start with vcr_, but hold no long part of letters and digits."""
    return _is_model_key(value) or any(not part.isalpha() for part in _LONG_PART.findall(value))


def _is_literal(value: str) -> bool:
    """Whether a part of a URL is a real value, not a placeholder."""
    return not re.match(r"[${<*\[&]|%(?![0-9A-Fa-f]{2})|.*[}>%]$|(?:pass|passwd|password|pwd)$", value)


@dataclass(frozen=True)
class CredentialShape:
    """A credential recognisable by its shape. A new kind needs one row in :data:`SHAPES`.

    Its expressions are compiled when a text has one of its hints: all of them take longer than most commands.

    :param kind: its name for people.
    :param hints: lower-case texts, one of which is in every match: a cheap test before the expression.
    :param pattern: its group ``secret`` is the credential; without one, all of it is.
    :param is_secret: a final check of the match.
    :param rule: last part of the rule's id in reviews; empty: only masked.
    :param exact_pattern: the beginning of reported matches, as masking may match more; empty: any.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    is_secret: Callable[[str], bool] = field(default=_always)
    rule: str = ""
    exact_pattern: str = ""

    @cached_property
    def expression(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def exact(self) -> re.Pattern[str]:
        return re.compile(self.exact_pattern)

    def extract(self, match: re.Match[str]) -> str:
        """Returns the credential in a match; empty if it is none."""
        value: str = match["secret"] if "secret" in self.expression.groupindex else match[0]
        return value if self.is_secret(value) else ""


def _shape(
    kind: str,
    hints: str,
    expression: str,
    is_secret: Callable[[str], bool] = _always,
    *,
    rule: str = "",
    exact: str = "",
) -> CredentialShape:
    return CredentialShape(kind, tuple(hints.split()), expression, is_secret, rule, exact)


SHAPES: tuple[CredentialShape, ...] = (
    _shape(
        "GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        rf"{_START}(?:gh[pousr]_(?=[A-Za-z0-9]{{10}})|github_pat_(?=\w{{10}}))\w+(?:[.-]\w+)*+",
        rule="github-token",
        exact=r"gh[pousr]_[A-Za-z0-9]{36}|ghs_\w{1,40}_eyJ|github_pat_(?:[A-Za-z0-9]{22}_[A-Za-z0-9]{59}|[A-Za-z0-9]{36})",
    ),
    _shape("GitHub token", "v1.", rf"{_START}v1\.[0-9a-f]{{40}}{_END}"),
    _shape(
        "GitLab token",
        "gl gr1348941",
        rf"{_START}(?:gl(?:pat|ptt|dt|rt|ft|soat|agent|oas|cbt|imt|ffct)-|GR1348941)[\w-]{{20,}}",
        rule="gitlab-token",
    ),
    _shape(
        "AWS access key",
        "akia asia abia acca a3t",
        rf"{_START}(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_END}",
        rule="aws-access-key",
    ),
    _shape(
        "AWS secret key",
        "aws secret",
        r"(?i:secret_?access_?key|aws[\w.-]{0,20}(?:key|token|secret))[\"']?\s{0,3}[:=]{1,2}>?\s{0,3}[\"']?"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        rule="aws-secret-key",
    ),
    _shape(
        "AWS secret key",
        "aws",
        r"(?i:aws.{0,20}?(?:key|pwd|pw|pass|token).{0,20}?)[\"'](?P<secret>[A-Za-z0-9/+]{40})[\"']",
        rule="aws-secret-key",
    ),
    _shape(
        "Azure key",
        "accountkey sharedaccesskey",
        r"(?i:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{20,}={0,2})",
        rule="azure-storage-key",
        exact=r"[A-Za-z0-9+/=]{88}",
    ),
    _shape("Azure signature", "sig=", r"[?&;]sig=(?P<secret>[A-Za-z0-9%+/=_-]{20,})"),
    _shape("Google key", "aiza", rf"{_START}AIza[\w-]{{35}}"),
    _shape(
        "Google secret",
        "gocspx- ya29.",
        rf"{_START}(?:GOCSPX-[\w-]{{20,}}|ya29\.[\w-]{{20,}})",
        rule="google-oauth-secret",
        exact=r"GOCSPX-[\w-]{28}",
    ),
    _shape(
        "Slack token",
        "xox xapp-",
        rf"{_START}(?:xox[a-z]|xapp)(?:-[A-Za-z0-9]{{1,200}}){{2,12}}",
        is_opaque,
        rule="slack-token",
        exact=r"xox[abcopsr]-(?:\d+-)+[A-Za-z0-9]|xapp-\d-\w+-\d+-\w{32}",
    ),
    _shape(
        "Slack webhook",
        "hooks.slack.com",
        r"(?i:hooks\.slack\.com)/\w{1,20}/(?P<secret>\w{2,100}(?:/\w{6,100})+)",
        rule="slack-token",
        exact=r"T\w+/B\w+/\w",
    ),
    _shape(
        "Stripe key",
        "k_live_ k_test_ whsec_",
        rf"{_START}(?:[rsp]k_(?:live|test)_[0-9A-Za-z]{{16,}}|whsec_[A-Za-z0-9+/=]{{20,}})",
        rule="stripe-key",
        exact=r"[rs]k_live_[0-9A-Za-z]{24}",
    ),
    _shape(
        "Anthropic key",
        "sk-ant-",
        rf"{_START}sk-ant-[\w-]{{16,}}",
        rule="anthropic-key",
        exact=r"sk-ant-[a-z]+\d\d-[\w-]{80}",
    ),
    _shape(
        "OpenAI key",
        "sk-",
        rf"{_START}sk-[\w-]{{32,}}",
        _is_model_key,
        rule="openai-key",
        exact=r"sk-[\w-]{20,200}T3BlbkFJ[\w-]{20}",
    ),
    _shape(
        "web token", "eyj", rf"{_RUN}eyJ[\w-]{{8,}}+\.[\w-]{{8,}}+(?:\.[\w-]*+)*+", rule="jwt", exact=r"eyJ[\w-]+\.eyJ"
    ),
    _shape("npm token", "npm_", rf"{_START}npm_[A-Za-z0-9]{{36}}{_END}", rule="npm-token"),
    _shape(
        "npm token",
        "_authtoken",
        r"//\S{1,200}/:_authToken=\s{0,3}(?P<secret>[A-Fa-f0-9-]{36})(?![\w-])",
        rule="npm-token",
    ),
    _shape(
        "PyPI token",
        "pypi-age",
        rf"{_START}pypi-AgE[\w-]{{40,}}",
        rule="pypi-token",
        exact=r"pypi-AgE(?:IcHlwaS5vcmc|NdGVzdC5weXBpLm9yZw)[\w-]{70}",
    ),
    _shape(
        "SendGrid key",
        "sg.",
        rf"{_START}SG\.[\w-]{{16,64}}\.[\w-]{{16,}}",
        rule="sendgrid-key",
        exact=r"SG\.[\w-]{22}\.[\w-]{43}",
    ),
    _shape(
        "Square secret", "sq0", rf"{_START}sq0[a-z]{{3}}-[\w-]{{22,}}", rule="square-secret", exact=r"sq0csp-[\w-]{43}"
    ),
    _shape("Mailchimp key", "-us", rf"{_START}[0-9a-z]{{32}}-us\d{{1,2}}{_END}", rule="mailchimp-key"),
    # The expression of detect-secrets for Twilio also matches account ids, which are public.
    _shape("Twilio key", "sk", rf"{_START}SK[0-9a-f]{{32}}{_END}", rule="twilio-key"),
    _shape("Telegram token", ":aa", rf"(?:{_START}|(?<=/bot))\d{{8,10}}:AA[\w-]{{33}}", rule="telegram-token"),
    _shape(
        "Discord token",
        "discord",
        rf"{_RUN}[MNO][\w-]{{23,25}}\.[\w-]{{6}}\.[\w-]{{27,38}}(?![\w-])",
        rule="discord-token",
    ),
    _shape("DigitalOcean token", "_v1_", rf"{_START}do[opr]_v1_[a-f0-9]{{64}}", rule="digitalocean-token"),
    _shape(
        "Hugging Face token",
        "hf_",
        rf"{_START}hf_[A-Za-z0-9]{{30,}}",
        rule="hugging-face-token",
        exact=r"hf_[A-Za-z0-9]{34}",
    ),
    _shape(
        "Vault token", "hvs. hvb.", rf"{_START}hv[bs]\.[\w-]{{24,}}", rule="vault-token", exact=r"hv[bs]\.[\w-]{90}"
    ),
    _shape(
        "age key",
        "age-secret-key-",
        rf"{_START}AGE-SECRET-KEY-1[A-Z0-9]{{40,}}",
        rule="age-key",
        exact=r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
    ),
    *(
        _shape(
            token.kind,
            token.hints,
            rf"{_RUN}(?:{token.expression})[A-Za-z0-9]*+",
            _is_no_name if token.may_look_like_a_name else _always,
            rule=token.rule,
            exact=rf"(?:{token.expression}){_END}",
        )
        for token in SERVICE_TOKENS
    ),
    _shape(
        "cookie",
        "cookie",
        r"(?i:\b(?:set-)?cookie)[\"']?\s{0,2}[:,]\s{0,2}b?[\"']?(?P<secret>[\w.-]{1,64}=[^\"'\r\n\\]{8,})",
        is_opaque,
    ),
    _shape("password", "://", r"://[^\s:/?#@'\"<>\\]{0,100}:(?P<secret>[^\s/?#'\"<>\\]{1,300})@", _is_literal),
    _shape("credentials", "://", r"://(?P<secret>[^\s:/?#@'\"<>\\\[]{16,300})@", is_opaque),
)

# --- private keys ------------------------------------------------------------------------------------------

_BODY = r"[A-Za-z0-9+/=\s\\\"',:.|>#*]"
_ARMOUR = r"[\s\"'+#*/|>]{0,40}(?:Version|Comment|Hash|Charset|MessageID|Proc-Type|DEK-Info):[^\r\n\\]{0,200}"
PRIVATE_KEY = re.compile(
    rf"-----BEGIN (?:[A-Z0-9]{{1,20}} ){{0,4}}PRIVATE KEY(?: BLOCK)?-----(?:{_ARMOUR}){{0,10}}"
    rf"(?P<body>{_BODY}*(?:-(?!-{{4}}){_BODY}*)*)"
    r"(?P<end>-{5,10}END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----)?"
)
_MATERIAL = re.compile(r"[A-Za-z0-9+/=]{32,}+")
_LAST_LINE = re.compile(r"(?:\s|\\[nr]|[\"'+>|#*,])*+[A-Za-z0-9+/]{0,64}+={1,2}")


def find_key_end(match: re.Match[str]) -> int:
    """The end of a private key in a match of :data:`PRIVATE_KEY`; 0 if no key material follows its header.

    A truncated key has no last line; it ends with its last long line.
    """
    runs = [run.end() for run in _MATERIAL.finditer(match["body"])]
    if not runs:
        return 0
    if match["end"]:
        return len(match[0])
    rest = _LAST_LINE.match(match["body"], runs[-1])
    return match.start("body") - match.start() + (rest.end() if rest else runs[-1])


def find_key_lines(lines: Sequence[str]) -> set[int]:
    """The 1-based numbers of lines with a private key or a part of one, not a header alone."""
    text = "\n".join(lines)
    found: set[int] = set()
    line, at = 1, 0
    for match in PRIVATE_KEY.finditer(text):
        line, at = line + text.count("\n", at, match.start()), match.start()
        if end := find_key_end(match):
            found.update(range(line, line + match[0].count("\n", 0, end) + 1))
    return found
