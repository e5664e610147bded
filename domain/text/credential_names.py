"""Finds a credential beside a name of its own, such as ``password``, in any syntax.

A name, what joins them, and a value: one grammar reads code, settings, XML, shells and logs. What joins them decides
how much the value must tell: what a machine drew is a credential wherever it has such a name, and any word only where
nothing but a password can stand.
"""

import re

from domain.text.credential_values import Credential, CredentialPlace, is_credential, is_mixed, is_password

_JOINS = r"""
    (?:
        # a type and a sign: "password: str =", "password As String =", "Password { get; set; } =", "PASSWORD :="
        (?: [ \t]?:[ \t]?[&'\w.<>?\[\]|]{1,40}(?=[ \t]?=)
        |   [ \t](?:As[ \t])?[\w.]{1,20}(?=[ \t]=)
        |   \[\d{0,6}\]
        |   [ \t]?\{[ \t]?get;[^}\n]{0,20}\}
        )?
        (?:[ \t]{0,30}|\s{0,4})
        (?P<sign>:=|=>|<-|={1,3}|!==?|\|\|=?|\?\?=?|:-|:)
        (?:[ \t]{0,30}|\s{0,4})
        # the variable of Kubernetes, Terraform, XML: a name, then "value"
    |   [\s,{]{1,40}(?:(?:type|description|sensitive)[ \t]*=[^\n]{0,80}\s{1,20}){0,3}
        ["']?(?P<pair>value|default)["']?[ \t]{0,9}[:=][ \t]{0,9}
        # <password>X
    |   (?P<element>>)\s{0,9}
        # setPassword("X"), password.equals("X"), define('PASSWORD', 'X')
    |   (?P<call>(?:\.equals)?\(|(?P<quoted_name>(?<=["']),))\s{0,4}(?=[bBuUrRL@]?\\?["'`])
        # The password is: X
    |   (?P<prose>[ \t](?:is|was|for[ \t][^\s:]{1,60})(?::[ \t]|[ \t]))
    |   (?P<space>[ \t]{1,9})
    )
"""
_NAMED = re.compile(
    rf"""
    (?P<name>(?i:pass(?:word|wd|phrase|code)?|pwd|pw|psk|contrase[nñ]a|secret|token|(?<=[a-z_-])key|(?<=[a-z_-])seed)[\w-]{{0,60}}+)
    \\?["'`]?\]?{_JOINS}
    (?:[bBuUrRL@]?\\?(?P<quote>["'`])(?P<quoted>(?:(?!\\?(?P=quote))[^\n]){{4,300}})\\?(?P=quote)
    |  (?P<plain>[^\s"'`,;|&<>(){{}}\[\]\\]{{4,300}}+))
    """,
    re.VERBOSE,
)
_REST = re.compile(r"[^\s\"'`]{0,200}+(?=[ \t]*$)", re.MULTILINE)

