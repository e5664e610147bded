"""Finds credentials in added lines, by their shape or by their place.

The shapes are in ``domain/text/credential_shapes``, the places in ``domain/text/credential_table``. Entropy detectors
are left out: on real changes they mostly report hashes, ids and test data. A hit says where a credential is and of what
kind; the credential itself never leaves this module.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agents.review.checks.inputs import is_code, is_machine_made, is_test_or_document, lists_addresses
from domain.paths import is_document
from domain.text.credential_shapes import SHAPES, CredentialShape
from domain.text.credential_table import find_placed
from domain.text.credential_values import is_credential, is_placeholder


@dataclass(frozen=True)
class SecretHit:
    """A credential: its kind, e.g. ``github-token``, and its 1-based line at head.

    ``mark`` is equal for equal credentials: sixteen bits of a digest, too few to find the credential by.
    """

    kind: str
    line: int
    mark: str


@dataclass(frozen=True)
class AddedText:
    """What a change adds to one file: what :func:`scan` is told."""

    path: str
    added: Sequence[tuple[int, str]]
    removed: Sequence[str]
    headers: Sequence[tuple[int, str]]
    known_forms: bool = False


FORMATS = tuple(shape for shape in SHAPES if shape.rule)
"""The credentials that are recognised by their shape: every shape with a rule."""
_WINDOW, _OVERLAP = 5000, 500
_KEYWORD_LINE = 500
_BASIC = re.compile(
    r"[a-z][a-z0-9+.-]{0,20}://([^\s:/?#@'\"<>{}$\[\]`,;()]*):([^\s:/?#@'\"<>`]+)@([\w.-]+)", re.IGNORECASE
)
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_THIS_MACHINE = re.compile(r"^(localhost|127\.|0\.0\.0\.0)|\.localhost$")
_UNNAMED_HOST = re.compile(r"^[\w-]+$|\.(local|test|example|invalid|internal)$|^example\.|\bexample\.(com|org|net)$")
"""Hosts of examples, and those that only a network of one's own knows, where passwords are mostly made up."""
_KEY_BEGIN = re.compile(r"-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY( BLOCK)?-----")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{40,}")


def scan_all(files: Sequence[AddedText]) -> list[tuple[str, SecretHit]]:
    """Credentials in the added lines of some files, with the paths."""
    return [
        (file.path, hit)
        for file in files
        for hit in scan(file.path, file.added, file.removed, file.headers, known_forms=file.known_forms)
    ]


def scan(
    path: str,
    added: Sequence[tuple[int, str]],
    removed: Sequence[str],
    headers: Sequence[tuple[int, str]] = (),
    *,
    known_forms: bool = False,
) -> list[SecretHit]:
    """Credentials in the added lines of one file, at most one of each kind per line.

    A comment that allows them (``pragma: allowlist secret``, ``gitleaks:allow``) has no effect, because whoever adds
    the credential could add it, too.

    :param path: path at head; tests, documents and generated files are judged more mildly.
    :param added: (1-based line at head, text) from the top of the file.
    :param removed: lines the change removes from this file; a credential in them is not reported again.
    :param headers: unchanged headers of private keys, numbered as ``added``; the key below may be another one.
    :param known_forms: only what is certain by its form, as in files that no person wrote.
    """
    known = "\n".join(removed)
    found: dict[tuple[str, int], list[str]] = {}
    for kind, line, value in (*_find_values(path, added, known_forms), *_find_private_keys(added, headers, known)):
        if not value or value not in known:
            found.setdefault((kind, line), []).append(value)
    hits = [SecretHit(kind, line, _mark(values)) for (kind, line), values in found.items()]
    lines_with_format = {hit.line for hit in hits if hit.kind not in ("keyword", "basic-auth", "aws-secret-key")}
    return [hit for hit in hits if hit.kind != "keyword" or hit.line not in lines_with_format]


def _mark(values: Iterable[str]) -> str:
    """Letters only, because the fingerprint that follows a finding ignores numbers."""
    digest = hashlib.sha256("\0".join(sorted(set(values))).encode("utf-8", "surrogateescape")).digest()
    return "".join("abcdefghijklmnop"[half] for byte in digest[:2] for half in (byte >> 4, byte & 15))


def _find_values(path: str, added: Sequence[tuple[int, str]], known_forms: bool) -> Iterator[tuple[str, int, str]]:
    """(kind, line, value) of each possible credential."""
    mild = known_forms or is_test_or_document(path)
    pieces = [(line, piece) for line, text in added for piece in _split_windows(text)]
    lowered = [piece.lower() for _, piece in pieces]
    everything = "\n".join(lowered)
    for entry in FORMATS:
        hints = [hint for hint in entry.hints if hint in everything]
        if not hints or (mild and entry.rule == "jwt"):
            continue
        for (line, piece), low in zip(pieces, lowered, strict=True):
            if any(hint in low for hint in hints) or entry.rule == "discord-token":
                yield from ((entry.rule, line, value) for value in _matches(entry, piece))
    is_told = mild and not lists_addresses(path)
    if known_forms or (is_told and not is_document(path)):
        return
    if "://" in everything:
        found = ((line, value) for line, piece in pieces for value in _find_url_passwords(piece, is_told=is_told))
        yield from (("basic-auth", line, value) for line, value in found)
    if mild:
        return
    if not is_machine_made(path):
        yield from (("keyword", line, value) for line, value in _find_by_place(path, added))


