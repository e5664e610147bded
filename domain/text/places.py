"""Tells by quotes and comments what a place in a line is, and which lines are prose that no tool obeys."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from domain.paths import holds_values
from domain.text.hidden_characters import (
    Deception,
    FileWords,
    HiddenText,
    drop_invisible,
    find_alike,
    find_false_host,
    find_invisible,
    find_turned,
    imitates,
    is_of_other_script,
    mixes,
    to_plain,
)

_FUNCTION_WORDS = """
    a about after all also an and any are as at be because been before being but by can cannot does each either else
    even every for from has have he here how i if in instead into is it its may must neither nor not of off on once
    one only or other our over so some such than that the their them then there these they this those to under unless
    until up was we were what when where whether which while who why will with without would you your
"""
_COMMON = frozenset(_FUNCTION_WORDS.split())
"""English words that hold sentences together; no tool has one as a name."""
_WORD = re.compile(r"""[("'“‘]?([^\W\d_]+(?:['’-][^\W\d_]+)*|\d+(?:[.,]\d+)*%?)[)"'”’]{0,2}[.,;!?]{0,3}\)?""")
_NO_WORDS = re.compile(r"no(?!$|t$|w$|r$|ne$|te$|tes$|thing$|body$|where$|tice$|rmal$|rmally$|n$)", re.IGNORECASE)
"""How markers of linters begin that stand alone, such as ``nosec``: other words with it are not taken for prose."""


def is_sentence(line: str) -> bool:
    """Whether a line, without its sign of a comment, begins as an English sentence does: all of it is words, the first
    is capitalised or one that tools have no use for, and so is one of the first two. An empty line is one, too.
    """
    words = line.replace(" - ", " ").replace(" – ", " ").split(" ")
    found = [_WORD.fullmatch(word) for word in words if word]
    if any(each is None or _NO_WORDS.match(each[1]) or _is_code(each[1]) for each in found):
        return False
    first = [each[1] for each in found[:2] if each is not None]
    if not first:
        return True
    begins = first[0].lower() in _COMMON or (first[0][0].isupper() and "-" not in first[0])
    return begins and not _COMMON.isdisjoint(map(str.lower, first))


def has_common_word(text: str) -> bool:
    """Whether any word of a text is one that holds sentences together."""
    return not _COMMON.isdisjoint(re.findall(r"[a-z]+", text.lower()))


def _is_code(word: str) -> bool:
    """Whether it is written as names of programs are: ``camelCase``, or a long word of capitals."""
    return re.search(r"[a-z][A-Z]", word) is not None or (len(word) > 5 and word.isupper())


class PlaceKind(StrEnum):
    """What is no code."""

    string = "string"
    comment = "comment"
    prose = "prose"  # what people read, as between the tags of a page
    setting = "setting"  # a value without quotation marks


@dataclass(frozen=True)
class LinePart:
    """A part of a line that is no code, from a column to another, which is not part of it."""

    kind: PlaceKind
    start: int
    end: int


_MARKUP_SUFFIXES = "html htm xhtml xml xsl svg vue svelte astro hbs ejs erb jsp cshtml twig"
_HASH_SUFFIXES = """
    py rb sh bash zsh fish pl pm yml yaml toml env tf hcl mk ps1 psm1 ex exs jl r nim cmake conf cfg ini txt
"""
_MARKUP, _HASH = frozenset(_MARKUP_SUFFIXES.split()), frozenset(_HASH_SUFFIXES.split())
_HASH_NAMES = frozenset({"dockerfile", "makefile", "gnumakefile", "gemfile", "rakefile", "procfile"})
_QUOTED = r"(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`)"
_WITH_HASH = re.compile(rf"(?P<comment>(?:^|(?<=\s))[#;].*)|{_QUOTED}")
_WITH_SLASHES = re.compile(
    rf"(?P<comment>/\*.*?(?:\*/|$)|<!--.*?(?:-->|$)|(?<![:\w])//.*|(?:^|(?<=\s))(?:--|;;|%)(?=\s|$).*|"
    rf"^\s*\*(?=\s|$).*)|{_QUOTED}"
)
_IN_MARKUP = re.compile(
    r"(?P<comment><!--.*?(?:-->|$))|(?P<code>\{[^}]*\}?|<[%?].*?(?:[%?]>|$))|(?P<string>(?<==)(?:\"[^\"]*\"|'[^']*'))"
)
_VALUE = re.compile(r"^\s*(?:- )?\s*[\w.\"'-]+\s*[:=]\s*")
_SCRIPT = re.compile(r"<(/?)script\b", re.IGNORECASE)
_FENCE = re.compile(r"\s*(```+|~~~+)")
_SPAN = re.compile(r"(`+)([^`]+)\1")
_NAME = re.compile(r"[A-Za-z][\w.:/-]*", re.ASCII)
_QUOTES = re.compile(r"^[A-Za-z@$]{0,3}[\"'`]+|[\"'`]+$")
_LONGEST_NAME, _SHORTEST = 60, 3


def list_places(path: str, line: str, *, is_script: bool = False) -> Sequence[LinePart]:
    """The parts of a line that are no code, in their order.

    :param is_script: the line is in a script of a page.
    """
    name = PurePosixPath(path.lower())
    if name.suffix[1:] in _MARKUP and not is_script:
        parts = [(match.lastgroup, *match.span()) for match in _IN_MARKUP.finditer(line)]
        places = [LinePart(PlaceKind(kind), start, end) for kind, start, end in parts if kind and kind != "code"]
        return _fill(places, line, PlaceKind.prose, 0, [(start, end) for _, start, end in parts])
    shape = _WITH_HASH if name.suffix[1:] in _HASH or name.name in _HASH_NAMES else _WITH_SLASHES
    found = [
        LinePart(PlaceKind(match.lastgroup), *match.span())
        for match in shape.finditer(line)
        if match.lastgroup is not None
    ]
    if not holds_values(path):
        return found
    key = _VALUE.match(line)
    return _fill(found, line, PlaceKind.setting, key.end() if key else 0, [(place.start, place.end) for place in found])


def _fill(
    places: Sequence[LinePart], line: str, kind: PlaceKind, first: int, taken: Sequence[tuple[int, int]]
) -> Sequence[LinePart]:
    """The places, and one of a kind for each gap between what is taken, from a column on."""
    edges = [first, *(max(edge, first) for part in taken for edge in part), len(line)]
    gaps = [LinePart(kind, start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if end > start]
    return sorted([*places, *gaps], key=lambda place: place.start)


def list_script_lines(lines: Sequence[str]) -> frozenset[int]:
    """The numbers, from 1, of the lines of a page that are in a script, those of its tags included."""
    inside, found = False, set[int]()
    for number, line in enumerate(lines, 1):
        tags = _SCRIPT.findall(line)
        if inside or tags:
            found.add(number)
        if tags:
            inside = tags[-1] == ""
    return frozenset(found)


def list_fenced_lines(lines: Sequence[str]) -> frozenset[int]:
    """The numbers, from 1, of the lines of a document that are between fences."""
    fence, found = None, set[int]()
    for number, line in enumerate(lines, 1):
        match = _FENCE.match(line)
        if match and fence is None:
            fence = match[1]
        elif match and match[1].startswith(fence or "") and not line.strip(" `~"):
            fence = None
        elif fence is not None:
            found.add(number)
    return frozenset(found)


def find_in_document_code(line: str, known: FileWords, *, is_fenced: bool) -> HiddenText | None:
    """The first deception in the code of a line of a document: people copy it to their shells."""
    parts = [(0, line)] if is_fenced else [(match.start(2), match[2]) for match in _SPAN.finditer(line)]
    for start, code in parts:
        if not is_fenced and not drop_invisible(code).strip():
            continue  # it shows the character itself
        found = find_in_program(code, known, list_places("a.sh", code))
        if found is not None:
            return HiddenText(found.kind, found.column + start, found.text)
    return None


def find_in_program(
    line: str, known: FileWords, places: Sequence[LinePart], unseen: Collection[HiddenText] = ()
) -> HiddenText | None:
    """The first deception on a line of a program, whose parts are known.

    :param unseen: what a name may hold; nothing for code in a document, in which authors use spaces of all kinds.
    """

    def find_place(column: int) -> LinePart | None:
        return next((place for place in places if place.start <= column < place.end), None)

    suspects = (*find_invisible(line), *find_alike(line, known), *unseen)
    found = [each for each in suspects if is_harmful(line, each, find_place(each.column), known)]
    found += filter(None, (*_find_turned(line, places), find_false_host(line)))
    return min(found, key=lambda each: each.column, default=None)


def _find_turned(line: str, places: Sequence[LinePart]) -> Iterator[HiddenText]:
    if find_turned(line) is None:
        return
    at = 0
    while (found := find_turned(line[at:])) is not None:
        at += found.column
        place = next((place for place in places if place.start <= at < place.end), None)
        if place is None:
            yield HiddenText(Deception.direction, at, found.text)
            return
        if inside := find_turned_in(line, place):
            yield inside
            return
        at = place.end


def find_turned_in(line: str, place: LinePart) -> HiddenText | None:
    """The first control of direction that does harm in a part of a line that is no code."""
    text = line[place.start : place.end]
    found = find_turned(text, is_translation=place.kind is PlaceKind.prose, within_token=True)
    return found and HiddenText(Deception.direction, place.start + found.column, found.text)


def is_harmful(line: str, suspect: HiddenText, place: LinePart | None, known: FileWords) -> bool:
    """Whether invisible characters, or a look-alike word, deceive where they stand.

    In a string they do if programs compare it or put a value there: a short name of ASCII letters otherwise. So they do
    as all that an element holds.

    :param place: that holds it; None if it is code.
    """
    if place is None or suspect.is_message:
        return True
    if place.kind is PlaceKind.prose:
        return suspect.kind is Deception.look_alike and _is_value_of_element(line, suspect)
    if place.kind is PlaceKind.comment:
        return False
    text = line[place.start : place.end]
    if suspect.kind in _UNSEEN_IN_NAMES:
        return place.kind is PlaceKind.setting and suspect.kind is Deception.space and _ends_name(text)
    if suspect.kind is Deception.invisible:
        bare = _QUOTES.sub("", drop_invisible(text).strip())
        if place.kind is PlaceKind.setting:
            return bare.isascii()
        return len(bare) <= _LONGEST_NAME and _NAME.fullmatch(bare) is not None
    if line[max(suspect.column - 1, 0) : suspect.column] in ("$", "{"):
        return True
    word = suspect.text[1:] if line[suspect.column - 1 : suspect.column] == "\\" else suspect.text  # an escape
    return is_of_other_script(word) and _is_taken_for_name(word, text, place.kind, known)


def _is_value_of_element(line: str, suspect: HiddenText) -> bool:
    """Whether a word of several scripts is part of a name, which alone stands between two tags: programs read it so."""
    before = re.search(r">\s*[\w.:/@-]*$", line[: suspect.column])
    after = re.match(r"[\w.:/@-]*\s*</", line[suspect.column + len(suspect.text) :])
    if before is None or after is None:
        return False
    name = before[0] + to_plain(suspect.text) + after[0]
    return name.isascii() and is_of_other_script(suspect.text) and mixes(suspect.text)


def _is_taken_for_name(word: str, text: str, kind: PlaceKind, known: FileWords) -> bool:
    """Whether a word in a string or a setting looks like one of ASCII letters, where all else is of these."""
    plain = to_plain(word)
    if len(plain) < _SHORTEST or not (plain + text.replace(word, "")).isascii():
        return False
    if plain in known.ascii:
        return True
    is_name = kind is PlaceKind.setting or not re.search(r"\s", _QUOTES.sub("", text))
    return is_name and (mixes(word) or imitates(word, known.scripts))


_UNSEEN_IN_NAMES = frozenset({Deception.space, Deception.private})


def _ends_name(value: str) -> bool:
    """Whether a value would be a short name without the space before or behind it that programs do not strip."""
    bare = value.strip(" \t\r")
    return bare != bare.strip() and _NAME.fullmatch(bare.strip()) is not None
