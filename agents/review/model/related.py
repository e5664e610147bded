"""Selects code of unchanged files that a change touches by name: callers, definitions, tests and settings."""

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agents.llm.tokens import estimate
from agents.review.model.rendering import WITHHELD, Line, clean_name, render_safely
from agents.review.model.source_lines import is_import
from domain.paths import is_source, is_test
from domain.review.outline import Outline
from domain.text.credential_shapes import find_key_lines
from domain.text.redaction import Redact

_DEFINES = r"\b(def|class|func|function|fn|const|let|var|type|interface|struct|enum|trait|module|record|static|final)\s"
_INHERITS = re.compile(r"\b(class|interface|struct|trait|impl|extends|implements|module)\b")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_MOST_TOKENS = 900
_MOST_PLACES, _MOST_OF_ONE = 8, 2
_MOST_IN_FILE = 6  # places of one name
_TOO_COMMON = 25  # files with a name that says nothing about this change
_OF_DEFINITION, _BEFORE_USE, _AFTER_USE = 14, 2, 3  # lines shown
_LONGEST_LINE = 400  # characters; a longer line is no source that people wrote


@dataclass(frozen=True)
class RelatedCode:
    """A few lines of an unchanged file.

    :param of: the changed file that they explain.
    :param why: what they have to do with it, as ``defines load``.
    :param start: the number of the first line.
    """

    of: str
    path: str
    why: str
    start: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class _Place:
    name: str
    path: str
    line: int
    is_definition: bool
    is_heir: bool = False


def find_related(
    outlines: Mapping[str, Outline], files: Mapping[str, bytes], *, most: int = _MOST_TOKENS
) -> tuple[RelatedCode, ...]:
    """The related code, the most telling first: users of what changed, then what changed lines call, then tests.

    :param outlines: changed path → its outline.
    :param files: unchanged path → its content at head.
    :param most: tokens of all of it together.
    """
    texts = {path: _withhold_keys(content.decode(errors="replace").split("\n")) for path, content in files.items()}
    wanted = {name for each in outlines.values() for name in (*each.defined, *each.classes, *each.mentioned)}
    places = _find_places(wanted, texts)
    kept: list[RelatedCode] = []
    taken: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    for of, place in _rank(outlines, places):
        related = _build_excerpt(of, place, texts[place.path])
        cost = sum(estimate(line[:_LONGEST_LINE]) + 2 for line in related.lines) + 12
        is_shown = any(each.path == related.path and abs(each.start - related.start) < 8 for each in kept)
        is_seen = place.is_definition and (place.name, place.path) in seen
        if is_shown or is_seen or taken[place.name] >= _MOST_OF_ONE or cost > most or len(kept) >= _MOST_PLACES:
            continue
        kept.append(related)
        taken[place.name] += 1
        seen.add((place.name, place.path))
        most -= cost
    return tuple(kept)


def render_related(related: Sequence[RelatedCode], redact: Redact) -> Iterator[str]:
    """The related code as a model sees it, each under a heading that says it is unchanged."""
    for each in related:
        shown = render_safely(
            [Line(number, " ", text) for number, text in enumerate(each.lines, each.start)], (), redact
        )
        yield "\n".join([f"== {clean_name(each.path)} (unchanged, {redact(each.why)})", *shown])


def _withhold_keys(lines: Sequence[str]) -> list[str]:
    """The lines of a file, without those of private keys: an excerpt might not show that they are some."""
    hidden = find_key_lines(lines)
    return [WITHHELD if number in hidden else line for number, line in enumerate(lines, 1)]


def _find_places(names: Collection[str], texts: Mapping[str, Sequence[str]]) -> dict[str, list[_Place]]:
    """Name → where it stands in these files; without names that stand in many."""
    places: dict[str, list[_Place]] = {}
    for path, lines in texts.items():
        for name in _list_names(names, "\n".join(lines)):
            places.setdefault(name, []).extend(itertools.islice(_list_places(name, path, lines), _MOST_IN_FILE))
    return {name: found for name, found in places.items() if len({each.path for each in found}) <= _TOO_COMMON}


def _list_names(names: Collection[str], text: str) -> list[str]:
    """Those of some names that a text holds."""
    words = set(_WORD.findall(text))
    return [name for name in names if name in words or (not name.isidentifier() and name in text)]


def _list_places(name: str, path: str, lines: Sequence[str]) -> Iterator[_Place]:
    whole = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    for number, line in enumerate(lines, 1):
        found = whole.search(line) if name in line and len(line) <= _LONGEST_LINE else None
        if found is not None and not is_import(line):
            yield _read_place(found, path, number, line)


def _read_place(found: re.Match[str], path: str, number: int, line: str) -> _Place:
    before, after = line[: found.start()], line[found.end() :]
    is_heir = _INHERITS.search(before) is not None and bool(re.search(r"[(:<]\s*$|extends|implements|for\s*$", before))
    is_declared = bool(before.strip()) and after.startswith("(") and not _calls(before, after)
    is_definition = not is_heir and (re.search(_DEFINES, before) is not None or is_declared)
    return _Place(found[0], path, number, is_definition, is_heir)


def _calls(before: str, after: str) -> bool:
    """Whether a name before an opening parenthesis is called and not declared, as in Java or C without a keyword."""
    return after.rstrip().endswith(";") or "return" in before or any(sign in before for sign in "=.(,[{:")


def _rank(outlines: Mapping[str, Outline], places: Mapping[str, Sequence[_Place]]) -> Iterator[tuple[str, _Place]]:
    users = [pair for of, outline in outlines.items() for pair in _list_of(of, outline.defined, places)]
    called = [pair for of, outline in outlines.items() for pair in _list_of(of, outline.mentioned, places)]
    uses = [pair for pair in users if not pair[1].is_definition]
    heirs = [pair for of, outline in outlines.items() for pair in _list_of(of, outline.classes, places)]
    yield from (pair for pair in heirs if pair[1].is_heir)
    yield from _interleave(
        [pair for pair in uses if not is_test(pair[1].path)],
        [pair for pair in called if pair[1].is_definition or not is_source(pair[1].path)],
    )
    yield from (pair for pair in uses if is_test(pair[1].path))


def _list_of(of: str, names: Iterable[str], places: Mapping[str, Sequence[_Place]]) -> Iterator[tuple[str, _Place]]:
    return ((of, place) for name in names for place in places.get(name, ()))


def _interleave(*sequences: Sequence[tuple[str, _Place]]) -> Iterator[tuple[str, _Place]]:
    for index in range(max(map(len, sequences))):
        yield from (sequence[index] for sequence in sequences if index < len(sequence))


def _build_excerpt(of: str, place: _Place, lines: Sequence[str]) -> RelatedCode:
    if place.is_heir:
        start, end, why = place.line, place.line + _OF_DEFINITION, f"builds on {place.name}"
    elif place.is_definition:
        start, end, why = place.line, place.line + _OF_DEFINITION, f"defines {place.name}"
    else:
        start, end, why = place.line - _BEFORE_USE, place.line + _AFTER_USE, f"uses {place.name}"
    start = max(1, start)
    return RelatedCode(of, place.path, why, start, tuple(lines[start - 1 : end]))
