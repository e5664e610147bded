"""Changes values of a configuration file, and leaves its comments, its order and everything else as they are."""

from collections.abc import Mapping
from io import StringIO
from typing import Any, cast

from pydantic import JsonValue
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import CommentMark
from ruamel.yaml.tokens import CommentToken
from ruamel.yaml.util import load_yaml_guess_indent  # pyright: ignore[reportUnknownVariableType]

_WIDTH = 4096  # characters; longer lines would be broken
_MAPPING, _SCALAR = "mapping", "scalar"  # ids of nodes
_HEAD = "# Configuration of Forge.\n"


class _Absent:
    """In place of a value that is not in the file."""


ABSENT = _Absent()
"""The key is not to be in the file."""

NewValue = JsonValue | _Absent


def edit_file(content: bytes | None, changes: Mapping[str, NewValue]) -> bytes:
    """The file with these values in it.

    :param content: a file that is read without a mistake; None: there is none yet.
    :param changes: by dotted path; :data:`ABSENT` takes a key away.
    """
    given = "" if content is None else content.decode("utf-8-sig")
    text = given.replace("\r\n", "\n")
    for path, value in changes.items():
        text = _without(text, path.split(".")) if isinstance(value, _Absent) else text
    guess = cast(Any, load_yaml_guess_indent)  # untyped
    indent, offset = guess(text or "a: 1\n")[1:]
    yaml: Any = YAML()  # untyped
    yaml.preserve_quotes, yaml.width = True, _WIDTH
    yaml.indent(mapping=2, sequence=indent or 2, offset=offset or 0)
    tree: Any = yaml.load(text)
    if tree is None:
        tree = CommentedMap()
    for path, value in changes.items():
        _change(tree, path.split("."), value)
    written = StringIO()
    if tree:
        yaml.dump(tree, written)
    is_only_comments = yaml.load(text) is None
    head = (text if text.endswith("\n") or not text else f"{text}\n") if is_only_comments else ""
    whole = f"{head or (_HEAD if content is None else '')}{written.getvalue()}"
    return (whole.replace("\n", "\r\n") if "\r\n" in given else whole).encode()


def _without(text: str, keys: list[str]) -> str:
    """The text without the lines of a key, and of what would be empty without it.

    To the parser a comment belongs to what stands above it, so it would take away what is said of the next key. Of
    what braces hold besides nothing is taken away here.
    """
    parser: Any = YAML()  # untyped
    node: Any = parser.compose(text)
    gone: tuple[Any, Any] | None = None
    for name in keys:
        if node is None or node.id != _MAPPING:
            return text
        if node.flow_style and (gone is None or len(node.value) > 1):
            return text
        entries = cast(list[tuple[Any, Any]], node.value)
        entry = next((each for each in entries if each[0].value == name), None)
        if entry is None:
            return text
        gone = entry if gone is None or len(entries) > 1 else gone
        node = entry[1]
    if gone is None:
        return text
    lines = text.splitlines(keepends=True)
    del lines[gone[0].start_mark.line : _find_end(*gone)]
    return "".join(lines)


def _find_end(key: Any, value: Any) -> int:
    """The number of lines up to the end of an entry; that of a section, or of nothing, would include comments."""
    while value.id != _SCALAR and value.value and not value.flow_style:
        key, value = value.value[-1] if value.id == _MAPPING else (key, value.value[-1])
    last = value if value.end_mark.index > value.start_mark.index else key
    return last.end_mark.line + (last.end_mark.column > 0)


def _change(tree: Any, keys: list[str], value: NewValue) -> None:
    *sections, key = keys
    above: list[tuple[Any, str]] = []
    for name in sections:
        if tree.get(name) is None:
            if isinstance(value, _Absent):
                return
            tree[name] = CommentedMap()
        above.append((tree, name))
        tree = tree[name]
    if not isinstance(value, _Absent):
        _set(tree, key, value)
        return
    tree.pop(key, None)
    for parent, name in reversed(above):  # an empty section would be left behind
        if not parent[name]:
            del parent[name]


def _set(tree: Any, key: str, value: JsonValue) -> None:
    there = tree.get(key)
    if not isinstance(there, CommentedSeq) or not isinstance(value, list):
        tree[key] = value
        return
    entries: Any = cast(Any, there)  # untyped
    below = _take_comment_below(entries)
    if not _change_list(entries, value):
        tree[key] = entries = CommentedSeq(value)
    if not below:
        return
    own = entries.ca.items.get(len(entries) - 1)
    if own:
        own[0].value += below.removeprefix("\n")
    elif value:
        entries.ca.items[len(entries) - 1] = [CommentToken(below, CommentMark(0), None), None, None, None]
    else:
        tree.ca.items[key] = [None, None, CommentToken(below, CommentMark(0), None), None]


def _take_comment_below(entries: Any) -> str:
    """Take what is said below a list from its last entry, to which it belongs for the parser."""
    own = entries.ca.items.get(len(entries) - 1)
    if not own or own[0] is None:
        return ""
    beside, end, below = own[0].value.partition("\n")
    own[0].value = f"{beside}{end}"
    return f"{end}{below}" if below else ""


def _change_list(there: Any, value: NewValue) -> bool:
    """Take entries out of a list and add others at its end, to keep the comments of the rest; whether that does it."""
    if not isinstance(there, list) or not isinstance(value, list):
        return False
    entries = cast(list[Any], there)
    kept = [entry for entry in entries if entry in value]
    added = value[len(kept) :]
    if not kept or [*kept, *added] != value:
        return False
    for position in range(len(entries) - 1, -1, -1):
        if entries[position] not in value:
            del entries[position]
    entries.extend(added)
    return True
