"""Finds what a test names and the program has no more: by the errors of its run, and by the texts of both sides."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agents.testing.earlier_tests.choice import Entry, is_of_tests
from agents.testing.earlier_tests.reading import Reader, is_of_program
from agents.testing.earlier_tests.texts import Version, find_stand_in
from domain.review.changes import Change
from domain.runs.earlier_tests import MOST_NAMED, EarlierTests, RemovedTest

_MISSING = re.compile(
    r"""
      cannot\ import\ name\ '(?P<a>[\w.]+)'
    | No\ module\ named\ '(?P<b>[\w.]+)'
    | has\ no\ attribute\ '(?P<c>\w+)'
    | name\ '(?P<d>\w+)'\ is\ not\ defined
    | unexpected\ keyword\ argument\ '(?P<e>\w+)'
    | (?P<f>[\w$.]+)\ is\ not\ (?:a\ function|defined|a\ constructor|iterable)
    | does\ not\ provide\ an\ export\ named\ '(?P<g>[\w$]+)'
    | Cannot\ find\ (?:module|package)\ '(?P<h>[^'\n]+)'
    | undefined:\ (?P<i>[\w.]+)
    | (?:has\ no\ field\ or\ method|unknown\ field)\ `?(?P<j>\w+)
    | cannot\ find\ (?:\w+[ ,]+){1,5}`(?P<k>\w+)`
    | no\ (?:method|function\ or\ associated\ item|associated\ item|variant|field|function)[\ \w]*\ named\ `(?P<l>\w+)`
    | unresolved\ imports?\ `(?P<m>[\w:]+)`
    | no\ `(?P<n>\w+)`\ in\ `
    | undefined\ (?:local\ variable\ or\ )?method\ [`'](?P<o>\w+[?!=]?)'
    | uninitialized\ constant\ (?P<p>[\w:]+)
    | unknown\ keywords?:\ :?(?P<q>\w+)
    | cannot\ load\ such\ file\ --\ (?P<r>[^\s]+)
    | Call\ to\ undefined\ (?:method|function)\ (?P<s>[\w\\:]+)
    | does\ not\ have\ a\ method\ "(?P<ag>\w+)"
    | (?:Class|Interface|Trait)\ "(?P<t>[\w\\]+)"\ (?:does\ not\ exist|not\ found)
    | Undefined\ (?:constant|property)[ :]+(?P<u>[\w\\:$]+)
    | Unknown\ named\ parameter\ \$(?P<v>\w+)
    | symbol:\s+(?:class|method|variable)\ (?P<w>\w+)
    | does\ not\ contain\ a\ definition\ for\ '(?P<x>\w+)'
    | (?:name|namespace\ name)\ '(?P<y>\w+)'\ (?:does\ not\ exist|could\ not\ be\ found)
    | (?P<z>[\w./-]+):\ (?:(?:command\ )?not\ found|No\ such\ file\ or\ directory)
    | No\ such\ file\ or\ directory:\ '(?P<aa>[^'\n]+)'
    | no\ such\ option:?\ (?P<ab>--?[\w-]+) | No\ such\ option:?\ (?P<ac>--?[\w-]+)
    | unrecognized\ arguments:\ (?P<ad>--?[\w-]+) | unknown\ (?:flag|option|shorthand\ flag):\ ['"]?(?P<ae>--?[\w-]+)
    | ENOENT[^'\n]*'(?P<af>[^'\n]+)'
    """,
    re.VERBOSE,
)
_UNWARNED = re.compile(r"No warnings of type \(<class '([\w.]+)'|AssertionError: (\w+) not triggered")
_ARITY = re.compile(
    r"missing \d+ required (?:positional|keyword-only) argument|takes \d+ positional arguments? but|"
    r"wrong number of arguments|not enough arguments in call|too many arguments in call|"
    r"takes \d+ arguments? but \d+|Too few arguments to function|missing keywords?:"
)
_WORD = re.compile(r"[A-Za-z_]\w{2,80}")
_TEXT = re.compile(
    r"\"((?:\\.|[^\"\\\n]){3,120})\"|'((?:\\.|[^'\\\n]){3,120})'|`((?:\\.|[^`\\\n]){3,120})`|"
    r"(?<=[(=, ])/(?![/* ])((?:\\.|[^/\\\n]){3,120})/"
)
_ESCAPED = re.compile(r"\\(?=[^\w\s])")
_MOST = 200
_DEFINES = (
    r"\b(?:def|class|function\*?|func|fn|const|let|var|val|type|interface|struct|enum|trait|mod|module|static|public|"
    r"private|protected|internal|async|pub|attr_\w+|import|from|export|alias|define)\b[^\n]{0,200}?\b%s\b|"
    r"^\s*(?:self\.|this\.|exports\.|module\.exports\.)?%s\s*[:=(]|[{,]\s*%s\s*[,}:]|[.)]\s*%s\s*=|^\s*%s,?\s*$|"
    r"func \([^)]*\) %s\b|\"%s\"|'%s'"
)


_ASSIGNS = re.compile(r"\s*(?:const |let |var |my |val )?(\w+)\s*:?=(?!=)")


def find_missing(output: str) -> tuple[str, ...]:
    """What an output says is not there, each once, as the language names it."""
    names = (next(part for part in found.groups() if part) for found in _MISSING.finditer(output))
    return tuple(dict.fromkeys(names))


def find_unwarned(output: str) -> tuple[str, ...]:
    """The kinds of warnings that an output misses, each once."""
    return tuple(dict.fromkeys(shorten(found[1] or found[2]) for found in _UNWARNED.finditer(output)))


def misfits_call(output: str) -> bool:
    """Whether a call was not given what the program takes now."""
    return _ARITY.search(output) is not None


def shorten(name: str) -> str:
    """The last part of a qualified name, or the name of a file without its ending."""
    name = name.rstrip("/")
    if "/" in name or name.endswith((".js", ".ts", ".mjs", ".cjs", ".rb")):
        return re.sub(r"\.\w{1,5}$", "", name.rpartition("/")[2])
    return re.split(r"::|\\|\.|->", name)[-1]


def is_defined_less(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether some file of the program defined a name and does so no more.

    :param before: path → content, of the files of the program that the change touches; :param after: the same.
    """
    short = shorten(name)
    word = re.escape(short)
    defines = re.compile(_DEFINES.replace("%s", word), re.MULTILINE)
    for path, text in before.items():
        lost_file = path not in after and short in {*path.split("/"), re.sub(r"\.\w+$", "", path.rpartition("/")[2])}
        if lost_file or (name in path and path not in after):
            return True
        if defines.search(text) and len(defines.findall(after.get(path, ""))) < len(defines.findall(text)):
            return True
    return False


def list_words(lines: Sequence[str]) -> list[str]:
    """The names and texts in a test that the program may know, without the names of its own values."""
    own = {assigned[1] for line in lines if (assigned := _ASSIGNS.match(line))}
    found: dict[str, None] = {}
    for line in lines:
        found.update(dict.fromkeys(_list_texts(line)))
        found.update(dict.fromkeys(word for word in _WORD.findall(_TEXT.sub("", line)) if word not in own))
    return list(found)[:_MOST]


def keep_gone(words: Iterable[str], before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The words that the touched files of the program had, and have no more; others may have them still."""
    old, new = "\n".join(before.values()), "\n".join(after.values())
    return [word for word in words if _has(old, word) and not _has(new, word)]


def _has(text: str, word: str) -> bool:
    return word in text and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _list_texts(line: str) -> Iterator[str]:
    for found in _TEXT.finditer(line):
        text = _ESCAPED.sub("", next(part for part in found.groups() if part))
        yield from (text, text.rpartition("\\")[2]) if "\\" in text else (text,)
        yield from (part for part in re.findall(r"--[\w-]{2,}|/[\w-]{2,}(?:/[\w-]+)*", text) if part != text)


_EXPECTS_VALUE = re.compile(r"==|equal|toBe\(|\beq\b|assert_eq|IsEqual|\bsame\b|EqualTo|\bis\(", re.IGNORECASE)
_TEXTS = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")


class GoneNames:
    """What is gone from the program between two commits.

    :param before: path → content, of the program's files that differ, before the change; :param after: at head.
    """

    def __init__(self, reader: Reader, head: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        self._reader = reader
        self._head = head
        self._before = before
        self._after = after

    @classmethod
    async def of(
        cls, reader: Reader, commits: tuple[str, str], base: Mapping[str, Entry], head: Mapping[str, Entry]
    ) -> "GoneNames":
        """Read what differs between two commits."""
        touched = [path for path in base if base[path] != head.get(path) and is_of_program(path)]
        return cls(reader, commits[1], await reader.read(commits[0], touched), await reader.read(commits[1], touched))

    def verify(self, output: str) -> tuple[str, ...]:
        """The names that an output misses and the program defined, and defines no more; kinds of warnings: named."""
        missing = [name for name in find_missing(output) if is_defined_less(name, self._before, self._after)]
        return (*missing, *keep_gone(find_unwarned(output), self._before, self._after))

    async def find_in(self, version: Version, beside: Version | None) -> tuple[str, ...]:
        """The names and texts in a test that no file of the program has any more; kinds of warnings: no touched one.

        A value that an assertion expects is none: a program that answers another one has not lost it.

        :param beside: what stands in its place; what that still names is not gone.
        """
        words = list_words([_TEXTS.sub("", line) if _EXPECTS_VALUE.search(line) else line for line in version.lines])
        still = "" if beside is None else "\n".join(beside.lines)
        candidates = [word for word in keep_gone(words, self._before, self._after) if word not in still]
        candidates = [word for word in candidates if self._may_be_gone(word)]
        unused = {*await self._reader.keep_unused(self._head, candidates)}
        return tuple(word for word in candidates if word in unused or _is_warning(word))[:10]

    def _may_be_gone(self, word: str) -> bool:
        """Whether a word is a text, a kind of warning or error that the language defines, or the program's own."""
        is_own = not word.isidentifier() or is_defined_less(word, self._before, self._after)
        return is_own or _is_warning(word) or word.endswith(("Error", "Exception"))


def _is_warning(word: str) -> bool:
    """Whether a word is a kind of warning: that others still give it does not mean that this one is there."""
    return word.endswith("Warning")


def name_for_people(names: Sequence[str]) -> tuple[str, ...]:
    """The names without the places they were looked for in, each once."""
    return tuple(dict.fromkeys(shorten(name) if name.startswith((".", "/")) else name for name in names))


async def add_removed(said: EarlierTests, reader: Reader, change: Change, seen: Collection[str] = ()) -> EarlierTests:
    """What the earlier tests say, with those that the change removes and that nobody ran.

    :param seen: paths of files of which a run told something.
    """
    removed = await _find_removed(reader, change, seen)
    named = tuple(RemovedTest(name=each.test.name[:200], path=each.path) for each in removed[:MOST_NAMED])
    return said.model_copy(update={"removed": named, "removed_count": len(removed)}) if removed else said


async def _find_removed(reader: Reader, change: Change, seen: Collection[str]) -> list[Version]:
    old, new = change.merge_base, change.head_sha
    touched = [path for path in change.paths if is_of_tests(path)]
    if not any(path not in seen for path in touched):
        return []
    base, head = await reader.list_files(old), await reader.list_files(new)
    before = await _list_tests(reader, old, [path for path in touched if path in base])
    after = await _list_tests(reader, new, [path for path in touched if path in head])
    fresh = [each for each in after if _key(each) not in set(map(_key, before))]
    return [each for each in _take_away(before, after) if each.path not in seen and not find_stand_in(each, fresh)]


async def _list_tests(reader: Reader, commit: str, paths: Collection[str]) -> list[Version]:
    found = await reader.find_versions(await reader.read(commit, paths))
    return [each for tests in found.values() for each in tests]


def _take_away(before: list[Version], after: list[Version]) -> list[Version]:
    """The tests of before without those that are still there, wherever they are now."""
    there = _Places(Counter(map(_key, after)), Counter(each.test.name for each in after))
    rest = [each for each in before if not there.take_same(each)]
    return [each for each in rest if not there.take_named(each)]


@dataclass
class _Places:
    """The tests of after that none of before has been found to be yet."""

    keys: Counter[tuple[str, str, tuple[str, ...]]]
    names: Counter[str]

    def take_same(self, test: Version) -> bool:
        """Whether it is where it was."""
        is_there = self.keys[_key(test)] > 0
        if is_there:
            self.keys[_key(test)] -= 1
            self.names[test.test.name] -= 1
        return is_there

    def take_named(self, test: Version) -> bool:
        """Whether it is anywhere else."""
        is_there = self.names[test.test.name] > 0
        self.names[test.test.name] -= is_there
        return is_there


def _key(test: Version) -> tuple[str, str, tuple[str, ...]]:
    return test.path, test.test.name, tuple(test.test.groups)
