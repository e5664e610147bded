"""The pages of memories: list, search, one with its history, and the forms that add, correct, archive one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.dashboard.authority import GitHubSilent
from bot.dashboard.visit import NotHere, Page, SeeOther, Shown, Visit
from domain.errors import CodeHostError
from domain.memories import (
    Memory,
    MemoryKind,
    Origin,
    Scope,
    compute_confidence,
    create_memory,
    find_mistakes,
    split_tags,
)
from domain.slash import Forget, SlashCommand, Tell
from domain.verbs import Verb
from memory.learned import catalogue, memories
from memory.learned.catalogue import CatalogueEntry, MemoryKeeper, Recall
from memory.reports import memory_pages
from memory.reports.memory_pages import MemoryFilter
from messages.memory import OUTCOMES, USES, describe_memory_event
from pipeline.verdicts.dismissal import forget_memory
from pipeline.verdicts.suppression import load_memory_settings

LISTED = 50
"""Memories on one page, and the most that a search finds."""
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
    """

    entry: CatalogueEntry
    address: str
    confidence: float
    uses: Sequence[str]

    @property
    def memory(self) -> Memory:
        return self.entry.memory


async def list_memories(visit: Visit) -> Shown:
    """The memories of a repository, newest first, or those that a search finds, best first."""
    kind, asked = visit.query.get("kind", ""), " ".join(visit.query.get("q", "").split())[:_LONGEST_QUERY]
    wanted = MemoryFilter(MemoryKind(kind) if kind in set(MemoryKind) else None, visit.query.get("archived") == "yes")
    around: Mapping[str, str] = {"newer": "", "older": ""}
    if asked:
        found = await memory_pages.search(visit.database, visit.repository, wanted, asked, visit.now, LISTED)
    else:
        page = await memory_pages.list_memories(visit.database, visit.repository.id, wanted, visit.key, LISTED)
        kept = {"kind": wanted.kind, "archived": "yes" if wanted.archived else ""}
        around = visit.link_pages(page.newer, page.older, "memories", **kept)
        found = page.items
    shown = {
        "listed": [_show(visit, each) for each in found],
        "kinds": list(MemoryKind),
        "wanted": wanted,
        "asked": asked,
        "most": LISTED,
        **around,
        "may_edit": visit.may(EDITOR),
    }
    return Page("memories.html", "Memories", shown)


