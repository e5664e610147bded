"""Runs an agent's commands in a shadow of its draft, and takes what they change into the draft, or undoes it."""

from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field

from agents.loop.tools.edits import SECONDS, CommandEnd, CommandsUnavailable
from domain.config.configuration import Configuration
from domain.errors import CodeAccessError, ToolError
from domain.review.findings import Severity
from domain.runs.patches import LIMITS, NO_CHANGES, ChangeSet, Violation, select_blocking
from domain.text.escaping import strip_invisible
from pipeline.issue.coding.work_keeper import set_up_shadow
from pipeline.run_context import RunContext, run_while_current
from workspace.draft import Draft
from workspace.sandbox.bubblewrap import build_path
from workspace.sandbox.sandbox import Completed
from workspace.shadow import Shadow, ShadowChanges, open_shadow

_PRINTED = 6_000  # characters of what a command printed last
_TOO_MUCH = "After `commands.setup` there is more in the repository than can be read back: {}"


@dataclass
class _OpenShadow:
    """A shadow, and what it holds.

    :ivar lacks: what failed when it was set up; empty once the agent knows.
    :ivar held: the change of the draft that was brought into it last.
    :ivar is_sound: whether its files are the draft's, beside what the set-up and ignored files make.
    """

    shadow: Shadow
    lacks: str
    held: ChangeSet = NO_CHANGES
    is_sound: bool = True


@dataclass(frozen=True)
class _Ran:
    """A command that was run, and what there was before and after it.

    :param whole: the change of the draft before.
    """

    completed: Completed
    whole: ChangeSet
    before: ShadowChanges
    after: ShadowChanges

    def find_odd(self) -> tuple[Violation, ...]:
        """What is no change of a regular file and was not there before."""
        known = {(each.file, each.constraint) for each in self.before.violations}
        return tuple(each for each in self.after.violations if (each.file, each.constraint) not in known)


@dataclass
class CommandShadow:
    """Where the commands of one piece of work run; it is opened for the first one.

    :param stack: at its end, the shadow is removed.
    """

    context: RunContext
    configuration: Configuration
    draft: Draft
    stack: AsyncExitStack
    _unavailable: str = field(default="", init=False)
    _open: _OpenShadow | None = field(default=None, init=False)
    _kept: int = field(default=0, init=False)

    async def run(self, words: Sequence[str]) -> CommandEnd:
        """Run a command on the files as the draft has them now.

        :raises CommandsUnavailable: there is no shadow to run it in.
        :raises CodeAccessError: the draft could not be written.
        :raises Superseded: something else owns the issue now.
        """
        if self._unavailable:
            raise CommandsUnavailable(self._unavailable)
        whole = await self.draft.change()
        try:
            opened = await self._get_sound()
            ran = await self._run(opened, words, whole)
        except (CodeAccessError, ToolError, OSError) as error:
            self._unavailable = str(error)
            raise CommandsUnavailable(self._unavailable) from error
        change, violations = await self._take(ran)
        if select_blocking(violations) or ran.completed.status is None:
            await _undo(opened, ran)
        else:
            opened.held, opened.is_sound = await self.draft.change(), True
        lacks, opened.lacks = opened.lacks, ""
        printed = _read_end(ran.completed, str(opened.shadow.checkout.code_inside))
        return CommandEnd(ran.completed.status, printed, change, violations, lacks)

    async def _get_sound(self) -> _OpenShadow:
        if self._open is not None and not self._open.is_sound:
            self._open = None
            await self.stack.aclose()
        if self._open is None:
            self._open = await self._open_shadow()
        return self._open

    async def _open_shadow(self) -> _OpenShadow:
        services, draft = self.context.services, self.draft
        async with AsyncExitStack() as opening:
            await opening.enter_async_context(services.shadow_places)
            opened = open_shadow(draft.objects, draft.base, services.toolbox.sandbox)
            shadow = await opening.enter_async_context(opened)
            setting_up = set_up_shadow(self.context, self.configuration, shadow, draft.base)
            lacks = await run_while_current(services, self.context.run, setting_up)
            self.stack.push_async_exit(opening.pop_all())
        return _OpenShadow(shadow, lacks)

    async def _run(self, opened: _OpenShadow, words: Sequence[str], whole: ChangeSet) -> _Ran:
        shadow, services = opened.shadow, self.context.services
        opened.is_sound = False
        await shadow.apply(whole.since(opened.held))
        before = await shadow.read_changes()
        if before.has_given_up:
            raise ToolError(_TOO_MUCH.format(before.violations[0].message), "Name it in .gitignore.")
        reads = services.toolbox.reads
        running = shadow.checkout.run(words, seconds=SECONDS, environment={"PATH": build_path(reads)}, reads=reads)
        completed = await run_while_current(services, self.context.run, running)
        return _Ran(completed, whole, before, await shadow.read_changes())

    async def _take(self, ran: _Ran) -> tuple[ChangeSet, tuple[Violation, ...]]:
        """What it changed, in the draft now; nothing if that is refused. And what is wrong with it."""
        odd = ran.find_odd()
        if ran.completed.status is None or ran.after.has_given_up:
            return NO_CHANGES, odd if ran.after.has_given_up else ()
        change = find_new_changes(ran.before.change, ran.after.change, ran.whole)
        if select_blocking(odd) or (odd := (*odd, *_check_size(change, self._kept))):
            return NO_CHANGES, (*odd, *await self.draft.judge_change(change))
        if not change.files:
            return NO_CHANGES, odd
        judged = await self.draft.apply(change)
        self._kept += _count_bytes(judged.change or NO_CHANGES)
        return judged.change or NO_CHANGES, (*odd, *judged.violations)


