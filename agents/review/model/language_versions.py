"""Finds the lines that say which version of its language a changed file is written for: a version may decide a bug."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from agents.review.model.related import RelatedCode
from agents.syntax.languages import find_language
from agents.syntax.symbols.modules import find_family

_LONGEST = 200  # characters of a line
_FILES: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    "go": {"go.mod": re.compile(r"go \d")},
    "python": {
        "pyproject.toml": re.compile(r"\s*(requires-python|python)\s*="),
        "setup.cfg": re.compile(r"\s*python_requires\s*="),
        "setup.py": re.compile(r"\s*python_requires\s*="),
        ".python-version": re.compile(r"\S"),
    },
    "javascript": {
        "package.json": re.compile(r'\s*"(node|type|typescript)"\s*:'),
        "tsconfig.json": re.compile(r'\s*"(target|strict)"\s*:'),
        ".nvmrc": re.compile(r"\S"),
    },
    "rust": {"Cargo.toml": re.compile(r"(edition|rust-version)\s*=")},
    "php": {"composer.json": re.compile(r'\s*"php"\s*:')},
    "ruby": {".ruby-version": re.compile(r"\S"), "Gemfile": re.compile(r"ruby\b")},
    "csharp": {"Directory.Build.props": re.compile(r"\s*<(LangVersion|TargetFrameworks?|Nullable)>")},
    "java": {"pom.xml": re.compile(r"\s*<(maven\.compiler\.(source|target|release)|java\.version)>")},
    "kotlin": {"build.gradle.kts": re.compile(r"\s*jvmToolchain\(")},
}
"""Family of languages → file → the start of a line of it that names a version."""


def list_version_files(changed: Sequence[str]) -> list[str]:
    """The files to look into, beside each changed one and above it: they need not exist."""
    found = (
        str(folder / name)
        for path in changed
        for folder in PurePosixPath(path).parents
        for name in _FILES.get(_find_family(path), ())
    )
    return list(dict.fromkeys(found))


def find_version_lines(contents: Mapping[str, bytes], changed: Sequence[str]) -> tuple[RelatedCode, ...]:
    """The lines, of the nearest file of each kind.

    :param contents: of the files above that exist at the head.
    :param changed: paths; a file that changed itself is shown with its change.
    """
    return tuple(line for path in changed for line in _find_of(path, contents) if line.path not in changed)


def _find_of(path: str, contents: Mapping[str, bytes]) -> Iterator[RelatedCode]:
    for name, pattern in _FILES.get(_find_family(path), {}).items():
        there = (str(folder / name) for folder in PurePosixPath(path).parents)
        nearest = next((each for each in there if each in contents), None)
        lines = contents[nearest].decode(errors="replace").split("\n") if nearest is not None else []
        for number, line in enumerate(lines, 1):
            if nearest is not None and pattern.match(line):
                yield RelatedCode(path, nearest, "says what it is written for", number, (line[:_LONGEST],))


def _find_family(path: str) -> str:
    return find_family(find_language(path) or "")