def _split_windows(text: str) -> Iterator[str]:
    """A line in overlapping pieces, so that no expression is applied to a very long one."""
    if len(text) <= _WINDOW:
        yield text
        return
    for start in range(0, len(text), _WINDOW - _OVERLAP):
        yield text[start : start + _WINDOW]


def _matches(shape: CredentialShape, piece: str) -> Iterator[str]:
    for match in shape.expression.finditer(piece):
        value = shape.extract(match)
        if not value or not shape.exact.match(value):
            continue
        if shape.rule == "jwt" and (value.count(".") < 2 or not _is_json_web_token(value)):
            continue
        if _looks_random(value):
            yield value


def _is_json_web_token(value: str) -> bool:
    from detect_secrets.plugins.jwt import JwtTokenDetector  # large: only the workers load it

    return JwtTokenDetector.is_formally_valid(value)


def _looks_random(value: str) -> bool:
    """Whether a value with the shape of a token is more than an example."""
    if re.search(r"example|1234567890|abcdefgh|placeholder|your[-_]|replace", value, re.IGNORECASE):
        return False
    if re.search(r"xxxx|XXXX|0000", value):  # in one case: of 28,000 real tokens one has four of both by chance
        return False
    return len(set(value[4:])) >= 8


def _find_private_keys(
    added: Sequence[tuple[int, str]], headers: Sequence[tuple[int, str]], known: str
) -> Iterator[tuple[str, int, str]]:
    """A header counts only with new key material after it: code that searches for headers is not a key."""
    texts = dict(added)
    for line, text in (*added, *headers):
        begin = _KEY_BEGIN.search(text) if "PRIVATE KEY" in text else None
        if begin is None:
            continue
        is_new = line in texts
        behind = [(line, text[begin.end() :])] if is_new else []
        behind += [(number, texts[number]) for number in range(line + 1, line + 5) if number in texts]
        for number, run in (
            (number, run) for number, other in behind for run in _find_key_runs(other, alone=not is_new)
        ):
            if len(set(run)) >= 16 and run not in known:
                yield "private-key", line if is_new else number, run
                break


def _find_key_runs(text: str, *, alone: bool) -> list[str]:
    """Possible key material in a line; with ``alone``, only if there is nothing beside it but quoting."""
    if not alone:
        return _KEY_BODY.findall(text)
    bare = text.strip(" \t\r\"'`+,;()").removesuffix("\\n").removesuffix("\\r")
    return [bare] if _KEY_BODY.fullmatch(bare) else []


def _find_url_passwords(piece: str, *, is_told: bool) -> Iterator[str]:
    """:param is_told: whether people explain something: then only what a machine made for a site of the web counts."""
    for match in _BASIC.finditer(piece):
        user, written, host = match.groups()
        password = _ESCAPED.sub("", written)
        is_real = match[0].lower().startswith("http") and _is_drawn(password) and not _UNNAMED_HOST.search(host.lower())
        if is_told and not is_real:
            continue
        if len(password) < 6 or password.lower() == user.lower() or _THIS_MACHINE.search(host.lower()):
            continue
        if (not user or _UNNAMED_HOST.search(host.lower())) and not _is_drawn(password):
            continue
        if not is_placeholder(password) and "{" not in password and "$" not in password[:1]:
            yield written


def _is_drawn(password: str) -> bool:
    """Whether a machine made it: small letters, large ones and digits take turns as they do by chance."""
    kinds = ["a" if each.islower() else "A" if each.isupper() else "0" for each in password]
    turns = sum(first != second for first, second in pairwise(kinds))
    return len(password) >= 10 and turns * 3 >= len(password) and is_credential(password)


def _find_by_place(path: str, added: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Credentials that stand where one belongs and are hard to guess; in code, an expression is none."""
    texts = dict(added)
    short = {line: text if len(text) <= _KEYWORD_LINE else "" for line, text in added}
    whole = "\n".join(text if line - 1 in texts else f"\n{text}" for line, text in short.items())
    numbers = [line for line in short for _ in range(1 if line - 1 in texts else 2)]
    for found in find_placed(whole):
        if found.drawn and (found.literal or not is_code(path)) and not _is_made_up(found.value):
            yield numbers[whole.count("\n", 0, found.start)], found.value


def _is_made_up(value: str) -> bool:
    from detect_secrets.filters import heuristic  # large: only the workers load it

    return (
        heuristic.is_potential_uuid(value)
        or heuristic.is_sequential_string(value)
        or heuristic.is_templated_secret(value)
    )