def find_new_changes(before: ChangeSet, after: ChangeSet, draft: ChangeSet) -> ChangeSet:
    """The change of the draft by what a program did to files of which some were not the draft's.

    :param before: the files that the program found.
    :param after: those that it left.
    """
    touched = {file.path for file in after.since(before).files}
    return after.only(touched).since(draft.only(touched))


async def _undo(opened: _OpenShadow, ran: _Ran) -> None:
    """Bring a shadow back to what it was before a command. Where that does not come to the same, it is not used again.

    A link or another special file is left to that.
    """
    with suppress(CodeAccessError, ToolError):
        if not ran.after.has_given_up:
            await opened.shadow.apply(ran.before.change.since(ran.after.change))
            opened.held = ran.whole
            opened.is_sound = await opened.shadow.read_changes() == ran.before


def _check_size(change: ChangeSet, kept: int) -> tuple[Violation, ...]:
    """A change is kept with the run, as the text of a diff is.

    :param kept: bytes of those before it.
    """
    size = _count_bytes(change)
    if size <= LIMITS.patch_bytes and kept + size <= LIMITS.changed_bytes:
        return ()
    message = (
        f"The changed files hold {size:,} bytes before and after, those of earlier commands {kept:,}; "
        f"{LIMITS.patch_bytes:,} are allowed, and {LIMITS.changed_bytes:,} together."
    )
    advice = "Have commands change less."
    return (Violation(file="", constraint="limits", severity=Severity.error, message=message, suggestion=advice),)


def _count_bytes(change: ChangeSet) -> int:
    return sum(len(side or b"") for file in change.files for side in (file.before, file.after))


def _read_end(completed: Completed, code: str) -> str:
    """The end of what a command printed.

    :param code: the folder it ran in, which is a temporary one at sandbox level 2.
    """
    printed = b"\n".join(part.data for part in (completed.stdout, completed.stderr) if part.data)
    text = strip_invisible(printed[-4 * _PRINTED :].decode(errors="replace")).replace(f"{code}/", "")
    return text[-_PRINTED:].strip("\n")
