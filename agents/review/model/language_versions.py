"""Finds the lines that say which version of its language a changed file is written for: a version may decide a bug."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath

from agents.review.model.related import RelatedCode, withhold_keys
from agents.syntax.languages import find_language
from agents.syntax.symbols.modules import find_family

_LONGEST = 100  # characters of a line
_MOST = 3  # lines of a file
_BARE = re.compile(r"[\w./-]{0,20}\d[\w./-]{0,20}\s*")  # all of a line, as ruby-3.2.1
_FILES: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    "go": {"go.mod": re.compile(r"go \d")},
    "python": {
        "pyproject.toml": re.compile(r"\s*(requires-python|python)\s*="),
        "setup.cfg": re.compile(r"\s*python_requires\s*="),
        "setup.py": re.compile(r"\s*python_requires\s*="),
        ".python-version": _BARE,
    },
    "javascript": {
        "package.json": re.compile(r'\s*"(node|type|typescript)"\s*:'),
        "tsconfig.json": re.compile(r'\s*"(target|strict)"\s*:'),
        ".nvmrc": _BARE,
    },
    "rust": {"Cargo.toml": re.compile(r"(edition|rust-version)\s*=")},
    "php": {"composer.json": re.compile(r'\s*"php"\s*:')},
    "ruby": {".ruby-version": _BARE, "Gemfile": re.compile(r"ruby\b")},
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
        if nearest is None:
            continue
        lines = withhold_keys(contents[nearest].decode(errors="replace").split("\n"))
        matches = pattern.fullmatch if pattern is _BARE else pattern.match
        said = ((number, line) for number, line in enumerate(lines, 1) if matches(line))
        for number, line in islice(said, _MOST):
            yield RelatedCode(path, nearest, "says what it is written for", number, (line[:_LONGEST],))


def _find_family(path: str) -> str:
    return find_family(find_language(path) or "")