_KEYED = "api|auth|access|account|private|priv|client|service|secret|db|database|encryption|signing"
_PASSWORD_NAME = re.compile(
    r"(?:password|(?<!ht)passwd|passphrase|passcode|pwd|contrase[nñ]a|(?:^|[^a-z]|(?-i:(?<=[a-z])(?=P))|db|key|root|require|store)pass"
    r"|(?:^|[^a-z]|(?-i:(?<=[a-z])(?=P))|bind|root)pw|(?:^|[^a-z])psk)[\d_]*$",
    re.IGNORECASE,
)
_KEY_NAME = re.compile(
    rf"(?:secret|(?:{_KEYED})[_-]?key|(?:^|[^a-z]|(?-i:(?<=[a-z])(?=T)))token|(?:otp|mfa|2fa|factor)[_-]?seed)[\d_]*$",
    re.IGNORECASE,
)
_LONGER_NAME = re.compile(
    rf"passw(?:ord|d)|passphrase|pwd|contrase[nñ]a|secret|(?:{_KEYED})_?key|(?:db|database|key)_?pass",
    re.IGNORECASE,
)
_NOT_THE_VALUE = (
    "name|names|rule|rules|ref|refs|id|ids|path|file|folder|dir|field|fields|policy|url|uri|arn|type|hint"
    "|label|prompt|title|text|message|msg|error|help|regex|pattern|format|placeholder|env|var|variable|hash"
    "|hashed|digest|checksum|salt|fingerprint|version|header|prefix|suffix|selector|column|input|form|provider"
    "|manager|store|class|method|algorithm|encoding|kind|rotation|usage|param|attr|attribute|keyring|ring"
    "|identifier|resource|reset|link|route|endpoint|scope|status|state"
)
_METADATA = re.compile(
    rf"(?:{_LONGER_NAME.pattern})s?(?:{_NOT_THE_VALUE}|sha\d*|public\w*)$"
    rf"|[_.\-](?:{_NOT_THE_VALUE}|sha\d*|public\w*)$"
    rf"|(?-i:[a-z\d](?:{_NOT_THE_VALUE.title()}|Sha\d*|Public\w*)$)",
    re.IGNORECASE,
)
_CALL = re.compile(r"\w[(\[]|^[(\[{<]|[)\]}>]$")
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")  # Forge's ids: one in 32,768 ends with PWD
_TOKEN = re.compile(r"token[\d_]*$", re.IGNORECASE)
_SHORTEST_TOKEN = 16
_AROUND = 200  # characters of a line
_IDENTIFIER = re.compile(r"[\w-]*$")


def _read_named(match: re.Match[str]) -> Credential | None:
    """The value behind a name, if the name, the value and what joins them say that it is a credential."""
    before = match.string[max(match.start() - _AROUND, 0) : match.start()].rpartition("\n")[2]
    if match["quoted_name"] and not _FIRST_ARGUMENT.search(before):
        return None  # a list of names
    if match["space"] and not (_ALONE.match(before) or _OPTION.search(before) or _SETS.match(before)):
        return None  # prose
    name = before[_IDENTIFIER.search(before).start() :] + match["name"]  # pyrefly: ignore[missing-attribute]  # at the end it always matches
    is_password_name = _PASSWORD_NAME.search(name) is not None
    if not is_password_name and not _KEY_NAME.search(name) and not _LONGER_NAME.search(name):
        return None
    found = _read_value(match)
    if found is None or _ULID.fullmatch(name) or "public" in name.lower():
        return None
    value, is_drawn = found.value, found.drawn
    if _TOKEN.search(name) and len(value) < _SHORTEST_TOKEN:
        is_drawn = False  # a lexer has tokens such as "variable-2"
    if _is_verdict(match, before):
        return None
    if match["space"] or match["prose"]:
        is_one = is_drawn and bool(match["space"] or _ALONE.match(before))
    elif is_password_name or _KEY_NAME.search(name):
        is_value = match["sign"] in {":=", "=>", ":", "="} and is_mixed(value, quoted=found.literal)
        is_one = is_drawn or is_value or _in_connection_string(match, before)
    else:
        is_one = is_drawn and not match["quoted_name"] and not _METADATA.search(name)
        is_drawn = is_drawn and not match["call"]  # check_password_strength("…") takes any text
    if is_one or (is_password_name and is_password(value) and _is_told(match, value, before)):
        return found._replace(drawn=is_drawn)
    return None


def _read_value(match: re.Match[str]) -> Credential | None:
    """The value in quotes; or without them, what may be one whole: no call, no comparison."""
    if match["quote"]:
        return Credential("password", *match.span("quoted"), match["quoted"], is_credential(match["quoted"]))
    value, (start, end) = match["plain"], match.span("plain")
    rest = _REST.match(match.string, end) if match["sign"] else None
    if rest and rest[0].rstrip(",;") and "=" not in rest[0] and is_credential(value + rest[0]):
        value, end = value + rest[0].rstrip(",;"), end + len(rest[0].rstrip(",;"))
    if _CALL.search(value) or match.string[end : end + 2].lstrip()[:1] in {"(", "|", "[", "="}:
        return None
    is_literal = not match["sign"] or _in_connection_string(
        match, match.string[max(start - _AROUND, 0) : match.start()]
    )
    return Credential("password", start, end, value, is_credential(value), is_literal)


