"""Redacts secrets in outgoing text: those of this process, and credentials by their shape.

This is a second line of defence: a secret should not be there at all. Every expression takes linear time
on any input: an unbounded repetition either cannot fail afterwards or starts once per run of its characters.
"""

import base64
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from pydantic import JsonValue

from domain.review.findings import RawFinding
from domain.text.credential_shapes import PRIVATE_KEY, SHAPES, CredentialShape, find_key_end
from domain.text.credential_table import PLACES
from domain.text.credential_values import CredentialPlace, fold_case

SHORTEST = 8
"""The least length of a secret value; a shorter one would mangle ordinary words."""

Redact = Callable[[str], str]
"""Removes credentials from a text."""

AnyFinding = TypeVar("AnyFinding", bound=RawFinding)

_WRAPPED = 16  # length from which values are also found with white space inside
_MOST_PASSING = 200
_PIECE = 1 << 15  # characters that one expression looks through at a time
_SEAM = 1_000  # characters before a piece that it looks through again: more than a name with its value


class _Form(NamedTuple):
    """One way to write a secret; in lower case, and also without what may stand between its characters."""

    text: str
    lower: str
    flat: str


def _make_form(text: str) -> _Form:
    return _Form(text, text.lower(), _squeeze(text).lower())


_SEPARATORS = "-:,_."


def _squeeze(text: str) -> str:
    """A text without white space and what else may stand between the characters of a secret."""
    squeezed = "".join(text.split())
    for each in _SEPARATORS:
        squeezed = squeezed.replace(each, "")
    return squeezed


class Redactor:
    """Replaces secrets by ``[redacted: kind]``. It keeps the number of lines and is idempotent.

    :param known: secret values.
    """

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known: dict[_Form, None] = {}
        self._passing: OrderedDict[str, tuple[_Form, ...]] = OrderedDict()
        self._forms: tuple[_Form, ...] = ()
        self.learn(*known)

    def learn(self, *secrets: str) -> None:
        """Hides these from now on: in any case, backwards, as Base64, hexadecimal, spelled, or over lines.

        :param secrets: a multi-line one (a PEM key) is also hidden line by line; surrounding white space is ignored.
        """
        for secret in secrets:
            self._known |= dict.fromkeys(map(_make_form, _write_forms(secret)))
        self._arrange()

    def learn_temporary(self, secret: str) -> None:
        """Hides a short-lived value such as a token; keeps the latest 200."""
        self._passing[secret] = tuple(map(_make_form, _write_forms(secret)))
        self._passing.move_to_end(secret)
        while len(self._passing) > _MOST_PASSING:
            self._passing.popitem(last=False)
        self._arrange()

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        if len(text) < SHORTEST:
            return text
        return _without_shapes(_without_known(text, self._forms))

    def redact_values(self, value: JsonValue) -> JsonValue:
        """Redacts every text in a value, including field names."""
        return redact_values(value, self)

    def _arrange(self) -> None:
        """Sorts the longest first: a whole key before its lines."""
        every = dict.fromkeys(form for forms in (self._known, *self._passing.values()) for form in forms)
        self._forms = tuple(sorted(every, key=lambda form: len(form.text), reverse=True))


PROCESS_REDACTOR = Redactor()
"""The redactor with the secrets of this process; log handlers and
exceptions use it as well."""


