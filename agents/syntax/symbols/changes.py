"""Finds the definitions that a change touches, and the calls on its lines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from agents.syntax.symbols.imports import Import
from agents.syntax.symbols.places import FOLLOWED, NamePlace, SourceFile

_COMMENT = re.compile(r"\s*(?:#(?!\[|include|define)|//|/?\*|--|<!--|$)")
_LITERAL = re.compile(r"""\"(?:[^"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`\n]*`""")
_RUST_TESTS = re.compile(r"^\s*#\[cfg\(test\)\]\s*\n\s*(?:pub )?mod\b", re.MULTILINE)
_MOST_DEFINITIONS, _MOST_CALLS = 40, 60
CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "__construct", "initialize"})
"""Members that run when somebody calls their class; in Java and C# they have its name."""


@dataclass(frozen=True)
class ChangedSource:
    """A changed file with both versions.

    :param old_path: its path before.
    :param base: its text before; None for a new file.
    :param head: its text after; None if it is gone.
    :param added: lines of head that the change adds, from 1.
    :param removed: lines of the base that it removes.
    """

    path: str
    old_path: str
    language: str
    base: str | None
    head: str | None
    added: Sequence[int]
    removed: Sequence[int]

    @cached_property
    def before(self) -> SourceFile | None:
        """The version before, with its tree."""
        return _open(self.old_path, self.language, self.base)

    @cached_property
    def after(self) -> SourceFile | None:
        """The version after, with its tree."""
        return _open(self.path, self.language, self.head)

    @cached_property
    def code_lines(self) -> tuple[list[int], list[int]]:
        """The added and the removed lines that change more than a comment, a text or the layout."""
        added, removed = _pick(self.head, self.added), _pick(self.base, self.removed)
        return (
            [line for line, text in added.items() if text not in removed.values()],
            [line for line, text in removed.items() if text not in added.values()],
        )

    @cached_property
    def definitions(self) -> "tuple[ChangedDefinition, ...]":
        """The definitions that the change touches; those that callers see first."""
        return tuple(_list_changed(self))

    @cached_property
    def calls(self) -> tuple[tuple[SourceFile, NamePlace], ...]:
        """The calls on added lines, then those on removed ones that are nowhere in the file any more; each once."""
        return tuple(self._list_calls())

    def _list_calls(self) -> Iterator[tuple[SourceFile, NamePlace]]:
        seen: set[tuple[str, str]] = set()
        for source, lines in zip((self.after, self.before), self.code_lines, strict=True):
            for place in source.list_calls(lines) if source else ():
                is_there = source is self.before and self.after is not None and self.after.find(place.name) != ()
                if source and not is_there and (place.receiver, place.name) not in seen and len(seen) < _MOST_CALLS:
                    seen.add((place.receiver, place.name))
                    yield source, place


def _pick(text: str | None, lines: Sequence[int]) -> dict[int, str]:
    """Those of some lines that are more than a comment, without layout and the texts in them."""
    if text is None:
        return {}
    tests = _RUST_TESTS.search(text)
    end = text.count("\n", 0, tests.start()) if tests else len(text)
    all_ = text.split("\n")
    code = [line for line in lines if line <= min(len(all_), end) and not _COMMENT.match(all_[line - 1])]
    return {line: "".join(_LITERAL.sub("''", all_[line - 1]).split()) for line in code}


@dataclass(frozen=True)
class ChangedDefinition:
    """A definition that a change touches.

    :param place: where it is; before the change if it is gone.
    :param is_gone: it is no longer there.
    :param is_new: it was not there before.
    :param has_new_head: its first lines changed, which callers see.
    """

    place: NamePlace
    is_gone: bool
    is_new: bool
    has_new_head: bool

    @property
    def is_constructor(self) -> bool:
        """Whether it runs when somebody calls its class."""
        place = self.place
        is_named_so = place.name == place.owner and not place.is_class
        return bool(place.owner) and (place.name in CONSTRUCTORS or is_named_so)

    @property
    def is_seen(self) -> bool:
        """Whether callers see the change without calling it."""
        return self.is_gone or self.has_new_head

    @property
    def fate(self) -> str:
        """What became of it."""
        return "is gone" if self.is_gone else "changed"

    @property
    def label(self) -> str:
        """Its name with its class."""
        place = self.place
        return f"{place.owner}.{place.name}" if place.owner and not place.is_class else place.name