_NEIGHBOUR = re.compile(
    r"(?:^|[\s;&?])(?:host|hostaddr|server|data source|port|dbname|database|initial catalog|user|user id|uid|username|"
    r"endpoint|sslmode|accountname)\s?=\s?[^\s=]",
    re.IGNORECASE,
)


def _in_connection_string(match: re.Match[str], before: str) -> bool:
    """Whether the line has other parts of a connection string: host=, user=, a query."""
    if match["sign"] != "=" or match["quote"] or len(match["plain"]) < 6 or not is_password(match["plain"]):
        return False
    if "://" in before and re.search(r"[?&][\w.-]{0,40}$", before):
        return True  # the query of a URL
    after = match.string[match.end() : match.end() + _AROUND].partition("\n")[0]
    in_a_call = re.search(r"[,(]\s*[\w.-]{0,40}$", before) is not None or after[:1] in (",", ")")
    return not in_a_call and bool(_NEIGHBOUR.search(before) or _NEIGHBOUR.search(after))


_PROSE_WORDS = """
    a an the and or is are was for from in into of on to with via by as at if when where which that this it can may must
    should will be has have not only instead option options flag flags argument parameter
"""
_PROSE = frozenset(_PROSE_WORDS.split())
_FIRST_ARGUMENT = re.compile(r"\w\(\s*[\"'][\w.-]*$")
_BESIDE = re.compile(r"[^(]*(?:^|[\s,;{])[\w.:]+=[^\s,;=()'\"]+(?:[ ;]|, ?)$")
_OPTION = re.compile(r"(?<![\w-])(?:--(?:[\w.-]*[.-])?|-(?!p$)[a-z]*|-D[\w.-]*)$")
_ARGUMENT = re.compile(r"(?:^|\s)--?[\w-]+[ =]?[\"']?(?:[\w.-]+=[^\s,\"']*,)*[\w.-]*$|\$\{\w*$")
_VARIABLE = re.compile(r"(?<![\w.$%{-])(?:[A-Z][A-Z0-9_]*)?$")
_SETS = re.compile(r"[+>-]?[ \t]*(?:- )?(?:env|arg|[\w ]*set) [\w.-]*$", re.IGNORECASE)
_AT_START = re.compile(r"[+>#-]?(?:export )?[\w.-]*$")
_ALONE = re.compile(r"[+>-]?[ \t]*(?:- )?[\"':]?[\w.-]*$")
_SETTER = re.compile(r"(?:\.|\b(?i:set|with)_?|(?i:define|env|fetch|put|set\w*)\([\"'][\w.]*|[\"'][A-Z_]*)$")
_VERDICT = re.compile(r"(?:[+>-]|.*[^\s+>-] )?X?")  # the start of a line, or behind a time; not indented, as in YAML
_TEST = re.compile(r"\w+(?:[-./:+]\w+)*")
_SECTION = re.compile(r"[+>-]?\[[\w.:/@ -]+\][ \t]*$")


def _is_told(match: re.Match[str], value: str, before: str) -> bool:
    """Whether a word stands where only a password can."""
    after = match.string[match.end() : match.end() + _AROUND].partition("\n")[0].strip()
    sign = match["sign"] or match["space"] or ""
    between = match.string[match.end("name") : match.start("quote" if match["quote"] else "plain")]
    is_text = between[0] in "\"'" and not re.search(r"[\"'][\w.:-]*$", before)  # the last of several words in quotes
    if (
        value.startswith(match["name"])
        or value.lower().endswith(match["name"].lower())
        or ("\n" in between and not match["pair"])
        or is_text
    ):
        return False
    if match["pair"] or match["element"]:
        return _is_told_in_xml(match, value, before, after)
    if _OPTION.search(before):
        return (sign == "=" or bool(match["space"])) and value.lower() not in _PROSE
    if match["space"] and not _SETS.match(before):
        return bool(match["quote"] and _ALONE.match(before)) and not after and not _is_label(value)
    if match["prose"]:
        return match["prose"].endswith(": ") and not after and not _is_label(value)
    if match["quote"]:
        is_set = not match["call"] or ".equals" in match["call"] or _SETTER.search(before) is not None
        is_one = " " not in value or (
            _ALONE.fullmatch(before) and not before.strip("+> \t\"'-") and after in {"", ",", ";"}
        )
        return bool(is_set and is_one) and not _is_label(value) and not between.startswith(('" :', "' :"))
    return _is_told_without_quotes(match, value, before, after)


