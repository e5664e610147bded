"""What an agent changed in its shadow, apart from what the set-up left there, and how much of it may be taken."""

from dataclasses import dataclass, replace

from domain.runs.patches import NO_CHANGES, ChangeSet, Violation, select_blocking
from workspace.draft import Draft
from workspace.patches.errors import show_path
from workspace.shadow import Shadow, ShadowChanges

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