def redact_values(value: JsonValue, redact: Redact) -> JsonValue:
    """Redacts every text in a value, including field names."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(key): redact_values(item, redact) for key, item in value.items()}
    if isinstance(value, list):
        return [redact_values(item, redact) for item in value]
    return value


def redact(text: str, known: Collection[str] = ()) -> str:
    """Redacts credentials and ``known`` values, without remembering them."""
    return Redactor(known)(text)


def redact_outgoing(text: str) -> str:
    """Redacts text that leaves this process: a comment, a check, a prompt, a log line or the journal."""
    return PROCESS_REDACTOR(text)


def holds_secret(text: str) -> bool:
    """Whether a text contains a credential or a mask."""
    return _MARK in text or redact_outgoing(text) != text


def redact_finding(finding: AnyFinding) -> AnyFinding:
    """Redacts what a finding says, and drops a fix that contains a secret."""
    fix = finding.fix
    if fix is not None and redact_outgoing(fix.replacement) != fix.replacement:
        fix = None
    said = {"message": redact_outgoing(finding.message), "grounds": redact_outgoing(finding.grounds)}
    return finding.model_copy(update={**said, "fix": fix})


_MARK = "[redacted: "


def make_mask(kind: str) -> str:
    """The mask for a secret, e.g. ``[redacted: GitHub token]``."""
    return f"{_MARK}{kind}]"


# --- values that are known ---------------------------------------------------------------------------------

_KNOWN = "known secret"
_SPELLED = re.compile(
    r"[\\%&0](?:(?:(?<=\\)(?:x|u00|u\{0*)|(?<=%)(?:u00)?|(?<=&)#x0*|(?<=0)x)([0-9a-f]{2})[;}]?"
    r"|(?<=\\)([0-7]{3})|(?<=&)#0*([0-9]{2,3});?)",
    re.IGNORECASE,
)
"""One character, or one byte, as languages, addresses and pages spell it."""
_BASES = (16, 8, 10)


def _write_forms(secret: str) -> Iterator[str]:
    """Every encoding of a secret but those that spell one character at a time, which are read as these."""
    lines = [line.strip() for line in secret.splitlines()] if "\n" in secret.strip() else []
    for part in (secret.strip(), *(line for line in lines if len(line) >= _WRAPPED and not line.startswith("-----"))):
        if len(part) < SHORTEST:
            continue
        yield part
        yield part[::-1]
        yield json.dumps(part)[1:-1]
        data = part.encode("utf-8", "surrogatepass")
        yield data.decode("latin-1")
        yield data.hex()
        yield from _in_base64(data)


def _in_base64(data: bytes) -> Iterator[str]:
    """The Base64 forms of ``data`` inside a longer text: three alignments, without the ends that neighbours change."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        start = (0, 2, 3)[before]
        end = len(encoded) - (1 if (before + len(data)) % 3 else 0)
        inner = encoded[start:end]
        if len(inner) >= SHORTEST:
            yield inner
            yield inner.translate(str.maketrans("+/", "-_"))


def _without_known(text: str, forms: Sequence[_Form]) -> str:
    """:param forms: the longest first."""
    if not forms:
        return text
    low = text.lower()
    for form in forms:
        if form.lower in low:
            mask = make_mask(_KNOWN) + "\n" * form.text.count("\n")
            text = re.sub(re.escape(form.text), lambda _, mask=mask: mask, text, flags=re.IGNORECASE)
    read = _read_spelled(text).lower()
    squeezed = _squeeze(read)
    hits = [form for form in forms if form.flat in squeezed] if len(squeezed) < len(text) else []
    if spelled := [form.lower for form in hits if form.lower in read]:
        text = _mask_places(text, spelled, str)
        squeezed = _squeeze(_read_spelled(text).lower())
    wrapped = [form.flat for form in hits if len(form.flat) >= _WRAPPED and form.flat in squeezed]
    return _mask_places(text, wrapped, _squeeze) if wrapped else text


def _read_spelled(text: str) -> str:
    """The text with the characters that are spelled in it."""
    return _SPELLED.sub(_read_one, text)


def _read_one(match: re.Match[str]) -> str:
    kind = match.lastindex or 1
    return chr(int(match[kind], _BASES[kind - 1]))


