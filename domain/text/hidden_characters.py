"""Finds what people cannot see in a text and machines obey: "Trojan Source" (Boucher and Anderson, 2021)."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

INVISIBLE = frozenset({"Cf", "Cc", "Co", "Cs"})
# Other invisible characters: variation selectors, fillers, joiners, the plane of tags.
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


def is_invisible(character: str) -> bool:
    """Whether a character is a control, bidirectional or another one that cannot be seen."""
    return unicodedata.category(character) in INVISIBLE or BLANK.match(character) is not None


class Deception(StrEnum):
    """How a text deceives its readers."""

    direction = "direction"  # it is shown in another order than it has
    invisible = "invisible"  # a character without a glyph
    space = "space"  # it looks like a space, and is part of a name
    private = "private-use"  # each font shows something else, or nothing
    control = "control"  # a terminal obeys it, and shows something else than the file has
    terminal = "terminal"  # some terminals may do so, or show what follows in the colour of the background
    line_end = "line-end"  # a line goes on where some language ends it, and a comment with it
    look_alike = "look-alike"  # letters of another script that look like Latin ones


@dataclass(frozen=True)
class HiddenText:
    """A place in a line that deceives its readers.

    :param column: of its first character, from 0.
    :param text: the characters.
    """

    kind: Deception
    column: int
    text: str

    @property
    def codes(self) -> str:
        """Its characters beyond ASCII, as ``U+202E``: each once, a few."""
        shown = [char for char in self.text if not (char.isascii() and char.isprintable())]
        named = list(dict.fromkeys(f"U+{ord(char):04X}" for char in shown)) or [self.text]
        return ", ".join(named[:_MOST_NAMED]) + (" …" if named[_MOST_NAMED:] else "")

    @property
    def is_message(self) -> bool:
        """Whether so many invisible characters stand in a row that they may be a text of their own."""
        return self.kind is Deception.invisible and len(self.text.strip("\u2800")) >= _LONG


_MOST_NAMED = 4

# --- ends of lines -----------------------------------------------------------------------------------------

_ENDS_LINE = re.compile("[\r\x85\u2028\u2029]")
_SPELLS_END = re.compile(r"(?<!\\)(?:\\\\)*(?!(?<=')\\u+00(?:22|2[af])')\\u+00(?:0[ad]|22|2[af]|5c)", re.IGNORECASE)
"""An escape of a line end, ``"``, ``*``, ``/`` or a backslash: Java reads it before anything else (JLS 3.3)."""
_SPELLING = (".java", ".jsp", ".jspx", ".groovy")


def find_line_end(path: str, line: str) -> HiddenText | None:
    """The first character before the end of a line of source that ends it for some language, but not for who reads it:
    what follows may be code, though it looks like a comment. Java obeys such a character as an escape, too.
    """
    found = _ENDS_LINE.search(line.rstrip()) or (_SPELLS_END.search(line) if path.lower().endswith(_SPELLING) else None)
    return found and HiddenText(Deception.line_end, found.start(), found[0])


def may_deceive(path: str, line: str) -> bool:
    """Whether anything on a line could deceive: most lines are ASCII only."""
    return not line.isascii() or find_line_end(path, line) is not None or find_control(line) is not None


# --- terminals ---------------------------------------------------------------------------------------------

_OBEYED = re.compile(r"[\x08\x0e\x0f]|\x1b(?=[#%(-/]*[0-\[\]-~])(?![=>HNO])|[\x84\x8d\x90\x98\x9b\x9d-\x9f]|\r")
"""What moves the cursor, erases or hides in a terminal (ECMA-48), wherever it stands; also a return within a line.

That is each sequence that ESC begins (ECMA-35, 13.2), but for those that keys send, which hide nothing.
"""
_MILD = re.compile(r"[\x80-\x9f]|\x1b\[(?!(?:(?!0*[34]8;)\d*;)*0*8[;m])[\d;:]*[m$%]")
"""What few terminals obey in UTF-8, and colours (Select Graphic Rendition), but for what conceals."""


def find_control(line: str) -> HiddenText | None:
    """The first character with which ``git diff`` or ``cat`` shows a line otherwise than it is; else one that may."""
    found = list(_OBEYED.finditer(line.rstrip(" \t\r")))
    worst = next((each for each in found if not _MILD.match(line, each.start())), None)
    if worst is not None:
        return HiddenText(Deception.control, worst.start(), worst[0])
    return HiddenText(Deception.terminal, found[0].start(), found[0][0]) if found else None


