"""Carries out what people say about findings, and what they teach Forge or take back."""

import re
from collections.abc import Awaitable, Callable, Collection
from difflib import get_close_matches

import structlog
from pydantic import JsonValue

from domain.commands import ExecuteComment
from domain.errors import CodeHostError, RateLimited
from domain.memories.memory import LONGEST, Memory, MemoryKind, Origin, Scope, create_memory
from domain.review.findings import Finding
from domain.review.inline_comments import Remark
from domain.runs.run import Phase
from domain.slash.commands import AboutFinding, Approve, Dismiss, Forget, SlashCommand, TextCommand
from domain.slash.verbs import Verb
from domain.text.redaction import holds_secret
from memory.findings import dismissals, findings
from memory.learned import consolidation, memories, remember
from memory.runs import checkpoints
from messages import commands as command_texts
from messages import memory as memory_texts
from pipeline.config import loading
from pipeline.context import Services
from pipeline.gates.actor import load_actor
from pipeline.verdicts import threads, update
from pipeline.verdicts.dismissal import dismiss
from pipeline.verdicts.suppression import (
    is_learning_enabled,
    load_dismissal_history,
    load_evidence,
    load_memory_settings,
)
from safety.authorization import CommandRefusal, GateRule, authorise
from safety.gates import build_request, is_grave
from safety.suppression import DismissalHistory, list_to_release

log = structlog.get_logger(__name__)

VERBS = frozenset({Verb.dismiss, Verb.undismiss, Verb.explain, Verb.why, Verb.remember, Verb.forget})
"""The commands that are carried out here."""

JUDGING = frozenset({Verb.dismiss, Verb.undismiss, Verb.forget})
"""Those that may change a verdict."""

