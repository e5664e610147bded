"""The forms that add, correct and archive memories, with the authority and the rules of the commands."""

from collections.abc import Mapping, Sequence

from bot.dashboard.authority import GitHubSilent
from bot.dashboard.memories import EDITOR, find_memory, render_memory
from bot.dashboard.visit import Page, RepositoryAction, RepositoryPage, SeeOther, Shown, Visit
from domain.errors import CodeHostError
from domain.memories import validation
from domain.memories.memory import Memory, MemoryKind, Origin, Scope, create_memory
from domain.memories.memory_file import PATH
from domain.slash.commands import Forget, SlashCommand, Tell
from domain.slash.verbs import Verb
from memory.learned import remember
from memory.learned.memory_file import is_from_file
from pipeline.verdicts.forgetting import forget_memory
from pipeline.verdicts.suppression import load_memory_settings

_TEACH = Tell(verb=Verb.remember, text="a memory")
_SWITCHED_OFF = "Learning is switched off here: `memory: {enabled: false}` in `.github/forge.yml`."
_FROM_FILE = f"This memory comes from {PATH} in the repository: change it there, on the default branch."
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
        tags=_read_tags(visit),
        scope=Scope.organisation if configured.organisation else Scope.repository,
        pinned=True,
        taught_by=visit.sender.id,
    )
    mistakes = _list_mistakes(memory)
    if mistakes:
        return _render_form(visit.form, mistakes)
    cause = f"dashboard, account {visit.sender.id}"
    plain = _to_one_line(memory)
    kept = await remember.learn(
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
    typed = memory.model_copy(update={**given, "tags": _read_tags(visit)})
    refused = _explain_refusal(visit, _TEACH)
    if refused:
        return await render_memory(visit, memory, mistakes=[refused], typed=typed, status=403)
    mistakes = [_FROM_FILE] if is_from_file(memory) else _list_mistakes(typed)
    if mistakes:
        return await render_memory(visit, memory, mistakes=mistakes, typed=typed)
    changed = _to_one_line(typed)
    if changed == memory:
        return SeeOther(visit.address("memories", memory.short_id, done="same"))
    changed = changed.model_copy(update={"taught_by": visit.sender.id})
    if not await remember.correct(visit.database, visit.repository, memory, changed, visit.sender, visit.now):
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


def _read_tags(visit: Visit) -> tuple[str, ...]:
    found = map(validation.to_one_line, visit.form.get("tags", "").split(","))
    return tuple(dict.fromkeys(tag for tag in found if tag))


def _list_mistakes(memory: Memory) -> Sequence[str]:
    found = validation.find_mistakes(memory.content, memory.context, memory.tags)
    return [f"The {part} {what}.{f' Allowed: {allowed}.' if allowed else ''}" for part, what, allowed in found]


def _to_one_line(memory: Memory) -> Memory:
    plain = {"content": validation.to_one_line(memory.content), "context": validation.to_one_line(memory.context)}
    return memory.model_copy(update=plain)


PAGES = (RepositoryPage("memories/new", offer_form, least=EDITOR),)
ACTIONS = (
    RepositoryAction("memories/new", add, least="read"),
    RepositoryAction("memories/{memory}", correct, least="read"),
    RepositoryAction("memories/{memory}/archive", archive, least="read"),
)
