"""Lets an agent change files with unified diffs. Each is checked first, and applied as a whole or not at all."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from pydantic import BaseModel, ConfigDict, Field

from agents.loop.tools.tool import Tool, ToolMistake
from domain.runs.patches import LIMITS, ChangedFile, Violation, select_reported
from domain.text.redaction import make_mask
from workspace.draft import Draft

APPLY_PATCH = "apply_patch"
_DESCRIPTION = "Applies a unified diff of text files, all of it or nothing, and says what is wrong with it."
_REDACTED = make_mask("").removesuffix("]").rstrip()
_CREDENTIAL = (
    "Nothing was applied: a line that is added holds what looks like a credential, and was made unreadable. Do "
    "without it, also as an example, or hand in that the task is not done."
)
_MOST = 40  # files or violations that are named

Redact = Callable[[str], str]


class ApplyPatch(BaseModel):
    """What ``apply_patch`` takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    diff: str = Field(
        min_length=1,
        max_length=LIMITS.patch_bytes,
        description="As git writes it, of one or more files, against the files as they are now.",
    )


def make_apply_patch(draft: Draft, *, redact: Redact) -> Tool:
    """``apply_patch`` on a draft. Simultaneous calls are applied in their order.

    :param redact: removes secrets from every answer.
    """

    async def apply(arguments: ApplyPatch) -> str:
        if any(line.startswith("+") and _REDACTED in line for line in arguments.diff.splitlines()):
            raise ToolMistake(_CREDENTIAL)
        judged = await draft.apply(arguments.diff.encode())
        said = select_reported(judged.violations)
        if judged.change is None:
            text = redact("\n".join(["Nothing was applied.", *_violations(said)]))
            raise ToolMistake(text, redact("\n".join(_reasons(said))))
        files = [_file(file) for file in judged.change.files]
        warnings = ["Warnings:", *_violations(said)] if said else []
        return redact("\n".join(["Applied.", *_list_first(files, "files"), *warnings]))

    return Tool(APPLY_PATCH, _DESCRIPTION, ApplyPatch, apply)


def parse_diff(arguments: str) -> bytes:
    """The diff of an applied call.

    :param arguments: the JSON the model wrote.
    """
    return ApplyPatch.model_validate(json.loads(arguments)).diff.encode()


def _file(file: ChangedFile) -> str:
    what = "new" if file.is_new else "deleted" if file.is_gone else "changed"
    return f"- {file.path}: {what}, {file.lines:,} line{'' if file.lines == 1 else 's'}"


def _violations(found: Iterable[Violation]) -> Iterator[str]:
    """Each with its file, constraint, message and suggestion; the most severe first."""
    ranked = sorted(found, key=lambda each: -each.severity.rank)
    return _list_first([f"- {_place(each)}{each.message} {each.suggestion}" for each in ranked], "violations")


def _reasons(found: Iterable[Violation]) -> Iterator[str]:
    """The file and constraint of each violation. Lines and contents are left out, because they differ between diffs."""
    ranked = sorted(found, key=lambda each: -each.severity.rank)
    return _list_first([_place(each).removesuffix(": ") for each in ranked], "violations")


def _place(violation: Violation) -> str:
    return f"{violation.file or 'the change'} ({violation.constraint}): "


def _list_first(lines: Sequence[str], what: str) -> Iterator[str]:
    yield from lines[:_MOST]
    if len(lines) > _MOST:
        yield f"[{len(lines) - _MOST:,} more {what}]"