async def show_memory(visit: Visit) -> Shown:
    """One memory: what it says, who taught it, and what came of it."""
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
    shown = {
        "shown": _show(visit, history.entry),
        "source": locate_source(visit, memory),
        "taught": [(each, visit.on_github("pull", each.number)) for each in history.dismissals],
        "events": _list_events(history),
        "recalls": _list_recalls(visit, history),
        "done": done,
        "mistakes": mistakes,
        "typed": typed or memory,
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


def locate_source(visit: Visit, memory: Memory) -> str:
    """Where it was taught: on GitHub, or at a run; empty if that is not known."""
    if (place := _IN_NUMBER.search(memory.source)) is not None:
        issue = visit.on_github("issues", place[1])  # GitHub leads to the pull request if it is one
        return f"{issue}#issuecomment-{place[2]}" if place[2] else issue
    if (run := _OF_RUN.search(memory.source)) is not None:
        return visit.address("runs", run[0])
    return ""


def _show(visit: Visit, entry: CatalogueEntry) -> MemoryShown:
    uses = [f"{count}× {USES.get(use, use)}" for use, count in sorted(entry.uses.items())]
    confidence = compute_confidence(entry.memory, visit.now)
    return MemoryShown(entry, visit.address("memories", entry.memory.short_id), confidence, uses)


def _list_recalls(visit: Visit, history: catalogue.MemoryHistory) -> Sequence[tuple[Recall, str]]:
    """The latest recalls in this repository and what came of them; who reads here may not read where else it was."""
    here = [each for each in history.recalls if each.repository_id == visit.repository.id]
    return [(each, OUTCOMES.get(each.outcome, each.outcome)) for each in reversed(here[-RECALLED:])]


def _list_events(history: catalogue.MemoryHistory) -> Sequence[tuple[object, str]]:
    """What people and runs did with it, in order. Causes of uses may name runs of others of its organisation."""
    is_shared = history.entry.memory.scope is Scope.organisation
    used = [(at, USES.get(use, use) + ("" if is_shared else f" ({cause})")) for at, use, cause in history.uses]
    return sorted([*used, *((event.time, describe_memory_event(event)) for event in history.events)])


_TEACH = Tell(verb=Verb.remember, text="a memory")
_SWITCHED_OFF = "Learning is switched off here: `memory: {enabled: false}` in `.github/forge.yml`."
_ARCHIVED = "This memory is archived and no longer used: add it again."


async def offer_form(_visit: Visit) -> Shown:
    """An empty form for a new memory."""
    return _render_form({}, ())


async def add(visit: Visit) -> Shown:
    """Remember what somebody typed; it does not decay."""
    refused = _explain_refusal(visit, _TEACH)
    if refused:
        return _render_form(visit.form, [refused], status=403)
    try:
        configured = await load_memory_settings(visit.services, visit.repository)
    except CodeHostError as error:
        raise GitHubSilent.explain(error) from error
    if not configured.enabled:
        return _render_form(visit.form, [_SWITCHED_OFF])
    kind = visit.form.get("kind", "")
    memory = create_memory(
        visit.repository,
        Origin.person,
        MemoryKind(kind) if kind in set(MemoryKind) else MemoryKind.semantic,
        visit.form.get("content", ""),
        f"the dashboard, by {visit.session.login}",
        visit.now,
        context=visit.form.get("context", ""),
        tags=split_tags(visit.form.get("tags", "")),
        scope=Scope.organisation if configured.organisation else Scope.repository,
        pinned=True,
        taught_by=visit.sender.id,
    )
    mistakes = _list_mistakes(memory)
    if mistakes:
        return _render_form(visit.form, mistakes)
    cause, plain = f"dashboard, account {visit.sender.id}", memory.on_one_line
    kept = await catalogue.learn(
        visit.database, visit.repository, None, plain, visit.sender, cause, configured.max, is_source_unique=False
    )
    if kept is None:
        full = (
            f"This repository can have at most {configured.max:,} memories, and all of them are pinned. Archive some."
        )
        return _render_form(visit.form, [full])
    return SeeOther(visit.address("memories", kept[0].short_id, done="added" if kept[1] else "known"))


async def correct(visit: Visit) -> Shown:
    """Correct a memory; the ledger keeps what it said before."""
    memory = await find_memory(visit)
    given = {"content": visit.form.get("content", ""), "context": visit.form.get("context", "")}
    typed = memory.model_copy(update={**given, "tags": split_tags(visit.form.get("tags", ""))})
    refused = _explain_refusal(visit, _TEACH)
    if refused:
        return await render_memory(visit, memory, mistakes=[refused], typed=typed, status=403)
    mistakes = _list_mistakes(typed)
    if mistakes:
        return await render_memory(visit, memory, mistakes=mistakes, typed=typed)
    changed = typed.on_one_line
    if changed == memory:
        return SeeOther(visit.address("memories", memory.short_id, done="same"))
    changed = changed.model_copy(update={"taught_by": visit.sender.id})
    keeper = MemoryKeeper(visit.repository, visit.sender)
    if not await catalogue.edit(visit.database, memory, changed, keeper, visit.now):
        return await render_memory(visit, memory, mistakes=[_ARCHIVED], typed=typed)
    return SeeOther(visit.address("memories", memory.short_id, done="changed"))


async def archive(visit: Visit) -> Shown:
    """Archive a memory, as ``/forge forget`` does."""
    memory = await find_memory(visit)
    refused = _explain_refusal(visit, Forget(memory=memory.short_id))
    if refused:
        return Page("message.html", "Refused", {"why": refused}, status=403)
    done = "archived"
    cause = f"dashboard forget {memory.id} by {visit.sender.id}"
    try:
        await forget_memory(visit.services, visit.repository, memory, visit.sender, cause)
    except CodeHostError:
        done = "late"
    return SeeOther(visit.address("memories", memory.short_id, done=done))


def _explain_refusal(visit: Visit, asked: SlashCommand) -> str:
    """Why somebody who may read here may not do this; empty if they may."""
    refused = visit.refuse(asked)
    return "" if refused is None else visit.explain_role(refused.needed)


def _render_form(form: Mapping[str, str], mistakes: Sequence[str], status: int = 422) -> Page:
    typed = {name: form.get(name, "") for name in ("content", "context", "tags", "kind")}
    shown = {"typed": typed, "mistakes": mistakes, "kinds": list(MemoryKind)}
    return Page("new_memory.html", "New memory", shown, status=status if mistakes else 200)


def _list_mistakes(memory: Memory) -> Sequence[str]:
    found = find_mistakes(memory.content, memory.context, memory.tags)
    return [f"The {part} {what}.{f' Allowed: {allowed}.' if allowed else ''}" for part, what, allowed in found]
