"""A credential and where it stands, and whether a value is one: drawn by a machine, or a password of words."""

import base64
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

# --- any word may be a password, except what is written in its stead -----------------------------------------

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
    r"|stdin|bytes|bool(?:ean)?|number|object|char|any|abc(?:d(?:ef)?)?|qwerty|12345?6?7?8?9?0?|an|my|me|it|s3|a|\d{1,3}(?![a-z\d]))[-_.]*+)++)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+\.?|[\w.-]*:?//.*|[./~\\].*|-.*|[a-z0-9_.-]+(?:/[a-z0-9_.-]+)+"
)


def is_password(value: str) -> bool:
    """Whether a word where a password belongs is one: no template, no reference, not made up for an example."""
    return not (_TEMPLATE.match(value) or _ELSEWHERE.fullmatch(value) or any(map(_EXAMPLE.fullmatch, value.split())))


# --- a credential that a machine drew, or that a person made hard to guess -----------------------------------

_PLACEHOLDER = re.compile(
    r"change[-_ ]?(me|it|this)|replace|your|example|sample|dummy|fake|mock|test|todo|fixme|placeholder|insert|redact|"
    r"hidden|masked|secret|passw|pwd|credential|token|xxx|\*\*\*|\.\.\.|foo|bar(?!\w*\d)|baz|null|none|undefined|default|"
    r"lorem|qwert|12345|abcd1234|abcdef|deadbeef|notreal|invalid|unused|supersafe|admin|postgres|guest|root|\$\{|\{\{|%\(|\$\(|"
    r"^[$@<\[{]|^%(?:[({<\[]|[a-z]?$|.*%$)|^env[.:]|^(vault|ssm|op|sops|arn|aws-sm|kms|keyring|file|ref|enc):|^ENC\[|environ|getenv|process\.env",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"^[A-Za-z_]\w*([.:]+[A-Za-z_]\w*)+$|^[a-z]+://|^[./~]|^[A-Z][A-Z0-9_]+$|^[a-z0-9]+(-[a-z]+)+$")
_KINDS = tuple(re.compile(kind) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w]"))
_FOR_READERS = re.compile(r"[^\0-\u024f]|\\u[0-9a-fA-F]{4}")  # of another script, as in a translation
_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile(r"\d")


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder: an example, a template, a reference to a vault."""
    return _PLACEHOLDER.search(value) is not None


def is_credential(value: str) -> bool:
    """Whether a value is hard to guess, and not a word, name, path or template."""
    if not 8 <= len(value) <= 200 or any(character.isspace() for character in value):
        return False
    if not _DIGIT.search(value) or is_placeholder(value) or _FOR_READERS.search(value):
        return False
    if _REFERENCE.search(value) and not _is_seed(value):
        return False
    return sum(bool(kind.search(value)) for kind in _KINDS) >= 2 and measure_entropy(value) >= 2.75


_SEED = re.compile(r"(?=[A-Z]*[2-7]+[A-Z])[A-Z2-7]+={0,6}")
_SEED_LENGTHS = frozenset({16, 26, 32, 52, 56, 64})
"""Characters of 10, 16, 20, 32, 35 and 40 bytes in Base32 (RFC 4648, 6), as RFC 4226, RFC 6238 and common generators
have them."""
_OF_EXAMPLES = "JBSWY3DP"


def _is_seed(value: str) -> bool:
    """Whether a value that looks like a constant's name is what a machine drew for one-time passwords."""
    bare = value.rstrip("=")
    if not _SEED.fullmatch(value) or len(bare) not in _SEED_LENGTHS or bare.startswith(_OF_EXAMPLES):
        return False
    return not base64.b32decode(bare + "=" * (-len(bare) % 8)).isascii()