# --- parts of names that are not seen as such --------------------------------------------------------------

_UNSEEN = re.compile(
    "(?P<space>[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+)"
    "|(?P<private>[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]+)"
    "|(?P<invisible>[\x7f-\x84\x86-\x9f]+)"
)
_SPACED = (".jl", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte", ".astro", ".cs")
"""Where any space of Unicode is white space (ECMA-262 12.2, C# 6.3.4, Julia's ``isspace``): it is no part of a name."""


def find_unseen(path: str, line: str) -> Iterator[HiddenText]:
    """What a name may hold and nobody sees in it: PHP, Ruby and shells take any byte from 0x80 on."""
    is_spaced = path.lower().endswith(_SPACED)
    for match in _UNSEEN.finditer(line):
        if not (is_spaced and match.lastgroup == "space"):
            yield HiddenText(Deception[match.lastgroup or ""], match.start(), match[0])


# --- direction ---------------------------------------------------------------------------------------------

_EMBEDDINGS, _OVERRIDES, _ISOLATES = "\u202a\u202b", "\u202d\u202e", "\u2066\u2067\u2068"
_POP = {"\u202c": _EMBEDDINGS + _OVERRIDES, "\u2069": _ISOLATES}
_DIRECTS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_ENDS_TOKEN = re.compile(r"[\"'`]|/\*|\*/|//|<!--|-->")


def find_turned(text: str, *, is_translation: bool = False, within_token: bool = False) -> HiddenText | None:
    """The first control character that shows a line, or a part of it, in another order than it has.

    Such a control does harm if it is still open at the end, if it overrides the order of letters, or if it spans the
    end of a string or a comment.

    :param text: a line, or what a string or comment has of it.
    :param is_translation: nothing runs it: controls may stay open in a line with letters that are written from right to
        left.
    :param within_token: the text is known to be one string or comment, so that quotation marks in it end nothing; one
        control at the beginning of such letters may stay open, too.
    """
    if not _DIRECTS.search(text):
        return None
    excused = (is_translation or (within_token and _is_opening(text))) and has_right_to_left(text)
    opened: list[tuple[int, str]] = []
    for match in _DIRECTS.finditer(text):
        at, char = match.start(), match[0]
        if char not in _POP:
            if char in _OVERRIDES:
                return HiddenText(Deception.direction, at, char)
            opened.append((at, char))
            continue
        while opened and (closed := opened.pop()):
            if closed[1] not in _POP[char]:
                continue
            if not (excused or within_token) and _ENDS_TOKEN.search(text, closed[0], at):
                return HiddenText(Deception.direction, *closed)
            break
    return HiddenText(Deception.direction, *opened[0]) if opened and not excused else None


def _is_opening(text: str) -> bool:
    """Whether there is one control only, and behind it, to the end of the string, no letter that goes the other way."""
    found = list(_DIRECTS.finditer(text))
    return len(found) == 1 and (
        not text[: found[0].start()].strip("\"'`brfuR@$") or re.search(r"[A-Za-z0-9]", text[found[0].end() :]) is None
    )


def has_right_to_left(text: str) -> bool:
    """Whether it has letters that are written from right to left; marks of direction are none."""
    return any(
        char not in _MARKS and unicodedata.bidirectional(char) in ("R", "AL") for char in text if char > "\u058f"
    )


# --- invisible characters ----------------------------------------------------------------------------------

_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_JOINERS = "\u200c\u200d"
_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180e"
_MARKS = "\u200e\u200f\u061c"
_TAGS = "\U000e0000-\U000e007f"
_IGNORABLE = "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
"""The rest of Default_Ignorable_Code_Point (Unicode, DerivedCoreProperties.txt)."""
_OTHERS = "\u00ad\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb"
_INVISIBLE = re.compile(f"[{_SELECTORS}{_JOINERS}{_FILLERS}{_MARKS}{_TAGS}{_IGNORABLE}{_OTHERS}]+")
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,6}\U000e007f")
_KEYCAP = re.compile("[0-9#*]\ufe0f\u20e3")
_VIRAMA = 9
"""The combining class of what takes a consonant's vowel away: a joiner beside it tells how both are written."""
_JOINING = frozenset(
    {"ADLAM", "ARABIC", "CHORASMIAN", "HANIFI", "MANDAIC", "MANICHAEAN", "MONGOLIAN", "NKO", "PHAGS-PA", "PSALTER"}
    | {"SOGDIAN", "SYRIAC"}
)
"""The scripts whose letters join (Unicode, ArabicShaping.txt)."""
_WITHOUT_SPACES = frozenset({"KHMER", "LAO", "MYANMAR", "TAI", "THAI"})
_FILLED = {
    "\u034f": r"HEBREW (POINT|ACCENT|MARK)",
    "\u115f": r"HANGUL (CHOSEONG|JUNGSEONG|JONGSEONG)",
    "\u1160": r"HANGUL (CHOSEONG|JUNGSEONG|JONGSEONG)",
    **dict.fromkeys("\u180b\u180c\u180d\u180e\u180f", "MONGOLIAN LETTER"),
}
"""What has no glyph → the names of the characters that it may follow, or stand before."""
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa\u24c2"
    "\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff"
)
_SHOWN_AS_EMOJI = re.compile(f"[{_EMOJI}][\ufe0e\ufe0f]")
_EMOJI_SEQUENCE = re.compile(f"[{_EMOJI}]\ufe0f?(?:\u200d[{_EMOJI}]\ufe0f?)+")
"""As emoji-variation-sequences.txt and emoji-zwj-sequences.txt have them, by whole blocks (UTS 51)."""
_LONG = 8
"""So many in a row say something to a machine: the letters of a hidden text."""


