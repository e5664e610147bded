"""What a path says about a file: whether it is source, a test and of what, or a list of dependencies."""

import re
from pathlib import PurePosixPath

_TEST = re.compile(r"(^|/)(tests?|spec|__tests__)/|(^|/)(test_[^/]+|[^/]+_test|[^/]+[._-](test|spec))\.\w+$")
_SOURCE = re.compile(r"\.(py|js|jsx|ts|tsx|go|rs|java|kt|rb|php|cs|c|cc|cpp|h|hpp|swift|scala|sh)$")
_MANIFEST = re.compile(
    r"(^|/)(requirements[^/]*\.(txt|in)|requirements/.*\.(txt|in)|setup\.(py|cfg)|pyproject\.toml|Pipfile"
    r"|package\.json|go\.mod|Cargo\.toml|Gemfile|[^/]+\.gemspec|pom\.xml)$",
    re.IGNORECASE,
)
_LOCK_NAMES = """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock composer.lock
    poetry.lock uv.lock pdm.lock pipfile.lock pixi.lock cargo.lock go.sum gemfile.lock mix.lock pubspec.lock
    podfile.lock package.resolved packages.lock.json gradle.lockfile flake.lock conan.lock .terraform.lock.hcl
"""
_LOCKS = frozenset(_LOCK_NAMES.split())

_MARKS_A_TEST = re.compile(r"^test_|^Test(?=[A-Z])|[._-](test|spec)s?$|(?<=[a-z0-9])(Tests?|Spec)$")
_TEST_FOLDERS = frozenset({"test", "tests", "spec", "__tests__"})
_NAMED_AFTER_THEIR_FOLDER = frozenset({"__init__", "index", "mod"})
_LANGUAGES = {
    **dict.fromkeys((".jsx", ".ts", ".tsx"), ".js"),
    **dict.fromkeys((".cc", ".cpp", ".h", ".hpp"), ".c"),
    **dict.fromkeys((".kt", ".scala"), ".java"),
}


def printable(path: str) -> str:
    """A path for people: what cannot be seen in it, such as a character that turns the direction, is escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in path)


def is_test(path: str) -> bool:
    """Whether a path looks like a test."""
    return _TEST.search(path) is not None


def is_source(path: str) -> bool:
    """Whether a path looks like code of a program, tests included."""
    return _SOURCE.search(path) is not None


def is_manifest(path: str) -> bool:
    """Whether people write in this file which dependencies there are."""
    return _MANIFEST.search(path) is not None


def is_lock(path: str) -> bool:
    """Whether a package manager writes in this file which dependencies it found."""
    return path.rsplit("/", 1)[-1].lower() in _LOCKS


def namesake(path: str) -> tuple[str, str]:
    """What a source file and its tests have in common: the name without the mark of a test, and the language."""
    file = PurePosixPath(path)
    name = _MARKS_A_TEST.sub("", file.stem)
    if name in _NAMED_AFTER_THEIR_FOLDER:
        folders = [part for part in file.parts[:-1] if part not in _TEST_FOLDERS]
        name = folders[-1] if folders else name
    return name.lower(), _LANGUAGES.get(file.suffix, file.suffix)
