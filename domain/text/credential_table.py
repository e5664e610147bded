"""The table of places where a credential stands: beside its name, in an option of a command, in a line of a file.

Both uses follow it: redaction masks whatever it finds, a review reports what is drawn. Credentials that tell by their
letters alone what they are stand in ``credential_shapes``.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from domain.text.credential_names import NAMES
from domain.text.credential_values import (
    Credential,
    CredentialPlace,
    decode,
    fold_case,
    is_credential,
    is_opaque,
    is_password,
    read_pair,
)

# --- options of commands ------------------------------------------------------------------------------------


def _read_word(value: str) -> str:
    return value if is_password(value) else ""


def _place(
    hints: Sequence[str],
    expression: str,
    read: Callable[[str], str] = _read_word,
    kind: str = "password",
    needs: str = "",
    starts: str = "",
) -> CredentialPlace:
    """A row of a table.

    :param hints: one of them begins every match, unless ``starts`` says what does.
    :param expression: its group ``secret`` is the credential.
    :param read: the password in it, which may be encoded; empty if it is none.
    """

    def find(match: re.Match[str]) -> Credential | None:
        value = read(match["secret"])
        return Credential(kind, *match.span("secret"), value, is_credential(value)) if value else None

    begins = re.compile(starts or "|".join(map(re.escape, hints)), re.MULTILINE)
    return CredentialPlace(tuple(hints), begins, re.compile(expression), find, needs)


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
_TEXT = r"[\"'][^\"'\n]{1,200}[\"']"
_CALLS = [
    "basicauth(",
    "basic_auth(",
    "getconnection(",
    "credential(",
    "authentication(",
    "connect(",
    ".login(",
    "auth=(",
    "bind_s(",
    "pdo(",
]
_IN_QUOTES = r"'(?P<secret>[^'\n]{1,200})'"


def _read_base64(value: str) -> str:
    return _read_word(decode(value) or value)


def _read_opaque(value: str) -> str:
    return value if is_opaque(value) else ""


def _read_kubernetes(match: re.Match[str]) -> Credential | None:
    """A value of a Secret: one below ``data`` or ``stringData``, in the same document as its kind."""
    text, indent = match.string, match["indent"]
    above = text[: match.start()].rpartition("\n---")[2].split("\n")
    parent = next((line.strip() for line in reversed(above) if line.strip() and not line.startswith(indent)), "")
    document = text[match.start() - len("\n".join(above)) :].partition("\n---")[0]
    if parent not in {"data:", "stringData:"} or not re.search(r"^kind:[ \t]*[\"']?Secret\b", document, re.MULTILINE):
        return None
    value = match["secret"] if parent == "stringData:" else decode(match["secret"])
    return Credential("password", *match.span("secret"), value, is_credential(value)) if is_password(value) else None


FORMATS = (
    # RFC 9110, "Authorization"
    _place(
        ["authorization"],
        r"(?i:authorization)[\"']?\]?\s{0,3}(?:[:=]|,(?=[^\n]{0,6}(?i:bearer|basic|token|digest|negotiate)\s))\s{0,3}"
        r"b?[\"']?(?i:(?:bearer|basic|token|digest|negotiate)\s{1,3})?"
        r"(?P<secret>[\w.~+/=-]{8,})",
        _read_opaque,
        "credentials",
    ),
    _place(
        ["bearer", "basic"],
        r"(?<!\w)(?i:bearer|basic)(?:\s{1,3}|%20)(?P<secret>[\w.~+/-]{12,}={0,2})",
        _read_opaque,
        "credentials",
    ),
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
    _place(["_authtoken"], rf"_authToken\s{{0,3}}=\s{{0,3}}{_NO_SPACE}"),
    _place(["_password"], rf"(?<![\w.-])_password\s{{0,3}}=\s{{0,3}}{_NO_SPACE}", _read_base64),
    # Yarn, "Settings": npmAuthToken
    _place(["npmauth"], rf"npmAuth(?:Token|Ident):\s{{0,3}}{_NO_SPACE}"),
    # Docker, "config.json": auth is a pair in Base64, as it is in npm's _auth and in Basic (RFC 7617)
    _place(["auth"], r"(?i:auth)\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?(?P<secret>[\w+/-]{4,2000}={0,2})", read_pair),
    _place(["basic"], r"(?i:basic)(?:\s|%20|\+){1,20}\\?[\"']?(?P<secret>[\w+/-]{4,2000}={0,2})", read_pair),
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
    # SQL, "CREATE USER" and "ALTER USER"
    _place(["identified"], rf"(?i:identified\s{{1,3}}(?:with\s{{1,3}}\w{{1,40}}\s{{1,3}})?by)\s{{1,3}}{_IN_QUOTES}"),
    _place(["with password", "encrypted password"], rf"(?i:with|encrypted)\s(?i:password)\s{{1,3}}{_IN_QUOTES}"),
    # chpasswd(8); Go, the names of data sources of MySQL
    _place(
        ["chpasswd"],
        r"[\"']?[\w.-]{1,60}:(?P<secret>[^\s:\"'|]{4,200})[\"']?[ \t]{0,3}\|[^\n|]{0,40}chpasswd",
        starts=r"(?<=echo )",
    ),
    _place(["@tcp(", "@unix("], r":(?P<secret>[^\s:/@\"']{1,200})@(?:tcp|unix)\(", starts=":"),
    # redis.conf, ldap.conf, nslcd.conf
    _place(["requirepass", "masterauth", "bindpw"], rf"\w{{6,11}}[ \t]{{1,9}}{_NO_SPACE}[ \t]*(?=\n|$)"),
    # PowerShell
    _place(
        ["securestring"],
        r"SecureString\s{1,3}(?:-String\s{1,3})?[\"'](?P<secret>[^\"'\n$]{1,200})[\"']",
        starts="securestring",
    ),
    # calls with an address, a user and a password, each in quotes
    _place(
        _CALLS,
        rf"[\w.=]{{3,30}}\((?:{_TEXT},\s{{0,20}})?{_TEXT},\s{{0,20}}[\"'](?P<secret>[^\"'\\\n]{{4,200}})[\"']",
    ),
    CredentialPlace(
        ("kind: secret", 'kind: "secret'),
        re.compile(r"^[ \t]+(?!user)[\w.-]+:", re.MULTILINE),
        re.compile(r"(?P<indent>[ \t]+)[\w.-]+:[ \t]*[\"']?(?P<secret>[^\s\"'|>&*!]{4,4000})[\"']?[ \t]*(?=\n|$)"),
        _read_kubernetes,
    ),
    # OpenSSL, "Pass Phrase Options"
    _place(
        ["-passin", "-passout", "-pass "], r"-pass(?:in|out)?[\s=]\"?pass:(?P<secret>[^\s\"'|;&]{1,200})", needs="pass:"
    ),
)
"""What a format says to be a password. Each row names its source; another format needs one."""

PLACES = (*NAMES, *COMMANDS, *FORMATS)


def find_placed(text: str) -> Iterator[Credential]:
    """Every credential that its place tells, place by place; two may overlap."""
    low = fold_case(text)
    for place in PLACES:
        if any(hint in low for hint in place.hints):
            yield from place.find(text)
