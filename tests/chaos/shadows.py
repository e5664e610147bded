"""The scenes of an issue that is carried out in a shadow of the repository, and what is left of the checkpoints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import select

from domain.runs.work_checkpoint import CheckpointCause, WorkCheckpoint, load_states
from memory.db.tables.runs import RunRow
from memory.runs import work_checkpoints
from tests.chaos.issues import Carried
from tests.chaos.model import SHOP, WRONG, fail, work
from tests.world.command_line_agent import FILES

_GENERATE = "open('shop/made.py', 'w').write('MADE = 1\\n')\n"
_OFTEN = FILES[".github/forge.yml"].replace("interactive}", "interactive, checkpoint_changes: 1}")


class Commanded(Carried):
    """Forge's own agent runs a command in a shadow of its draft, and what that made becomes part of the change."""

    files: ClassVar[Mapping[str, str]] = {
        **SHOP,
        ".github/forge.yml": "execution: {mode: interactive, commands: ['python3 tools/*']}\n",
        "tools/generate.py": _GENERATE,
    }
    runs: ClassVar[str] = "python3 tools/generate.py"


@dataclass(eq=False)
class Delegated(Carried):
    """An agent of another make carries out the tasks, and a checkpoint is made while it works."""

    files: ClassVar[Mapping[str, str]] = {**SHOP, **FILES, ".github/forge.yml": _OFTEN}
    delegate = staticmethod(work)

    async def collect_books(self) -> dict[str, Any]:
        """What was paid depends on how often the agent was started, so only what is left of its work is compared."""
        books = await super().collect_books()
        return {each: books[each] for each in ("runs", "writes", "told the cost")} | await self._collect_work()

    async def _collect_work(self) -> dict[str, Any]:
        """The last state of each piece of work, read back through its whole chain, and how often one was taken back."""
        database, made = self.stage.database, await self._list_made()
        states: list[tuple[str, list[str]]] = []
        for key in sorted({each.key.work: each.key for each in made}.values(), key=lambda key: key.work):
            chain = await work_checkpoints.load_chain(database, key)
            newest = load_states(chain)[chain[-1].checkpoint.id]
            states.append((key.work, [file.path for file in newest.files]))
        taken_back = sum(each.cause is CheckpointCause.rollback for each in made)
        return {"work": states, "taken back": taken_back}

    async def _list_made(self) -> Sequence[WorkCheckpoint]:
        assert self.issue is not None
        async with self.stage.database.transaction() as session:
            query = select(RunRow.id).where(RunRow.number == self.issue.number)
            [run] = (await session.scalars(query)).all()
        return await work_checkpoints.list_of_run(self.stage.database, run)


class TakenBack(Delegated):
    """It fails after it made what nobody wants; alice takes that back, and lets it go on."""

    delegate = staticmethod(fail)

    async def go_on(self) -> None:
        assert self.issue is not None
        good = await self._find_good()
        await self.alice.comment(self.issue, f"/forge rollback {good}")
        await self.stage.settle()
        await self.alice.comment(self.issue, "/forge approve help_needed")
        await self.stage.settle()

    async def _find_good(self) -> str:
        """The id of the first checkpoint: without the file that nobody wants."""
        database, made = self.stage.database, await self._list_made()
        assert made, "nothing was kept"
        states = load_states(await work_checkpoints.load_chain(database, made[0].key))
        assert WRONG not in {file.path for file in states[made[0].id].files}
        return made[0].short_id
