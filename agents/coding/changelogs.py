"""Finds out where a repository keeps its changelog, and in which form: one file, or a folder of fragments."""

import re
import tomllib
from collections.abc import Collection, Mapping
from typing import Literal

from pydantic import ValidationError

from domain.value import Value

SETTINGS = ("towncrier.toml", "pyproject.toml")
"""Files that may say where towncrier finds its fragments, the first before the second."""

_CHANGESETS = ".changeset/"
_FOLDERS = ("newsfragments/", "changelog.d/", "changes/", "news/", "docs/changes/", "docs/newsfragments/")
_FRAGMENT = re.compile(r"[+\d][\w-]*(?:\.[a-z]+)?(?:\.\d+)?(?:\.(?:md|rst|txt))?|\.git(?:keep|ignore)", re.IGNORECASE)
_FILES = re.compile(r"(?:docs/)?(?:changelog|changes|history|news|release-?notes)\.(?:md|rst|txt|adoc)", re.IGNORECASE)
_MOST_EXAMPLES = 3


class Changelog(Value):
    """The changelog of a repository.

    :param path: of the file, or of the folder with a slash at its end.
    :param examples: paths that show its form.
    """

    kind: Literal["file", "fragments", "changesets"]
    path: str
    examples: tuple[str, ...]

    @property
    def areas(self) -> tuple[str, ...]:
        """What an entry may change, as globs."""
        return (self.path if self.kind == "file" else f"{self.path}**",)


def find_changelog(paths: Collection[str], settings: Mapping[str, str]) -> Changelog | None:
    """The changelog; None if there is none. Where there are fragments, a release writes the file.

    :param paths: the files of the repository.
    :param settings: path → text of those of :data:`SETTINGS` that are there.
    """
    if f"{_CHANGESETS}config.json" in paths:
        return _build("changesets", _CHANGESETS, paths)
    told = _find_towncrier(settings)
    folder = told or next((each for each in _FOLDERS if _holds_fragments(each, paths)), "")
    if folder:
        return _build("fragments", folder, paths)
    files = sorted((path for path in paths if _FILES.fullmatch(path)), key=lambda path: (path.count("/"), path))
    return Changelog(kind="file", path=files[0], examples=(files[0],)) if files else None


def _build(kind: Literal["fragments", "changesets"], folder: str, paths: Collection[str]) -> Changelog:
    there = sorted((path for path in paths if path.startswith(folder)), reverse=True)
    told = [path for path in there if "readme" in path.lower() or path.endswith("config.json")]
    examples = [path for path in there if path not in told and not path.endswith((".gitkeep", ".gitignore"))]
    return Changelog(kind=kind, path=folder, examples=(*told, *examples)[: _MOST_EXAMPLES + len(told)])


class _Towncrier(Value):
    directory: str = "newsfragments"


class _Tools(Value):
    towncrier: _Towncrier | None = None


class _Settings(Value):
    tool: _Tools = _Tools()


def _find_towncrier(settings: Mapping[str, str]) -> str:
    """The folder that towncrier is told; empty if it is not told of any."""
    for path in SETTINGS:
        try:
            told = _Settings.model_validate(tomllib.loads(settings.get(path, ""))).tool.towncrier
        except (tomllib.TOMLDecodeError, ValidationError):
            continue
        if told is not None:
            return f"{told.directory.removeprefix('./').strip('/')}/"
    return ""


def _holds_fragments(folder: str, paths: Collection[str]) -> bool:
    names = [path.removeprefix(folder) for path in paths if path.startswith(folder)]
    return bool(names) and all(_FRAGMENT.fullmatch(name) or "readme" in name.lower() for name in names)
