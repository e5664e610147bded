"""For how long nothing else is served while the largest change that is looked at is reviewed (bar: 100 ms)."""

import asyncio
import gc
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from agents.review import layers, reviewer
from agents.review.model.questions import build_questions
from agents.toolbox import Toolbox
from domain.config.configuration import Configuration
from domain.review.review import Remark
from memory import findings
from memory.db.engine import Database
from memory.runs import checkpoints
from messages import review as review_texts
from pipeline.publishing.reviews import choose_inline
from safety.risk import PullRequestAuthor
from tests.databases import create_database
from tests.rows import NOON, active_run, run_row
from tests.unit.workspace.remotes import Author
from workspace.git import Git
from workspace.objects import Objects

Some = TypeVar("Some")
BEAT = 0.002
FILES, LINES = 300, 20_000


def floods() -> Mapping[str, Mapping[str, str]]:
    """Changes as large as one is looked at, each in another way."""
    per_file = LINES // FILES - 2
    line = "aaa,bbb,ccc,ddd,eee,fff,ggg,hhh\n"
    return {
        "100,000 findings in 300 files": {f"m{n}.py": line * 44 for n in range(FILES)},
        "100,000 findings in one file": {"m.py": line * 12_900},
        "10,000 fixes in one file": {"m.py": "".join(f"import m{n}\n" for n in range(10_000))},
        "20,000 lines in 300 files": {
            f"m{n}.py": f"def f{n}(x):\n" + "    print('a line of some length', x + 1)\n" * per_file
            for n in range(FILES)
        },
        "40,000 insecure calls": {"m.py": "exec(a);exec(a);exec(a);exec(a)\n" * 10_000},
        "10,000 credentials": {"m.py": "".join(f"password = 'q9Zr4-Tk2w{n:05}'\n" for n in range(10_000))},
    }


async def test_the_loop_stands_still(tmp_path: Path) -> None:
    """The longest time between two beats of a task that does nothing, by what is being done.

    It is the process's own time, so that what else the machine does is left out.
    """
    print("\n\nLongest stillness of the event loop, ms (bar: 100)")
    async with Toolbox.start() as toolbox:
        gc.collect()
        gc.freeze()  # as a process that serves does
        for name, files in floods().items():
            folder = tmp_path / name.replace(" ", "-")
            folder.mkdir()
            await _review(name, files, toolbox, folder)


async def _review(name: str, files: Mapping[str, str], toolbox: Toolbox, folder: Path) -> None:
    author, worst = Author(folder / "repo.git"), dict[str, float]()
    base = author.commit({"README.md": "x\n"})
    head = author.commit(files)
    code, configuration = Objects(Git(author.tree / ".git")), Configuration()
    database = Database(create_database("sqlite", folder))

    async def time_call(what: str, doing: Callable[[], Awaitable[Some]]) -> Some:
        async with _watch_loop(what, worst):
            return await doing()

    async def nothing() -> None:
        return None

    began = time.monotonic()
    await time_call("idle", lambda: asyncio.sleep(0.5))
    change = await time_call("read the change", lambda: code.change(base, head))
    checked = await time_call(
        "layers 1 and 2", lambda: reviewer.check(change, code, toolbox, configuration, PullRequestAuthor(), nothing)
    )
    versions = await time_call("contents", lambda: code.versions(change.files))
    await time_call(
        "prepare layer 3",
        lambda: asyncio.to_thread(build_questions, change, versions, checked.findings),
    )

    async def draw_remarks() -> list[Remark]:
        run = active_run("run")
        async with database.transaction() as session:
            session.add(run_row(run.id))
        model = layers.skip_model(checked, configuration, "no model")
        review = await checkpoints.save_review(database, run, reviewer.build_review(checked, model), NOON)
        review_texts.render_outcome(review, review.findings, 0)
        await findings.list_names(database, run.repository.id, run.number)
        return choose_inline(review, (), 25)

    await time_call("draw, keep and show", draw_remarks)
    await database.close()
    took = time.monotonic() - began
    cut = sum(layer.cut for layer in checked.layers)
    said = [tool.problem for layer in checked.layers for tool in layer.tools if tool.problem]
    print(f"{name}: {len(checked.findings)} kept, {cut:,} left out, {took:.1f} s. {' '.join(said)}")
    print("   " + "   ".join(f"{what} {1000 * gap:.0f}" for what, gap in worst.items()))


@asynccontextmanager
async def _watch_loop(what: str, worst: dict[str, float]) -> AsyncGenerator[None]:
    async def beat() -> None:
        last = time.process_time()
        while True:
            await asyncio.sleep(BEAT)
            now = time.process_time()
            worst[what] = max(worst.get(what, 0), now - last)
            last = now

    beating = asyncio.create_task(beat())
    try:
        yield
        await asyncio.sleep(2 * BEAT)
    finally:
        beating.cancel()