def _mask_places(text: str, forms: Iterable[str], keep: Callable[[str], str]) -> str:
    """Removes values whose characters are spelled, or have separators between them.

    :param forms: in lower case; what the text spells holds each of them.
    :param keep: what of a character is kept.
    """
    places = [(start, end, each) for start, end, read in _list_read(text) for each in keep(read.lower())]
    flat = "".join(each for _, _, each in places)
    found = sorted((places[at][0], places[at + len(form) - 1][1]) for form in forms for at in _occurrences(form, flat))
    parts: list[str] = []
    reached = 0
    for start, end in found:
        if start >= reached:
            parts += [text[reached:start], make_mask(_KNOWN), "\n" * text.count("\n", start, end)]
            reached = end
    return "".join(parts) + text[reached:]


def _list_read(text: str) -> Iterator[tuple[int, int, str]]:
    """Each character of a text, from where to where it is written, and how it is read."""
    at = 0
    for match in _SPELLED.finditer(text):
        yield from ((place, place + 1, text[place]) for place in range(at, match.start()))
        yield *match.span(), _read_one(match)
        at = match.end()
    yield from ((place, place + 1, text[place]) for place in range(at, len(text)))


def _occurrences(form: str, text: str) -> Iterator[int]:
    at = text.find(form)
    while at >= 0:
        yield at
        at = text.find(form, at + len(form))


# --- what has the shape of a credential --------------------------------------------------------------------


def _without_shapes(text: str) -> str:
    """Masks a piece at a time: while an expression runs, no other thread of this process does.

    A piece ends with a line if possible, and the end of the one before is looked at again with it.
    """
    if "private key" in text.lower():
        text = PRIVATE_KEY.sub(_mask_key, text)
    masked: list[str] = []
    piece, at = "", 0
    while at < len(text):
        end = _find_cut(text, at + _PIECE // 2, at + _PIECE)
        piece, at = _mask_piece(piece + text[at:end]), end
        seam = _find_cut(piece, len(piece) - 2 * _SEAM, len(piece) - _SEAM) if at < len(text) else len(piece)
        masked.append(piece[:seam])
        piece = piece[seam:]
    return "".join(masked)


def _find_cut(text: str, first: int, last: int) -> int:
    """Where a text is cut: after the last line in a range, or the last word; at its end if it has neither."""
    if last >= len(text):
        return len(text)
    first, last = max(first, 0), max(last, 0)
    return text.rfind("\n", first, last) + 1 or text.rfind(" ", first, last) + 1 or last


_KINDS = (*SHAPES, *PLACES)
_HINTS = tuple((hint, number) for number, kind in enumerate(_KINDS) for hint in kind.hints)


def _mask_piece(text: str) -> str:
    low = fold_case(text)
    for number in sorted({number for hint, number in _HINTS if hint in low}):
        kind = _KINDS[number]
        text = _mask_shaped(kind, text) if isinstance(kind, CredentialShape) else _mask_placed(kind, text)
    return text


def _mask_shaped(shape: CredentialShape, text: str) -> str:
    return shape.expression.sub(_ShapeMask(shape), text)


def _mask_placed(place: CredentialPlace, text: str) -> str:
    parts: list[str] = []
    at = 0
    for found in place.find(text):
        parts += [text[at : found.start], make_mask(found.kind)]
        at = found.end
    return "".join(parts) + text[at:] if parts else text


@dataclass(frozen=True)
class _ShapeMask:
    """Replaces what a shape matched; the group ``secret``, if it has one, else all of it."""

    shape: CredentialShape

    def __call__(self, match: re.Match[str]) -> str:
        group: str | int = "secret" if "secret" in self.shape.expression.groupindex else 0
        if not self.shape.extract(match):
            return match[0]
        start, end = (place - match.start() for place in match.span(group))
        whole = match[0]
        return whole[:start] + make_mask(self.shape.kind) + whole[end:]


def _mask_key(match: re.Match[str]) -> str:
    whole = match[0]
    end = find_key_end(match)
    return make_mask("private key") + "\n" * whole.count("\n", 0, end) + whole[end:] if end else whole
