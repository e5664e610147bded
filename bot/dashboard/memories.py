"""The pages of memories: the list, the search, one memory with who taught it and what it mutes, and the export."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.dashboard.findings import show_outcome
from bot.dashboard.runs import read_key
from bot.dashboard.visit import Download, NotHere, Page, RepositoryPage, Shown, Visit
from domain.memories.jsonl import dump_line
from domain.memories.memory import Memory, MemoryKind, Scope, compute_confidence
from domain.memories.memory_file import PATH
from memory.learned import catalogue, memories
from memory.learned.catalogue import CatalogueEntry, Recall
from memory.learned.memory_file import is_from_file
from memory.reports import finding_pages, memory_pages, muted_findings
from memory.reports.memory_pages import MemoryFilter
from memory.reports.muted_findings import MutedCount
from messages.memory_history import OUTCOMES, USES, describe_memory_event

LISTED = 50
"""Memories on one page, and the most that a search finds."""
MUTED = 50
"""Findings that the page of a memory lists."""
RECALLED = 30
"""Recalls that the page of a memory lists, the latest in its own repository."""
EDITOR = "write"
"""The role that commands ask for as well, ``/forge remember`` and ``/forge forget``."""
_LONGEST_QUERY = 200
_SHORTEST = 6  # characters of an id
_IN_NUMBER = re.compile(r" in #([1-9][0-9]{0,9})(?:, comment ([1-9][0-9]{0,18}))?")
_OF_RUN = re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b")
_DONE = {
    "added": "Forge remembers this now; it does not decay.",
    "known": "A memory says this already; it is confirmed.",
    "changed": "It is changed. What it said before is in its history.",
    "same": "It says that already, so nothing was changed.",
    "archived": "It is archived: Forge keeps it but no longer uses it. Dismissals that taught it are taken back.",
    "late": "It is archived. GitHub did not take all updates of verdicts: their next review applies it.",
}


@dataclass(frozen=True)
class MemoryShown:
    """A memory in a list.

    :param confidence: now, from 0 to 1.
    :param uses: such as ``2× helped``.
    :param muted: findings that it keeps from being raised.
    """

    entry: CatalogueEntry
    address: str
    confidence: float
    uses: Sequence[str]
    muted: MutedCount

    @property
    def memory(self) -> Memory:
        return self.entry.memory


async def list_memories(visit: Visit) -> Shown:
    """The memories of a repository, newest first, or those that a search finds, best first."""
    kind, asked = visit.query.get("kind", ""), " ".join(visit.query.get("q", "").split())[:_LONGEST_QUERY]
    wanted = MemoryFilter(MemoryKind(kind) if kind in set(MemoryKind) else None, visit.query.get("archived") == "yes")
    newer = older = ""
    if asked:
        found = await memory_pages.search(visit.database, visit.repository, wanted, asked, visit.now, LISTED)
    else:
        page = await memory_pages.list_memories(visit.database, visit.repository.id, wanted, read_key(visit), LISTED)
        kept = {"kind": wanted.kind, "archived": "yes" if wanted.archived else ""}
        newer = visit.address("memories", after=page.newer, **kept) if page.newer else ""
        older = visit.address("memories", before=page.older, **kept) if page.older else ""
        found = page.items
    shown = {
        "listed": await _show_all(visit, found),
        "kinds": list(MemoryKind),
        "wanted": wanted,
        "asked": asked,
        "most": LISTED,
        "newer": newer,
        "older": older,
        "may_edit": visit.may(EDITOR),
    }
    return Page("memories.html", "Memories", shown)


async def show_memory(visit: Visit) -> Shown:
    """One memory: what it says, who taught it, what came of it, what it mutes."""
    return await render_memory(visit, await find_memory(visit), done=_DONE.get(visit.query.get("done", ""), ""))


async def render_memory(
    visit: Visit,
    memory: Memory,
    *,
    done: str = "",
    mistakes: Sequence[str] = (),
    typed: Memory | None = None,
    status: int = 422,
) -> Page:
    """The page of a memory.

    :param done: what a form did.
    :param mistakes: why what was typed is not taken.
    :param typed: what the form holds; None: what the memory says.
    :param status: HTTP status if there are mistakes.
    """
    history = await catalogue.load_history(visit.database, memory)
    muted = await finding_pages.list_muted_by(visit.database, visit.repository.id, memory.id, MUTED)
    [entry] = await _show_all(visit, [history.entry])
    shown = {
        "shown": entry,
        "source": locate_source(visit, memory),
        "taught": [(each, visit.address("findings", each.number, each.finding)) for each in history.dismissals],
        "events": _list_events(history),
        "recalls": _list_recalls(visit, history),
        "muted": [show_outcome(visit, each) for each in muted],
        "done": done,
        "mistakes": mistakes,
        "typed": typed or memory,
        "from_file": PATH if is_from_file(memory) else "",
        "may_edit": visit.may(EDITOR) and memory.is_live,
    }
    return Page("memory.html", f"Memory {memory.short_id}", shown, status=status if mistakes else 200)


async def find_memory(visit: Visit) -> Memory:
    """The memory of the address; a live one if several end so.

    :raises NotHere: there is none in this repository, or several have the short id.
    """
    name = visit.parts["memory"].upper()
    if len(name.removeprefix("M-")) < _SHORTEST:
        raise NotHere
    found = await memories.find_by_short_id(visit.database, visit.repository, name)
    meant = [each for each in found if each.is_live] or found
    if len(meant) != 1:
        raise NotHere
    return meant[0]


async def export_memories(visit: Visit) -> Shown:
    """The memories as JSON Lines, oldest first, as ``forge memory export`` writes them."""
    found = await catalogue.list_memories(
        visit.database, [visit.repository.id], archived=visit.query.get("archived") == "yes"
    )
    ordered = sorted((each.memory for each in found), key=lambda memory: memory.id)
    text = "".join(f"{dump_line(each, visit.repository.full_name)}\n" for each in ordered)
    name = f"{visit.repository.owner}-{visit.repository.name}-memories.jsonl"
    return Download(name, "application/jsonl", text.encode())


def locate_source(visit: Visit, memory: Memory) -> str:
    """Where it was taught: on GitHub, or at a run; empty if that is not known."""
    if memory.source.startswith("imported from"):  # it may name places of another repository
        return ""
    if is_from_file(memory):
        return visit.on_github("blob", "HEAD", *PATH.split("/"))
    if (place := _IN_NUMBER.search(memory.source)) is not None:
        issue = visit.on_github("issues", place[1])  # GitHub leads to the pull request if it is one
        return f"{issue}#issuecomment-{place[2]}" if place[2] else issue
    if (run := _OF_RUN.search(memory.source)) is not None:
        return visit.address("runs", run[0])
    return ""


async def _show_all(visit: Visit, entries: Sequence[CatalogueEntry]) -> Sequence[MemoryShown]:
    ids = [each.memory.id for each in entries]
    muted = await muted_findings.count_muted(visit.database, visit.repository.id, ids)
    return [_show(visit, each, muted.get(each.memory.id, MutedCount())) for each in entries]


def _show(visit: Visit, entry: CatalogueEntry, muted: MutedCount) -> MemoryShown:
    uses = [f"{count}× {USES.get(use, use)}" for use, count in sorted(entry.uses.items())]
    confidence = compute_confidence(entry.memory, visit.now)
    return MemoryShown(entry, visit.address("memories", entry.memory.short_id), confidence, uses, muted)


def _list_recalls(visit: Visit, history: catalogue.MemoryHistory) -> Sequence[tuple[Recall, str]]:
    """The latest recalls in this repository and what came of them; who reads here may not read where else it was."""
    here = [each for each in history.recalls if each.repository_id == visit.repository.id]
    return [(each, OUTCOMES.get(each.outcome, each.outcome)) for each in reversed(here[-RECALLED:])]


def _list_events(history: catalogue.MemoryHistory) -> Sequence[tuple[object, str]]:
    """What people and runs did with it, in order. Causes of uses may name runs of others of its organisation."""
    is_shared = history.entry.memory.scope is Scope.organisation
    used = [(at, USES.get(use, use) + ("" if is_shared else f" ({cause})")) for at, use, cause in history.uses]
    return sorted([*used, *((event.time, describe_memory_event(event)) for event in history.events)])


PAGES = (
    RepositoryPage("memories", list_memories, tab="Memories"),
    RepositoryPage("memories/export", export_memories),
    RepositoryPage("memories/{memory}", show_memory),
)
