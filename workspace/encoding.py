"""Tells what people did not write, or cannot read: copies of other projects, binaries, what a build made.

A name alone says little: a shop has a folder ``vendor``, a cluster one ``pods``. What people did not write there is
not reviewed, so a copy shows as one: a package manager's manifest stands beside it or in it, or it has a licence of its
own.
"""

import codecs
import re
from collections.abc import Collection, Iterator

_INSTALLED = frozenset({"node_modules", "bower_components"})
"""Folders that a package manager alone makes, whatever stands beside them."""
_BESIDE = {
    "vendor": ("go.mod", "go.work", "composer.json", "Gemfile", "Cargo.toml"),
    "Pods": ("Podfile",),
    "third_party": (),
    "third-party": (),
}
_INSIDE = {"vendor": ("modules.txt", "autoload.php")}
_BY_HOST = re.compile(r"(?:^|/)vendor/[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/")
"""As Go's own tool names the folders in there."""
_LICENCES = (
    *(f"{name}{suffix}" for name in ("LICENSE", "LICENCE", "COPYING") for suffix in ("", ".txt", ".md", ".rst")),
    *("METADATA", "README.chromium"),
)


_MARKS = (  # UTF-32 first, because its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def to_utf8(content: bytes) -> bytes:
    """The content in UTF-8 if a byte order mark declares another Unicode encoding; otherwise unchanged."""
    encoding = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), None)
    return content if encoding is None else content.decode(encoding, "replace").encode()


def looks_binary(content: bytes) -> bool:
    """Whether git, and so GitHub, treats a content as binary (git's ``buffer_is_binary``)."""
    return b"\0" in content[:8000]


_LONG = 300  # bytes of a line; people wrap theirs
_SPACES = 0.06
"""Share of spaces and tabs up to which a line is packed: in minified code 0.05 at most, in prose and in SQL more."""
_STATEMENTS = 0.002
_STATEMENTS_AND_CALLS = 0.01
"""Shares of semicolons, and of these and opening brackets, from which a packed line is code and not data."""
_MOST_OF_IT = 0.5


def is_built(content: bytes) -> bool:
    """Whether most of a content is packed code: lines of hundreds of characters that end statements without a space.

    Of 17,576 files of 45 public projects and of Python packages 132 have such lines, and no one of these was written by
    hand. One long line is not enough, and a table, a pattern or a picture in letters is not code.
    """
    packed = b"".join(line for line in content.split(b"\n") if _is_packed(line))
    written = len(b"".join(content.split()))
    return len(b"".join(packed.split())) > _MOST_OF_IT * written


def _is_packed(line: bytes) -> bool:
    if len(line) < _LONG or line.count(b" ") + line.count(b"\t") > _SPACES * len(line):
        return False
    ends = line.count(b";")
    return ends >= _STATEMENTS * len(line) and ends + line.count(b"(") >= _STATEMENTS_AND_CALLS * len(line)


def is_vendored(path: str, there: Collection[str]) -> bool:
    """Whether a file was copied from another project.

    :param there: the paths of a tree, or of those that :func:`list_marks` names the ones that it has.
    """
    is_installed = not _INSTALLED.isdisjoint(path.split("/")[:-1]) or _BY_HOST.search(path) is not None
    return is_installed or any(mark in there for mark in list_marks(path))


def list_marks(path: str) -> Iterator[str]:
    """The files of which one has to be there, so that a file counts as copied."""
    folders = path.split("/")[:-1]
    for at, folder in enumerate(folders[:-1]):  # what lies in the folder itself is the repository's own
        if folder in _BESIDE:
            above = "".join(f"{each}/" for each in folders[:at])
            yield from (f"{above}{name}" for name in _BESIDE[folder])
            yield from (f"{above}{folder}/{name}" for name in _INSIDE.get(folder, ()))
            yield from (f"{above}{folder}/{folders[at + 1]}/{name}" for name in _LICENCES)
