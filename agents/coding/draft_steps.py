"""Runs the steps of an agent's loop on a draft, which follows what the loop did."""

from collections.abc import Sequence
from itertools import chain

from agents.loop.loop import Steps, Use
from agents.loop.tools.edits import parse_edit
from agents.loop.turns import CompletedTurn, Result, Turn
from domain.runs.patches import ChangeSet
from workspace.draft import Draft, Edit
from workspace.patches.refusals import PatchRefused


async def carry_over(draft: Draft, left: ChangeSet) -> Sequence[Edit]:
    """What a draft holds from the beginning: what was left of an earlier one, if it may still be changed so."""
    if not left.files:
        return ()
    try:
        await draft.replay([left])
    except PatchRefused:
        return ()
    return (left,)


def list_edits(past: Sequence[CompletedTurn]) -> list[Edit]:
    """The applied edits in order; together they turn the base into the draft."""
    pairs = chain.from_iterable(zip(each.turn.uses, each.results, strict=True) for each in past)
    taken = ((use, result.change) for use, result in pairs if not result.is_error)
    found = (change or parse_edit(use.tool, use.arguments) for use, change in taken)
    return [edit for edit in found if edit is not None]


class OnDraft:
    """Runs the steps of a loop whose tools change a draft, and keeps the draft in line with the loop's past.

    It applies a journaled step again, and undoes a step that was interrupted.

    :param start: edits that were applied before the loop began.
    """

    def __init__(self, steps: Steps, draft: Draft, start: Sequence[Edit] = ()) -> None:
        self._steps = steps
        self._draft = draft
        self._start = start

    async def load_earlier(self) -> Sequence[CompletedTurn]:
        """The earlier turns; none if one of their edits may no longer be applied.

        The agent then starts again, and its tools say what is wrong.
        """
        earlier = await self._steps.load_earlier()
        try:
            await self._draft.replay([*self._start, *list_edits(earlier)])
        except PatchRefused:
            return ()
        return earlier

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        """The model's next turn."""
        return await self._steps.reason(past)

    async def act(self, past: Sequence[CompletedTurn], turn: Turn, use: Use) -> CompletedTurn:
        """The turn with the results of its tools.

        :raises PatchRefused: an earlier edit may no longer be applied.
        """

        async def on_draft() -> Sequence[Result]:
            await self._draft.replay([*self._start, *list_edits(past)])
            return await use()

        exchange = await self._steps.act(past, turn, on_draft)
        await self._draft.replay([*self._start, *list_edits([*past, exchange])])
        return exchange
