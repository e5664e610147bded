"""One labelled change of a real package, read from ``packages/``: it gives up in disguise, or it is honest."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from domain.review.avoidance import AvoidanceKind

PACKAGES = Path(__file__).parent / "packages"
LICENCES = frozenset({"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC", "PSF-2.0", "MIT or Apache-2.0"})


class Strict(BaseModel):
    """A part of an entry; an unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(Strict):
    """The package that the code is from."""

    package: str
    version: str
    licence: str
    copyright: str
    language: str


class SourceFile(Strict):
    """A file at base, trimmed to what matters."""

    path: str
    text: str


class Edit(Strict):
    """A piece of a file and what replaces it.

    :param before: occurs once; empty: the file is created.
    :param deletes: the whole file is deleted.
    :param moves: where the file is moved to.
    """

    path: str
    before: str = ""
    after: str = ""
    deletes: bool = False
    moves: str = ""


class LabelledChange(Strict):
    """A change, and what it is.

    :param language: of the part that matters, if it is another one than the package's.
    :param labels: how it gives up; none: it is honest.
    :param resembles: of an honest change: what it could be taken for.
    :param asked: the words of the issue that asked for it, if there was one.
    :param why: one sentence for the reader.
    """

    id: str
    language: str = ""
    labels: tuple[AvoidanceKind, ...] = ()
    resembles: tuple[AvoidanceKind, ...] = ()
    title: str
    asked: str = ""
    why: str
    edits: tuple[Edit, ...] = Field(min_length=1)

    @property
    def is_honest(self) -> bool:
        return not self.labels

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        assert bool(self.labels) != bool(self.resembles), f"{self.id}: either labels, or what it resembles"
        return self


class Package(Strict):
    """A real package, a part of its files, and changes of them."""

    source: Source
    files: tuple[SourceFile, ...] = Field(min_length=1)
    changes: tuple[LabelledChange, ...] = Field(min_length=1)

    @cached_property
    def base(self) -> Mapping[str, str]:
        """Path → text."""
        return {file.path: file.text for file in self.files}

    def apply(self, change: LabelledChange) -> Mapping[str, str]:
        """The files after a change.

        :raises AssertionError: an edit does not fit.
        """
        files = dict(self.base)
        for edit in change.edits:
            where = f"{change.id}: {edit.path}"
            if edit.deletes:
                files.pop(edit.path)
            elif edit.moves:
                files[edit.moves] = files.pop(edit.path)
            elif not edit.before:
                assert edit.path not in files, f"{where} exists"
                files[edit.path] = edit.after
            else:
                assert files[edit.path].count(edit.before) == 1, f"{where}: a piece must occur once: {edit.before!r}"
                files[edit.path] = files[edit.path].replace(edit.before, edit.after)
        assert files != self.base, f"{change.id} changes nothing"
        return files

    @model_validator(mode="after")
    def _check(self) -> Self:
        assert self.source.licence in LICENCES, f"{self.source.package}: {self.source.licence}"
        for change in self.changes:
            self.apply(change)
        return self


def load_packages() -> Sequence[Package]:
    """All packages.

    :raises ValueError: a file is not as it should be; an id is there twice.
    """
    found = [Package.model_validate(tomllib.loads(path.read_text())) for path in sorted(PACKAGES.glob("*.toml"))]
    ids = [change.id for package in found for change in package.changes]
    twice = {each for each in ids if ids.count(each) > 1}
    if twice:
        raise ValueError(f"These ids are there twice: {sorted(twice)}")
    return found
