"""Lets an agent change files: by a unified diff, by a passage and what replaces it, or by writing a file whole.

Each edit is checked first, and applied as a whole or not at all.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import ConfigDict, Field

from agents.loop.tools.tool import Tool, ToolEffect, ToolMistake
from domain.runs.patches import LIMITS, ChangedFile, Violation, select_reported
from domain.text.redaction import Redact, make_mask
from domain.value import Value
from workspace.draft import Draft, Edit
from workspace.patches.edits import Replacement, WrittenFile

REDACTED = make_mask("").removesuffix("]").rstrip()
"""How a text begins that stands in the place of a credential."""
_CREDENTIAL = (
    "Nothing was applied: a line that is added holds what looks like a credential, and was made unreadable. Do "
    "without it, also as an example, or hand in that the task is not done."
)
_MOST = 40  # files or violations that are named


class _Arguments(Value):
    model_config = ConfigDict(extra="forbid")


class ApplyPatch(_Arguments):
    """What ``apply_patch`` takes."""

    diff: str = Field(
        min_length=1,
        max_length=LIMITS.patch_bytes,
        description="As git writes it, of one or more files, against the files as they are now.",
    )

    @property
    def new_lines(self) -> list[str]:
        """The lines that it adds."""
        return [line for line in self.diff.splitlines() if line.startswith("+")]

    def to_edit(self) -> Edit:
        return self.diff.encode()


class EditFile(_Arguments):
    """What ``edit`` takes."""

    path: str = Field(max_length=4096, description="From the root of the repository, such as src/app.py.")
    old: str = Field(
        min_length=1,
        max_length=LIMITS.file_bytes,
        description="A passage of the file as it is now, copied exactly, long enough to be there once.",
    )
    new: str = Field(max_length=LIMITS.file_bytes, description="What stands there afterwards; empty to delete it.")

    @property
    def new_lines(self) -> list[str]:
        """The lines that it adds."""
        known = set(self.old.splitlines())
        return [line for line in self.new.splitlines() if line not in known]

    def to_edit(self) -> Edit:
        return Replacement(self.path, self.old, self.new)


class WriteFile(_Arguments):
    """What ``write_file`` takes."""

    path: str = Field(max_length=4096, description="From the root of the repository, such as src/app.py.")
    content: str = Field(max_length=LIMITS.file_bytes, description="All that the file holds afterwards.")

    @property
    def new_lines(self) -> list[str]:
        """The lines that it adds."""
        return self.content.splitlines()

    def to_edit(self) -> Edit:
        return WrittenFile(self.path, self.content)


_OFFERED: Mapping[str, tuple[str, type[ApplyPatch | EditFile | WriteFile]]] = {
    "apply_patch": ("Applies a unified diff of text files, all of it or nothing.", ApplyPatch),
    "edit": ("Replaces one passage of a text file, which is there exactly once.", EditFile),
    "write_file": ("Makes a text file, or writes one anew as a whole.", WriteFile),
}


def make_edit_tools(draft: Draft, *, redact: Redact) -> tuple[Tool, ...]:
    """``apply_patch``, ``edit`` and ``write_file`` on a draft.

    :param redact: removes secrets from every answer.
    """

    async def apply(arguments: ApplyPatch | EditFile | WriteFile) -> str:
        if any(REDACTED in line for line in arguments.new_lines):
            raise ToolMistake(_CREDENTIAL)
        judged = await draft.apply(arguments.to_edit())
        said = select_reported(judged.violations)
        if judged.change is None:
            text = redact("\n".join(["Nothing was applied.", *describe_violations(said)]))
            raise ToolMistake(text, redact("\n".join(list_reasons(said))))
        files = [describe_file(file) for file in judged.change.files]
        warnings = ["Warnings:", *describe_violations(said)] if said else []
        return redact("\n".join(["Applied.", *list_first(files, "files"), *warnings]))

    return tuple(Tool(name, text, takes, apply, ToolEffect.edits) for name, (text, takes) in _OFFERED.items())


def parse_edit(tool: str, arguments: str) -> Edit | None:
    """The edit of an applied call; None if the tool edits nothing.

    :param arguments: the JSON the model wrote.
    """
    if tool not in _OFFERED:
        return None
    _, takes = _OFFERED[tool]
    return takes.model_validate(json.loads(arguments)).to_edit()


def describe_file(file: ChangedFile) -> str:
    """What became of a file, on one line of a list."""
    what = "new" if file.is_new else "deleted" if file.is_gone else "changed"
    return f"- {file.path}: {what}, {file.lines:,} line{'' if file.lines == 1 else 's'}"


def describe_violations(found: Iterable[Violation]) -> Iterator[str]:
    """Each with its file, constraint, message and suggestion; the most severe first."""
    ranked = sorted(found, key=lambda each: -each.severity.rank)
    return list_first([f"- {_place(each)}{each.message} {each.suggestion}" for each in ranked], "violations")


def list_reasons(found: Iterable[Violation]) -> Iterator[str]:
    """The file and constraint of each violation. Lines and contents are left out, because they differ between diffs."""
    ranked = sorted(found, key=lambda each: -each.severity.rank)
    return list_first([_place(each).removesuffix(": ") for each in ranked], "violations")


def _place(violation: Violation) -> str:
    return f"{violation.file or 'the change'} ({violation.constraint}): "


def list_first(lines: Sequence[str], what: str) -> Iterator[str]:
    """As many lines as fit.

    :param what: they are, for how many are left out.
    """
    yield from lines[:_MOST]
    if len(lines) > _MOST:
        yield f"[{len(lines) - _MOST:,} more {what}]"
