"""Changes values of a configuration file, and leaves its comments, its order and everything else as they are."""

from collections.abc import Mapping
from io import StringIO
from typing import Any, cast

from pydantic import JsonValue
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.util import load_yaml_guess_indent  # pyright: ignore[reportUnknownVariableType]

_WIDTH = 4096  # characters; longer lines would be broken
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
    text = "" if content is None else content.decode("utf-8-sig")
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
    return f"{head or (_HEAD if content is None else '')}{written.getvalue()}".encode()


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
        if not _change_list(tree.get(key), value):
            tree[key] = value
        return
    tree.pop(key, None)
    for parent, name in reversed(above):  # an empty section would be left behind
        if not parent[name]:
            del parent[name]


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
