"""Tells which folders hold copies of other projects, by where they stand and how they are spelled.

A name alone says little: a shop has a folder ``vendor``, a cluster one ``pods``. What people did not write there is
not reviewed, so a copy shows as one: a package manager's manifest stands beside it or in it, or it has a licence of its
own.
"""

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
