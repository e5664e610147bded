"""Executes ``remember`` and ``forget``."""

import re

from domain.memories import LONGEST, Archived, Memory, MemoryKind, Origin, Scope, create_memory
from domain.slash import Forget, Tell
from domain.text.redaction import holds_secret
from memory.learned import catalogue, memories
from memory.repositories import addresses
from messages import memory as texts
from pipeline.config import loading
from pipeline.deliveries.commands.context import CommandContext
from pipeline.verdicts.dismissal import forget_memory
from pipeline.verdicts.suppression import load_memory_settings
from safety.learning_screening import MOST_PROPOSED

_INSTRUCTION = re.compile(
    r"\b(always|never|must|should|use|prefer|avoid|run|write|keep|call|don'?t|do not|before|after|when|whenever|if)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"[\w.*@-]+(?:/[\w.*@-]+)+/?|[\w-]+\.[a-z]{1,5}\b|\b[A-Z]{1,4}[0-9]{2,4}\b")
_NAME = re.compile(r"M-[0-9A-HJKMNP-TV-Z]{6,26}", re.IGNORECASE)
_MAX_TAGS = 20
_SHOWN = 3  # proposals in a status


async def remember_text(context: CommandContext, asked: Tell) -> str:
    """``/forge remember``: keep a text as a memory, or what Forge proposed to remember under this name."""
    text = asked.text
    configured = await load_memory_settings(context.services, context.repository)
    if not configured.enabled:
        return texts.SWITCHED_OFF
    if holds_secret(text):
        return texts.SECRET_REFUSED
    cause = f"comment {context.comment.comment.id}"
    memory = _build_memory(context, text, cause, Scope.organisation if configured.organisation else Scope.repository)
    proposal = None
    if _NAME.fullmatch(text):
        proposal = await _find_proposal(context, text.upper())
        if proposal is None:
            return texts.no_such_proposal(text)
        kept = {"kind": proposal.kind, "content": proposal.content, "context": proposal.context, "tags": proposal.tags}
        memory = memory.model_copy(update=kept)
    taught = await catalogue.learn(context.database, *context.place, memory, context.sender, cause, configured.max)
    if taught is not None and proposal is not None:
        await memories.answer_proposal(context.database, proposal.id, Archived.merged)
    return texts.no_room(configured.max) if taught is None else texts.confirm_remember(*taught)


async def forget(context: CommandContext, asked: Forget) -> str:
    """``/forge forget``: remove a memory and what it suppressed."""
    name = asked.memory
    found = await memories.find_by_short_id(context.database, context.repository, name)
    meant = [memory for memory in found if memory.is_live] or found
    if not meant:
        return await _describe_shared(context, name) or texts.no_such_memory(name)
    if len(meant) > 1:
        return texts.which_memory(name, meant)
    return await _forget_memory(context, meant[0])


async def describe_proposed(context: CommandContext) -> str:
    """What a model proposed to remember here; empty if nothing waits."""
    found = await memories.list_proposed(context.database, context.repository.id, MOST_PROPOSED)
    return texts.render_proposed(found[:_SHOWN], len(found[_SHOWN:])) if found else ""


async def _find_proposal(context: CommandContext, name: str) -> Memory | None:
    """What a model proposed under this name; also what was kept of it, if this step is repeated."""
    found = await memories.find_by_short_id(context.database, context.repository, name)
    fitting = [each for each in found if each.archived_why in {Archived.proposed, Archived.merged}]
    return fitting[0] if len(fitting) == 1 and fitting[0].origin is Origin.model else None


def _build_memory(context: CommandContext, text: str, cause: str, scope: Scope) -> Memory:
    return create_memory(
        context.repository,
        Origin.person,
        MemoryKind.procedural if _INSTRUCTION.search(text) else MemoryKind.semantic,
        text[:LONGEST],
        f"/forge remember by {context.sender.login} in #{context.number}, {cause}",
        context.services.clock.now(),
        tags=tuple(dict.fromkeys(_TAG.findall(text)))[:_MAX_TAGS],
        scope=scope,
        pinned=True,
        taught_by=context.sender.id,
    )


async def _forget_memory(context: CommandContext, memory: Memory) -> str:
    if await memories.answer_proposal(context.database, memory.id, Archived.forgotten):
        return texts.confirm_forget(memory, ())
    done = await forget_memory(
        context.services,
        context.repository,
        memory,
        context.sender,
        f"{context.guid} forget {memory.id}",
        context.number,
        is_pull_request=context.comment.is_pull_request,
    )
    if done.undone or done.was_live:
        return texts.confirm_forget(memory, done.undone)
    return texts.already_forgotten(memory)


async def _describe_shared(context: CommandContext, name: str) -> str:
    """Where a memory that another repository shares can be forgotten; permission is asked there."""
    if not (await load_memory_settings(context.services, context.repository)).organisation:
        return ""
    found = await memories.find_shared(context.database, context.repository, name)
    return "\n".join([texts.refuse_shared_memory(each, await _find_home(context, each)) for each in found])


async def _find_home(context: CommandContext, memory: Memory) -> str | None:
    """The name of the repository that shares a memory, if it still does."""
    home = await addresses.find_address(context.database, memory.repository_id)
    if home is None or home.installation_id != context.repository.installation_id:
        return None
    configured = await loading.load_stored(context.database, home)
    return home.full_name if configured.memory.organisation else None