def find_invisible(line: str, *, is_translation: bool = False) -> Iterator[HiddenText]:
    """The runs of invisible characters in a line that no writing needs.

    Emoji, Indic, Persian and other scripts need some, where the Unicode standard says so (UAX 31, UTS 51). No name
    needs a mark of direction.

    :param is_translation: nothing runs it: marks of direction may stand beside letters written from right to left.
    """
    if line.isascii():
        return
    shapes = (_FLAG, _KEYCAP, _SHOWN_AS_EMOJI, _EMOJI_SEQUENCE)
    known = {at for shape in shapes for match in shape.finditer(line) for at in range(*match.span())}
    excuses_marks = is_translation and has_right_to_left(line)
    for match in _INVISIBLE.finditer(line):
        if known.issuperset(range(*match.span())):
            continue
        if excuses_marks and not match[0].strip(_MARKS):
            continue
        if match.end() - match.start() >= _LONG or not _is_needed(line, *match.span()):
            yield HiddenText(Deception.invisible, match.start(), match[0])


def drop_invisible(text: str) -> str:
    """A text without its invisible characters."""
    return _INVISIBLE.sub("", text)


def find_hidden_message(line: str) -> HiddenText | None:
    """The first run of invisible characters that is long enough for a text of its own."""
    return next((each for each in find_invisible(line) if each.is_message), None)


def _is_needed(line: str, start: int, end: int) -> bool:
    """Whether writing needs a run of invisible characters between its neighbours."""
    before, run, after = line[start - 1 : start], line[start:end], line[end : end + 1]
    beside = [char for char in (before, after) if char]
    if run == "\ufeff" and start == 0:
        return True  # the caller knows whether it is the beginning of the file
    if run == "\u2800" * len(run):
        return any("\u2800" <= char <= "\u28ff" for char in beside)
    if run == "\u200b":
        return any(_find_script(char) in _WITHOUT_SPACES for char in beside)
    if run in _JOINERS and any(unicodedata.combining(char) == _VIRAMA for char in beside):
        return True
    if run == "\u200c":
        return len(beside) == 2 and all(char.isalpha() and _find_script(char) in _JOINING for char in beside)
    return run in _FILLED and any(re.match(_FILLED[run], unicodedata.name(char, "")) for char in beside)


# --- letters that look like others -------------------------------------------------------------------------

