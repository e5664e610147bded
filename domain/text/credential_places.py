"""Credentials that only their place tells: an option of a command, a line of a file, a variable of the environment.

A token is drawn by a machine, so that its letters tell what it is (``credential_shapes``). A password may be any word:
here its place decides, and the word only whether somebody made it up for an example. No review reports what is here.
"""

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from domain.text.credential_shapes import NamedForm

# --- what is written where a password belongs ---------------------------------------------------------------

_TEMPLATE = re.compile(
    r"(?:pass:)?(?:[$<{%\[\]*@&#(),`!?]|.*(?:\$\{|\{\{|\$\(|%\(|[}>%]$)|$)|[A-Z][A-Z_]*$|(?:[Xx]{3,}|[*.•_-]+)$"
)
_EXAMPLE = re.compile(
    r"(?:(?:my|your).*(?:password|passwd|pass|secret|token|key)|"
    r"(?:(?:pass(?:wor[dt]|wd|phrase|code)?|pwd|pw|secret(?:str)?|tokens?|credentials?|keys?|values?|string|text|hash(?:ed)?"
    r"|user(?:name)?|login|change|replace|your|this|the|some|here|api|app|database|db|admin|root|postgres"
    r"|mysql|guest|new|old|current|repeat|confirm(?:ed|ation)?|wrong|invalid|valid|strong|weak|empty|test(?:ing|er|s)?"
    r"|example|sample|dummy|fake|mock|demo|placeholder|redacted|hidden|masked|todo|foo|bar|baz|xxx+|real|super|default"
    r"|null|none|nil|undefined|true|false|optional|required|input|type|label|prompt|path|env|var(?:char)?|name|plain"
    r"|stdin|bytes|bool(?:ean)?|number|object|char|any|abc(?:def)?|qwerty|12345?6?7?8?9?0?|an|my|me|it|s3|a|\d{1,3}(?![a-z\d]))[-_.]*+)++)",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+\.?|[\w.-]*:?//.*|[./~\\].*|-.*")
_PROSE_WORDS = """
    a an the and or is are was for from in into of on to with via by as at if when where which that this it can may must
    should will be has have not only instead option options flag flags argument parameter
"""
_PROSE = frozenset(_PROSE_WORDS.split())


def is_password(value: str) -> bool:
    """Whether a word where a password belongs is one: no template, no reference, not made up for an example."""
    is_made_up = _TEMPLATE.match(value) or _REFERENCE.fullmatch(value) or any(map(_EXAMPLE.fullmatch, value.split()))
    return not is_made_up


def _is_pair(value: str) -> bool:
    """Whether a value is ``user:password`` in Base64 (RFC 7617)."""
    try:
        decoded = base64.b64decode(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    user, colon, password = decoded.partition(":")
    return bool(colon) and decoded.isprintable() and is_password(password or user)


@dataclass(frozen=True, slots=True)
class CredentialPlace:
    """A place where a credential stands.

    :param kind: the credential's name for people.
    :param hints: lower-case texts, one of which begins every match.
    :param needs: a lower-case text that is rarer, and in every match, too.
    :param form: how it is written; its group ``secret`` is the credential.
    """

    kind: str
    hints: tuple[str, ...]
    form: NamedForm
    is_secret: Callable[[str], bool]
    needs: str = ""

    def may_be_in(self, low: str) -> bool:
        """A cheap test of a text in lower case."""
        return self.needs in low and any(hint in low for hint in self.hints)


def _place(
    hints: Sequence[str],
    expression: str,
    is_secret: Callable[[str], bool] = is_password,
    kind: str = "password",
    needs: str = "",
) -> CredentialPlace:
    starts = re.compile("|".join(map(re.escape, hints)))
    return CredentialPlace(
        kind, tuple(hints), NamedForm(re.compile(expression), starts, re.compile("")), is_secret, needs
    )


# --- options of commands ------------------------------------------------------------------------------------

_ARGUMENTS = r"(?:[^\n|]|(?<=\\)\n){0,300}?[ \t]"
_WORD = r"\\?[\"']?(?P<secret>(?<=[\"'])[^\"'\n\\]{1,200}(?=\\?[\"'])|[^\s\"'`|;&<>(),\\]{1,200})"
_USER = r"\\?[\"']?[^\s\"':$|]{0,100}"


def _option(commands: str, option: str, value: str = _WORD, needs: str = "") -> CredentialPlace:
    """An option whose value is a password.

    :param commands: how their names begin.
    :param option: an expression, with what stands between it and ``value``.
    """
    names = commands.split()
    return _place(names, rf"(?<![\w.-])(?:{'|'.join(names)})[\w-]{{0,12}}{_ARGUMENTS}{option}{value}", needs=needs)


COMMANDS = (
    _option("curl", r"(?:-[a-zA-Z#]{0,8}?[uU]|--(?:proxy-)?user[\s=])\s{0,3}", f"{_USER}:{_WORD}"),
    _option("curl", r"--oauth2-bearer\s{1,3}"),
    _place(["http ", "https ", "xh "], rf"(?:https?|xh){_ARGUMENTS}(?:-a|--auth[\s=])\s{{0,3}}{_USER}:{_WORD}"),
    _option("mysql mariadb", r"-p"),
    _option("docker podman buildah skopeo nerdctl helm", r"login\b[^\n|]{0,200}?\s-p\s{0,3}", needs="login"),
    _option("twine", r"upload\b[^\n|]{0,200}?\s-p\s{0,3}"),
    _place(
        ["az login", "oc login", "cf login"], rf"(?:az|oc|cf) login\b{_ARGUMENTS}-p\s{{1,3}}{_WORD}", needs=" login"
    ),
    _option("sshpass", r"-p\s{0,3}"),
    _option("redis-cli", r"-a\s{1,3}"),
    _option("mongo", r"-p\s{1,3}"),
    _option("sqlcmd", r"-P\s{0,3}"),
    _option("ldap", r"-w\s{1,3}"),
    _option("smbclient rpcclient", r"(?:-U|--user[\s=])\s{0,3}", rf"{_USER}%{_WORD}"),
    _option("plink pscp psftp", r"-pw\s{1,3}", needs="-pw"),
    _option("lftp", r"-u\s{0,3}", r"[^\s\"',]{1,100},(?P<secret>[^\s\"'|;&]{1,200})"),
    _option("htpasswd", r"-[a-zA-Z]{0,6}b[a-zA-Z]{0,6}\s(?:[^\s\[-]\S{0,100}\s){1,2}"),
    _option("sqlplus", "", r"[\w.]{1,60}/(?P<secret>[^\s@/\"']{1,200})@"),
)
"""Options of common commands, from their manuals. Another command needs one row."""

# --- lines of files -----------------------------------------------------------------------------------------

_NO_SPACE = r"[\"']?(?P<secret>[^\s\"'\\]{1,300})"
_IN_QUOTES = r"'(?P<secret>[^'\n]{1,200})'"

FORMATS = (
    # libpq, "The Password File": hostname:port:database:username:password
    _place(
        [":*:", ":5432:", ":5433:", ":6432:"],
        r"(?<=[\w*]):(?:\*|5432|5433|6432):[^\s:/]{1,63}:(?:\\:|[^\s:]){1,63}:(?P<secret>[^\s\"'`\\]{1,200})",
    ),
    # inetutils, ".netrc"
    _place(
        ["machine ", "default "],
        r"(?:machine\s{1,9}\S{1,100}|default)\s{1,9}(?:(?:login|account)\s{1,9}\S{1,100}\s{1,9}){1,2}"
        r"password\s{1,9}(?P<secret>\S{1,200})",
    ),
    # npm, "npmrc": _auth is a pair in Base64, _password a password in Base64
    _place(["_authtoken", "_password"], rf"(?<![\w.-])_(?:authToken|password)\s{{0,3}}=\s{{0,3}}{_NO_SPACE}"),
    # Yarn, "Settings": npmAuthToken
    _place(["npmauth"], rf"npmAuth(?:Token|Ident):\s{{0,3}}{_NO_SPACE}"),
    # Docker, "config.json": auth is a pair in Base64, as it is in npm's _auth and in Basic (RFC 7617)
    _place(["auth"], r"(?i:auth)\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?(?P<secret>[\w+/-]{4,2000}={0,2})", _is_pair),
    _place(
        ["basic"], r"(?i:basic)(?:\s|%20|\+){1,20}\\?[\"']?(?P<secret>[\w+/-]{4,2000}={0,2})", _is_pair, "credentials"
    ),
    _place(["identitytoken", "registrytoken"], rf"(?i:\w{{8}}token)\\?[\"']\s{{0,3}}:\s{{0,3}}{_NO_SPACE}"),
    # Azure, "Configure connection strings"
    _place(
        ["accountkey", "sharedaccess"],
        r"(?i:AccountKey|SharedAccess(?:Key|Signature))\s?=\s?(?P<secret>[^\s;\"'<>{$]{8,500})",
    ),
    # a URL inside a text of JSON, or of another URL
    _place(
        [r":\/\/", "%3a%2f%2f"],
        r"(?i::\\/\\/|%3a%2f%2f)[^\s:/?#@'\"<>\\%]{0,100}(?::|%3[aA])(?P<secret>[^\s/?#'\"<>\\]{1,300}?)(?:@|%40)",
    ),
    # Oracle, "JDBC Thin": user/password@
    _place(["jdbc:oracle:"], r"(?i:jdbc:oracle):\w{1,9}:[^\s/@:]{1,100}/(?P<secret>[^\s/@\"']{1,200})@"),
    # XML: an element, an attribute
    _place(
        ["password>", "passwd>", "passphrase>"],
        r"(?i:password|passwd|passphrase)>\s{0,9}(?P<secret>[^<>\s]{4,200})\s{0,9}</",
    ),
    _place(
        ['password" value', "password' value"],
        r"(?i:password[\"'] value)=[\"'](?P<secret>[^\"'\s]{4,200})[\"']",
    ),
    # Kubernetes, "EnvVar": name and value, each on a line
    *(
        _place(
            [word], rf"(?i:{word})[\"']?,?\s{{1,40}}[\"']?value[\"']?:[ \t]{{0,3}}[\"']?(?P<secret>[^\s\"'\\]{{1,300}})"
        )
        for word in ("password", "passwd", "_pass", "pwd")
    ),
    # SQL, "CREATE USER" and "ALTER USER"
    _place(["identified"], rf"(?i:identified\s{{1,3}}(?:with\s{{1,3}}\w{{1,40}}\s{{1,3}})?by)\s{{1,3}}{_IN_QUOTES}"),
    _place(["with password", "encrypted password"], rf"(?i:with|encrypted)\s(?i:password)\s{{1,3}}{_IN_QUOTES}"),
    # OpenSSL, "Pass Phrase Options"
    _place(
        ["-passin", "-passout", "-pass "], r"-pass(?:in|out)?[\s=]\"?pass:(?P<secret>[^\s\"'|;&]{1,200})", needs="pass:"
    ),
)
"""What a format says to be a password. Each row names its source; another format needs one."""

PLACES = (*COMMANDS, *FORMATS)

# --- passwords by their name and its place ------------------------------------------------------------------

PASSWORD_HINTS = ("pass", "pwd")
PASSWORD = NamedForm(
    re.compile(
        r"(?P<name>(?i:pass(?:word|wd|phrase)?|pwd))\\?[\"']?(?P<sign>[ \t]{0,9}(?:=>|[:=])[ \t]{0,9}|[ \t])"
        r"(?:[bu]?\\?(?P<quote>[\"'])(?P<quoted>[^\"'\n\\]{4,200})\\?(?P=quote)|(?P<plain>[^\s\"'`,;|&<>(){}\[\]\\]{4,200}+))"
    ),
    re.compile(r"p(?:ass(?:word|wd|phrase)?|wd)\b"),
    re.compile(r"[:= \t]"),
    12,
)
"""A word that says password, and what stands behind it."""

_AROUND = 200  # characters of a line
_OPTION = re.compile(r"(?<![\w-])(?:--(?:[\w.-]*[.-])?|-(?!p$)[a-z]*|-D[\w.-]*)$")
_VARIABLE = re.compile(r"(?<![\w.$%{-])(?:[A-Z][A-Z0-9_]*)?$")
_SETS = re.compile(r"[+>-]?[ \t]*(?:- )?(?:env|arg) [\w.-]*$", re.IGNORECASE)
_AT_START = re.compile(r"[+>#-]?(?:export )?[\w.-]*$")
_ALONE = re.compile(r"[+>-]?[ \t]*(?:- )?[\"':]?[\w.-]*$")
_BESIDE_USER = re.compile(
    r"(?:user(?:_?name)?|login|e?mail)[\"']?[ \t]{0,9}(?:=>|[:=])[ \t]{0,9}[\"'][^\s\"']", re.IGNORECASE
)
_VERDICT = re.compile(r"(?:[+>-]|.*[^\s+>-] )?X?")  # the start of a line, or behind a time; not indented, as in YAML
_TEST = re.compile(r"\w+(?:[-./:+]\w+)*")
_SECTION = re.compile(r"[+>-]?\[[\w.:/@ -]+\][ \t]*$")


def is_told_password(match: re.Match[str]) -> bool:
    """Whether a match of :data:`PASSWORD` stands where only a password can."""
    quoted, plain = match["quoted"], match["plain"]
    if not is_password(quoted or plain) or (plain or "").startswith(match["name"]):
        return False
    before = match.string[max(match.start() - _AROUND, 0) : match.start()].rpartition("\n")[2]
    after = match.string[match.end() : match.end() + _AROUND].partition("\n")[0].strip()
    if _is_verdict(match, before):
        return False
    if _OPTION.search(before):
        return match["sign"] in {" ", "="} and (quoted or plain).lower() not in _PROSE
    if match["name"].isupper() and _VARIABLE.search(before):
        return match["sign"] == "=" or bool(_SETS.match(before)) or (bool(match["sign"].strip()) and not after)
    if not match["sign"].strip() or _is_label(quoted or plain):
        return False
    if quoted:
        is_alone = _ALONE.match(before) and after in {"", ",", ";"}
        return bool(is_alone or _BESIDE_USER.search(before) or _BESIDE_USER.search(after))
    return not after and (_is_line_of_file(match, before) or _is_below_section(match, before))


def _is_verdict(match: re.Match[str], before: str) -> bool:
    """Whether a harness says of a test that it passed: ``PASS: gcc.dg/pr12345-2.c``, as automake and DejaGnu do."""
    name = match["plain"] or ""
    is_test = _TEST.fullmatch(name) is not None and not name.isalnum()
    is_pass = match["name"] in {"PASS", "Pass"} and match["sign"].strip() == ":"
    return is_pass and is_test and _VERDICT.fullmatch(before) is not None


def _is_label(value: str) -> bool:
    """Whether a text is for people, as translations and messages are, or a name as in code."""
    is_name = value.replace(" ", "").isalpha() and not value.islower()
    return not value.isascii() or is_name or not _PROSE.isdisjoint(value.lower().split())


def _is_line_of_file(match: re.Match[str], before: str) -> bool:
    """Whether a line of a file of settings gives it: ``db.password=X`` from its start on, or ``password: X``."""
    if match["sign"] == "=":
        return _AT_START.match(before) is not None
    return match["sign"].strip() == ":" and _ALONE.match(before) is not None


def _is_below_section(match: re.Match[str], before: str) -> bool:
    """Whether it stands below the ``[section]`` of a file, as in ``.pypirc``."""
    above = match.string[max(match.start() - 3 * _AROUND, 0) : match.start() - len(before)].split("\n")[-6:-1]
    return _ALONE.match(before) is not None and any(map(_SECTION.match, above))
