"""The languages whose source is parsed, by the suffix of a file's name."""

from collections.abc import Mapping
from pathlib import PurePosixPath

_SUFFIXES = {
    "python": "py pyi",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "java": "java",
    "ruby": "rb rake gemspec ru podspec jbuilder thor",
    "php": "php",
    "csharp": "cs",
    "rust": "rs",
    "c": "c",
    "cpp": "cc cpp cxx h hh hpp hxx",
    "bash": "sh bash",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala",
    "lua": "lua",
    "css": "css",
    "json": "json",
    "yaml": "yml yaml",
}
LANGUAGES: Mapping[str, str] = {f".{suffix}": name for name, all_ in _SUFFIXES.items() for suffix in all_.split()}
"""Suffix → the name that ast-grep has for its language."""

DATA = frozenset({"json", "yaml", "css"})
"""Languages without functions."""


def find_language(path: str) -> str | None:
    """The language of a file by its name; None if it is not parsed. A template (``{{ }}`` in its path) is not."""
    return None if "{{" in path else LANGUAGES.get(PurePosixPath(path.lower()).suffix)
