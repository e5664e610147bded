"""One small change of real code, with what it breaks, if anything; the set of them is read from ``changes/``."""

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tests.bench.reading.syntax import count_errors

CHANGES = Path(__file__).parent / "changes"
LICENCES = frozenset({"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC", "PSF-2.0", "MIT or Apache-2.0"})
NEAR = 3
"""Lines by which a finding may miss the expected ones."""


class Kind(StrEnum):
    """Whether the change breaks something."""

    breaking = "breaking"
    harmless = "harmless"


class Scope(StrEnum):
    """Where the evidence is: in the changed file, or in another one of the repository."""

    file = "file"
    repo = "repo"


class Origin(StrEnum):
    """How the change came about."""

    undone_fix = "undone fix"
    undone_safeguard = "undone safeguard"
    own_rewrite = "own rewrite"


class Strict(BaseModel):
    """A part of an entry; an unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(Strict):
    """The package that the code is from."""

    package: str
    version: str
    licence: str
    copyright: str


class Defect(Strict):
    """Lines at head, inclusive, on which the defect may be named."""

    path: str
    start: int = Field(alias="from", ge=1)
    end: int = Field(alias="to", ge=1)

    def is_named_at(self, path: str, line: int) -> bool:
        """Whether a finding on a line names it."""
        return path == self.path and self.start - NEAR <= line <= self.end + NEAR


class SourceFile(Strict):
    """A file at base."""

    path: str
    text: str


class Edit(Strict):
    """A piece of a file and what replaces it; an empty piece creates the file."""

    path: str
    before: str
    after: str


class Entry(Strict):
    """A pull request of the set.

    :param breaks: what goes wrong and with which input; None if the change is harmless.
    """

    id: str = Field(pattern=r"[a-z]+(-[a-z0-9]+)+")
    language: str
    kind: Kind
    scope: Scope
    title: str
    description: str
    origin: Origin
    breaks: str | None = None
    source: Source
    defects: tuple[Defect, ...] = ()
    edits: tuple[Edit, ...]
    files: tuple[SourceFile, ...]

    @cached_property
    def base(self) -> Mapping[str, str]:
        """Path → text before the change."""
        return {file.path: file.text for file in self.files}

    @cached_property
    def head(self) -> Mapping[str, str]:
        """Path → text after the change.

        :raises ValueError: a piece does not occur exactly once.
        """
        texts = dict(self.base)
        for edit in self.edits:
            text = texts.get(edit.path, "")
            if edit.before == "" and edit.path not in texts:
                texts[edit.path] = edit.after
                continue
            if edit.before == "" or text.count(edit.before) != 1:
                raise ValueError(f"{edit.path}: this piece occurs {text.count(edit.before)} times: {edit.before!r}")
            texts[edit.path] = text.replace(edit.before, edit.after)
        return texts

    @model_validator(mode="after")
    def _check(self) -> Self:
        changed = {path for path, text in self.head.items() if self.base.get(path) != text}
        mistakes = [
            *(f"{path} is edited, but stays the same" for path in {edit.path for edit in self.edits} - changed),
            *(f"{defect.path} has no lines {defect.start} to {defect.end}" for defect in self._list_misplaced()),
            *self._list_broken(),
        ]
        if not changed:
            mistakes.append("nothing changes")
        if (self.kind is Kind.breaking) != bool(self.breaks and self.defects):
            mistakes.append("a breaking change says what it breaks and where, and only that")
        if (self.kind is Kind.harmless) != (self.origin is Origin.own_rewrite):
            mistakes.append("the origin does not fit the kind")
        if self.scope is Scope.repo and len(self.files) < 2:
            mistakes.append("evidence in another file needs another file")
        if self.source.licence not in LICENCES:
            mistakes.append(f"{self.source.licence} is not among the licences that are accepted")
        if mistakes:
            raise ValueError(f"{self.id}: {'; '.join(mistakes)}.")
        return self

    def _list_misplaced(self) -> list[Defect]:
        """The defects on lines that do not exist at head."""
        lengths = {path: text.count("\n") for path, text in self.head.items()}
        return [each for each in self.defects if not each.start <= each.end <= lengths.get(each.path, 0)]

    def _list_broken(self) -> list[str]:
        """The files with mistakes of syntax, and those to which the change adds one; macros of C look like mistakes."""
        before = {path: count_errors(path, text) for path, text in self.base.items()}
        after = {path: count_errors(path, text) for path, text in self.head.items()}
        broken = {path for path, count in before.items() if count and self.language != "c"}
        broken |= {path for path, count in after.items() if count > before.get(path, 0)}
        return [f"{path} cannot be parsed" for path in sorted(broken)]


def load_entry(text: str) -> Entry:
    """One entry.

    :raises ValidationError: it is not valid; every mistake is named.
    """
    return Entry.model_validate(tomllib.loads(text))


def load_entries(folder: Path = CHANGES) -> tuple[Entry, ...]:
    """All entries, by id.

    :raises ValidationError: one is not valid.
    """
    found = (load_entry(path.read_text(encoding="utf-8")) for path in folder.rglob("*.toml"))
    return tuple(sorted(found, key=lambda entry: entry.id))