_ALIKE_ROWS = (
    ("асеорхуіјѕһԁԛԝӏАВЕКМНОРСТХУІЈЅԌҮ", "aceopxyijshdqwlABEKMHOPCTXYIJSGY"),  # Cyrillic
    ("οΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "oABEZHIKMNOPTYX"),  # Greek, those that mean nothing beside Latin ones
    ("\u03c5\u03bd", "uv"),  # Greek letters of formulas: they deceive in longer words only
    ("\u0131\u0251\u0261", "iag"),  # Latin letters of their own: they deceive as a known word or in a host's name only
    ("\u0237\u1d04\u1d0f\u1d1c\u1d20\u1d21\u1d22\ua731", "jcouvwzs"),  # those that no language is written with
    ("օսհցզ", "ouhgq"),  # Armenian
    ("סוןט", "olIv"),  # Hebrew
    ("ᎠᎡᎢᎪᏟᎬᎻᎫᏦᏞᎷᏢᏚᏙᎳᏃ", "DRTACEHJKLMPSVWZ"),  # Cherokee
)
_ALIKE = {ord(theirs): latin for other, row in _ALIKE_ROWS for theirs, latin in zip(other, row, strict=True)}
_LIKE_LATIN = frozenset(map(chr, _ALIKE))
_LATIN_ALIKE = frozenset(_ALIKE.values())
_OF_FORMULAS = frozenset("\u03c5\u03bd")
_LATIN_OF_THEIR_OWN = frozenset("\u0131\u0251\u0261")
_OF_NO_LANGUAGE = frozenset("\u0237\u1d04\u1d0f\u1d1c\u1d20\u1d21\u1d22\ua731")
_WITH_DOTLESS_I = (".tr", ".az")
_LONG_WORD = 4  # letters: formulas have shorter ones, as a frequency with its index
_MARKS_ON_LETTERS = "\u0300-\u036f"
_WORD = re.compile(rf"[^\W\d][\w${_MARKS_ON_LETTERS}]*")
_MARK_ON_LETTER = re.compile(f"[{_MARKS_ON_LETTERS}]")
_LIKE_SIGNS = re.compile("[\u01c0\u01c1\u01c3\u02d0\ua4fd\ua4f8\ua789]")
"""Letters that look like ``|``, ``!``, ``:`` or ``.``: an assignment to such a name reads as a comparison."""
_PARTS = re.compile(r"[\d_$]+")
_IMITATION = re.compile(rf"(?<![^\W\d_])[{''.join(_LIKE_LATIN)}]{{2,}}(?![^\W\d_])")
_HOST = re.compile(
    r"(?:://(?:[^\s/@\"'<>]*@)?|(?<=[\w.+-])@|(?<=[\"'])(?=[\w.-]+/)"
    r"|(?<=[\"'])(?=[\w.-]+\.(?:com|org|io|dev)[\"':])|(?<![^\s=])(?=[\w.-]+\.(?:com|org|io|dev)[/:]))"
    r"((?:[^\W_](?:[\w-]*)\.)+[A-Za-z]{2,})(?![\w.])"
)
"""A host's name: after a scheme, a user or a quote; without an address around it, only with a common ending."""
_HOST_PART = re.compile(r"[^\W_]+")
_SHORTEST = 2  # letters of a word that is taken for another one as a whole
_STYLED = ("MATHEMATICAL", "FULLWIDTH")
_RARE = frozenset(
    {"COPTIC", "LISU", "CHEROKEE", "DESERET", "RUNIC", "OSAGE", "TIFINAGH", "GOTHIC", "VAI", "CARIAN", "LYCIAN", "OLD"}
)
"""Scripts of few or no living writers (UAX 31, table 4 and 7), some of whose letters look like Latin ones."""


@dataclass(frozen=True)
class FileWords:
    """What a file is written with.

    :param ascii: its words of ASCII letters, which others may be taken for.
    :param scripts: those of which it has letters that look like no Latin ones.
    :param of_names: those of them in which it has names, as far as these can be told from strings and comments.
    """

    ascii: frozenset[str]
    scripts: frozenset[str]
    of_names: frozenset[str]


def read_words(text: str) -> FileWords:
    """What a text is written with, where nobody tells names from the rest."""
    words = frozenset(word for word in _WORD.findall(text) if word.isascii())
    scripts = frozenset(map(_find_own_script, set(text))) - {""}
    return FileWords(words, scripts, scripts)


def _find_own_script(char: str) -> str:
    """The script of a letter beyond ASCII that looks like no Latin one; empty for any other character."""
    return "" if char.isascii() or char in _LIKE_LATIN or not char.isalpha() else _find_script(char)


def find_alike(line: str, known: FileWords) -> Iterator[HiddenText]:
    """The words of a line that deceive by their letters; what they stand in is for the caller to know.

    Such a word mixes Latin letters with others that look like them, or is as a whole taken for a word of the file, or
    for any other where the file has no names in its script.
    """
    if line.isascii():
        return
    for match in _WORD.finditer(line):
        word = match[0]
        if not word.isascii() and (mixes(word) or _is_double(word, known) or _LIKE_SIGNS.search(word)):
            yield HiddenText(Deception.look_alike, match.start(), word)


def imitates(word: str, scripts: Collection[str] = ()) -> bool:
    """Whether a word has no letter that does not look like a Latin one, and is of none of these scripts."""
    letters = [char for char in word if char.isalpha()]
    of_word = set(map(_find_script, letters))
    return (
        len(letters) >= _SHORTEST
        and _LIKE_LATIN.issuperset(letters)
        and of_word.isdisjoint(scripts)
        and "LATIN" not in of_word
    )


def has_imitation(text: str) -> bool:
    """Whether a text has a word of which all letters look like Latin ones."""
    return _IMITATION.search(text) is not None


def list_own_scripts(line: str) -> Iterator[tuple[int, str]]:
    """The columns of letters beyond ASCII that look like no Latin ones, the first of each word, with their scripts."""
    for match in _WORD.finditer(line):
        if not match[0].isascii():
            found = ((at, _find_own_script(char)) for at, char in enumerate(match[0], match.start()))
            yield from islice(((at, script) for at, script in found if script), 1)


def find_false_host(line: str) -> HiddenText | None:
    """The first part of a host's name in an address that looks like another one, as browsers judge it (UTS 39, 4)."""
    if line.isascii():
        return None
    for match in _HOST.finditer(line):
        for part in _HOST_PART.finditer(match[1]):
            word = part[0]
            if not word.isascii() and (mixes(word) or imitates(word) or _is_latin_double(word, match[1])):
                return HiddenText(Deception.look_alike, match.start(1) + part.start(), word)
    return None


def _is_latin_double(part: str, host: str) -> bool:
    """Whether a part of a host's name differs from one of ASCII letters by letters alone that the country has not."""
    is_foreign = not host.lower().endswith(_WITH_DOTLESS_I)
    return is_foreign and not _LATIN_OF_THEIR_OWN.isdisjoint(part) and to_plain(part).isascii()


def fold_alike(text: str) -> str:
    """The text with the Latin letters that its letters look like."""
    return text.translate(_ALIKE)


def to_plain(word: str) -> str:
    """A word as it is read: look-alikes become Latin letters, and combining marks are dropped."""
    return unicodedata.normalize("NFKC", _MARK_ON_LETTER.sub("", word).translate(_ALIKE))


def list_plain(lines: Iterable[str]) -> frozenset[str]:
    """The words of ASCII letters that other words of some lines look like."""
    odd = {word for line in lines if not line.isascii() for word in _WORD.findall(line) if not word.isascii()}
    return frozenset(filter(str.isascii, map(to_plain, odd)))


def is_of_other_script(word: str) -> bool:
    """Whether it has letters that are not Latin."""
    return any(char.isalpha() and not char.isascii() and _find_script(char) != "LATIN" for char in word)


def _is_double(word: str, known: FileWords) -> bool:
    plain = to_plain(word)
    shortest = _LONG_WORD if _MARK_ON_LETTER.search(word) else _SHORTEST  # formulas have marks on short names
    if len(plain) < shortest or plain == word or not plain.isascii():
        return False
    if len(plain) == _SHORTEST and not (_OF_FORMULAS.isdisjoint(word) and imitates(word)):
        return False
    return plain in known.ascii or imitates(word, known.of_names)


def mixes(word: str) -> bool:
    """Whether a word has Latin letters and others that look like them."""
    parts = [part for run in _PARTS.split(word) for part in _split_humps(run) if part]
    return any(map(_mixes_scripts, parts)) or (any(map(str.isascii, parts)) and any(map(_LIKE_LATIN.issuperset, parts)))


def _split_humps(run: str) -> Iterator[str]:
    """``getДанные`` is two words."""
    start = 0
    for at in range(1, len(run)):
        if run[at].isupper() and run[at - 1].islower():
            yield run[start:at]
            start = at
    yield run[start:]


def _mixes_scripts(part: str) -> bool:
    latin = [char for char in part if char.isascii()]
    if not latin:
        return False
    other = [char for char in part if char.isalpha() and not char.isascii() and _find_script(char) != "LATIN"]
    styled = [char for char in other if _find_script(char) in _STYLED]
    if not _OF_FORMULAS.isdisjoint(other) and len(part) < (_LONG_WORD + 1 if "\u03bd" in part else _LONG_WORD):
        return False
    if any(_find_script(char) in _RARE for char in other):
        return True
    if len(part) >= _LONG_WORD and not _OF_NO_LANGUAGE.isdisjoint(part) and to_plain(part).isascii():
        return True
    return bool(other) and (len(styled) == len(other) or _LIKE_LATIN.issuperset(other) or _is_slip(latin, other))


def _is_slip(latin: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one Latin letter stands in a Cyrillic word; two may be an abbreviation before it."""
    return len(latin) == 1 and latin[0] in _LATIN_ALIKE and all(_find_script(char) == "CYRILLIC" for char in other)


def _find_script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]
