"""Decides for tests in Go whether they use only pure packages, ``testing`` and the repository's own packages."""

import re
from collections.abc import Collection, Iterator, Sequence

from agents.syntax.reach.texts import is_plain
from agents.syntax.trees import SyntaxNode

_PACKAGE_NAMES = """
    bufio bytes cmp container/heap container/list container/ring context crypto/md5 crypto/sha1 crypto/sha256
    crypto/sha512 encoding/base64 encoding/binary encoding/hex encoding/json errors fmt hash/crc32 hash/fnv html io iter
    maps math math/big math/bits math/cmplx math/rand regexp slices sort strconv strings sync sync/atomic testing
    testing/quick time unicode unicode/utf16 unicode/utf8
    github.com/google/go-cmp/cmp github.com/stretchr/testify/assert github.com/stretchr/testify/require
"""
_PACKAGES = frozenset(_PACKAGE_NAMES.split())
_TEXTS = frozenset({"interpreted_string_literal", "raw_string_literal"})
_ASSIGNS = frozenset({"assignment_statement", "inc_statement", "dec_statement"})
_DECLARES = frozenset({"short_var_declaration", "var_spec", "parameter_declaration", "range_clause", "const_spec"})


def stays(path: str, text: str, added: Sequence[SyntaxNode], tree: SyntaxNode, own: Collection[str]) -> bool:
    """Whether added tests use only what is known; see :func:`agents.syntax.reach.stays_by_itself`."""
    imports = [node for node in tree.walk() if node.kind == "import_spec"]
    foreign = {name for node in imports if not _is_known_import(node, own) for name in _list_names(node)}
    return all(_is_known(node, foreign, own) for node in added)


def _is_known(added: SyntaxNode, foreign: Collection[str], own: Collection[str]) -> bool:
    local = {
        leaf.text
        for node in added.walk()
        if node.kind in _DECLARES
        for part in (node.children[:1] if node.kind in {"short_var_declaration", "range_clause"} else [node])
        for leaf in part.children
        if leaf.kind == "identifier"
    }
    for node in added.walk():
        if node.kind == "import_spec" and not _is_known_import(node, own):
            return False
        if node.kind in _TEXTS and not is_plain(node.text[1:-1]):
            return False
        if node.kind in {"identifier", "package_identifier"} and node.text in foreign:
            return False
        if node.kind == "function_declaration" and any(each.text in {"init", "TestMain"} for each in node.children):
            return False
        if node.kind in _ASSIGNS and not _assigns_locally(node, local):
            return False
    return True


def _assigns_locally(node: SyntaxNode, local: Collection[str]) -> bool:
    """Whether what is assigned to belongs to the test."""
    left = node.children[0]
    targets = left.children if left.kind == "expression_list" else (left,)
    named = [[leaf.text for leaf in each.walk() if leaf.kind == "identifier"] for each in targets if each.text != ","]
    firsts = [names[0] if names else "" for names in named]
    return all(first in local or first == "_" for first in firsts)


def _read(node: SyntaxNode) -> tuple[str, str]:
    """The name that an import gives, if it gives one, and the path of its package."""
    leaves = [each.text for each in node.walk() if not each.children]
    path = next((each.text[1:-1] for each in node.walk() if each.kind in _TEXTS), "")
    return (leaves[0] if leaves and not leaves[0].startswith(('"', "`")) else ""), path


def _is_known_import(node: SyntaxNode, own: Collection[str]) -> bool:
    name, path = _read(node)
    is_own = any("/" in each and (path == each or path.startswith(f"{each}/")) for each in own)
    return name not in {".", "_"} and (path in _PACKAGES or is_own)


def _list_names(node: SyntaxNode) -> Iterator[str]:
    """The names that a package may go by in its file: it says itself how it is called."""
    name, path = _read(node)
    yield from [name] if name else re.split(r"\W", path)