def _list_changed(file: ChangedSource) -> list[ChangedDefinition]:
    after = () if file.after is None else file.after.definitions
    before = () if file.before is None else file.before.definitions
    added, removed = file.code_lines
    touched = {each.key[1:] for each in _list_touched(after, added)}
    touched |= {each.key[1:] for each in _list_touched(before, removed)}
    now, then = {each.key[1:]: each for each in reversed(after)}, {each.key[1:]: each for each in reversed(before)}
    found = [_compare(now.get(key), then.get(key)) for key in touched]
    if file.old_path != file.path and file.before is not None and file.head is not None:
        moved = [each for each in before if not each.is_member]
        found += [ChangedDefinition(each, is_gone=True, is_new=False, has_new_head=False) for each in moved]
    ranked = sorted(found, key=lambda each: (not each.is_gone, not each.has_new_head, each.place.start))
    return ranked[:_MOST_DEFINITIONS]


def _compare(now: NamePlace | None, then: NamePlace | None) -> ChangedDefinition:
    place = now or then
    if place is None:
        raise ValueError("It is in neither version.")
    heads = {_read_head(each) for each in (now, then) if each is not None}
    return ChangedDefinition(place, now is None, then is None, has_new_head=len(heads) > 1)


def _read_head(place: NamePlace) -> str:
    """A definition up to the end of its parameters; of a value all of it."""
    text = place.declaration
    if "(" not in text:
        return text.split("{", 1)[0] if place.is_class else text
    level = 0
    for index, char in enumerate(text):
        level += (char == "(") - (char == ")")
        if char == ")" and level == 0:
            return text[: index + 1] + re.split(r"[{\n]", text[index + 1 :], maxsplit=1)[0]
    return text


def _list_touched(definitions: Sequence[NamePlace], lines: Sequence[int]) -> Iterator[NamePlace]:
    """The definitions on some lines: of a class only if a line is in none of its members."""
    members = [each for each in definitions if not each.is_class]
    inside = {line for line in lines if any(each.start <= line <= each.end for each in members)}
    for each in definitions:
        own = [line for line in lines if each.start <= line <= each.end]
        if (own and not each.is_class) or any(line not in inside for line in own):
            yield each


def list_wanted(files: Sequence[ChangedSource]) -> list[tuple[str, ...]]:
    """What to look for in other files: each is some words that must all be in a file's path or text."""
    found: dict[tuple[str, ...], None] = {}
    for file in files:
        source, owners = file.after or file.before, set[str]()
        for definition in file.definitions:
            found |= dict.fromkeys(_list_words(file, definition))
            owners.add(definition.place.owner)
        for own, place in file.calls:
            found |= dict.fromkeys(_describe_call(own, place))
            owners.add(place.owner)
        heads = [each for each in source.classes if each.name in owners] if source else []
        bases = sorted({base for each in heads for base in each.bases if base[:1].isupper()})
        found |= dict.fromkeys((words,) for base in bases for words in _spell_class(file.language, base))
    return [words for words in found if all(words)]


def _list_words(file: ChangedSource, definition: ChangedDefinition) -> Iterator[tuple[str, ...]]:
    """The words of files that may use a definition."""
    place = definition.place
    source, stem = file.after or file.before, PurePosixPath(file.path).stem
    if source is not None and source.default and source.default in {place.name, place.owner} and stem != "index":
        yield (stem, *([] if source.default == place.name or definition.is_constructor else [place.name]))
    if not place.is_member:
        yield (place.name,)
        return
    yield (place.owner,) if definition.is_constructor else (place.name, place.owner)
    if is_telling(place.name):
        yield (place.name,)
    elif not definition.is_constructor:
        yield from ((words, place.name) for words in spell_objects(place.owner))
        heads = [each for each in source.classes if each.name == place.owner] if source else []
        yield from ((place.name, base) for each in heads for base in sorted(each.bases) if base[:1].isupper())