def _is_told_in_xml(match: re.Match[str], value: str, before: str, after: str) -> bool:
    if match["element"]:
        return bool(re.search(r"[<.:]$", _IDENTIFIER.sub("", before))) and after.startswith("</")
    return not _is_label(value) and bool(match["quote"] or not after)


def _is_told_without_quotes(match: re.Match[str], value: str, before: str, after: str) -> bool:
    between = match.string[match.end("name") : match.start("plain")].strip("\"'\\`")
    beside = _BESIDE.match(_IDENTIFIER.sub("", before))
    if between in {"=", ":-", ":="} and (beside or _ARGUMENT.search(before)):
        return True
    if match["name"].isupper() and _VARIABLE.search(before):
        return between == "=" or bool(_SETS.match(before)) or not after
    if _is_label(value) or (after and not after.startswith("#")):
        return False
    if between == "=":
        return _AT_START.match(before) is not None
    is_alone = _ALONE.match(before) is not None
    return is_alone and (between.strip() == ":" or _is_below_section(match, before))


def _is_verdict(match: re.Match[str], before: str) -> bool:
    """Whether a harness says of a test that it passed: ``PASS: gcc.dg/pr12345-2.c``, as automake and DejaGnu do."""
    name = match["plain"] or ""
    is_test = _TEST.fullmatch(name) is not None and not name.isalnum()
    is_pass = match["name"] in {"PASS", "Pass"} and match["sign"] == ":"
    return is_pass and is_test and _VERDICT.fullmatch(before) is not None


def _is_label(value: str) -> bool:
    """Whether a text is for people, as translations and messages are, or a name as in code."""
    is_name = value.replace(" ", "").isalpha() and not value.islower()
    return not value.isascii() or is_name or not _PROSE.isdisjoint(value.lower().split())


def _is_below_section(match: re.Match[str], before: str) -> bool:
    """Whether it stands below the ``[section]`` of a file, as in ``.pypirc``."""
    above = match.string[max(match.start() - 3 * _AROUND, 0) : match.start() - len(before)].split("\n")[-6:-1]
    return any(map(_SECTION.match, above))


NAMED = CredentialPlace(
    ("pass", "pwd", "pw", "psk", "contrase", "secret", "token", "key", "seed"),
    re.compile(r"pass|pw|psk|contrase|secret|token|(?<=[a-z_-])(?:key|seed)"),
    _NAMED,
    _read_named,
)


_COMPARED = re.compile(r"[!=]==?[ \t]{0,30}(?P<name>[\w.]{3,60})")
_BEFORE_SIGN = re.compile(r"(?P<quote>[\"'`])(?P<secret>[^\"'`\s]{8,200})(?P=quote)[ \t]{0,30}$")


def _read_compared(match: re.Match[str]) -> Credential | None:
    """A credential before the name it is compared with."""
    at = max(match.start() - 2 * _AROUND, 0)
    value = _BEFORE_SIGN.search(match.string[at : match.start()]) if _LONGER_NAME.search(match["name"]) else None
    if value is None or not is_credential(value["secret"]):
        return None
    return Credential("password", at + value.start("secret"), at + value.end("secret"), value["secret"], drawn=True)


NAMES = (NAMED, CredentialPlace(("==", "!="), re.compile(r"[!=]==?[ \t]*[\w.]"), _COMPARED, _read_compared))
"""Beside its name, and before it: ``"…" == password``."""
