"""Sets up a shadow of the repository, and tells what an agent changed there from what the set-up left."""

from dataclasses import dataclass, replace

from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.runs.patches import NO_CHANGES, ChangeSet, Violation, select_blocking
from pipeline.run_context import RunContext
from workspace.draft import Draft
from workspace.patches.refusals import show_path
from workspace.shadow import Shadow, ShadowChanges

_TAIL = 300  # characters of what was printed last


async def set_up_shadow(context: RunContext, configuration: Configuration, shadow: Shadow, base: str) -> str:
    """Hide what must not leave and run the set-up; what failed, for the agent, or empty.

    :param base: SHA of the commit that the shadow holds.
    :raises CodeAccessError: a file cannot be read.
    :raises ToolError: no sandbox here contains untrusted code.
    """
    never_send = configuration.review.never_send
    await shadow.hide(never_send)
    tester = Tester(await context.fetch_mirror(), context.services.toolbox, configuration.commands)
    failed = await tester.set_up(shadow.checkout, base, uses_cache=not never_send)
    return "" if failed is None else describe_end(f"The set-up `{failed.line}`", failed.exit_status, failed.output)


def describe_end(what: str, status: int | None, printed: str) -> str:
    """How a program ended, and the end of what it printed, on one line."""
    said = " ".join(printed.split())[-_TAIL:]
    how = "did not end in time, or was stopped" if status is None else f"ended with exit status {status}"
    return f"{what} {how}.{f' It says: {said}' if said else ''}"


NOTHING = ShadowChanges(NO_CHANGES, ())


@dataclass(frozen=True)
class AllowedWork:
    """The part of a change that may be taken.

    :param refused: what is wrong with the rest.
    """

    change: ChangeSet
    refused: tuple[Violation, ...] = ()


@dataclass(frozen=True)
class ShadowWork:
    """The work of one agent in one shadow.

    :param draft: judges it.
    :param made: what was changed before the agent began.
    """

    shadow: Shadow
    draft: Draft
    made: ShadowChanges = NOTHING

    async def read(self) -> ShadowChanges:
        """What the agent changed up to now, and what is no change of a regular file.

        :raises CodeAccessError: git could not say what is ignored, or what the files were before.
        """
        found = await self.shadow.read_changes()
        before = {(file.path, file.after) for file in self.made.change.files}
        known = {(each.file, each.constraint) for each in self.made.violations}
        files = tuple(file for file in found.change.files if (file.path, file.after) not in before)
        wrong = tuple(each for each in found.violations if (each.file, each.constraint) not in known)
        return replace(found, change=ChangeSet(files=files), violations=wrong)

    async def judge(self, found: ShadowChanges) -> tuple[Violation, ...]:
        """Everything that is wrong with what was read."""
        return (*found.violations, *await self.draft.judge_change(found.change))

    async def select_allowed(self, found: ShadowChanges) -> AllowedWork:
        """The files that may be taken; none if what is wrong is not about single files."""
        change, refused = found.change, list(select_blocking(await self.judge(found)))
        wrong = refused
        while wrong and change.files:
            names = {each.file for each in wrong}
            kept = tuple(file for file in change.files if show_path(file.path) not in names)
            if len(kept) == len(change.files):
                is_about_files = all(each in found.violations for each in wrong)
                return AllowedWork(change if is_about_files else NO_CHANGES, tuple(refused))
            change = ChangeSet(files=kept)
            wrong = select_blocking(await self.draft.judge_change(change))
            refused += [each for each in wrong if each not in refused]
        return AllowedWork(change, tuple(refused))