def _describe_call(source: SourceFile, place: NamePlace) -> list[tuple[str, ...]]:
    """The words of files that may define what is called, as far as it is plain what that is."""
    taken = {each.local: each for each in source.imports}
    name = place.name
    spelled = taken[name].name if name in taken and taken[name].name not in {"", "default"} else name
    defining = _spell_function(source.language, spelled)
    if not place.receiver:
        passed_on = [(words, spelled) for words in _PASSING_ON.get(source.language, ())] if name in taken else []
        return [*passed_on, *((words,) for words in (*defining, *_spell_class(source.language, spelled)))]
    words = re.findall(r"\w+", place.receiver)
    is_plain = words[:1] and (words[0] in taken or words[0][:1].isupper() or words[0] in SELF | SUPER)
    if is_plain or is_telling(name):
        passed_on = [f"{_name_module(taken[words[0]])}/__init__.py"] if words and words[0] in taken else []
        return [(each,) for each in (*(passed_on if source.language == "python" else ()), *defining)]
    types = {read_class(words[-1]) if words else "", *source.find_types(words[-1] if words else "")}
    named = {taken[each].name or each if each in taken else each for each in types}
    return [(each, type_) for each in defining for type_ in sorted(named) if type_]


def _name_module(taken: Import) -> str:
    """The last word of the module that an import may be."""
    return (taken.name or taken.module).rpartition(".")[2]


_PASSING_ON: Mapping[str, tuple[str, ...]] = {
    "python": ("__init__.py",),
    "javascript": ("/index.",),
    "typescript": ("/index.",),
    "tsx": ("/index.",),
    "rust": ("pub use",),
}
"""Words of files that pass on what they import."""
_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "python": ("def NAME",),
    "ruby": ("def NAME", "def self.NAME"),
    "go": ("func NAME", ") NAME("),
    "rust": ("fn NAME", "macro_rules! NAME"),
    "php": ("function NAME",),
}
_CLASSES: Mapping[str, tuple[str, ...]] = {
    "python": ("class NAME",),
    "ruby": ("class NAME", "module NAME"),
    "go": ("NAME struct", "NAME interface"),
    "rust": ("struct NAME", "enum NAME", "trait NAME"),
}
_ANY_CLASS = ("class NAME", "interface NAME", "trait NAME", "enum NAME", "struct NAME", "record NAME", "} NAME;")
_ANY_FUNCTION = ("NAME(", "NAME (", "NAME =", "NAME:", "NAME<")


def _spell_function(language: str, name: str) -> list[str]:
    return [each.replace("NAME", name) for each in _FUNCTIONS.get(language, _ANY_FUNCTION)]


def _spell_class(language: str, name: str) -> list[str]:
    return [each.replace("NAME", name) for each in _CLASSES.get(language, _ANY_CLASS)]


_LIBRARY_METHODS = """
    setid to_param
    tostring toarray tolist getname getvalue getid gettype getkey setname setvalue foreach indexof startswith endswith
    has_key to_s to_str to_string to_json to_dict to_list to_a is_empty isempty isnull is_null get_name get_value get_id
    add_argument set_up setup tear_down assert_equal hashcode equals compareto setattribute getattribute get_or_create
    addeventlistener removeeventlistener queryselector appendchild setstate getelementbyid unwrap_or as_str as_ref
    order_by group_by first_or_create save_changes savechanges write_text read_text is_valid isvalid get_queryset
"""
_WELL_KNOWN = frozenset(_LIBRARY_METHODS.split())
_TWO_WORDS = re.compile(r"[a-z0-9]_+[a-zA-Z0-9]|[a-z0-9][A-Z]")


SELF = frozenset({"self", "this", "cls", "Self", "static"})
SUPER = frozenset({"super", "base", "parent"})
"""Receivers that stand for the object or class itself, and for what it builds on."""


def read_class(word: str) -> str:
    """The class that an object is called after, as ``user_store`` after ``UserStore``; empty if that is not plain.

    One word is not plain: `file` and `user` are called so whatever they are.
    """
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", word)
    is_object = len(words) > 1 and word.lstrip("_")[:1].islower()
    return "".join(word[:1].upper() + word[1:] for word in words) if is_object else ""


def spell_objects(owner: str) -> list[str]:
    """What an object is called after its class."""
    plain = owner[:1].lower() + owner[1:]
    objects = dict.fromkeys((plain, re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain).lower()))
    return [each for each in objects if read_class(each) == owner]


def is_telling(name: str) -> bool:
    """Whether a method's name is long enough to be no other's by chance: two words, and none that libraries have."""
    return _TWO_WORDS.search(name.strip("_")) is not None and not is_well_known(name)


def is_well_known(name: str) -> bool:
    """Whether methods of libraries have this name, too."""
    return name.lower() in _WELL_KNOWN


def _open(path: str, language: str, text: str | None) -> SourceFile | None:
    if text is None or language not in FOLLOWED:
        return None
    try:
        return SourceFile(path, language, text)
    except ValueError:
        return None
