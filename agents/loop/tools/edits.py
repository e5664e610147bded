"""Lets an agent change files: by a diff, by a passage and what replaces it, whole, or by running commands on its draft.

Each edit is checked first, and applied as a whole or not at all; so is what a command changes in its own folder.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from agents.loop.tools.tool import Result, Tool, ToolArguments, ToolEffect, ToolMistake
from agents.loop.turns import CompletedTurn
from domain.config.limits import AllowedCommands, split_line
from domain.runs.patches import LIMITS, ChangedFile, ChangeSet, Violation, select_blocking, select_reported
from domain.text.redaction import make_mask, redact_outgoing
from workspace.draft import Draft, Edit
from workspace.patches.edits import Replacement, WrittenFile

REDACTED = make_mask("").removesuffix("]").rstrip()
"""How a text begins that stands in the place of a credential."""
_CREDENTIAL = (
    "Nothing was applied: a line that is added holds what looks like a credential, and was made unreadable. Do "
    "without it, also as an example, or hand in that the task is not done."
)
_MOST = 40  # files or violations that are named


class ApplyPatch(ToolArguments):
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


class EditFile(ToolArguments):
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


class WriteFile(ToolArguments):
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

RUN_COMMAND = "run_command"
SECONDS = 120.0
"""The time limit of one command."""
MAX_COMMANDS = 40
"""The most commands of one task before it waits for people; nothing else limits them within a turn."""
_DESCRIPTION = (
    "Runs one command on your draft, without a shell and without a network, for up to two minutes: programs that "
    "generate or format files, or show how the software behaves. It runs from the root of the repository. What it "
    "changes is checked as an edit is, and added to your draft as a whole or not at all. Allowed are, `*` stands for "
    "anything: {}."
)
_NOT_ALLOWED = "`{}` is not allowed, and nothing was run. Allowed are, `*` stands for anything: {}."
_OFTEN = "Commands were run often enough for one task. Hand in what you have."
_UNAVAILABLE = "Commands cannot be run here"
_CREDENTIAL_IN_COMMAND = (
    "Nothing was run: the command holds what looks like a credential, and was made unreadable. Do without it."
)
_UNSHOWN = "[what it prints is not shown, because files of this repository must not leave]"


class RunCommand(ToolArguments):
    """What ``run_command`` takes."""

    command: str = Field(
        min_length=1,
        max_length=2_000,
        pattern=r"^[^\x00-\x1f\x7f]+$",
        description="A program and its arguments on one line, such as `python tools/generate.py`. Pipes, redirections, "
        "variables and several commands on one line mean nothing here.",
    )


@dataclass(frozen=True)
class CommandEnd:
    """How a command ended.

    :param status: its exit status; None if it was stopped, and nothing it changed is kept.
    :param printed: the end of what it printed.
    :param change: what it changed, which is part of the draft now; empty if that was refused.
    :param violations: the errors and warnings about what it changed.
    :param before: what went wrong before it ran, for the agent; empty if nothing.
    """

    status: int | None
    printed: str
    change: ChangeSet
    violations: Sequence[Violation] = ()
    before: str = ""


class CommandsUnavailable(Exception):
    """No command can be run any more; the message tells why."""


Execute = Callable[[Sequence[str]], Awaitable[CommandEnd]]
"""Runs the words of a command on the draft as it is now; raises :class:`CommandsUnavailable`."""


def make_run_command(execute: Execute, allowed: AllowedCommands, *, says_words: bool = True) -> Tool:
    """``run_command`` for the commands that are allowed.

    :param says_words: whether the model may see what commands print. An agent could have them print any file.
    """
    count = 0

    async def run(arguments: RunCommand) -> str | Result:
        nonlocal count
        words = _read_words(arguments.command, allowed)
        if count >= MAX_COMMANDS:
            raise ToolMistake(_OFTEN)
        count += 1
        try:
            end = await execute(words)
        except CommandsUnavailable as why:
            raise ToolMistake(redact_outgoing(f"{_UNAVAILABLE}: {why} Go on without them."), _UNAVAILABLE) from None
        text = redact_outgoing("\n".join(_describe_end(end, says_words)))
        if select_blocking(end.violations):
            raise ToolMistake(text, redact_outgoing("\n".join(list_reasons(select_reported(end.violations)))))
        return Result(text=text, change=end.change) if end.change.files else text

    description = _DESCRIPTION.format(allowed)
    return Tool(RUN_COMMAND, description, RunCommand, run, ToolEffect.edits)


def could_not_run(past: Sequence[CompletedTurn]) -> bool:
    """Whether an agent was told that no command can be run."""
    uses = (pair for each in past for pair in zip(each.turn.uses, each.results, strict=True))
    return any(use.tool == RUN_COMMAND and result.text.startswith(_UNAVAILABLE) for use, result in uses)


def _read_words(line: str, allowed: AllowedCommands) -> tuple[str, ...]:
    if REDACTED in line:
        raise ToolMistake(_CREDENTIAL_IN_COMMAND)
    try:
        words = split_line(line)
    except ValueError as error:
        raise ToolMistake(f"Nothing was run: it cannot be split into words ({error}).") from None
    if not allowed.permits(words):
        raise ToolMistake(_NOT_ALLOWED.format(line[:300], allowed), "not allowed")
    return words


def _describe_end(end: CommandEnd, says_words: bool) -> Iterator[str]:
    if end.before:
        yield end.before if says_words else end.before.partition(" It says: ")[0]
    ended = f"It ended with exit status {end.status}." if end.status is not None else _STOPPED
    yield ended
    if select_blocking(end.violations):
        yield "Nothing of what it changed was taken, and your draft is as it was before:"
        yield from describe_violations(select_reported(end.violations))
    elif end.change.files:
        yield "It changed these files of your draft:"
        yield from list_first([describe_file(file) for file in end.change.files], "files")
        yield from describe_violations(select_reported(end.violations))
    elif end.status is not None:
        yield "It changed no file of your draft."
    if end.printed:
        yield f"It printed, at the end:\n{end.printed}" if says_words else _UNSHOWN


_STOPPED = "It was stopped, because it took too long, printed or wrote too much. Nothing of what it changed was taken."


def make_edit_tools(draft: Draft) -> tuple[Tool, ...]:
    """``apply_patch``, ``edit`` and ``write_file`` on a draft."""

    async def apply(arguments: ApplyPatch | EditFile | WriteFile) -> str:
        if any(REDACTED in line for line in arguments.new_lines):
            raise ToolMistake(_CREDENTIAL)
        judged = await draft.apply(arguments.to_edit())
        said = select_reported(judged.violations)
        if judged.change is None:
            text = redact_outgoing("\n".join(["Nothing was applied.", *describe_violations(said)]))
            raise ToolMistake(text, redact_outgoing("\n".join(list_reasons(said))))
        files = [describe_file(file) for file in judged.change.files]
        warnings = ["Warnings:", *describe_violations(said)] if said else []
        return redact_outgoing("\n".join(["Applied.", *list_first(files, "files"), *warnings]))

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
