"""Writes a page of what agents kept of their work: of a run, of one checkpoint, or of what two differ in."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.cli.checkpoints import find_pair
from bot.cli.lookup import find_run
from bot.cli.output import output
from bot.cli.page_file import write_page
from bot.current_database import open_database
from bot.pages.rendering import render_work_page
from bot.pages.work_pages import load_checkpoint_page, load_run_facts
from bot.settings import Installation
from domain.runs.patches import ChangeSet
from domain.runs.work_checkpoint import BrokenCheckpoint, WorkCheckpoint, WorkKey, load_states
from memory.db.engine import Database
from memory.runs import work_checkpoints
from messages.work_page import PageRoom, ShownWork, WorkPage, view_run, view_work
from safety.checkpoint_limits import find_exceeded


async def write_timeline(settings: Installation, run: str, file: Path) -> None:
    """Write a page of everything that a run's agents kept.

    :param run: its id, or the last 6 characters.
    :raises ForgeError: if there is no such run, more than one, or the page cannot be written.
    """
    async with open_database(settings) as database:
        run_id = await find_run(database, run)
        made = await work_checkpoints.list_of_run(database, run_id)
        works = await _view_works(database, made)
        exceeded = find_exceeded(await work_checkpoints.load_facts(database, run_id))
        page = view_run(await load_run_facts(database, run_id), works, exceeded)
    await _write(file, page)


async def write_one(settings: Installation, shown: str, since: str | None, file: Path) -> None:
    """Write a page of a checkpoint and the diff that leads to it.

    :param since: the checkpoint of the same work that the diff begins at; None: the base.
    :raises ForgeError: if there is none, more than one, they cannot be compared or read, or the page not written.
    """
    async with open_database(settings) as database:
        checkpoint, earlier = await find_pair(database, shown, since)
        page = await load_checkpoint_page(database, checkpoint, earlier, PageRoom(diff_lines=20_000))
    await _write(file, page)


async def _view_works(database: Database, made: Sequence[WorkCheckpoint]) -> Sequence[ShownWork]:
    """Views of the pieces of work, the newest first looked at, so that they get the room there is."""
    keys, room, works = list(dict.fromkeys(each.key for each in made)), PageRoom(), list[ShownWork]()
    for number in range(len(keys), 0, -1):
        key = keys[number - 1]
        of_key = [each for each in made if each.key == key]
        states = await _load_states(database, key) if room.checkpoints > 0 else None
        works.insert(0, await asyncio.to_thread(view_work, of_key, states, room, number))
    return works


async def _load_states(database: Database, key: WorkKey) -> Mapping[str, ChangeSet] | None:
    chain = await work_checkpoints.load_chain(database, key)
    try:
        return await asyncio.to_thread(load_states, chain)
    except BrokenCheckpoint:
        return None


async def _write(file: Path, page: WorkPage) -> None:
    html = await asyncio.to_thread(render_work_page, page)
    await asyncio.to_thread(write_page, file, html)
    with output() as console:
        told = f"Wrote {file}, {len(html.encode()):,} bytes. Open it in a browser."
        console.print(told, markup=False, highlight=False, emoji=False, soft_wrap=True)