_INSTRUCTION = re.compile(
    r"\b(always|never|must|should|use|prefer|avoid|run|write|keep|call|don'?t|do not|before|after|when|whenever|if)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"[\w.*@-]+(?:/[\w.*@-]+)+/?|[\w-]+\.[a-z]{1,5}\b|\b[A-Z]{1,4}[0-9]{2,4}\b")
_MAX_TAGS = 20


class FindingCommands:
    """What one comment says about findings and memories. Whoever wrote it may, as far as the verb alone tells.

    :param note: puts a refusal into the audit.
    """

    def __init__(
        self,
        services: Services,
        guid: str,
        command: ExecuteComment,
        note: Callable[[CommandRefusal], Awaitable[JsonValue]],
    ) -> None:
        self._services = services
        self._database = services.database
        self._guid = guid
        self._command = command
        self._note = note

    async def answer(self, asked: SlashCommand) -> str:
        """Carry one command of :data:`VERBS` out; the answer to it."""
        match asked:
            case TextCommand():
                return await self._remember(asked.text)
            case Forget():
                return await self._forget(asked.memory)
            case Dismiss() | AboutFinding():
                meant = await self._find_meant(asked.finding)
                if not meant:
                    return await self._answer_no_finding(asked)
                if len(meant) > 1 and isinstance(asked, Dismiss):
                    return await self._dismiss_all(meant, asked.reason)
                return await self._answer_about_finding(asked, next(iter(meant)))
            case _:
                return command_texts.not_available(asked.verb)

    # --- findings -----------------------------------------------------------------------------------------------

    async def _answer_about_finding(self, asked: Dismiss | AboutFinding, finding: Finding) -> str:
        if isinstance(asked, Dismiss):
            return await self._dismiss(finding, asked.reason)
        if asked.verb is Verb.undismiss:
            return await self._undismiss(finding)
        if asked.verb is Verb.why:
            return await self._explain_why(finding)
        known = await dismissals.find_by_fingerprint(self._database, self._command.repository, [finding.fingerprint])
        return command_texts.explain_finding(finding, known.get(finding.fingerprint))

    async def _dismiss(self, finding: Finding, reason: str) -> str:
        services, command = self._services, self._command
        refused = await self._refuse_below_gate(finding)
        if refused is not None:
            return refused
        known = await dismissals.find_by_fingerprint(self._database, command.repository, [finding.fingerprint])
        if finding.fingerprint in known:
            return command_texts.already_dismissed(finding, known[finding.fingerprint])
        where = (command.repository, command.number)
        cause = f"{self._guid} dismiss {finding.id}"
        taught = await dismiss(services, *where, (finding,), command.sender, reason, cause)
        await threads.resolve(services, *where, finding)
        return command_texts.confirm_dismissal(finding, reason, taught=taught)

    async def _dismiss_all(self, remark: Remark, reason: str) -> str:
        """All that one comment says; where one of them cannot be dismissed like this, none is."""
        services, command = self._services, self._command
        refused = [why for finding in remark if (why := await self._refuse_below_gate(finding)) is not None]
        if refused:
            return refused[0]
        known = await dismissals.find_by_fingerprint(
            self._database, command.repository, [each.fingerprint for each in remark]
        )
        new = [finding for finding in remark if finding.fingerprint not in known]
        if not new:
            return command_texts.already_dismissed(remark[0], known[remark[0].fingerprint])
        where = (command.repository, command.number)
        cause = f"{self._guid} dismiss {new[0].id}"
        taught = await dismiss(services, *where, tuple(new), command.sender, reason, cause)
        await threads.resolve(services, *where, new[0])
        return command_texts.confirm_group_dismissal(new, reason, taught)

    async def _undismiss(self, finding: Finding) -> str:
        """Of a finding that is held back because of its like, what holds it is taken back."""
        where, now = (self._command.repository, self._command.number), self._services.clock.now()
        undone = await dismissals.undo(self._database, *where, finding, self._command.sender, now)
        like = () if undone else list_to_release(finding, await self._load_history(finding))
        if like:
            ids = [past.id for past in like]
            await dismissals.undo_all(self._database, *where, ids, self._command.sender, now)
        await self._update_verdict(self._command.number, f"undismiss {finding.id}")
        if like:
            return memory_texts.confirm_similar_undismissal(finding, like)
        return command_texts.confirm_undismissal(finding) if undone else command_texts.not_dismissed(finding)

    async def _explain_why(self, finding: Finding) -> str:
        where, is_learning = (
            self._command.repository,
            await is_learning_enabled(self._services, self._command.repository),
        )
        number = self._command.number
        return memory_texts.answer_why(
            await load_evidence(self._database, where, number, finding, is_learning=is_learning)
        )

    async def _load_history(self, finding: Finding) -> DismissalHistory:
        return await load_dismissal_history(self._database, self._command.repository, [finding])

    async def _refuse_below_gate(self, finding: Finding) -> str | None:
        """A finding about which `security_findings` is asked takes that gate's role to dismiss, too."""
        services, command = self._services, self._command
        review = await checkpoints.load_latest_review(services.database, command.repository.id, command.number)
        there = () if review is None else review.findings
        if not is_grave(finding) or finding.fingerprint not in {each.fingerprint for each in there}:
            return None
        ceilings = services.ceilings.of_configuration
        loaded = await loading.load(services.host, services.database, command.repository, ceilings)
        wanted = build_request("security_findings", Phase.review, "", "", (), loaded.configuration)
        standing = await load_actor(services, command.repository, command.number, command.sender)
        refused = authorise(Approve(), standing.facts, GateRule(wanted.role, wanted.not_author))
        if refused is None:
            return None
        await self._note(refused)
        return command_texts.refuse(refused.model_copy(update={"verb": Verb.dismiss}), command.sender.login)

    async def _find_meant(self, name: str | None) -> Remark:
        """The finding a command names, or those in whose thread it stands."""
        repository, number = self._command.repository, self._command.number
        if name is not None:
            found = await findings.find_by_name(self._database, repository.id, number, name)
            return () if found is None else (found,)
        carried = await findings.load_by_comment(self._database, repository.id, number)
        return carried.get(self._command.comment.thread or 0, ())

    async def _answer_no_finding(self, asked: Dismiss | AboutFinding) -> str:
        if asked.finding is None:
            return command_texts.which_finding(asked.verb)
        names = await findings.list_names(self._database, self._command.repository.id, self._command.number)
        return command_texts.no_such_finding(asked.finding, get_close_matches(asked.finding.upper(), names, 2, 0.7))

    # --- memories -----------------------------------------------------------------------------------------------

    async def _remember(self, text: str) -> str:
        configured = await load_memory_settings(self._services, self._command.repository)
        if not configured.enabled:
            return memory_texts.refuse_switched_off()
        if holds_secret(text):
            return memory_texts.refuse_secret()
        command, cause = self._command, f"comment {self._command.comment.id}"
        where = (command.repository, command.number)
        scope = Scope.organisation if configured.organisation else Scope.repository
        memory = self._build_memory(text, cause, scope)
        taught = await remember.learn(self._database, *where, memory, command.sender, cause, configured.max)
        return memory_texts.no_room(configured.max) if taught is None else memory_texts.confirm_remember(*taught)

    def _build_memory(self, text: str, cause: str, scope: Scope) -> Memory:
        command, now = self._command, self._services.clock.now()
        return create_memory(
            command.repository,
            Origin.person,
            MemoryKind.procedural if _INSTRUCTION.search(text) else MemoryKind.semantic,
            text[:LONGEST],
            f"/forge remember by {command.sender.login} in #{command.number}, {cause}",
            now,
            tags=tuple(dict.fromkeys(_TAG.findall(text)))[:_MAX_TAGS],
            scope=scope,
            pinned=True,
        )

    async def _forget(self, name: str) -> str:
        found = await memories.find_by_short_id(self._database, self._command.repository, name)
        meant = [memory for memory in found if memory.is_live] or found
        if not meant:
            return await self._describe_shared(name) or memory_texts.no_such_memory(name)
        if len(meant) > 1:
            return memory_texts.which_memory(name, meant)
        return await self._forget_memory(meant[0])

    async def _describe_shared(self, name: str) -> str:
        """Where a memory can be forgotten that another repository shares; who may do that there is asked there."""
        here = self._command.repository
        if not (await load_memory_settings(self._services, here)).organisation:
            return ""
        found = await memories.find_shared(self._database, here, name)
        return "\n".join([memory_texts.refuse_shared_memory(each, await self._find_home(each)) for each in found])

    async def _find_home(self, memory: Memory) -> str | None:
        """The name of the repository that shares a memory, if it still does."""
        home = await consolidation.find_address(self._database, memory.repository_id)
        if home is None or home.installation_id != self._command.repository.installation_id:
            return None
        configured = await loading.load_stored(self._database, home)
        return home.full_name if configured.memory.organisation else None

    async def _forget_memory(self, memory: Memory) -> str:
        command, now = self._command, self._services.clock.now()
        repository, number = command.repository, command.number
        taught_in = await dismissals.find_pull_requests(self._database, repository, memory.id)
        undone = await dismissals.undo_by_memory(self._database, repository, number, memory.id, command.sender, now)
        was_live = await remember.forget(self._database, repository, number, memory, command.sender, now)
        if taught_in:
            await self._update_verdicts(taught_in, f"forget {memory.id}")
        return (
            memory_texts.confirm_forget(memory, undone)
            if undone or was_live
            else memory_texts.already_forgotten(memory)
        )

    async def _update_verdicts(self, numbers: Collection[int], did: str) -> None:
        """Here, and in other pull requests that are still open: what was merged is not judged anew."""
        command = self._command
        if command.is_pull_request:
            await self._update_verdict(command.number, did)
        for number in sorted(set(numbers) - {command.number}):
            try:
                if (await self._services.host.pull_request(command.repository, number)).is_open:
                    await self._update_verdict(number, did)
            except RateLimited:
                raise
            except CodeHostError as error:  # its next review says it
                log.warning("teaching.not_reconcluded", number=number, error=str(error))

    async def _update_verdict(self, number: int, did: str) -> None:
        """A comment may say several things: the check follows each."""
        await update.update_verdict(self._services, self._command.repository, number, f"{self._guid} {did}")
