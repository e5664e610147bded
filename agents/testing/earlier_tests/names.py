"""Finds what a test names and the program has no more: by the errors of its run, and by the words that are gone."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

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
_DEPRECATED = re.compile(r"^E?\s*((?:\w+\.)*(?:\w*DeprecationWarning|FutureWarning): .+)", re.MULTILINE)
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


def find_missing(output: str) -> tuple[str, ...]:
    """What an output says is not there, each once, as the language names it."""
    names = (next(part for part in found.groups() if part) for found in _MISSING.finditer(output))
    return tuple(dict.fromkeys(names))


def find_unwarned(output: str) -> tuple[str, ...]:
    """The kinds of warnings that an output misses, each once."""
    return tuple(dict.fromkeys(shorten(found[1] or found[2]) for found in _UNWARNED.finditer(output)))


def find_deprecation(output: str) -> str:
    """What an output says is deprecated, where a warning of that is an error; empty if it says so of nothing."""
    found = _DEPRECATED.search(output)
    return found[1].strip() if found else ""


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


_ASSIGNS = re.compile(r"\s*(?:const |let |var |my |val )?(\w+)\s*:?=(?!=)")


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
