"""Finds credentials in added lines: known token formats from detect-secrets, and guesses from the name of a variable.

Entropy detectors are left out: on real changes they mostly report hashes, ids and test data. What is found never
leaves this module; a hit says where and of what kind.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from detect_secrets.filters import heuristic
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.keyword import CONFIG_DENYLIST_REGEX_TO_GROUP, REGEX_BY_FILETYPE, KeywordDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.util.filetype import determine_file_type

from agents.checks.paths import is_configuration, is_machine_made, is_test_or_document


@dataclass(frozen=True)
class Hit:
    """Where something was found: its kind, e.g. ``github-token``, and the 1-based line at head.

    ``mark`` is the same where the same credential is: sixteen bits of its digest, too few to find it by.
    """

    kind: str
    line: int
    mark: str


@dataclass(frozen=True)
class Format:
    """A credential that can be told by its shape.

    :param kind: last part of the rule id.
    :param hints: lower-case texts of which one is in every line that matches; a cheap test before the expressions.
    :param expressions: the first group, if there is one, is the credential.
    """

    kind: str
    hints: tuple[str, ...]
    expressions: tuple[re.Pattern[str], ...]


def _known(detector: type[RegexBasedDetector]) -> list[re.Pattern[str]]:
    return list(cast(Any, detector).denylist)


_AWS_ID, _AWS_SECRET = _known(AWSKeyDetector)


def _format(kind: str, hints: str, expressions: Iterable[str | re.Pattern[str]]) -> Format:
    return Format(kind, tuple(hints.split()), tuple(re.compile(item) for item in expressions))


FORMATS: tuple[Format, ...] = (
    _format("aws-access-key", "akia asia abia acca a3t", [_AWS_ID]),
    _format("aws-secret-key", "aws", [_AWS_SECRET]),
    _format("azure-storage-key", "accountkey=", _known(AzureStorageKeyDetector)),
    _format(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        [*_known(GitHubTokenDetector), r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"],
    ),
    _format("gitlab-token", "gl gr1348941", _known(GitLabTokenDetector)),
    _format("slack-token", "xox hooks.slack.com xapp-", [*_known(SlackDetector), r"xapp-\d-\w+-\d+-\w{32,}"]),
    _format("stripe-key", "_live_", [r"[rs]k_live_[0-9a-zA-Z]{24,}", *_known(StripeDetector)]),
    _format("jwt", "eyj", [r"eyJ[\w=-]+\.eyJ[\w=-]+\.[\w.+/=-]+"]),
    _format("npm-token", "_authtoken npm_", [*_known(NpmDetector), r"npm_[A-Za-z0-9]{36}"]),
    _format("openai-key", "t3blbkfj", _known(OpenAIDetector)),
    _format("anthropic-key", "sk-ant-", [r"sk-ant-[a-z]+\d\d-[\w-]{80,}"]),
    _format("pypi-token", "pypi-age", _known(PypiTokenDetector)),
    _format("sendgrid-key", "sg.", _known(SendGridDetector)),
    _format("square-secret", "sq0csp-", _known(SquareOAuthDetector)),
    _format("mailchimp-key", "-us", _known(MailchimpDetector)),
    # The detector's own expression for Twilio also matches account ids, which are public.
    _format("twilio-key", "sk", [r"SK[0-9a-f]{32}"]),
    _format("telegram-token", ":aa", [r"\d{8,10}:AA[0-9A-Za-z_-]{33}"]),
    _format("discord-token", "discord", _known(DiscordBotTokenDetector)),
    _format("google-oauth-secret", "gocspx-", [r"GOCSPX-[A-Za-z0-9_-]{28}"]),
    _format("digitalocean-token", "do", [r"do[op]_v1_[a-f0-9]{64}"]),
    _format("hugging-face-token", "hf_", [r"hf_[A-Za-z]{34}"]),
)
_KEYWORD = KeywordDetector()
_WINDOW, _OVERLAP = 5000, 500
_KEYWORD_LINE = 500
_PART_OF_MORE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/_")

_PLACEHOLDER = re.compile(
    r"change[-_ ]?(me|it|this)|replace|your|example|sample|dummy|fake|mock|test|todo|fixme|placeholder|insert|redact|"
    r"hidden|masked|secret|passw|pwd|credential|token|xxx|\*\*\*|\.\.\.|foo|bar(?!\w*\d)|baz|null|none|undefined|default|"
    r"lorem|qwert|12345|abcdef|deadbeef|notreal|invalid|unused|supersafe|admin|postgres|guest|root|\$\{|\{\{|%\(|\$\(|"
    r"^[$@<\[{%]|^env[.:]|^(vault|ssm|op|sops|arn|aws-sm|kms|keyring|file|ref|enc):|^ENC\[|environ|getenv|process\.env",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"^[A-Za-z_]\w*([.:]+[A-Za-z_]\w*)+$|^[a-z]+://|^[./~]|^[A-Z][A-Z0-9_]+$|^[a-z0-9]+(-[a-z]+)+$")
_NAME = re.compile(
    r"(?P<name>[\w.\-]*(?:api_?key|auth_?key|service_?key|account_?key|db_?key|priv(?:ate)?_?key|client_?key|"
    r"pass(?:word|wd|phrase)|db_?pass|pwd|secret)\w*)",
    re.IGNORECASE,
)
_KEYWORDS = ("key", "pass", "pwd", "secret")
_NOT_THE_VALUE = re.compile(
    r"(name|names|rules?|ref|refs|id|ids|path|file|folder|dir|field|fields|policy|url|uri|arn|length|len|size|min|max|age|ttl|"
    r"type|hint|label|prompt|title|text|message|msg|error|help|regex|pattern|format|placeholder|env|var|variable|"
    r"enabled|required|hash|hashed|digest|checksum|salt|sha\d*|fingerprint|version|header|prefix|suffix|selector|"
    r"column|input|form|provider|manager|store|class|method|algorithm|encoding|kind|count|rotation|usage|param|attr|"
    r"attribute|key_?ring|public\w*|identifier|input|resource|reset|link|route|endpoint|scope|status|state|index)$",
    re.IGNORECASE,
)
_BASIC = re.compile(
    r"[a-z][a-z0-9+.-]{0,20}://([^\s:/?#@'\"<>{}$\[\]`,;()]+):([^\s:/?#@'\"<>`]+)@([\w.-]+)", re.IGNORECASE
)
_LOCAL = re.compile(
    r"^(localhost|127\.|0\.0\.0\.0|host|[\w-]+$|.*\.(local|test|example|invalid|internal)$|example\.|.*\bexample\.(com|org|net)$)"
)
_KEY_BEGIN = re.compile(r"-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY( BLOCK)?-----")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{40,}")


def scan(
    path: str, added: Sequence[tuple[int, str]], removed: Sequence[str], headers: Sequence[tuple[int, str]] = ()
) -> list[Hit]:
    """Credentials in the added lines of one file, at most one of each kind per line.

    A comment that allows them (``pragma: allowlist secret``, ``gitleaks:allow``) means nothing here: whoever adds the
    credential would add it, too.

    :param path: path at head; tests, documents and generated files are judged more mildly.
    :param added: (1-based line at head, text) from the top of the file.
    :param removed: lines the change takes out of this file: what stood there already is not reported again.
    :param headers: unchanged lines that name a private key, numbered as ``added``: the key below may be another.
    """
    known = "\n".join(removed)
    found: dict[tuple[str, int], list[str]] = {}
    for kind, line, value in (*_found(path, added), *_private_keys(added, headers, known)):
        if not value or value not in known:
            found.setdefault((kind, line), []).append(value)
    hits = [Hit(kind, line, _mark(values)) for (kind, line), values in found.items()]
    lines_with_format = {hit.line for hit in hits if hit.kind not in ("keyword", "basic-auth", "aws-secret-key")}
    return [hit for hit in hits if hit.kind != "keyword" or hit.line not in lines_with_format]


def _mark(values: Iterable[str]) -> str:
    """Letters only: numbers do not count in what follows a finding."""
    digest = hashlib.sha256("\0".join(sorted(set(values))).encode("utf-8", "surrogateescape")).digest()
    return "".join("abcdefghijklmnop"[half] for byte in digest[:2] for half in (byte >> 4, byte & 15))


def _found(path: str, added: Sequence[tuple[int, str]]) -> Iterator[tuple[str, int, str]]:
    """(kind, line, value) of everything that may be a credential."""
    mild = is_test_or_document(path)
    pieces = [(line, piece) for line, text in added for piece in _windows(text)]
    lowered = [piece.lower() for _, piece in pieces]
    everything = "\n".join(lowered)
    for entry in FORMATS:
        hints = [hint for hint in entry.hints if hint in everything]
        if not hints or (mild and entry.kind == "jwt"):
            continue
        for (line, piece), low in zip(pieces, lowered, strict=True):
            if any(hint in low for hint in hints) or entry.kind == "discord-token":
                yield from ((entry.kind, line, value) for value in _matches(entry, piece))
    if mild:
        return
    if "://" in everything:
        yield from (("basic-auth", line, value) for line, piece in pieces for value in _url_passwords(piece))
    if not is_machine_made(path) and any(word in everything for word in _KEYWORDS):
        for line, text in added:
            if len(text) <= _KEYWORD_LINE:
                yield from (("keyword", line, value) for value in _assigned(path, text))


def _windows(text: str) -> Iterator[str]:
    """A line in overlapping pieces, so that no expression meets a very long one."""
    if len(text) <= _WINDOW:
        yield text
        return
    for start in range(0, len(text), _WINDOW - _OVERLAP):
        yield text[start : start + _WINDOW]


def _matches(entry: Format, piece: str) -> Iterator[str]:
    for expression in entry.expressions:
        for match in expression.finditer(piece):
            before, after = piece[: match.start()][-1:], piece[match.end() :][:1]
            if (before and before in _PART_OF_MORE) or (after and after in _PART_OF_MORE):
                continue  # a stretch of some longer blob
            value = match.group(1) if entry.kind == "aws-secret-key" else match.group()
            if entry.kind == "jwt" and (not JwtTokenDetector.is_formally_valid(value) or value.count(".") < 2):
                continue
            if _looks_random(value):
                yield value


def _looks_random(value: str) -> bool:
    """Whether a value with the shape of a token is more than an example of that shape."""
    if re.search(r"example|xxxx|0000|1234567890|abcdefgh|placeholder|your[-_]|replace", value, re.IGNORECASE):
        return False
    return len(set(value[4:])) >= 8


def _private_keys(
    added: Sequence[tuple[int, str]], headers: Sequence[tuple[int, str]], known: str
) -> Iterator[tuple[str, int, str]]:
    """A header counts only with new key material behind it: code that looks for headers is not a key."""
    texts = dict(added)
    for line, text in (*added, *headers):
        begin = _KEY_BEGIN.search(text) if "PRIVATE KEY" in text else None
        if begin is None:
            continue
        is_new = line in texts
        behind = [(line, text[begin.end() :])] if is_new else []
        behind += [(number, texts[number]) for number in range(line + 1, line + 5) if number in texts]
        for number, run in ((number, run) for number, other in behind for run in _key_runs(other, alone=not is_new)):
            if len(set(run)) >= 16 and run not in known:
                yield "private-key", line if is_new else number, run
                break


def _key_runs(text: str, *, alone: bool) -> list[str]:
    """What may be material of a key in a line; ``alone``: only if there is nothing beside it but how it is quoted."""
    if not alone:
        return _KEY_BODY.findall(text)
    bare = text.strip(" \t\r\"'`+,;()").removesuffix("\\n").removesuffix("\\r")
    return [bare] if _KEY_BODY.fullmatch(bare) else []


def _url_passwords(piece: str) -> Iterator[str]:
    for match in _BASIC.finditer(piece):
        user, password, host = match.groups()
        if len(password) < 6 or password.lower() == user.lower() or _LOCAL.match(host.lower()):
            continue
        if not _PLACEHOLDER.search(password) and "{" not in password and "$" not in password[:1]:
            yield password


def _assigned(path: str, text: str) -> Iterator[str]:
    """Values given to a variable whose name says that it is a credential."""
    name = _NAME.search(text)
    if name is None or _NOT_THE_VALUE.search(name.group("name")) or heuristic.is_indirect_reference(text):
        return
    expressions = (
        CONFIG_DENYLIST_REGEX_TO_GROUP if is_configuration(path) else REGEX_BY_FILETYPE.get(determine_file_type(path))
    )
    values: Iterable[str] = cast(Any, _KEYWORD).analyze_string(text, expressions)
    for value in values:
        if _is_credential(value.strip()):
            yield value


def _is_credential(value: str) -> bool:
    if not 8 <= len(value) <= 200 or any(character.isspace() for character in value):
        return False
    if _PLACEHOLDER.search(value) or _REFERENCE.search(value) or heuristic.is_potential_uuid(value):
        return False
    if heuristic.is_sequential_string(value) or heuristic.is_templated_secret(value):
        return False
    kinds = sum(bool(re.search(kind, value)) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w]"))
    return kinds >= 2 and bool(re.search(r"\d", value)) and _entropy(value) >= 2.75


def _entropy(value: str) -> float:
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)