_STANDS_FOR_ONE = re.compile(
    r"^[$@<\[{*.!#]|^%(?:[({<\[]|[a-z]?$|.*%$)|\$\{|\{\{|%\(|\$\(|^[a-z]+://|^(?:vault|ssm|op|sops|env|file|ref|enc):|^ENC\[",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z_$][\w$-]*(?:(?:\.|::|->)[A-Za-z_$][\w$-]*)+|[A-Za-z_$-]+\d{0,3}")
_PATH = re.compile(r"[a-z0-9_.~-]*(?:/[a-z0-9_.-]+)+/?")
_KINDS_OF_QUOTED = (_LETTER, _DIGIT, re.compile(r"[^\w.,()\[\]-]"))


def is_mixed(value: str, *, quoted: bool) -> bool:
    """Whether a value is more than a word: of two kinds of characters in quotes, without them like one drawn."""
    if _STANDS_FOR_ONE.search(value) or _PATH.fullmatch(value) or len(value) < 6:
        return False
    if quoted:
        return not re.search(r"[\s\\]", value) and sum(bool(kind.search(value)) for kind in _KINDS_OF_QUOTED) >= 2
    if not _DIGIT.search(value) or not _LETTER.search(value) or _NAME.fullmatch(value):
        return False
    return "=" not in value.rstrip("=") and len(value) >= 8 and measure_entropy(value) >= 2.75


_SNAKE = re.compile(r"[a-z]{1,20}\d{0,2}[a-z]{0,20}(?:_[a-z]+\d{0,2})+")


def is_opaque(value: str) -> bool:
    """Whether a value is more than a word or a name: digits among letters, or Base64."""
    if len(value) < 8 or value.isdigit() or _SNAKE.fullmatch(value):
        return False
    if any(c.isdigit() for c in value) or any(c in "+=" for c in value):
        return True
    return len(value) >= 20 and value.isalpha() and measure_entropy(value) >= 3.9


def measure_entropy(value: str) -> float:
    """The bits a character carries."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


# --- what is encoded ----------------------------------------------------------------------------------------


def decode(value: str) -> str:
    """The text that a value is in Base64; empty if it is none."""
    try:
        bare = value.rstrip("=")
        text = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode()
    except ValueError:
        return ""
    return text if text.isprintable() else ""


def read_pair(value: str) -> str:
    """The password of ``user:password`` in Base64 (RFC 7617); empty if a value is none."""
    user, colon, password = decode(value).partition(":")
    return (password or user) if colon and is_password(password or user) else ""


class Credential(NamedTuple):
    """A credential in a text.

    :param kind: its name for people.
    :param start: where it begins, as characters of the text.
    :param end: where it ends.
    :param value: the credential itself, decoded.
    :param drawn: whether it is hard to guess, as what a machine drew; a password of words is not.
    :param literal: whether it is no expression even in code: it has quotes, or its place is not one of code.
    """

    kind: str
    start: int
    end: int
    value: str
    drawn: bool
    literal: bool = True


@dataclass(frozen=True, slots=True)
class CredentialPlace:
    """A place where a credential stands.

    :param hints: lower-case texts, one of which is in every text with a match.
    :param needs: a lower-case text that is rarer, and in every match, too.
    :param starts: where a match may start, in a text in lower case. Much quicker than trying everywhere without case.
    :param read: the credential in a match, or nothing.
    """

    hints: tuple[str, ...]
    starts: re.Pattern[str]
    expression: re.Pattern[str]
    read: Callable[[re.Match[str]], Credential | None]
    needs: str = ""

    def find(self, text: str) -> Iterator[Credential]:
        """The credentials at this place, from the first on."""
        low = fold_case(text)
        if self.needs not in low:
            return
        ended = 0
        for start in self.starts.finditer(low):
            match = self.expression.match(text, start.start()) if start.start() >= ended else None
            if match and (found := self.read(match)):
                ended = found.end
                yield found


@lru_cache(maxsize=1)
def fold_case(text: str) -> str:
    """A text in lower case, of the same length; what an expression takes for a letter of ASCII becomes one."""
    return text.replace("İ", "i").replace("ı", "i").replace("ſ", "s").lower()
