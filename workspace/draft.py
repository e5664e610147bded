"""Holds an agent's edits of a commit, as commits of its own in the bare repository; nothing is checked out."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile

from domain.github.commits import Signature
from domain.runs.patches import LIMITS, NO_CHANGES, Areas, ChangeSet, PatchLimits, Violation, select_blocking
from workspace.commits import Commits
from workspace.objects import Objects
from workspace.patches import edits, patching
from workspace.patches.edits import TextEdit
from workspace.patches.patching import restore_returns
from workspace.patches.refusals import PatchRefused
from workspace.patches.tree import FileTree, load_tree
from workspace.patches.validation import JudgedPatch, judge, validate
from workspace.snapshot import History, Snapshot

# Fixed, so that the same diffs make the same commits wherever they are applied. These commits are never pushed.
_AUTHOR = Signature(name="forge", email="forge@localhost")
_AT = datetime(2000, 1, 1, tzinfo=UTC)
_MESSAGE = "A draft.\n"

Edit = bytes | TextEdit | ChangeSet
"""A unified diff, an edit of one file, or files before and after; each written against the files as they are now."""


@dataclass(frozen=True)
class _Step:
    """One applied edit.

    :param whole: the change that all edits up to this one make to the base.
    :param commit: the SHA of the commit with that change.
    """

    edit: Edit
    whole: ChangeSet
    commit: str


class Draft:
    """The files of a commit with edits applied one after the other.

    Simultaneous calls run in the order they were made.

    :param objects: of the repository, which has the base.
    :param base: SHA of the commit the first edit is written against.
    :param areas: where changes may be.
    """

    def __init__(self, objects: Objects, base: str, areas: Areas, limits: PatchLimits = LIMITS) -> None:
        self.base = base
        self.objects = objects
        self._areas = areas
        self._limits = limits
        self._steps: list[_Step] = []
        self._base_tree: FileTree | None = None
        self._snapshot: Snapshot | None = None
        self._one_at_a_time = asyncio.Lock()  # serves waiting calls in their order

    @property
    def head(self) -> str:
        """SHA of the commit with all applied edits; the base if there are none."""
        return self._steps[-1].commit if self._steps else self.base

    async def apply(self, edit: Edit) -> JudgedPatch:
        """Apply an edit as a whole, or not at all.

        :returns: what it does, or why it was refused: by itself, or for what it makes of the whole change.
        :raises CodeAccessError: git could not read or write what is needed.
        """
        async with self._one_at_a_time:
            return await self._apply(edit)

    async def replay(self, applied: Sequence[Edit]) -> None:
        """Bring the files to the state after exactly these edits, in their order.

        The first ones are not applied again if they are the applied ones and their commits still exist.

        :raises PatchRefused: an edit may not be applied, or no longer; those before it are.
        :raises CodeAccessError: git could not read or write what is needed.
        """
        async with self._one_at_a_time:
            pairs = zip(self._steps, applied, strict=False)
            del self._steps[sum(1 for _ in takewhile(lambda pair: pair[0].edit == pair[1], pairs)) :]
            if self._steps and not await self.objects.sizes([self.head]):
                self._steps.clear()
            for edit in applied[len(self._steps) :]:
                judged = await self._apply(edit)
                if judged.change is None:
                    raise PatchRefused(judged.violations)

    async def change(self) -> ChangeSet:
        """The whole change since the base."""
        async with self._one_at_a_time:
            return self._whole

    async def violations(self, areas: Areas | None = None) -> tuple[Violation, ...]:
        """The errors and warnings about the whole change; to be checked again before it is pushed.

        :param areas: where changes may be by now; as in the beginning by default.
        """
        async with self._one_at_a_time:
            return await self._validate(self._whole, areas or self._areas)

    async def judge_change(self, change: ChangeSet) -> tuple[Violation, ...]:
        """The errors and warnings about a change of the files as they are now, by itself and with all edits before."""
        async with self._one_at_a_time:
            judged = await self._judge(change)
            if judged.change is None:
                return judged.violations
            whole = await self._validate(self._whole.then(change), self._areas)
            return (*judged.violations, *select_blocking(whole))

    async def snapshot(self) -> Snapshot:
        """The files as they are now, to be read and searched."""
        async with self._one_at_a_time:
            if self._snapshot is None or self._snapshot.commit != self.head:
                self._snapshot = await Snapshot.of(self.objects, self.head)
            return self._snapshot

    @property
    def history(self) -> History:
        """The history before the first edit."""
        return History(self.objects, self.base)

    @property
    def _whole(self) -> ChangeSet:
        return self._steps[-1].whole if self._steps else NO_CHANGES

    async def _apply(self, edit: Edit) -> JudgedPatch:
        judged = await self._judge(edit)
        if judged.change is None:
            return judged
        whole = self._whole.then(judged.change)
        if wrong := select_blocking(await self._validate(whole, self._areas)):
            return JudgedPatch(None, tuple(wrong))
        commit = await Commits(self.objects.git).commit_change(self.head, judged.change, _MESSAGE, _AUTHOR, _AT)
        self._steps.append(_Step(edit, whole, commit))
        return judged

    async def _judge(self, edit: Edit) -> JudgedPatch:
        """The verdict on the edit by itself; in a thread, because large ones take a while."""
        try:
            paths = await asyncio.to_thread(self._list_paths, edit)
            tree = await load_tree(self.objects, self.head, paths, self._limits.file_bytes)
            if isinstance(edit, bytes):
                edit = await asyncio.to_thread(restore_returns, edit, tree)
        except PatchRefused as refused:
            return JudgedPatch(None, refused.violations)
        return await asyncio.to_thread(judge, edit, tree, self._areas, self._limits)

    def _list_paths(self, edit: Edit) -> Sequence[str]:
        if isinstance(edit, ChangeSet):
            return ()  # it brings what the files were before
        return patching.list_paths(edit, self._limits) if isinstance(edit, bytes) else edits.list_paths(edit)

    async def _validate(self, whole: ChangeSet, areas: Areas) -> tuple[Violation, ...]:
        if self._base_tree is None:
            self._base_tree = await load_tree(self.objects, self.base, ())
        return await asyncio.to_thread(validate, whole, areas, self._base_tree, self._limits)
