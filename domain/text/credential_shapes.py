"""The shapes of well-known credentials, for reviews and redaction.

One table serves both. Redaction masks more than a review (``agents/review/checks/secrets``)
reports: a masked example costs nothing, an unmasked key costs its owner a revocation.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from domain.text.service_tokens import SERVICE_TOKENS

# A credential does not start inside a word, but right after an escape (\n, %3A, \u0022) it does.
_ESCAPED = r"(?<=\\[abfnrtv0])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})"
_START = rf"(?:(?<![A-Za-z0-9])|{_ESCAPED})"
# The same for expressions that may fail only at the end of a long run: one attempt per run.
_RUN = rf"(?:(?<![\w-])|{_ESCAPED})"
_END = r"(?![A-Za-z0-9])"


_LONG_PART = re.compile(r"[a-z0-9]{16,}")
_SNAKE = re.compile(r"[a-z]{1,20}\d{0,2}[a-z]{0,20}(?:_[a-z]+\d{0,2})+")


def _always(value: str) -> bool:
    return bool(value)


def _is_opaque(value: str) -> bool:
    """Whether a value is more than a word or a name: digits among letters, or Base64."""
    if len(value) < 8 or value.isdigit() or _SNAKE.fullmatch(value):
        return False
    if any(c.isdigit() for c in value) or any(c in "+=" for c in value):
        return True
    return len(value) >= 20 and value.isalpha() and _entropy(value) >= 3.9


def _is_model_key(value: str) -> bool:
    """CSS class names also start with sk-, but have neither digits nor capitals in a long part."""
    return any(c.isdigit() for c in value) and any(c.isupper() for c in value)


def _is_no_name(value: str) -> bool:
    """Names of variables also start with vcr_, but hold no long part of letters and digits."""
    return _is_model_key(value) or any(not part.isalpha() for part in _LONG_PART.findall(value))


def _is_literal(value: str) -> bool:
    """Whether a part of a URL is a real value, not a placeholder."""
    return not re.match(r"[${<%*\[&]|.*[}>%]$|(?:pass|passwd|password|pwd)$", value)


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
        _is_opaque,
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
        "credentials",
        "authorization",
        r"(?i:authorization)[\"']?\s{0,3}[:=,]\s{0,3}b?[\"']?(?i:(?:bearer|basic|token|digest|negotiate)\s{1,3})?"
        r"(?P<secret>[\w.~+/=-]{8,})",
        _is_opaque,
    ),
    _shape(
        "credentials",
        "bearer basic",
        r"(?i:\b(?:bearer|basic))(?:\s{1,3}|%20)(?P<secret>[\w.~+/-]{12,}={0,2})",
        _is_opaque,
    ),
    _shape(
        "cookie",
        "cookie",
        r"(?i:\b(?:set-)?cookie)[\"']?\s{0,2}[:,]\s{0,2}b?[\"']?(?P<secret>[\w.-]{1,64}=[^\"'\r\n\\]{8,})",
        _is_opaque,
    ),
    _shape("password", "://", r"://[^\s:/?#@'\"<>\\]{0,100}:(?P<secret>[^\s/?#'\"<>\\]{1,300})@", _is_literal),
    _shape("credentials", "://", r"://(?P<secret>[^\s:/?#@'\"<>\\\[]{16,300})@", _is_opaque),
)

# --- values assigned to a telling name -----------------------------------------------------

_KEYED = ("api", "auth", "access", "account", "private", "client", "service", "secret", "db", "encryption", "signing")
ASSIGNED = _shape(
    "password",
    " ".join(
        [
            "password passwd passphrase pwd secret token",
            *(f"{word}{sign}key" for word in _KEYED for sign in ("", "_", "-")),
        ]
    ),
    r"(?P<name>(?i:pass(?:word|wd|phrase)|pwd|secret|(?:api|auth|access|account|private|client|service|secret|db|encryption|"
    r"signing)[_-]?key|(?<![a-z])token|[_-]token|(?-i:[a-z]Token)))"
    r"[\"'`\]]{0,2}\s{0,4}(?::=|=>|[:=])\s{0,4}"
    r"(?:(?P<quote>[\"'`])(?P<quoted>[^\"'`\s\\]{6,300})(?P=quote)"
    r"|(?P<plain>[^\s\"'`,;&(){}\[\]<>|\\]{6,300}+(?!\s?[(|\[=])))",
)

_TEMPLATE = re.compile(
    r"^[$@<\[{%*.!#]|\$\{|\{\{|%\(|\$\(|^[a-z]+://|^(?:vault|ssm|op|sops|env|file|ref|enc):|^ENC\[", re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z_$][\w$-]*(?:(?:\.|::|->)[A-Za-z_$][\w$-]*)+|[A-Za-z_$-]+\d{0,3}")
_PATH = re.compile(r"[a-z0-9_.~-]*(?:/[a-z0-9_.-]+)+/?")
_NEIGHBOUR = re.compile(
    r"(?:^|[\s;&?])(?:host|hostaddr|server|data source|port|dbname|database|initial catalog|user|user id|uid|username|"
    r"endpoint|sslmode|accountname)\s?=\s?[^\s=]",
    re.IGNORECASE,
)
_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile(r"\d")
_KINDS_OF_QUOTED = (_LETTER, _DIGIT, re.compile(r"[^\w.,()\[\]-]"))
_LINE_AROUND = 200  # characters
_ULID = re.compile(r"(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}")  # the form of Forge's ids
_ULID_SIZE = 26  # characters


def is_assigned_value(match: re.Match[str]) -> bool:
    """Whether the text after a name like ``password`` is a value, not a name, a type, a path or a template."""
    quoted = match["quoted"]
    value: str = quoted if quoted is not None else match["plain"]
    if quoted is None:
        is_one = _is_random(value) or (_in_connection_string(match) and not value.startswith("="))
    else:
        is_one = sum(bool(kind.search(value)) for kind in _KINDS_OF_QUOTED) >= 2
    return is_one and not (_ends_an_id(match) or _TEMPLATE.search(value) or _PATH.fullmatch(value))


def _ends_an_id(match: re.Match[str]) -> bool:
    """Whether the apparent name is the end of a ULID: one in 32,768 ends with PWD."""
    end = match.end("name")
    return end >= _ULID_SIZE and _ULID.fullmatch(match.string, end - _ULID_SIZE, end) is not None


def _is_random(value: str) -> bool:
    if not _DIGIT.search(value) or not _LETTER.search(value) or _NAME.fullmatch(value):
        return False
    return "=" not in value.rstrip("=") and len(value) >= 8 and _entropy(value) >= 2.75


def _in_connection_string(match: re.Match[str]) -> bool:
    """Whether the line has other parts of a connection string: host=, user=, a query."""
    text, start, end = match.string, match.start(), match.end()
    between = text[match.end("name") : match.start("plain")]
    if between.strip("]\"'`") != "=":
        return False
    before = text[max(start - _LINE_AROUND, 0) : start].rpartition("\n")[2]
    after = text[end : end + _LINE_AROUND].partition("\n")[0]
    if "://" in before and re.search(r"[?&][\w.-]{0,40}$", before):
        return True  # the query of a URL
    in_a_call = re.search(r"[,(]\s*[\w.-]{0,40}$", before) is not None or after[:1] in (",", ")")
    return not in_a_call and bool(_NEIGHBOUR.search(before) or _NEIGHBOUR.search(after))


def _entropy(value: str) -> float:
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


# --- values assigned to a longer name: password_stage, api_key_2, db_pass ---------------------------------

_WORDS = (
    r"api_?key|auth_?key|service_?key|account_?key|db_?key|database_?key|priv(?:ate)?_?key|client_?key|key_?pass|"
    r"pass(?:word|wd|phrase)|(?:db|database)_?pass|pwd|secret|contrase[nñ]a"
)
_NAMED = rf"(?i:{_WORDS})\w{{0,60}}+"
_BEHIND = r"[\\\"'`\]]{0,4}(?:\[\d{0,6}\])?[ \t]{0,30}"
_BECOMES = r"(?::=|=>|={1,3}|!==?|:)[ \t]{0,30}@?"
_QUOTED = r"\\?(?P<quote>[\"'`])(?P<secret>[^\"'\s]{8,200}?)\\?(?P=quote)"


@dataclass(frozen=True, slots=True)
class NamedForm:
    """A form of a value with its name.

    :param starts: where it may start, in a text in lower case. Much quicker than trying everywhere without case.
    :param needs: what it has within ``reach`` characters of its start.
    """

    expression: re.Pattern[str]
    starts: re.Pattern[str]
    needs: re.Pattern[str]
    reach: int = 400

    def find(self, text: str, low: str) -> Iterator[re.Match[str]]:
        """What the expression finds in a text, in time that grows with its length however often it nearly matches.

        :param low: the text by :func:`fold_case`.
        """
        ended, need = 0, -1
        for start in self.starts.finditer(low):
            at = start.start()
            if at < ended:
                continue
            if need < at:
                needed = self.needs.search(text, at)
                if needed is None:
                    return
                need = needed.start()
            if need - at <= self.reach and (match := self.expression.match(text, at)):
                ended = match.end()
                yield match


@lru_cache(maxsize=1)
def fold_case(text: str) -> str:
    """A text in lower case, of the same length; what an expression takes for a letter of ASCII becomes one."""
    return text.replace("İ", "i").replace("ı", "i").replace("ſ", "s").lower()


_AT_NAME = re.compile(rf"(?={_WORDS})")
ASSIGNED_FORM = NamedForm(
    ASSIGNED.expression,
    re.compile(rf"(?=pass(?:word|wd|phrase)|pwd|secret|(?:{'|'.join(_KEYED)})[_-]?key|[a-z_-]?token)"),
    re.compile("[:=]"),
    30,
)
NAMED = (
    NamedForm(re.compile(rf"(?P<name>{_NAMED}){_BEHIND}{_BECOMES}{_QUOTED}"), _AT_NAME, re.compile("[:=!]")),
    NamedForm(re.compile(rf"(?P<name>{_NAMED})(?:\.assign)?\({_QUOTED}"), _AT_NAME, re.compile(r"\(")),
    NamedForm(
        re.compile(rf"(?P<name>{_NAMED})[^\s\"'`]{{0,50}}[ \t]{{0,30}}{_QUOTED};"), _AT_NAME, re.compile("[\"'`];")
    ),
    NamedForm(
        re.compile(rf"{_QUOTED}[ \t]{{0,30}}[!=]{{2,3}}[ \t]{{0,30}}(?:\w{{1,60}}?[_.])?(?P<name>{_NAMED})"),
        re.compile(r"\\?[\"'`]"),
        re.compile(r"[\"'`][ \t]{0,30}[!=]{2}"),
    ),
    NamedForm(
        re.compile(
            rf"(?P<name>{_NAMED}){_BEHIND}{_BECOMES}(?P<secret>[^\s\"'`]{{8,200}}+)"
            r"(?=[,;]?[ \t]{0,30}(?:[\r\n]|$))"
        ),
        _AT_NAME,
        re.compile("[:=!]"),
    ),
)
"""Every form of a value assigned to a name, or compared with it, that a review searches."""
_NAME_OF_ONE = re.compile(_NAMED)
_KEYS = ("api", "auth", "service", "account", "db", "database", "priv", "private", "client")
NAMED_HINTS = (
    *("password", "passwd", "passphrase", "db_pass", "dbpass", "database_pass", "databasepass", "key_pass", "keypass"),
    *("pwd", "secret", "contrase", *(f"{word}{sign}key" for word in _KEYS for sign in ("", "_"))),
)
"""Lower-case texts, one of which is in every such name."""

_NOT_THE_VALUE = (
    "name|names|rule|rules|ref|refs|id|ids|path|file|folder|dir|field|fields|policy|url|uri|arn|type|hint"
    "|label|prompt|title|text|message|msg|error|help|regex|pattern|format|placeholder|env|var|variable|hash"
    "|hashed|digest|checksum|salt|fingerprint|version|header|prefix|suffix|selector|column|input|form|provider"
    "|manager|store|class|method|algorithm|encoding|kind|rotation|usage|param|attr|attribute|keyring|ring"
    "|identifier|resource|reset|link|route|endpoint|scope|status|state"
)
_LAST_WORD = re.compile(
    rf"(?:(?i:{_WORDS}))(?i:s?(?:{_NOT_THE_VALUE}|sha\d*|public\w*))$"
    rf"|[_.\-](?i:{_NOT_THE_VALUE}|sha\d*|public\w*)$"
    rf"|[a-z\d](?:{_NOT_THE_VALUE.title()}|Sha\d*|Public\w*)$"
)
_PLACEHOLDER = re.compile(
    r"change[-_ ]?(me|it|this)|replace|your|example|sample|dummy|fake|mock|test|todo|fixme|placeholder|insert|redact|"
    r"hidden|masked|secret|passw|pwd|credential|token|xxx|\*\*\*|\.\.\.|foo|bar(?!\w*\d)|baz|null|none|undefined|default|"
    r"lorem|qwert|12345|abcdef|deadbeef|notreal|invalid|unused|supersafe|admin|postgres|guest|root|\$\{|\{\{|%\(|\$\(|"
    r"^[$@<\[{%]|^env[.:]|^(vault|ssm|op|sops|arn|aws-sm|kms|keyring|file|ref|enc):|^ENC\[|environ|getenv|process\.env",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"^[A-Za-z_]\w*([.:]+[A-Za-z_]\w*)+$|^[a-z]+://|^[./~]|^[A-Z][A-Z0-9_]+$|^[a-z0-9]+(-[a-z]+)+$")
_CALL = re.compile(r"\w[(\[]|^[(\[{<]|[)\]}>]$")
_KINDS = tuple(re.compile(kind) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w]"))


def find_credential_name(text: str) -> str:
    """Finds the first credential name in a text, from its telling word on; empty if there is none."""
    found = _NAME_OF_ONE.search(text)
    return found.group() if found else ""


def is_metadata_name(name: str) -> bool:
    """Whether a name is about a credential (``secret_name``) rather than for one (``password_stage``)."""
    return _LAST_WORD.search(name) is not None


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder: an example, a template, a reference to a vault."""
    return _PLACEHOLDER.search(value) is not None


def is_credential(value: str) -> bool:
    """Whether a value of a credential name is a credential, not a word, name, path or template."""
    if not 8 <= len(value) <= 200 or any(character.isspace() for character in value):
        return False
    if not _DIGIT.search(value) or is_placeholder(value) or _REFERENCE.search(value):
        return False
    return sum(bool(kind.search(value)) for kind in _KINDS) >= 2 and _entropy(value) >= 2.75


def is_named_value(match: re.Match[str]) -> bool:
    """Whether a match of one of :data:`NAMED` holds a credential."""
    quoted = "quote" in match.re.groupindex
    value = match["secret"]
    if not is_credential(value) or (not quoted and _CALL.search(value)):
        return False
    return not (_ends_an_id(match) or is_metadata_name(match["name"]))


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
