"""Reads and writes memories as JSON Lines."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import AwareDatetime, ConfigDict, Field, ValidationError

from domain.memories import (
    Archived,
    Memory,
    MemoryKind,
    Origin,
    Scope,
    find_mistakes,
    to_one_line,
)
from domain.runs.run import RepositoryRef
from domain.text.redaction import PROCESS_REDACTOR
from domain.value import Value, new_id

MOST_LINES = 20_000
LONGEST_LINE = 20_000
"""Characters."""


@dataclass(frozen=True)
class LineMistake:
    """A mistake in a line.

    :param what: a sentence without its full stop.
    """

    line: int
    what: str


class ExportedMemory(Value):
    """An exported memory. An import requires only ``content``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str = ""
    repository: str = ""
    scope: Scope = Field(default=Scope.repository, strict=False)
    kind: MemoryKind = Field(default=MemoryKind.semantic, strict=False)
    content: str
    context: str = ""
    tags: tuple[str, ...] = Field(default=(), strict=False)
    confidence: float | None = Field(default=None, ge=0, le=1)
    origin: Origin = Field(default=Origin.person, strict=False)
    source: str = Field(default="", max_length=1000)
    pinned: bool = True
    created_at: AwareDatetime | None = Field(default=None, strict=False)
    used_at: AwareDatetime | None = Field(default=None, strict=False)
    archived_at: AwareDatetime | None = Field(default=None, strict=False)
    archived_why: Archived | None = Field(default=None, strict=False)

    def to_memory(self, repository: RepositoryRef, named: str, now: datetime) -> Memory:
        """The memory as stored in a repository.

        :param named: the file it comes from.
        """
        came = to_one_line(self.source)
        return Memory(
            id=new_id(),
            installation_id=repository.installation_id,
            repository_id=repository.id,
            scope=self.scope,
            kind=self.kind,
            content=to_one_line(self.content),
            context=to_one_line(self.context),
            tags=tuple(dict.fromkeys(map(to_one_line, self.tags))),
            confidence=self.origin.confidence if self.confidence is None else self.confidence,
            origin=self.origin,
            source=f"imported from {named}{f'; there: {came}' if came else ''}"[:1000],
            pinned=self.pinned,
            created_at=self.created_at or now,
            used_at=self.used_at or self.created_at or now,
        )


def dump_line(memory: Memory, full_name: str) -> str:
    """A memory as one line of ASCII, safe for terminals and without our secrets."""
    own = {"installation_id", "repository_id"}
    fields = memory.model_dump(mode="json", exclude=own)
    ordered = {name: fields.get(name, full_name) for name in ExportedMemory.model_fields}
    return json.dumps(PROCESS_REDACTOR.redact_values(ordered))


def parse_lines(lines: Iterable[str], now: datetime) -> tuple[Sequence[ExportedMemory], Sequence[LineMistake]]:
    """Parses the memories of a file; returns none if there is a mistake. Skips empty lines."""
    found: list[ExportedMemory] = []
    mistakes: list[LineMistake] = []
    for number, text in enumerate(lines, 1):
        if number > MOST_LINES:
            mistakes.append(LineMistake(number, f"there are more than {MOST_LINES:,} lines"))
            break
        if not text.strip():
            continue
        line = _parse_line(text, now)
        if isinstance(line, ExportedMemory):
            found.append(line)
        else:
            mistakes.append(LineMistake(number, line))
    return ([], mistakes) if mistakes else (found, [])


def _parse_line(text: str, now: datetime) -> ExportedMemory | str:
    """Parses a line, or returns its mistake."""
    if len(text) > LONGEST_LINE:
        return f"it has {len(text):,} characters; at most {LONGEST_LINE:,}"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "it is not JSON"
    if not isinstance(value, dict):
        return "it is not a JSON object"
    try:
        line = ExportedMemory.model_validate(value)
    except ValidationError as error:
        return _describe_error(error.errors(include_url=False, include_input=False)[0])
    return next(_find_mistakes(line, now), line)


def _find_mistakes(line: ExportedMemory, now: datetime) -> Iterator[str]:
    for part, what, allowed in find_mistakes(line.content, line.context, line.tags):
        name = {"text": "content", "tag": "tags"}.get(part, part)
        yield f"`{name}` {what}{f'; {allowed}' if allowed else ''}"
    for name, moment in (("created_at", line.created_at), ("used_at", line.used_at)):
        if moment is not None and moment > now:
            yield f"`{name}` is in the future"


def _describe_error(error: Mapping[str, Any]) -> str:
    name = ".".join(map(str, error["loc"]))
    match error["type"]:
        case "missing":
            return f"`{name}` is missing"
        case "extra_forbidden":
            return f"`{name[:60]}` is not a field; there are {', '.join(ExportedMemory.model_fields)}"
        case "enum":
            return f"`{name}` is none of {error['ctx']['expected']}"
        case _:
            return f"`{name}`: {str(error['msg'])[:1].lower()}{str(error['msg'])[1:]}"
